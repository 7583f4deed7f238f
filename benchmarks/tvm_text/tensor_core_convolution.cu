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
  for (int ax0_init = 0; ax0_init < 2; ++ax0_init) {
    for (int ax1_init = 0; ax1_init < 4; ++ax1_init) {
      nvcuda::wmma::fill_fragment(Conv_wmma_accumulator_ptr[((ax0_init * 4) + ax1_init)], 0x0p+0f/*0.000000e+00*/);
    }
  }
  int cse_v4 = (((int)blockIdx.y) * 2048);
  int cse_v8 = (((int)threadIdx.z) * 1024);
  for (int ax4_0 = 0; ax4_0 < 8; ++ax4_0) {
    for (int ax5 = 0; ax5 < 3; ++ax5) {
      int cse_v3 = (((int)threadIdx.y) * 3072);
      __syncthreads();
      for (int ax1 = 0; ax1 < 3; ++ax1) {
        for (int ax2 = 0; ax2 < 2; ++ax2) {
          for (int ax3_ax4_fused_0 = 0; ax3_ax4_fused_0 < 8; ++ax3_ax4_fused_0) {
            int cse_v1 = (ax2 * 256);
            int cse_v2 = (ax3_ax4_fused_0 * 32);
            int cse_v9 = ((((int)blockIdx.z) / 14) + ax5);
            int cse_v10 = (ax1 + (((int)blockIdx.z) % 14));
            half condval;
            if ((((1 <= ((((int)blockIdx.z) / 14) + ax5)) && (((((int)blockIdx.z) / 14) + ax5) < 15)) && (1 <= (ax1 + (((int)blockIdx.z) % 14)))) && ((ax1 + (((int)blockIdx.z) % 14)) < 15)) {
              condval = A_ptr[(((((((((((((int)blockIdx.x) * 6422528) + (((int)threadIdx.y) * 1605632)) + (((int)threadIdx.z) * 802816)) + (ax5 * 57344)) + (((int)blockIdx.z) * 4096)) + (ax1 * 4096)) + (ax4_0 * 512)) + (ax2 * 256)) + (ax3_ax4_fused_0 * 32)) + ((int)threadIdx.x)) - 61440)];
            } else {
              condval = __float2half_rn(0x0p+0f/*0.000000e+00*/);
            }
            Apad_shared_ptr[((((((((int)threadIdx.y) * 3072) + (((int)threadIdx.z) * 1536)) + (ax1 * 512)) + (ax2 * 256)) + (ax3_ax4_fused_0 * 32)) + ((int)threadIdx.x))] = condval;
          }
        }
      }
      for (int ax0 = 0; ax0 < 3; ++ax0) {
        for (int ax1_1 = 0; ax1_1 < 2; ++ax1_1) {
          int cse_v5 = (((int)threadIdx.y) * 512);
          int cse_v6 = (((int)threadIdx.z) * 256);
          int cse_v7 = (((int)threadIdx.x) * 8);
          *(uint4*)(W_shared_ptr + (((((ax0 * 4096) + (ax1_1 * 2048)) + (((int)threadIdx.y) * 512)) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8))) = *(uint4*)(W_ptr + ((((((((ax5 * 393216) + (ax0 * 131072)) + (ax4_0 * 16384)) + (ax1_1 * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.y) * 512)) + (((int)threadIdx.z) * 256)) + (((int)threadIdx.x) * 8)));
        }
      }
      __syncthreads();
      for (int ax4_1 = 0; ax4_1 < 2; ++ax4_1) {
        for (int ax6 = 0; ax6 < 3; ++ax6) {
          for (int ax0_1 = 0; ax0_1 < 2; ++ax0_1) {
            nvcuda::wmma::load_matrix_sync(Apad_shared_wmma_matrix_a_ptr[ax0_1], (&(Apad_shared_ptr[((((((int)threadIdx.y) * 3072) + (ax0_1 * 1536)) + (ax6 * 512)) + (ax4_1 * 256))])), 16);
          }
          for (int ax0_2 = 0; ax0_2 < 4; ++ax0_2) {
            nvcuda::wmma::load_matrix_sync(W_shared_wmma_matrix_b_ptr[ax0_2], (&(W_shared_ptr[((((ax6 * 4096) + (ax4_1 * 2048)) + (((int)threadIdx.z) * 1024)) + (ax0_2 * 256))])), 16);
          }
          for (int ax0_3 = 0; ax0_3 < 2; ++ax0_3) {
            for (int ax1_2 = 0; ax1_2 < 4; ++ax1_2) {
              int cse_v11 = ((ax0_3 * 4) + ax1_2);
              nvcuda::wmma::mma_sync(Conv_wmma_accumulator_ptr[((ax0_3 * 4) + ax1_2)], Apad_shared_wmma_matrix_a_ptr[ax0_3], W_shared_wmma_matrix_b_ptr[ax1_2], Conv_wmma_accumulator_ptr[((ax0_3 * 4) + ax1_2)]);
            }
          }
        }
      }
    }
  }
  for (int ax0_1_1 = 0; ax0_1_1 < 2; ++ax0_1_1) {
    for (int ax3_1 = 0; ax3_1 < 4; ++ax3_1) {
      nvcuda::wmma::store_matrix_sync((&(Conv_ptr[(((((((((int)blockIdx.x) * 12845056) + (((int)threadIdx.y) * 3211264)) + (ax0_1_1 * 1605632)) + (((int)blockIdx.z) * 8192)) + (((int)blockIdx.y) * 2048)) + (((int)threadIdx.z) * 1024)) + (ax3_1 * 256))])), Conv_wmma_accumulator_ptr[((ax0_1_1 * 4) + ax3_1)], 16, nvcuda::wmma::mem_row_major);
    }
  }
}
