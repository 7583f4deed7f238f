"""The Metal Shading Language as a table; it has no 64-bit floats."""

from workbench.codegen.language import FUNCTIONS, Language, functions, vectors
from workbench.codegen.reserved import METAL_MACROS, METAL_WORDS

_TYPES = {
    "bool": "bool",
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulong",
    "float16": "half",
    "bfloat16": "bfloat",
    "float32": "float",
}

METAL = Language(
    title="Metal",
    types=_TYPES,
    vectors={key: v for t, n in _TYPES.items() for key, v in vectors(n, t, 2, 4).items()},
    kernel="kernel void {name}({params})",
    param="device {const}{type}* {name} [[buffer({number})]]",
    size="constant {type}& {name} [[buffer({number})]]",
    scopes={
        "shared": "{align}threadgroup {type} {name}[{cells}];",
        "local": "{align}{type} {name}[{cells}];",
    },
    simdgroup="simdgroup_{type}8x8 {name}[{count}];",
    aligned="alignas({bytes}) ",
    pointers={"global": "device ", "shared": "threadgroup ", "local": "thread "},
    barrier="threadgroup_barrier(mem_flags::mem_threadgroup);",
    barrier_global="threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);",
    shuffle="simd_shuffle_xor({value}, {bit})",
    maths={
        **functions((*FUNCTIONS, "abs"), "{name}({{0}})"),
        "sigmoid": "(1.0f / (1.0f + exp(-({0}))))",
        **functions(("pow", "atan2", "fmod", "copysign"), "{name}({{0}}, {{1}})"),
        "nearbyint": "rint({0})",
        "reinterpret": "as_type<{type}>({0})",
        "min": "min({0}, {1})",
        "max": "max({0}, {1})",
    },
    infinity={"float32": "INFINITY"},
    nan={"float32": "NAN"},
    long_suffix="L",
    place_params={
        "blockIdx": "uint3 blockIdx [[threadgroup_position_in_grid]]",
        "threadIdx": "uint3 threadIdx [[thread_position_in_threadgroup]]",
    },
    headers={"": "#include <metal_stdlib>\nusing namespace metal;"},
    through={"float16": "float32", "bfloat16": "float32"},
    function="static inline ",
    reserved=METAL_WORDS,
    macros=METAL_MACROS,
)
