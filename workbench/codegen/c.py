"""C as a table, for a CPU: C17 with OpenMP's `simd` and `parallel`, which a compiler may ignore."""

from workbench.codegen.c_helpers import BFLOAT16, C_HEADERS, C_HELPERS, FLOAT16
from workbench.codegen.language import FUNCTIONS, Language, bit_helpers, functions
from workbench.codegen.reserved import C_MACROS, C_WORDS

_NAMES = tuple(name for name in (*FUNCTIONS, "log1p", "erf") if name not in ("exp10", "rsqrt"))
_TYPES = {
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool": "bool",
    "int32": "int",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
}
_PAIRS = ("pow", "atan2", "fmod", "hypot", "copysign")

C = Language(
    title="C",
    types=_TYPES,
    vectors={},
    kernel="void {name}({params})",
    param="{const}{type}* restrict {name}",
    launch="",
    scopes=dict.fromkeys(("global", "shared", "local"), "{align}{type} {name}[{cells}];"),
    heap=("{type}* restrict {name} = scratch(sizeof({type}) * {cells});", "give_back({name});"),
    aligned="_Alignas({bytes}) ",
    pointers=dict.fromkeys(("global", "shared", "local"), ""),
    loops={
        "unrolled": "#pragma GCC unroll {extent}",
        "vectorized": "#pragma omp simd",
        "parallel": "#pragma omp parallel for",
    },
    part="static __attribute__((noinline)) void {name}({params})",
    maths={
        **functions(_NAMES, "{name}f({{0}})"),
        **functions(_NAMES, "{name}({{0}})", of=":float64"),
        "nearbyint": "rintf({0})",
        "nearbyint:float64": "rint({0})",
        "exp10": "powf(10.0f, {0})",
        "exp10:float64": "pow(10.0, {0})",
        "rsqrt": "(1.0f / sqrtf({0}))",
        "rsqrt:float64": "(1.0 / sqrt({0}))",
        "sigmoid": "(1.0f / (1.0f + expf(-({0}))))",
        "sigmoid:float64": "(1.0 / (1.0 + exp(-({0}))))",
        **functions(_PAIRS, "{name}f({{0}}, {{1}})"),
        **functions(_PAIRS, "{name}({{0}}, {{1}})", of=":float64"),
        "abs": "fabsf({0})",
        "abs:float64": "fabs({0})",
        "abs:int": "absolute({0})",
        **functions(("min", "max"), "{name}({{0}}, {{1}})"),
    },
    infinity={"float32": "INFINITY", "float64": "((double)INFINITY)"},
    nan={"float32": "NAN", "float64": "((double)NAN)"},
    long_suffix="LL",
    headers={"": C_HEADERS, "float16": FLOAT16, "bfloat16": BFLOAT16},
    through={"float16": "float32", "bfloat16": "float32"},
    bits={
        "float16": ("of_float16", "float16_of", "float16_of_double"),
        "bfloat16": ("of_bfloat16", "bfloat16_of", "bfloat16_of"),
    },
    function="static inline ",
    helpers=C_HELPERS | bit_helpers(_TYPES),
    helper="{name}_{type}",  # C does not overload
    reserved=C_WORDS,
    macros=C_MACROS,
)
