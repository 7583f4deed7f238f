// launch: grid (2, 1, 1), block (4, 1, 1)
__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void main_kernel(
    __global const float* restrict A,
    __global const float* restrict B,
    __global float* restrict C) {
  int i_0 = get_group_id(0);  // 0 .. 1
  int i_1 = get_local_id(0);  // 0 .. 3
  C[i_0 * 4 + i_1] = A[i_0 * 4 + i_1] + B[i_0 * 4 + i_1];
}
