"""CUDA C++ as a table."""

from workbench.codegen.cuda_helpers import CUDA_HELPERS
from workbench.codegen.language import FUNCTIONS, HELPERS, Language, bit_helpers, functions, vectors
from workbench.codegen.reserved import CUDA_MACROS, CUDA_WORDS

_NAMES = (*FUNCTIONS, "log1p", "erf", "nearbyint")
_PAIRS = ("pow", "atan2", "fmod", "hypot", "copysign")
_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
}

CUDA = Language(
    title="CUDA",
    types=_TYPES,
    vectors={
        **vectors("char", "int8", 2, 4) | vectors("uchar", "uint8", 2, 4),
        **vectors("short", "int16", 2, 4) | vectors("ushort", "uint16", 2, 4),
        **vectors("int", "int32", 2, 4) | vectors("uint", "uint32", 2, 4),
        **vectors("longlong", "int64", 2) | vectors("ulonglong", "uint64", 2),
        **vectors("float", "float32", 2, 4) | vectors("double", "float64", 2),
    },
    kernel='extern "C" __global__ void __launch_bounds__({threads})\n{name}({params})',
    param="{const}{type}* {restrict}{name}",
    scopes={
        "shared": "__shared__ {align}{type} {name}[{cells}];",
        "local": "{align}{type} {name}[{cells}];",
    },
    dynamic=(
        "extern __shared__ __align__({bytes}) unsigned char {whole}[];",
        "{type}* {name} = ({type}*)&{whole}[{place}];",
    ),
    aligned="__align__({bytes}) ",
    pointers={"global": "", "shared": "", "local": ""},
    barrier="__syncthreads();",
    barrier_global="__syncthreads();",
    shuffle="__shfl_xor_sync({mask}, {value}, {bit})",
    masks={32: "0xffffffffu", 0: "lane_mask({width}u)"},
    maths={
        **functions(_NAMES, "{name}f({{0}})"),
        **functions(_NAMES, "{name}({{0}})", of=":float64"),
        "sigmoid": "(1.0f / (1.0f + expf(-({0}))))",
        "sigmoid:float64": "(1.0 / (1.0 + exp(-({0}))))",
        **functions(_PAIRS, "{name}f({{0}}, {{1}})"),
        **functions(_PAIRS, "{name}({{0}}, {{1}})", of=":float64"),
        "abs": "fabsf({0})",
        "abs:float64": "fabs({0})",
        "abs:int": "abs({0})",
        **functions(("min", "max"), "f{name}f({{0}}, {{1}})"),
        **functions(("min", "max"), "f{name}({{0}}, {{1}})", of=":float64"),
        **functions(("min", "max"), "{name}({{0}}, {{1}})", of=":int"),
    },
    infinity={
        "float32": "__int_as_float(0x7f800000)",
        "float64": "__longlong_as_double(0x7ff0000000000000LL)",
    },
    nan={
        "float32": "__int_as_float(0x7fffffff)",
        "float64": "__longlong_as_double(0x7ff8000000000000LL)",
    },
    long_suffix="LL",
    headers={"float16": "#include <cuda_fp16.h>", "bfloat16": "#include <cuda_bf16.h>"},
    through={"float16": "float32", "bfloat16": "float32"},
    function="static __device__ __forceinline__ ",
    helpers=HELPERS | bit_helpers(_TYPES) | CUDA_HELPERS,
    reserved=CUDA_WORDS,
    macros=CUDA_MACROS,
)
