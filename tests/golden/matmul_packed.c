#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) void main_kernel_0(const float* restrict B, float* restrict packedB, int n) {
  for (int k = 0; k < 64; ++k) {
    #pragma omp simd
    for (int lane = 0; lane < 16; ++lane) {
      packedB[n * 1024 + k * 16 + lane] = B[k * 64 + n * 16 + lane];
    }
  }
}

static __attribute__((noinline)) void main_kernel_1(const float* restrict A, float* restrict C, float* restrict packedB, int ax0_0) {
  float C_global[256];
  for (int ax1_0 = 0; ax1_0 < 4; ++ax1_0) {
    for (int ax0_init = 0; ax0_init < 16; ++ax0_init) {
      #pragma omp simd
      for (int ax1_init = 0; ax1_init < 16; ++ax1_init) {
        C_global[ax0_init * 16 + ax1_init] = 0.0f;
      }
    }
    for (int ax2_0 = 0; ax2_0 < 16; ++ax2_0) {
      for (int ax0 = 0; ax0 < 16; ++ax0) {
        #pragma omp simd
        for (int ax1 = 0; ax1 < 16; ++ax1) {
          C_global[ax0 * 16 + ax1] =
              C_global[ax0 * 16 + ax1]
              + A[ax0_0 * 1024 + ax0 * 64 + ax2_0 * 4] * packedB[ax1_0 * 1024 + ax2_0 * 64 + ax1];
          C_global[ax0 * 16 + ax1] =
              C_global[ax0 * 16 + ax1]
              + A[ax0_0 * 1024 + ax0 * 64 + ax2_0 * 4 + 1] * packedB[ax1_0 * 1024 + ax2_0 * 64 + ax1 + 16];
          C_global[ax0 * 16 + ax1] =
              C_global[ax0 * 16 + ax1]
              + A[ax0_0 * 1024 + ax0 * 64 + ax2_0 * 4 + 2] * packedB[ax1_0 * 1024 + ax2_0 * 64 + ax1 + 32];
          C_global[ax0 * 16 + ax1] =
              C_global[ax0 * 16 + ax1]
              + A[ax0_0 * 1024 + ax0 * 64 + ax2_0 * 4 + 3] * packedB[ax1_0 * 1024 + ax2_0 * 64 + ax1 + 48];
        }
      }
    }
    for (int ax0_1 = 0; ax0_1 < 16; ++ax0_1) {
      #pragma omp simd
      for (int ax1_1 = 0; ax1_1 < 16; ++ax1_1) {
        C[ax0_0 * 1024 + ax0_1 * 64 + ax1_0 * 16 + ax1_1] = C_global[ax0_1 * 16 + ax1_1];
      }
    }
  }
}

void main_kernel(const float* restrict A, const float* restrict B, float* restrict C) {
  float packedB[4096];
  #pragma omp parallel for
  for (int n = 0; n < 4; ++n) {
    main_kernel_0(B, packedB, n);
  }
  #pragma omp parallel for
  for (int ax0_0 = 0; ax0_0 < 4; ++ax0_0) {
    main_kernel_1(A, C, packedB, ax0_0);
  }
}
