// launch: grid (4, 4, 1), block (4, 4, 1)
__kernel __attribute__((reqd_work_group_size(4, 4, 1)))
void main_kernel(
    __global const float* restrict A,
    __global const float* restrict B,
    __global float* restrict C) {
  float C_local[16];
  int j_0 = get_group_id(0);  // 0 .. 3
  int i_0 = get_group_id(1);  // 0 .. 3
  int j_1 = get_local_id(0);  // 0 .. 3
  int i_1 = get_local_id(1);  // 0 .. 3
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
