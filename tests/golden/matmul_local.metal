#include <metal_stdlib>
using namespace metal;

// launch: grid (4, 4, 1), block (4, 4, 1)
kernel void main_kernel(
    device const float* A [[buffer(0)]],
    device const float* B [[buffer(1)]],
    device float* C [[buffer(2)]],
    uint3 blockIdx [[threadgroup_position_in_grid]],
    uint3 threadIdx [[thread_position_in_threadgroup]]) {
  float C_local[16];
  int j_0 = blockIdx.x;  // 0 .. 3
  int i_0 = blockIdx.y;  // 0 .. 3
  int j_1 = threadIdx.x;  // 0 .. 3
  int i_1 = threadIdx.y;  // 0 .. 3
  #pragma unroll
  for (int i_2_init = 0; i_2_init < 4; ++i_2_init) {
    #pragma unroll
    for (int j_2_init = 0; j_2_init < 4; ++j_2_init) {
      C_local[i_2_init * 4 + j_2_init] = 0.0f;
    }
  }
  for (int k_0 = 0; k_0 < 8; ++k_0) {
    #pragma unroll
    for (int k_1 = 0; k_1 < 8; ++k_1) {
      float A_kept[4];
      float B_kept[4];
      #pragma unroll
      for (int i_2 = 0; i_2 < 4; ++i_2) {
        A_kept[i_2] = A[i_0 * 1024 + i_1 * 256 + i_2 * 64 + k_0 * 8 + k_1];
      }
      #pragma unroll
      for (int j_2 = 0; j_2 < 4; ++j_2) {
        B_kept[j_2] = B[k_0 * 512 + k_1 * 64 + j_0 * 16 + j_1 * 4 + j_2];
      }
      #pragma unroll
      for (int i_2 = 0; i_2 < 4; ++i_2) {
        #pragma unroll
        for (int j_2 = 0; j_2 < 4; ++j_2) {
          C_local[i_2 * 4 + j_2] = C_local[i_2 * 4 + j_2] + A_kept[i_2] * B_kept[j_2];
        }
      }
    }
  }
  #pragma unroll
  for (int ax0 = 0; ax0 < 4; ++ax0) {
    #pragma unroll
    for (int ax1 = 0; ax1 < 4; ++ax1) {
      C[i_0 * 1024 + i_1 * 256 + ax0 * 64 + j_0 * 16 + j_1 * 4 + ax1] = C_local[ax0 * 4 + ax1];
    }
  }
}
