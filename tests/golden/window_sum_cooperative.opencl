// launch: grid (8, 1, 1), block (128, 1, 1)
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void main_kernel(__global const float* restrict A, __global float* restrict B) {
  __local float A_shared[130];
  int i_0 = get_group_id(0);  // 0 .. 7
  int i_1 = get_local_id(0);  // 0 .. 127
  for (int ax0_0 = 0; ax0_0 < 2; ++ax0_0) {
    if (ax0_0 * 128 + i_1 < 130) {
      A_shared[ax0_0 * 128 + i_1] = A[i_0 * 128 + ax0_0 * 128 + i_1];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  B[i_0 * 128 + i_1] = A_shared[i_1] + A_shared[i_1 + 1] + A_shared[i_1 + 2];
}
