#include <metal_stdlib>
using namespace metal;

// launch: grid (4, 4, 1), block (16, 1, 1)
kernel void main_kernel(
    device const float* A [[buffer(0)]],
    device const float* B [[buffer(1)]],
    device float* C [[buffer(2)]],
    uint3 blockIdx [[threadgroup_position_in_grid]],
    uint3 threadIdx [[thread_position_in_threadgroup]]) {
  float C_local[16];
  alignas(16) threadgroup float A_shared[128];
  alignas(16) threadgroup float B_shared[128];
  int j_0 = blockIdx.x;  // 0 .. 3
  int i_0 = blockIdx.y;  // 0 .. 3
  int i_1_j_1_fused = threadIdx.x;  // 0 .. 15
  #pragma unroll
  for (int i_2_init = 0; i_2_init < 4; ++i_2_init) {
    #pragma unroll
    for (int j_2_init = 0; j_2_init < 4; ++j_2_init) {
      C_local[i_2_init * 4 + j_2_init] = 0.0f;
    }
  }
  for (int k_0 = 0; k_0 < 8; ++k_0) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int ax0_ax1_fused_0 = 0; ax0_ax1_fused_0 < 2; ++ax0_ax1_fused_0) {
      *(threadgroup float4*)&A_shared[ax0_ax1_fused_0 * 64 + i_1_j_1_fused * 4] =
          *(device const float4*)&A[i_0 * 1024 + ax0_ax1_fused_0 * 512 + i_1_j_1_fused / 2 * 64 + i_1_j_1_fused % 2 * 4 + k_0 * 8];
    }
    for (int ax0_ax1_fused_0 = 0; ax0_ax1_fused_0 < 2; ++ax0_ax1_fused_0) {
      *(threadgroup float4*)&B_shared[ax0_ax1_fused_0 * 64 + i_1_j_1_fused * 4] =
          *(device const float4*)&B[k_0 * 512 + ax0_ax1_fused_0 * 256 + i_1_j_1_fused / 4 * 64 + i_1_j_1_fused % 4 * 4 + j_0 * 16];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int k_1 = 0; k_1 < 8; ++k_1) {
      float A_shared_kept[4];
      float B_shared_kept[4];
      #pragma unroll
      for (int i_2 = 0; i_2 < 4; ++i_2) {
        A_shared_kept[i_2] = A_shared[i_1_j_1_fused / 4 * 32 + i_2 * 8 + k_1];
      }
      #pragma unroll
      for (int j_2 = 0; j_2 < 4; ++j_2) {
        B_shared_kept[j_2] = B_shared[k_1 * 16 + i_1_j_1_fused % 4 * 4 + j_2];
      }
      #pragma unroll
      for (int i_2 = 0; i_2 < 4; ++i_2) {
        #pragma unroll
        for (int j_2 = 0; j_2 < 4; ++j_2) {
          C_local[i_2 * 4 + j_2] = C_local[i_2 * 4 + j_2] + A_shared_kept[i_2] * B_shared_kept[j_2];
        }
      }
    }
  }
  #pragma unroll
  for (int ax0 = 0; ax0 < 4; ++ax0) {
    #pragma unroll
    for (int ax1 = 0; ax1 < 4; ++ax1) {
      C[i_0 * 1024 + i_1_j_1_fused / 4 * 256 + i_1_j_1_fused % 4 * 4 + ax0 * 64 + j_0 * 16 + ax1] =
          C_local[ax0 * 4 + ax1];
    }
  }
}
