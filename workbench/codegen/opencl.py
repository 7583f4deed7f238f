"""OpenCL C as a table: of OpenCL 1.2, with 16-bit floats where a device has them."""

from workbench.codegen.language import FUNCTIONS, Language, functions, vectors
from workbench.codegen.reserved import OPENCL_MACROS, OPENCL_WORDS

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
    "float32": "float",
    "float64": "double",
}
_STORED = {"bool": "uchar"}  # how large a bool is, each device says

OPENCL = Language(
    title="OpenCL",
    types=_TYPES,
    stored=_STORED,
    vectors={
        key: name
        for dtype, cell in (_TYPES | _STORED).items()
        for key, name in vectors(cell, dtype, 2, 4, 8, 16).items()
    },
    members=[f"s{lane:x}" for lane in range(16)],
    kernel="__kernel __attribute__((reqd_work_group_size({x}, {y}, {z})))\nvoid {name}({params})",
    param="__global {const}{type}* {restrict}{name}",
    restrict="restrict ",
    scopes={
        "shared": "__local {type} {name}[{cells}]{align};",
        "local": "{type} {name}[{cells}]{align};",
    },
    aligned=" __attribute__((aligned({bytes})))",
    pointers={"global": "__global ", "shared": "__local ", "local": "__private "},
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    barrier_global="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    maths={
        **functions((*FUNCTIONS, "log1p", "erf"), "{name}({{0}})"),
        "nearbyint": "rint({0})",
        "reinterpret": "as_{type}({0})",
        "sigmoid": "(1.0f / (1.0f + exp(-({0}))))",
        "sigmoid:float64": "(1.0 / (1.0 + exp(-({0}))))",
        **functions(("pow", "atan2", "fmod", "hypot", "copysign"), "{name}({{0}}, {{1}})"),
        "abs": "fabs({0})",
        "abs:int": "(({type})abs({0}))",  # its own result is unsigned
        **functions(("min", "max"), "f{name}({{0}}, {{1}})"),
        **functions(("min", "max"), "{name}({{0}}, {{1}})", of=":int"),
    },
    infinity={"float32": "INFINITY", "float64": "((double)INFINITY)"},
    nan={"float32": "NAN", "float64": "((double)NAN)"},
    long_suffix="L",
    places={
        f"{unit}.{axis}": f"{function}({number})"
        for unit, function in (("blockIdx", "get_group_id"), ("threadIdx", "get_local_id"))
        for number, axis in enumerate("xyz")
    },
    headers={
        "float16": "#pragma OPENCL EXTENSION cl_khr_fp16 : enable",
        "float64": "#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    },
    through={"float16": "float32"},
    convert="({type})({value})",
    function="static inline ",
    helper="{name}_{type}",  # C does not overload
    reserved=OPENCL_WORDS,
    macros=OPENCL_MACROS,
)
