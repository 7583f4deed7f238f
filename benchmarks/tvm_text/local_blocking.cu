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
extern "C" __global__ void __launch_bounds__(64) main_kernel(float* __restrict__ A_ptr, float* __restrict__ B_ptr, float* __restrict__ C_ptr);
extern "C" __global__ void __launch_bounds__(64) main_kernel(float* __restrict__ A_ptr, float* __restrict__ B_ptr, float* __restrict__ C_ptr) {
  alignas(64) float C_local_ptr[64];
  for (int i_2_init = 0; i_2_init < 8; ++i_2_init) {
    for (int j_2_init = 0; j_2_init < 8; ++j_2_init) {
      C_local_ptr[((i_2_init * 8) + j_2_init)] = 0x0p+0f/*0.000000e+00*/;
    }
  }
  int cse_v2 = (((int)blockIdx.x) * 64);
  int cse_v3 = (((int)threadIdx.x) * 8);
  int cse_v5 = ((((int)blockIdx.y) * 65536) + (((int)threadIdx.y) * 8192));
  for (int k_0 = 0; k_0 < 256; ++k_0) {
    int cse_v1 = (k_0 * 4);
    int cse_v9 = (((k_0 * 4096) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 8));
    for (int i_2 = 0; i_2 < 8; ++i_2) {
      for (int j_2 = 0; j_2 < 8; ++j_2) {
        int cse_v4 = ((i_2 * 8) + j_2);
        C_local_ptr[((i_2 * 8) + j_2)] = (C_local_ptr[((i_2 * 8) + j_2)] + (A_ptr[((((((int)blockIdx.y) * 65536) + (((int)threadIdx.y) * 8192)) + (i_2 * 1024)) + (k_0 * 4))] * B_ptr[((((k_0 * 4096) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 8)) + j_2)]));
      }
    }
    for (int i_2_1 = 0; i_2_1 < 8; ++i_2_1) {
      for (int j_2_1 = 0; j_2_1 < 8; ++j_2_1) {
        int cse_v6 = ((i_2_1 * 8) + j_2_1);
        C_local_ptr[((i_2_1 * 8) + j_2_1)] = (C_local_ptr[((i_2_1 * 8) + j_2_1)] + (A_ptr[(((((((int)blockIdx.y) * 65536) + (((int)threadIdx.y) * 8192)) + (i_2_1 * 1024)) + (k_0 * 4)) + 1)] * B_ptr[(((((k_0 * 4096) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 8)) + j_2_1) + 1024)]));
      }
    }
    for (int i_2_2 = 0; i_2_2 < 8; ++i_2_2) {
      for (int j_2_2 = 0; j_2_2 < 8; ++j_2_2) {
        int cse_v7 = ((i_2_2 * 8) + j_2_2);
        C_local_ptr[((i_2_2 * 8) + j_2_2)] = (C_local_ptr[((i_2_2 * 8) + j_2_2)] + (A_ptr[(((((((int)blockIdx.y) * 65536) + (((int)threadIdx.y) * 8192)) + (i_2_2 * 1024)) + (k_0 * 4)) + 2)] * B_ptr[(((((k_0 * 4096) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 8)) + j_2_2) + 2048)]));
      }
    }
    for (int i_2_3 = 0; i_2_3 < 8; ++i_2_3) {
      for (int j_2_3 = 0; j_2_3 < 8; ++j_2_3) {
        int cse_v8 = ((i_2_3 * 8) + j_2_3);
        C_local_ptr[((i_2_3 * 8) + j_2_3)] = (C_local_ptr[((i_2_3 * 8) + j_2_3)] + (A_ptr[(((((((int)blockIdx.y) * 65536) + (((int)threadIdx.y) * 8192)) + (i_2_3 * 1024)) + (k_0 * 4)) + 3)] * B_ptr[(((((k_0 * 4096) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 8)) + j_2_3) + 3072)]));
      }
    }
  }
  for (int ax0 = 0; ax0 < 8; ++ax0) {
    for (int ax1 = 0; ax1 < 8; ++ax1) {
      C_ptr[((((((((int)blockIdx.y) * 65536) + (((int)threadIdx.y) * 8192)) + (ax0 * 1024)) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 8)) + ax1)] = C_local_ptr[((ax0 * 8) + ax1)];
    }
  }
}
