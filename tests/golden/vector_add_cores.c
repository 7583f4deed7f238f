#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) void main_kernel_0(const float* restrict A, const float* restrict B, float* restrict C, int i_0) {
  #pragma omp simd
  for (int i_1 = 0; i_1 < 64; ++i_1) {
    C[i_0 * 64 + i_1] = A[i_0 * 64 + i_1] + B[i_0 * 64 + i_1];
  }
}

void main_kernel(const float* restrict A, const float* restrict B, float* restrict C) {
  #pragma omp parallel for
  for (int i_0 = 0; i_0 < 16; ++i_0) {
    main_kernel_0(A, B, C, i_0);
  }
}
