"""What C has no word for, as functions in C: choices, saturation, 16-bit floats, large arrays."""

from workbench.codegen.language import HELPERS
from workbench.ir import dtypes

# A NaN loses against a number, as in fmin and fmax, which compilers do not make vectors of.
_CHOICE = """{{function}}{{type}} {{name}}({{type}} a, {{type}} b) {{{{
  return a {sign} b || b != b ? a : b;
}}}}"""
_ABSOLUTE = """{function}{type} {name}({type} a) {{
  return a < 0 ? ({type})(0 - (unsigned long long)a) : a;  // the least has no positive one
}}"""
# The least number by -1 is itself, as all arithmetic wraps around; a processor would stop there.
_BY_MINUS_1 = {
    "floordiv": "  if (b == -1) return ({type})(0 - (unsigned long long)a);\n",
    "floormod": "  if (b == -1) return 0;\n",
}
# To the nearest of the type, NaN to 0, as a GPU converts; a cast of C's own may do anything there.
_SATURATING = """{{function}}{{type}} {{name}}(double value) {{{{
  if (value >= {high}.0) return {last};
  if (value <= {low}.0) return {first};
  return value == value ? ({{type}})value : 0;
}}}}"""
# Too large for a stack; without memory for it there is nothing to go on with. It begins at a line
# of the cache, and so does each row of vectors in it.
_SCRATCH = """{function}void* {name}(size_t bytes) {{
  char* memory = malloc(bytes + 64);
  if (memory == NULL) {{
    fprintf(stderr, "no memory for an array of %zu bytes\\n", bytes);
    abort();
  }}
  size_t over = 64 - (uintptr_t)memory % 64;
  memory[over - 1] = (char)over;
  return memory + over;
}}"""
_GIVE_BACK = """{function}void {name}(void* array) {{
  char* memory = array;
  free(memory - memory[-1]);
}}"""


def _saturating(dtype: str) -> str:
    low, high = dtypes.limits(dtype)
    suffix = "ULL" if dtype == "uint64" else "LL"
    first = f"{low}{suffix}" if low > -(2**63) else f"{low + 1}LL - 1"
    return _SATURATING.format(high=high, low=low, last=f"{high}{suffix}", first=first)


def _first(text: str, line: str) -> str:
    """The function `text` with `line` ahead of what it does."""
    head, body = text.split("\n", 1)
    return f"{head}\n{line}{body}"


C_HELPERS = HELPERS | {
    **{name: _first(HELPERS[name], line) for name, line in _BY_MINUS_1.items()},
    "min": _CHOICE.format(sign="<"),
    "max": _CHOICE.format(sign=">"),
    "absolute": _ABSOLUTE,
    "scratch": _SCRATCH,
    "give_back": _GIVE_BACK,
    **{f"to_{t}": _saturating(t) for t in dtypes.BITS if dtypes.is_int(t)},
}

C_HEADERS = """#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>"""

# IEEE binary16 where the compiler has it, else by its bits; arithmetic is that of float, rounded.
FLOAT16 = """typedef uint16_t float16;

static inline float16 float16_of_double(double value) {
  double size = fabs(value);
  unsigned sign = signbit(value) ? 0x8000u : 0u;
  int exponent;
  if (value != value) return 0x7e00u;
  if (size >= 65520.0) return (float16)(sign | 0x7c00u);
  if (size < 0x1p-14) return (float16)(sign | (unsigned)rint(size * 0x1p24));
  double part = frexp(size, &exponent);
  return (float16)(sign | (((unsigned)(exponent + 13) << 10) + (unsigned)rint(part * 2048.0)));
}

static inline float16 float16_of(float value) {
#ifdef __FLT16_MAX__
  _Float16 half = (_Float16)value;
  float16 bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
#else
  return float16_of_double(value);
#endif
}

static inline float of_float16(float16 bits) {
#ifdef __FLT16_MAX__
  _Float16 half;
  memcpy(&half, &bits, sizeof half);
  return (float)half;
#else
  int exponent = bits >> 10 & 31, digits = bits & 1023;
  float size = exponent == 31 ? (digits ? NAN : INFINITY)
      : exponent ? ldexpf((float)(digits + 1024), exponent - 25) : ldexpf((float)digits, -24);
  return bits >> 15 ? -size : size;
#endif
}"""

# The upper half of a float, rounded to even.
BFLOAT16 = """typedef uint16_t bfloat16;

static inline bfloat16 bfloat16_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return (bfloat16)(bits >> 16 | 64);
  return (bfloat16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float of_bfloat16(bfloat16 upper) {
  uint32_t bits = (uint32_t)upper << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}"""
