// Lets g++ compile the text of a Metal kernel, with the means of cuda_on_cpu.h.
#pragma once
#include "cuda_on_cpu.h"

#include <cmath>

typedef unsigned char uchar;
typedef Place uint3;
typedef __nv_bfloat16 bfloat;
#define VECTOR(type) \
  struct __align__(2 * sizeof(type)) type##2 { type x, y; }; \
  struct __align__(4 * sizeof(type)) type##4 { type x, y, z, w; };
VECTOR(bool) VECTOR(long) VECTOR(ulong) VECTOR(half) VECTOR(bfloat)
#undef VECTOR

template <typename T, typename From> T as_type(From value) {
  static_assert(sizeof(T) == sizeof(From), "as many bits");
  T made;
  memcpy((void*)&made, &value, sizeof made);
  return made;
}

using std::abs;
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline long min(long a, long b) { return b < a ? b : a; }
inline long max(long a, long b) { return a < b ? b : a; }
inline ulong min(ulong a, ulong b) { return b < a ? b : a; }
inline ulong max(ulong a, ulong b) { return a < b ? b : a; }
inline float rsqrt(float x) { return rsqrtf(x); }

// Metal names no mask: the threads that differ in this bit, or lower ones, have to come.
template <typename T> T simd_shuffle_xor(T value, unsigned bit) {
  unsigned lane = ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % 32;
  unsigned width = 2 * bit;
  unsigned mask = width == 32 ? 0xffffffffu : ((1u << width) - 1u) << (lane / width * width);
  return __shfl_xor_sync(mask, value, bit);
}

namespace mem_flags {
enum { mem_device = 1, mem_threadgroup = 2 };
}
inline void threadgroup_barrier(int) { __syncthreads(); }

#define kernel static
