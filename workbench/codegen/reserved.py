"""What no variable may be called, by language: keywords, what is built in, what headers define."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# C++20, [lex.key] and [lex.digraph], of which older standards have a part; the names with a special
# meaning of [lex.name]; what GNU C++ adds; two names that a program may not define.
CPP_WORDS = _words("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires return
    short signed sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    xor xor_eq final import module override typeof main std
""")

# What the headers of C define (ISO C++20: [cmath.syn], [cfloat.syn], [climits.syn], [cstdint.syn],
# [cstdio.syn], [cstdlib.syn], [cstddef.syn], [cerrno.syn], [cassert.syn]; POSIX.1-2017, 2.2.2), and
# glibc and GNU C++ besides. A test holds this against the macros of g++ and nvcc.
_C_MACROS = r"""
    (?:FLT|DBL|LDBL|DEC|FP|FE|HUGE_VAL|EXIT|SEEK|MATH|CLOCK|ADJ|MOD|STA|BC|NL|XATTR|PTHREAD|RENAME)
        _[A-Z0-9_]+
    | [A-Z][A-Z0-9_]*_(?:MAX|MIN|WIDTH|BIT|DIG|ENDIAN|C)
    | M_(?:E|LOG2E|LOG10E|LN2|LN10|PI(?:_[24])?|[12]_PI|2_SQRTPI|SQRT2|SQRT1_2)(?:_?[fFlH]\w*)?
    | HUGE_VAL[FL]? | INFINITY | NAN | SNAN\w* | MAXFLOAT | NULL | EOF | BUFSIZ | BYTE_ORDER
    | CLOCKS_PER_SEC | PTHREAD_\w+ | FD_\w+ | NFDBITS | NZERO | PIPE_BUF | TIMER_ABSTIME | TIME_UTC
    | MAX_CANON | MAX_INPUT | MB_CUR_MAX | L_ctermid | L_cuserid | L_tmpnam | P_tmpdir | W[A-Z]{6,}
    | assert | assert_perror | errno | math_errhandling | issubnormal | stdin | stdout | stderr
    | offsetof | alloca | strn?dupa | is[a-z]+_l | isascii | toascii | toascii_l
    | [bl]e\d\dtoh | hto[bl]e\d\d | linux | unix | i386 | NDEBUG
"""

# CUDA C++ Programming Guide 13: "Built-in Variables", "Built-in Vector Types"; the types of
# cuda_fp16.h and cuda_bf16.h. What begins with two underscores is never a name of ours.
CUDA_WORDS = (
    CPP_WORDS
    | _words("threadIdx blockIdx blockDim gridDim warpSize dim3 uchar ushort uint ulong half half2")
    | _words("nv_half nv_half2 nv_bfloat16 nv_bfloat162")
    | {
        f"{sign}{kind}{lanes}"
        for kind in ("char", "short", "int", "long", "longlong", "float", "double")
        for sign in ("", "u")
        for lanes in (1, 2, 3, 4)
    }
)
# The headers that nvcc includes by itself, cuda_fp16.h and cuda_bf16.h of CUDA 13.
CUDA_MACROS = re.compile(
    rf"{_C_MACROS} | cuda[A-Z]\w* | CUDA\w* | CU_\w+ | (?:NV|IF)_[A-Z]\w*", re.VERBOSE
)

# Metal Shading Language Specification 3.2: the types of chapter 2, the attributes of functions of
# section 5.1, the address spaces of chapter 4; its C++ is C++14 (section 1.5).
_SCALARS = _words("bool char uchar short ushort int uint long ulong half bfloat float")
METAL_WORDS = (
    CPP_WORDS
    | _SCALARS
    | {f"{kind}{lanes}" for kind in _SCALARS for lanes in (2, 3, 4)}
    | {f"packed_{kind}{lanes}" for kind in _SCALARS for lanes in (2, 3, 4)}
    | {f"{kind}{n}x{m}" for kind in ("half", "float") for n in (2, 3, 4) for m in (2, 3, 4)}
    | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    | _words("kernel vertex fragment visible stitchable intersection mesh object metal simd access")
    | _words("device constant thread threadgroup threadgroup_imageblock ray_data object_data")
    | _words("size_t ptrdiff_t sampler as_type")
    | _words("simdgroup_load simdgroup_store simdgroup_multiply_accumulate")
    | _words("make_filled_simdgroup_matrix simdgroup_matrix")
    | {f"simdgroup_{kind}8x8" for kind in ("half", "float", "bfloat")}
)
# The constants of chapters 6.5 (mathematics) and 7 (limits), which are C's with a suffix.
METAL_MACROS = re.compile(rf"{_C_MACROS} | (?:HALF|BFLT|METAL)_\w+", re.VERBOSE)

# The OpenCL C Specification 3.0, 6.1.9 "Keywords": C99's, the types of 6.3, the qualifiers of 6.7,
# 6.8 and 6.6; C++'s, too, since C++ for OpenCL takes the same text.
_NUMBERS = _words("bool char uchar short ushort int uint long ulong half float double quad")
OPENCL_WORDS = (
    CPP_WORDS
    | _NUMBERS
    | {f"{kind}{lanes}" for kind in _NUMBERS for lanes in (2, 3, 4, 8, 16)}
    | {f"{kind}{n}x{m}" for kind in ("float", "double") for n in (2, 3, 4, 8, 16)
       for m in (2, 3, 4, 8, 16)}
    | {f"image{kind}_t" for kind in _words("1d 1d_array 1d_buffer 2d 2d_array 2d_depth 3d")}
    | _words("restrict complex imaginary size_t ptrdiff_t intptr_t uintptr_t sampler_t event_t")
    | _words("queue_t ndrange_t clk_event_t reserve_id_t cl_mem_fence_flags memory_order")
    | _words("memory_scope kernel global local constant private generic uniform pipe read_only")
    | _words("write_only read_write vec_step printf")
)  # fmt: skip
# The macros of chapters 6.13 (preprocessor directives) and 6.15 (functions), and of extensions.
OPENCL_MACROS = re.compile(
    rf"{_C_MACROS} | (?:CL|CLK|HALF|ATOMIC|OPENCL|cl|kernel)_\w+", re.VERBOSE
)

# C17, 6.4.1 "Keywords", the types of <stdint.h> and <stddef.h>; C++'s, too, as ever.
C_WORDS = CPP_WORDS | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
C_WORDS |= _words("restrict size_t ptrdiff_t intptr_t uintptr_t float16 bfloat16 half bits")
C_MACROS = re.compile(_C_MACROS, re.VERBOSE)
