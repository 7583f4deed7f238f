// Lets g++ compile the text of a CUDA kernel: CUDA's words, types and functions, on the CPU.
// One block runs at a time; cuda_on_cpu.cpp runs its threads, as fibers where they meet at barriers.
#pragma once
#include <cstdint>
#include <cstring>
#include <math.h>
#include <stdlib.h>

struct Place {
  unsigned x, y, z;
};
extern Place blockIdx, threadIdx, blockDim;
void __syncthreads();
// Leaves up to 16 bytes with the threads of `mask`, and waits for all of them; then they can be
// asked for what they left, each by its number in the warp.
unsigned lane();
void leave(unsigned mask, const void* value, unsigned bytes);
const void* left_by(unsigned mask, unsigned other);
template <typename T> T __shfl_xor_sync(unsigned mask, T value, int bit) {
  T other;
  leave(mask, &value, sizeof value);
  memcpy(&other, left_by(mask, lane() ^ bit), sizeof other);
  return other;
}

// Copies are made when the thread waits for their group; until then nobody knows what is there.
void begin_copy(void* to, const void* from, unsigned bytes, bool read);
void commit_copies();
void wait_for_copies(unsigned count);
#define CP_ASYNC(bytes)                                                                        \
  inline void cp_async_##bytes(void* to, const void* from) { begin_copy(to, from, bytes, true); } \
  inline void cp_async_##bytes##_or_0(void* to, const void* from, bool read) {                    \
    begin_copy(to, from, bytes, read);                                                         \
  }
CP_ASYNC(4) CP_ASYNC(8) CP_ASYNC(16)
#undef CP_ASYNC
inline void cp_async_commit_group() { commit_copies(); }
template <int count> void cp_async_wait_group() { wait_for_copies(count); }

#define __global__ static
#define __device__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))
// All shared arrays lie together, so that a block finds them filled with what nobody wrote.
#define __shared__ static __attribute__((section("block_shared")))

#define VECTOR(type, name)                                  \
  struct __align__(2 * sizeof(type)) name##2 { type x, y; }; \
  struct __align__(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)) name##4 { type x, y, z, w; };
VECTOR(signed char, char) VECTOR(unsigned char, uchar) VECTOR(short, short)
VECTOR(unsigned short, ushort) VECTOR(int, int) VECTOR(unsigned, uint)
VECTOR(long long, longlong) VECTOR(unsigned long long, ulonglong)
VECTOR(float, float) VECTOR(double, double)
#undef VECTOR

