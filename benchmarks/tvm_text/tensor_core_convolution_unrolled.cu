#ifdef __CUDACC_RTC__
  #include <cuda/std/cstdint>
  using cuda::std::uint8_t;
  using cuda::std::uint16_t;
  using cuda::std::uint32_t;
  using cuda::std::uint64_t;
  using cuda::std::int8_t;
  using cuda::std::int16_t;
  using cuda::std::int32_t;
  using cuda::std::int64_t;

  #include <cuda/std/type_traits>
  namespace std {
    using cuda::std::is_same;
    using cuda::std::is_same_v;
    using cuda::std::is_integral;
    using cuda::std::is_signed;
    using cuda::std::is_unsigned;
    using cuda::std::is_floating_point;
    using cuda::std::enable_if;
    using cuda::std::conditional;
  }

  // NVRTC uses asm/volatile instead of __asm__/__volatile__ (gcc extension).
  #ifndef __asm__
  #define __asm__ asm
  #endif
  #ifndef __volatile__
  #define __volatile__ volatile
  #endif
#else
  #include <cstdint>
  #include <type_traits>
  #include <cuda.h>
#endif

#if !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 530)
#include <cuda_fp16.h>
__device__ half max(half a, half b)
{
  return __hgt(__half(a), __half(b)) ? a : b;
}
__device__ half min(half a, half b)
{
  return __hlt(__half(a), __half(b)) ? a : b;
}
#endif // __CUDA_ARCH__ >= 530

// Pack two half values.
static inline __device__ __host__ unsigned
__pack_half2(const half x, const half y) {
  unsigned v0 = *((unsigned short *)&x);
  unsigned v1 = *((unsigned short *)&y);
  return (v1 << 16) | v0;
}

#define CUDA_UNSUPPORTED_HALF_MATH_BINARY(HALF_MATH_NAME, FP32_MATH_NAME) \
static inline __device__ __host__ half HALF_MATH_NAME(half x, half y) {   \
  float tmp_x = __half2float(x);                                          \
  float tmp_y = __half2float(y);                                          \
  float result = FP32_MATH_NAME(tmp_x, tmp_y);                            \
  return __float2half(result);                                            \
}

#define CUDA_UNSUPPORTED_HALF_MATH_UNARY(HALF_MATH_NAME, FP32_MATH_NAME) \
static inline __device__ __host__ half HALF_MATH_NAME(half x) {          \
  float tmp_x = __half2float(x);                                         \
  float result = FP32_MATH_NAME(tmp_x);                                  \
  return __float2half(result);                                           \
}

// Some fp16 math functions are not supported in cuda_fp16.h,
// so we define them here to make sure the generated CUDA code
// is valid.
#if defined(__CUDA_ARCH__)
#if (__CUDA_ARCH__ >= 530)
CUDA_UNSUPPORTED_HALF_MATH_BINARY(hpow, powf)
#if ((__CUDACC_VER_MAJOR__ < 12) || ((__CUDACC_VER_MAJOR__ == 12) && (__CUDACC_VER_MINOR__ < 8)))
CUDA_UNSUPPORTED_HALF_MATH_UNARY(htanh, tanhf)
#endif
CUDA_UNSUPPORTED_HALF_MATH_UNARY(htan, tanf)
CUDA_UNSUPPORTED_HALF_MATH_UNARY(hatan, atanf)
CUDA_UNSUPPORTED_HALF_MATH_UNARY(herf, erf)
#else
CUDA_UNSUPPORTED_HALF_MATH_UNARY(hexp, exp)
#endif
#endif

#undef CUDA_UNSUPPORTED_HALF_MATH_BINARY
#undef CUDA_UNSUPPORTED_HALF_MATH_UNARY

template <typename T, typename TVec2>
struct __align__(8) half4_bfloat164 {
  T x, y, z, w;
  __host__ __device__ half4_bfloat164() : x(T(0)), y(T(0)), z(T(0)), w(T(0)) {}
  __host__ __device__ half4_bfloat164(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}

};

using half4 = half4_bfloat164<__half, __half2>;
__host__ __device__ half4 make_half4(__half x, __half y, __half z, __half w) {
    return half4(x, y, z, w);
}

#include <mma.h>

#if (((__CUDACC_VER_MAJOR__ == 11) && (__CUDACC_VER_MINOR__ >= 4)) || \
     (__CUDACC_VER_MAJOR__ > 11))
#define TVM_ENABLE_L2_PREFETCH 1
#else
#define TVM_ENABLE_L2_PREFETCH 0
#endif

