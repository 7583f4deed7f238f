#include <metal_stdlib>
using namespace metal;

// launch: grid (8, 1, 1), block (128, 1, 1)
kernel void main_kernel(
    device const float* A [[buffer(0)]],
    device float* B [[buffer(1)]],
    uint3 blockIdx [[threadgroup_position_in_grid]],
    uint3 threadIdx [[thread_position_in_threadgroup]]) {
  threadgroup float A_shared[130];
  int i_0 = blockIdx.x;  // 0 .. 7
  int i_1 = threadIdx.x;  // 0 .. 127
  for (int ax0 = 0; ax0 < 130; ++ax0) {
    A_shared[ax0] = A[i_0 * 128 + ax0];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  B[i_0 * 128 + i_1] = A_shared[i_1] + A_shared[i_1 + 1] + A_shared[i_1 + 2];
}