inline float2 make_float2(float x, float y) { return {x, y}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline float __int_as_float(unsigned bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
inline double __longlong_as_double(unsigned long long bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
#define EXTREMES(type)                                        \
  inline type min(type a, type b) { return b < a ? b : a; } \
  inline type max(type a, type b) { return a < b ? b : a; }
EXTREMES(int) EXTREMES(unsigned) EXTREMES(long long) EXTREMES(unsigned long long)
#undef EXTREMES

// A 16-bit float: every operation is done in float and rounded, as the GPU's are.
template <typename Bits> struct Narrow {
  Bits bits;
  Narrow() = default;
  Narrow(float value) : bits(Bits::of(value)) {}
  Narrow(double value) : bits(Bits::of(value)) {}
  Narrow(int value) : Narrow((float)value) {}
  operator float() const { return bits.value(); }
};
#define OPERATOR(op)                                                 \
  template <typename B> Narrow<B> operator op(Narrow<B> a, Narrow<B> b) { \
    return Narrow<B>((float)a op (float)b);                          \
  }
OPERATOR(+) OPERATOR(-) OPERATOR(*) OPERATOR(/)
#undef OPERATOR
#define COMPARISON(op)                                          \
  template <typename B> bool operator op(Narrow<B> a, Narrow<B> b) { \
    return (float)a op (float)b;                                \
  }
COMPARISON(<) COMPARISON(<=) COMPARISON(>) COMPARISON(>=) COMPARISON(==) COMPARISON(!=)
#undef COMPARISON

struct HalfBits {
  _Float16 stored;
  static HalfBits of(float value) { return {(_Float16)value}; }
  static HalfBits of(double value) { return {(_Float16)value}; }
  float value() const { return (float)stored; }
};
struct BrainBits {
  uint16_t stored;
  static BrainBits of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return {0x7fff};
    return {(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
  }
  static BrainBits of(double value) { return of((float)value); }
  float value() const { return __int_as_float((uint32_t)stored << 16); }
};
using half = Narrow<HalfBits>;
using __nv_bfloat16 = Narrow<BrainBits>;

// Calls of a warp: each thread has all of a tile, and does what all do together. Its registers
// hold the number of the tile; what nothing was loaded into holds none.
double* tile_in(const void* registers);  // refused where it holds none
double* new_tile_in(void* registers);
void check_tile(const void* shared, unsigned row_bytes);
template <typename Cell> void load_tile(void* to, const Cell* from, int stride, bool turned) {
  double* tile = new_tile_in(to);
  for (int k = 0; k < 256; ++k)
    tile[turned ? k % 16 * 16 + k / 16 : k] = from[k / 16 * stride + k % 16];
}
template <typename Cell> void load_shared(void* to, const Cell* from, int stride, bool turned) {
  check_tile(from, stride * sizeof(Cell));
  load_tile(to, from, stride, turned);
}
template <typename Cell> void store_tile(Cell* to, const void* from, int stride) {
  const double* tile = tile_in(from);
  for (int k = 0; k < 256; ++k) to[k / 16 * stride + k % 16] = tile[k];
}
template <typename Cell, typename Sum> void add_product(void* sum, const void* a, const void* b) {
  double *made = tile_in(sum), *left = tile_in(a), *right = tile_in(b);
  for (int k = 0; k < 256; ++k) {
    Sum total = made[k];
    for (int t = 0; t < 16; ++t)
      total = total + Sum(Cell(left[k / 16 * 16 + t])) * Sum(Cell(right[t * 16 + k % 16]));
    made[k] = total;
  }
}
template <typename Cell> void fill_tile(void* to, Cell value) {
  double* tile = new_tile_in(to);
  for (int k = 0; k < 256; ++k) tile[k] = value;
}
#define LOADS(suffix, Cell)                                                                        \
  inline void wmma_load_a_row##suffix(unsigned* to, const Cell* from, int n) {                     \
    load_shared(to, from, n, false);                                                               \
  }                                                                                                \
  inline void wmma_load_b_row##suffix(unsigned* to, const Cell* from, int n) {                     \
    load_shared(to, from, n, false);                                                               \
  }                                                                                                \
  inline void wmma_load_b_col##suffix(unsigned* to, const Cell* from, int n) {                     \
    load_shared(to, from, n, true);                                                                \
  }
LOADS(, half) LOADS(_bf16, __nv_bfloat16) LOADS(_i8, signed char)
#undef LOADS
#define PRODUCT(name, Cell, Sum, Register)                                         \
  inline void wmma_mma_##name(Register* s, const unsigned* a, const unsigned* b) { \
    add_product<Cell, Sum>(s, a, b);                                               \
  }
PRODUCT(f16_row, half, half, unsigned) PRODUCT(f16_col, half, half, unsigned)
PRODUCT(f32_row, half, float, float) PRODUCT(f32_col, half, float, float)
PRODUCT(f32_row_bf16, __nv_bfloat16, float, float) PRODUCT(f32_col_bf16, __nv_bfloat16, float, float)
PRODUCT(i32_row_i8, signed char, int, int) PRODUCT(i32_col_i8, signed char, int, int)
#undef PRODUCT
#define FRAGMENTS(short, Cell, Register)                                                       \
  inline void wmma_fill_##short(Register* to, Cell value) { fill_tile(to, value); }            \
  inline void wmma_load_c_##short##_shared(Register* to, const Cell* from, int n) {            \
    load_shared(to, from, n, false);                                                           \
  }                                                                                            \
  inline void wmma_load_c_##short##_global(Register* to, const Cell* from, int n) {            \
    load_tile(to, from, n, false);                                                             \
  }                                                                                            \
  inline void wmma_store_##short##_shared(Cell* to, const Register* from, int n) {             \
    check_tile(to, n * sizeof(Cell));                                                          \
    store_tile(to, from, n);                                                                   \
  }                                                                                            \
  inline void wmma_store_##short##_global(Cell* to, const Register* from, int n) {             \
    store_tile(to, from, n);                                                                   \
  }
