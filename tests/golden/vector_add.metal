#include <metal_stdlib>
using namespace metal;

// launch: grid (8, 1, 1), block (128, 1, 1)
kernel void main_kernel(
    device const float* A [[buffer(0)]],
    device const float* B [[buffer(1)]],
    device float* C [[buffer(2)]],
    uint3 blockIdx [[threadgroup_position_in_grid]],
    uint3 threadIdx [[thread_position_in_threadgroup]]) {
  int i_0 = blockIdx.x;  // 0 .. 7
  int i_1 = threadIdx.x;  // 0 .. 127
  C[i_0 * 128 + i_1] = A[i_0 * 128 + i_1] + B[i_0 * 128 + i_1];
}
