// launch: grid (4, 4, 1), block (16, 1, 1)
__kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void main_kernel(
    __global const float* restrict A,
    __global const float* restrict B,
    __global float* restrict C) {
  float C_local[16];
  __local float A_shared[128] __attribute__((aligned(16)));
  __local float B_shared[128] __attribute__((aligned(16)));
  int j_0 = get_group_id(0);  // 0 .. 3
  int i_0 = get_group_id(1);  // 0 .. 3
  int i_1_j_1_fused = get_local_id(0);  // 0 .. 15
  #pragma unroll
  for (int i_2_init = 0; i_2_init < 4; ++i_2_init) {
    #pragma unroll
    for (int j_2_init = 0; j_2_init < 4; ++j_2_init) {
      C_local[i_2_init * 4 + j_2_init] = 0.0f;
    }
  }
  for (int k_0 = 0; k_0 < 8; ++k_0) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int ax0_ax1_fused_0 = 0; ax0_ax1_fused_0 < 2; ++ax0_ax1_fused_0) {
      *(__local float4*)&A_shared[ax0_ax1_fused_0 * 64 + i_1_j_1_fused * 4] =
          *(__global const float4*)&A[i_0 * 1024 + ax0_ax1_fused_0 * 512 + i_1_j_1_fused / 2 * 64 + i_1_j_1_fused % 2 * 4 + k_0 * 8];
    }
    for (int ax0_ax1_fused_0 = 0; ax0_ax1_fused_0 < 2; ++ax0_ax1_fused_0) {
      *(__local float4*)&B_shared[ax0_ax1_fused_0 * 64 + i_1_j_1_fused * 4] =
          *(__global const float4*)&B[k_0 * 512 + ax0_ax1_fused_0 * 256 + i_1_j_1_fused / 4 * 64 + i_1_j_1_fused % 4 * 4 + j_0 * 16];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
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