FRAGMENTS(f16, half, unsigned) FRAGMENTS(f32, float, float) FRAGMENTS(i32, int, int)
#undef FRAGMENTS

// Calls that go by the threads of a warp, by PTX ISA: ldmatrix, and Matrix Fragments for
// mma.m16n8k16, each thread with its own registers.
const unsigned WARP_MASK = 0xffffffffu;
void check_row(const void* row);
template <bool turned> void load_matrices(unsigned* to, const void* row) {
  check_row(row);
  leave(WARP_MASK, &row, sizeof row);
  for (unsigned matrix = 0; matrix < 4; ++matrix)
    for (unsigned k = 0; k < 2; ++k) {
      unsigned line = lane() / 4, at = lane() % 4 * 2 + k;
      const uint16_t* given;
      memcpy(&given, left_by(WARP_MASK, matrix * 8 + (turned ? at : line)), sizeof given);
      ((uint16_t*)to)[matrix * 2 + k] = given[turned ? line : at];
    }
}
inline void ldmatrix_x4(void* to, const void* row) { load_matrices<false>((unsigned*)to, row); }
inline void ldmatrix_x4_trans(void* to, const void* row) { load_matrices<true>((unsigned*)to, row); }
// A float rounded to the 10 bits behind the point of TF32, the nearest, ties away from zero.
struct Tf32 {
  unsigned bits;
  operator float() const { return __int_as_float((bits + 0x1000) & 0xffffe000u); }
};
// Two products of 16 x 8, one behind the other: of halves with 16 terms, of bytes with 32.
template <typename Cell, typename Sum>
void add_products(void* sum, const unsigned* a, const unsigned* b) {
  const unsigned packed = 4 / sizeof(Cell), *held[2] = {a, b};
  leave(WARP_MASK, held, sizeof held);
  Sum made[8];
  for (unsigned part = 0; part < 2; ++part)
    for (unsigned c = 0; c < 4; ++c) {
      unsigned group = lane() >> 2, row = c < 2 ? group : group + 8, column = lane() % 4 * 2 + c % 2;
      Sum total = ((Sum*)sum)[part * 4 + c];
      for (unsigned k = 0; k < 8 * packed; ++k) {
        const unsigned *left[2], *right[2], half = k / (4 * packed), at = k % (4 * packed) / packed;
        memcpy(left, left_by(WARP_MASK, row % 8 * 4 + at), sizeof left);
        memcpy(right, left_by(WARP_MASK, column * 4 + at), sizeof right);
        total = total + Sum(((const Cell*)&left[0][row / 8 + 2 * half])[k % packed]) *
                            Sum(((const Cell*)&right[1][part * 2 + half])[k % packed]);
      }
      made[part * 4 + c] = total;
    }
  leave(WARP_MASK, held, sizeof held);  // nobody changes registers that others still read
  memcpy(sum, made, sizeof made);
}
#define PRODUCTS(name, Cell, Sum, Register)                                        \
  inline void mma_##name(Register* s, const unsigned* a, const unsigned* b) { \
    add_products<Cell, Sum>(s, a, b);                                              \
  }
PRODUCTS(f16f16f32, half, float, float) PRODUCTS(f16f16f16, half, half, unsigned)
PRODUCTS(bf16bf16f32, __nv_bfloat16, float, float) PRODUCTS(i8i8i32, signed char, int, int)
#undef PRODUCTS
inline void mma_tf32tf32f32(float* s, const float* a, const float* b) {
  add_products<Tf32, float>(s, (const unsigned*)a, (const unsigned*)b);
}

// What the generated part says about each program: its launches, one after the other.
struct Launch {
  unsigned grid[3], block[3];
  bool barriers;
  void (*call)(void** arrays);
};
struct Program {
  int arrays;
  int launches;
  const Launch* launch;
};
extern const Program programs[];

// The type of a kernel's parameter, so that the generated calls need not repeat it.
template <int N, typename First, typename... Rest> struct Nth {
  using type = typename Nth<N - 1, Rest...>::type;
};
template <typename First, typename... Rest> struct Nth<0, First, Rest...> {
  using type = First;
};
template <int N, typename... Args> typename Nth<N, Args...>::type argument(void (*)(Args...));