#ifdef _WIN32
  using uint = unsigned int;
  using uchar = unsigned char;
  using ushort = unsigned short;
  using int64_t = long long;
  using uint64_t = unsigned long long;
#else
  #define uint unsigned int
  #define uchar unsigned char
  #define ushort unsigned short
#endif
extern "C" __global__ void __launch_bounds__(256) main_kernel(half* __restrict__ A_ptr, float* __restrict__ Conv_ptr, half* __restrict__ W_ptr);
extern "C" __global__ void __launch_bounds__(256) main_kernel(half* __restrict__ A_ptr, float* __restrict__ Conv_ptr, half* __restrict__ W_ptr) {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> Conv_wmma_accumulator_ptr[8];
  __shared__ alignas(64) half Apad_shared_ptr[12288];
  __shared__ alignas(64) half W_shared_ptr[12288];
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> Apad_shared_wmma_matrix_a_ptr[2];
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::row_major> W_shared_wmma_matrix_b_ptr[4];
  nvcuda::wmma::fill_fragment(Conv_wmma_accumulator_ptr[0], 0x0p+0f/*0.000000e+00*/);
  nvcuda::wmma::fill_fragment(Conv_wmma_accumulator_ptr[1], 0x0p+0f/*0.000000e+00*/);
  nvcuda::wmma::fill_fragment(Conv_wmma_accumulator_ptr[2], 0x0p+0f/*0.000000e+00*/);
  nvcuda::wmma::fill_fragment(Conv_wmma_accumulator_ptr[3], 0x0p+0f/*0.000000e+00*/);
  nvcuda::wmma::fill_fragment(Conv_wmma_accumulator_ptr[4], 0x0p+0f/*0.000000e+00*/);
  nvcuda::wmma::fill_fragment(Conv_wmma_accumulator_ptr[5], 0x0p+0f/*0.000000e+00*/);
  nvcuda::wmma::fill_fragment(Conv_wmma_accumulator_ptr[6], 0x0p+0f/*0.000000e+00*/);
  nvcuda::wmma::fill_fragment(Conv_wmma_accumulator_ptr[7], 0x0p+0f/*0.000000e+00*/);
  int cse_v2 = (((int)blockIdx.y) * 2048);
  int cse_v6 = (((int)threadIdx.z) * 1024);
  for (int ax4_0 = 0; ax4_0 < 8; ++ax4_0) {
    for (int ax5 = 0; ax5 < 3; ++ax5) {
      int cse_v1 = (((int)threadIdx.y) * 3072);
      __syncthreads();
      for (int ax1 = 0; ax1 < 3; ++ax1) {
        int cse_v7 = ((((int)blockIdx.z) / 14) + ax5);
        int cse_v8 = (ax1 + (((int)blockIdx.z) % 14));
        int cse_v12 = ((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x));
        int cse_v15 = ((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x));
        half condval;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61440)];
        } else {
          condval = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x))] = condval;
        half condval_1;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_1 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61408)];
        } else {
          condval_1 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 32)] = condval_1;
        half condval_2;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_2 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61376)];
        } else {
          condval_2 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 64)] = condval_2;
        half condval_3;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_3 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61344)];
        } else {
          condval_3 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 96)] = condval_3;
        half condval_4;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_4 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61312)];
        } else {
          condval_4 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 128)] = condval_4;
        half condval_5;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_5 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61280)];
        } else {
          condval_5 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 160)] = condval_5;
        half condval_6;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_6 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61248)];
        } else {
          condval_6 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 192)] = condval_6;
        half condval_7;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_7 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61216)];
        } else {
          condval_7 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 224)] = condval_7;
        half condval_8;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_8 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61184)];
        } else {
          condval_8 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 256)] = condval_8;
        half condval_9;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_9 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61152)];
        } else {
          condval_9 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 288)] = condval_9;
        half condval_10;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_10 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61120)];
        } else {
          condval_10 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 320)] = condval_10;
        half condval_11;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_11 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61088)];
        } else {
          condval_11 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 352)] = condval_11;
        half condval_12;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_12 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61056)];
        } else {
          condval_12 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 384)] = condval_12;
        half condval_13;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_13 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 61024)];
        } else {
          condval_13 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 416)] = condval_13;
        half condval_14;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_14 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 60992)];
        } else {
          condval_14 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 448)] = condval_14;
        half condval_15;
        if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
          condval_15 = A_ptr[(((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + ((int)threadIdx.x)) - 60960)];
        } else {
          condval_15 = __float2half_rn(0x0p+0f/*0.000000e+00*/);
        }
        Apad_shared_ptr[(((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + ((int)threadIdx.x)) + 480)] = condval_15;
      }
      int cse_v3 = (((int)threadIdx.y) * 512);
      int cse_v4 = (((int)threadIdx.z) * 256);
      int cse_v5 = (((int)threadIdx.x) * 8);
      int cse_v9 = (((((int)threadIdx.y) * 512) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8));
      int cse_v14 = ((((((ax5 * 393216) + (ax4_0 * 16384)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.y) * 512)) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8));
      *(uint4*)(W_shared_ptr + (((((int)threadIdx.y) * 512) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8))) = *(uint4*)(W_ptr + ((((((ax5 * 393216) + (ax4_0 * 16384)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.y) * 512)) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)));
      *(uint4*)(W_shared_ptr + ((((((int)threadIdx.y) * 512) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)) + 2048)) = *(uint4*)(W_ptr + (((((((ax5 * 393216) + (ax4_0 * 16384)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.y) * 512)) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)) + 8192));
      *(uint4*)(W_shared_ptr + ((((((int)threadIdx.y) * 512) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)) + 4096)) = *(uint4*)(W_ptr + (((((((ax5 * 393216) + (ax4_0 * 16384)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.y) * 512)) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)) + 131072));
      *(uint4*)(W_shared_ptr + ((((((int)threadIdx.y) * 512) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)) + 6144)) = *(uint4*)(W_ptr + (((((((ax5 * 393216) + (ax4_0 * 16384)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.y) * 512)) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)) + 139264));
      *(uint4*)(W_shared_ptr + ((((((int)threadIdx.y) * 512) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)) + 8192)) = *(uint4*)(W_ptr + (((((((ax5 * 393216) + (ax4_0 * 16384)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.y) * 512)) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)) + 262144));
      *(uint4*)(W_shared_ptr + ((((((int)threadIdx.y) * 512) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)) + 10240)) = *(uint4*)(W_ptr + (((((((ax5 * 393216) + (ax4_0 * 16384)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.y) * 512)) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)) + 270336));
      __syncthreads();
      for (int ax4_1 = 0; ax4_1 < 2; ++ax4_1) {
        for (int ax6 = 0; ax6 < 3; ++ax6) {
          int cse_v10 = (((((int)threadIdx.y) * 3072) + (ax6 * 512)) + (ax4_1 * 256));
          nvcuda::wmma::load_matrix_sync(Apad_shared_wmma_matrix_a_ptr[0], (&(Apad_shared_ptr[(((((int)threadIdx.y) * 3072) + (ax6 * 512)) + (ax4_1 * 256))])), 16);
          nvcuda::wmma::load_matrix_sync(Apad_shared_wmma_matrix_a_ptr[1], (&(Apad_shared_ptr[((((((int)threadIdx.y) * 3072) + (ax6 * 512)) + (ax4_1 * 256)) + 1536)])), 16);
          int cse_v11 = (((ax6 * 4096) + (ax4_1 * 2048)) + (((int)threadIdx.z) * 1024));
          nvcuda::wmma::load_matrix_sync(W_shared_wmma_matrix_b_ptr[0], (&(W_shared_ptr[(((ax6 * 4096) + (ax4_1 * 2048)) + (((int)threadIdx.z) * 1024))])), 16);
          nvcuda::wmma::load_matrix_sync(W_shared_wmma_matrix_b_ptr[1], (&(W_shared_ptr[((((ax6 * 4096) + (ax4_1 * 2048)) + (((int)threadIdx.z) * 1024)) + 256)])), 16);
          nvcuda::wmma::load_matrix_sync(W_shared_wmma_matrix_b_ptr[2], (&(W_shared_ptr[((((ax6 * 4096) + (ax4_1 * 2048)) + (((int)threadIdx.z) * 1024)) + 512)])), 16);
          nvcuda::wmma::load_matrix_sync(W_shared_wmma_matrix_b_ptr[3], (&(W_shared_ptr[((((ax6 * 4096) + (ax4_1 * 2048)) + (((int)threadIdx.z) * 1024)) + 768)])), 16);
          nvcuda::wmma::mma_sync(Conv_wmma_accumulator_ptr[0], Apad_shared_wmma_matrix_a_ptr[0], W_shared_wmma_matrix_b_ptr[0], Conv_wmma_accumulator_ptr[0]);
          nvcuda::wmma::mma_sync(Conv_wmma_accumulator_ptr[1], Apad_shared_wmma_matrix_a_ptr[0], W_shared_wmma_matrix_b_ptr[1], Conv_wmma_accumulator_ptr[1]);
          nvcuda::wmma::mma_sync(Conv_wmma_accumulator_ptr[2], Apad_shared_wmma_matrix_a_ptr[0], W_shared_wmma_matrix_b_ptr[2], Conv_wmma_accumulator_ptr[2]);
          nvcuda::wmma::mma_sync(Conv_wmma_accumulator_ptr[3], Apad_shared_wmma_matrix_a_ptr[0], W_shared_wmma_matrix_b_ptr[3], Conv_wmma_accumulator_ptr[3]);
          nvcuda::wmma::mma_sync(Conv_wmma_accumulator_ptr[4], Apad_shared_wmma_matrix_a_ptr[1], W_shared_wmma_matrix_b_ptr[0], Conv_wmma_accumulator_ptr[4]);
          nvcuda::wmma::mma_sync(Conv_wmma_accumulator_ptr[5], Apad_shared_wmma_matrix_a_ptr[1], W_shared_wmma_matrix_b_ptr[1], Conv_wmma_accumulator_ptr[5]);
          nvcuda::wmma::mma_sync(Conv_wmma_accumulator_ptr[6], Apad_shared_wmma_matrix_a_ptr[1], W_shared_wmma_matrix_b_ptr[2], Conv_wmma_accumulator_ptr[6]);
          nvcuda::wmma::mma_sync(Conv_wmma_accumulator_ptr[7], Apad_shared_wmma_matrix_a_ptr[1], W_shared_wmma_matrix_b_ptr[3], Conv_wmma_accumulator_ptr[7]);
        }
      }
    }
  }
  int cse_v13 = (((((((int)blockIdx.x) * 12845056) + (((int)threadIdx.y) * 3211264)) + (((int)blockIdx.z) * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.z) * 1024));
  nvcuda::wmma::store_matrix_sync((&(Conv_ptr[(((((((int)blockIdx.x) * 12845056) + (((int)threadIdx.y) * 3211264)) + (((int)blockIdx.z) * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.z) * 1024))])), Conv_wmma_accumulator_ptr[0], 16, nvcuda::wmma::mem_row_major);
  nvcuda::wmma::store_matrix_sync((&(Conv_ptr[((((((((int)blockIdx.x) * 12845056) + (((int)threadIdx.y) * 3211264)) + (((int)blockIdx.z) * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.z) * 1024)) + 256)])), Conv_wmma_accumulator_ptr[1], 16, nvcuda::wmma::mem_row_major);
  nvcuda::wmma::store_matrix_sync((&(Conv_ptr[((((((((int)blockIdx.x) * 12845056) + (((int)threadIdx.y) * 3211264)) + (((int)blockIdx.z) * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.z) * 1024)) + 512)])), Conv_wmma_accumulator_ptr[2], 16, nvcuda::wmma::mem_row_major);
  nvcuda::wmma::store_matrix_sync((&(Conv_ptr[((((((((int)blockIdx.x) * 12845056) + (((int)threadIdx.y) * 3211264)) + (((int)blockIdx.z) * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.z) * 1024)) + 768)])), Conv_wmma_accumulator_ptr[3], 16, nvcuda::wmma::mem_row_major);
  nvcuda::wmma::store_matrix_sync((&(Conv_ptr[((((((((int)blockIdx.x) * 12845056) + (((int)threadIdx.y) * 3211264)) + (((int)blockIdx.z) * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.z) * 1024)) + 1605632)])), Conv_wmma_accumulator_ptr[4], 16, nvcuda::wmma::mem_row_major);
  nvcuda::wmma::store_matrix_sync((&(Conv_ptr[((((((((int)blockIdx.x) * 12845056) + (((int)threadIdx.y) * 3211264)) + (((int)blockIdx.z) * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.z) * 1024)) + 1605888)])), Conv_wmma_accumulator_ptr[5], 16, nvcuda::wmma::mem_row_major);
  nvcuda::wmma::store_matrix_sync((&(Conv_ptr[((((((((int)blockIdx.x) * 12845056) + (((int)threadIdx.y) * 3211264)) + (((int)blockIdx.z) * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.z) * 1024)) + 1606144)])), Conv_wmma_accumulator_ptr[6], 16, nvcuda::wmma::mem_row_major);
  nvcuda::wmma::store_matrix_sync((&(Conv_ptr[((((((((int)blockIdx.x) * 12845056) + (((int)threadIdx.y) * 3211264)) + (((int)blockIdx.z) * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.z) * 1024)) + 1606400)])), Conv_wmma_accumulator_ptr[7], 16, nvcuda::wmma::mem_row_major);
}
