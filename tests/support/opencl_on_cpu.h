// Lets g++ compile the text of an OpenCL kernel, with the means of cuda_on_cpu.h.
#pragma once
#include "cuda_on_cpu.h"

#include <cmath>

typedef unsigned char uchar;
#define __kernel static
#define restrict __restrict
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
inline void barrier(int) { __syncthreads(); }
inline size_t place(Place at, int axis) { return axis == 0 ? at.x : axis == 1 ? at.y : at.z; }
inline size_t get_group_id(int axis) { return place(blockIdx, axis); }
inline size_t get_local_id(int axis) { return place(threadIdx, axis); }

// cuda_on_cpu.h has some of these with other members.
#define VECTOR(type)                                                                          \
  struct __align__(2 * sizeof(type)) cl_##type##2 { type s0, s1; };                           \
  struct __align__(4 * sizeof(type)) cl_##type##4 { type s0, s1, s2, s3; };                   \
  struct __align__(8 * sizeof(type)) cl_##type##8 { type s0, s1, s2, s3, s4, s5, s6, s7; };   \
  struct __align__(16 * sizeof(type)) cl_##type##16 {                                         \
    type s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sa, sb, sc, sd, se, sf;                      \
  };
VECTOR(char) VECTOR(uchar) VECTOR(short) VECTOR(ushort) VECTOR(int) VECTOR(uint) VECTOR(long)
VECTOR(ulong) VECTOR(half) VECTOR(float) VECTOR(double)
#undef VECTOR

#define AS(type)                                                \
  template <typename From> type as_##type(From value) {         \
    static_assert(sizeof(type) == sizeof(From), "as many bits"); \
    type made;                                                  \
    memcpy((void*)&made, &value, sizeof made);                  \
    return made;                                                \
  }
AS(ushort) AS(uint) AS(ulong) AS(half) AS(float) AS(double)
#undef AS

inline long min(long a, long b) { return b < a ? b : a; }
inline long max(long a, long b) { return a < b ? b : a; }
inline ulong min(ulong a, ulong b) { return b < a ? b : a; }
inline ulong max(ulong a, ulong b) { return a < b ? b : a; }
inline float rsqrt(float x) { return rsqrtf(x); }
