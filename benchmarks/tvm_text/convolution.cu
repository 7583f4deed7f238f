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
extern "C" __global__ void __launch_bounds__(64) main_kernel(float* __restrict__ A_ptr, float* __restrict__ B_ptr, float* __restrict__ W_ptr);
extern "C" __global__ void __launch_bounds__(64) main_kernel(float* __restrict__ A_ptr, float* __restrict__ B_ptr, float* __restrict__ W_ptr) {
  alignas(64) float B_local_ptr[64];
  __shared__ alignas(64) float Apad_shared_ptr[512];
  __shared__ alignas(64) float W_shared_ptr[512];
  alignas(64) float Apad_shared_local_ptr[8];
  alignas(64) float W_shared_local_ptr[8];
  for (int ff_3_init = 0; ff_3_init < 4; ++ff_3_init) {
    for (int nn_3_init = 0; nn_3_init < 4; ++nn_3_init) {
      int cse_v9 = ((ff_3_init * 4) + nn_3_init);
      B_local_ptr[((ff_3_init * 4) + nn_3_init)] = 0x0p+0f/*0.000000e+00*/;
      B_local_ptr[(((ff_3_init * 4) + nn_3_init) + 32)] = 0x0p+0f/*0.000000e+00*/;
      B_local_ptr[(((ff_3_init * 4) + nn_3_init) + 16)] = 0x0p+0f/*0.000000e+00*/;
      B_local_ptr[(((ff_3_init * 4) + nn_3_init) + 48)] = 0x0p+0f/*0.000000e+00*/;
    }
  }
  int cse_v1 = (((int)blockIdx.x) * 64);
  int cse_v6 = (((int)threadIdx.x) * 4);
  for (int rc_0 = 0; rc_0 < 32; ++rc_0) {
    for (int ry = 0; ry < 3; ++ry) {
      for (int rx = 0; rx < 3; ++rx) {
        int cse_v2 = (((int)threadIdx.x) * 8);
        int cse_v12 = ((((int)threadIdx.y) * 64) + (((int)threadIdx.x) * 8));
        __syncthreads();
        for (int ax1_1 = 0; ax1_1 < 2; ++ax1_1) {
          int cse_v3 = (ax1_1 * 4);
          int cse_v10 = ((((int)blockIdx.z) / 14) + ry);
          int cse_v11 = (rx + (((int)blockIdx.z) % 14));
          float4 condval;
          if ((((1 <= ((((int)blockIdx.z) / 14) + ry)) && (((((int)blockIdx.z) / 14) + ry) < 15)) && (1 <= (rx + (((int)blockIdx.z) % 14)))) && ((rx + (((int)blockIdx.z) % 14)) < 15)) {
            condval = *(float4*)(A_ptr + (((((((((ry * 917504) + (((int)blockIdx.z) * 65536)) + (rx * 65536)) + (rc_0 * 2048)) + (((int)threadIdx.y) * 256)) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 8)) + (ax1_1 * 4)) - 983040));
          } else {
            condval = make_float4(0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/);
          }
          *(float4*)(Apad_shared_ptr + (((((int)threadIdx.y) * 64) + (((int)threadIdx.x) * 8)) + (ax1_1 * 4))) = condval;
        }
        for (int ax1_1_1 = 0; ax1_1_1 < 2; ++ax1_1_1) {
          int cse_v4 = (ax1_1_1 * 4);
          *(float4*)(W_shared_ptr + (((((int)threadIdx.y) * 64) + (((int)threadIdx.x) * 8)) + (ax1_1_1 * 4))) = *(float4*)(W_ptr + (((((((ry * 393216) + (rx * 131072)) + (rc_0 * 4096)) + (((int)threadIdx.y) * 512)) + (((int)blockIdx.y) * 64)) + (((int)threadIdx.x) * 8)) + (ax1_1_1 * 4)));
        }
        __syncthreads();
        for (int rc_1 = 0; rc_1 < 8; ++rc_1) {
          int cse_v5 = (rc_1 * 64);
          for (int ax0 = 0; ax0 < 4; ++ax0) {
            int cse_v15 = (((rc_1 * 64) + (((int)threadIdx.x) * 4)) + ax0);
            Apad_shared_local_ptr[ax0] = Apad_shared_ptr[(((rc_1 * 64) + (((int)threadIdx.x) * 4)) + ax0)];
            Apad_shared_local_ptr[(ax0 + 4)] = Apad_shared_ptr[((((rc_1 * 64) + (((int)threadIdx.x) * 4)) + ax0) + 32)];
          }
          for (int ax0_1 = 0; ax0_1 < 4; ++ax0_1) {
            int cse_v16 = (((rc_1 * 64) + (((int)threadIdx.y) * 4)) + ax0_1);
            W_shared_local_ptr[ax0_1] = W_shared_ptr[(((rc_1 * 64) + (((int)threadIdx.y) * 4)) + ax0_1)];
            W_shared_local_ptr[(ax0_1 + 4)] = W_shared_ptr[((((rc_1 * 64) + (((int)threadIdx.y) * 4)) + ax0_1) + 32)];
          }
          for (int ff_3 = 0; ff_3 < 4; ++ff_3) {
            for (int nn_3 = 0; nn_3 < 4; ++nn_3) {
              int cse_v13 = ((ff_3 * 4) + nn_3);
              B_local_ptr[((ff_3 * 4) + nn_3)] = (B_local_ptr[((ff_3 * 4) + nn_3)] + (Apad_shared_local_ptr[nn_3] * W_shared_local_ptr[ff_3]));
              int cse_v7 = (ff_3 + 4);
              int cse_v17 = (((ff_3 * 4) + nn_3) + 32);
              B_local_ptr[(((ff_3 * 4) + nn_3) + 32)] = (B_local_ptr[(((ff_3 * 4) + nn_3) + 32)] + (Apad_shared_local_ptr[nn_3] * W_shared_local_ptr[(ff_3 + 4)]));
              int cse_v8 = (nn_3 + 4);
              int cse_v18 = (((ff_3 * 4) + nn_3) + 16);
              B_local_ptr[(((ff_3 * 4) + nn_3) + 16)] = (B_local_ptr[(((ff_3 * 4) + nn_3) + 16)] + (Apad_shared_local_ptr[(nn_3 + 4)] * W_shared_local_ptr[ff_3]));
              int cse_v19 = (((ff_3 * 4) + nn_3) + 48);
              B_local_ptr[(((ff_3 * 4) + nn_3) + 48)] = (B_local_ptr[(((ff_3 * 4) + nn_3) + 48)] + (Apad_shared_local_ptr[(nn_3 + 4)] * W_shared_local_ptr[(ff_3 + 4)]));
            }
          }
        }
      }
    }
  }
  for (int ax0_2 = 0; ax0_2 < 4; ++ax0_2) {
    for (int ax1 = 0; ax1 < 4; ++ax1) {
      int cse_v14 = ((ax0_2 * 4) + ax1);
      int cse_v20 = (((((((((int)blockIdx.z) * 131072) + (((int)blockIdx.y) * 16384)) + (((int)threadIdx.y) * 1024)) + (ax0_2 * 256)) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 4)) + ax1);
      B_ptr[(((((((((int)blockIdx.z) * 131072) + (((int)blockIdx.y) * 16384)) + (((int)threadIdx.y) * 1024)) + (ax0_2 * 256)) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 4)) + ax1)] = B_local_ptr[((ax0_2 * 4) + ax1)];
      B_ptr[((((((((((int)blockIdx.z) * 131072) + (((int)blockIdx.y) * 16384)) + (((int)threadIdx.y) * 1024)) + (ax0_2 * 256)) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 4)) + ax1) + 8192)] = B_local_ptr[(((ax0_2 * 4) + ax1) + 32)];
      B_ptr[((((((((((int)blockIdx.z) * 131072) + (((int)blockIdx.y) * 16384)) + (((int)threadIdx.y) * 1024)) + (ax0_2 * 256)) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 4)) + ax1) + 32)] = B_local_ptr[(((ax0_2 * 4) + ax1) + 16)];
      B_ptr[((((((((((int)blockIdx.z) * 131072) + (((int)blockIdx.y) * 16384)) + (((int)threadIdx.y) * 1024)) + (ax0_2 * 256)) + (((int)blockIdx.x) * 64)) + (((int)threadIdx.x) * 4)) + ax1) + 8224)] = B_local_ptr[(((ax0_2 * 4) + ax1) + 48)];
    }
  }
}
