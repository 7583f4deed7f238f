"""Every form that the reader accepts, and the one form in which each is printed."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from workbench.ir import BufferLoad, IRModule, PrimFunc, structural_equal, verify, walk
from workbench.script import ParseError, parse, show


def printed(signature: str, *lines: str) -> list[str]:
    """The lines that a program prints after its root comment; `lines` are its statements."""
    body = textwrap.indent("\n".join(lines), "    ")
    func = parse(f"@T.prim_func\ndef main({signature}):\n{body}")
    verify(func)
    assert structural_equal(parse(show(func)), func)
    text = textwrap.dedent(show(func).partition('# with T.block("root"):\n')[2])
    return text.splitlines()


A8 = 'A: T.Buffer((8,), "float32")'


def stored(text: str, signature: str = A8) -> str:
    """How the value of a store is printed."""
    (line,) = printed(signature, f"A[0] = {text}")
    return line.removeprefix("A[0] = ")


@pytest.mark.parametrize(
    "declared",
    [
        'A: T.Buffer((8,), "float32")',
        'A: T.Buffer[(8,), "float32"]',
        'A: T.Buffer[8, "float32"]',
        'A: T.Buffer([8], "float32")',
        "A: T.Buffer((8,))",
        "A: T.Buffer(8)",
        'A: T.Buffer(shape=(8,), dtype="float32", scope="global")',
        'A: T.Buffer((8,), "float32", data=None, elem_offset=0, align=64, offset_factor=0)',
    ],
)
def test_a_parameter_in_every_form(declared):
    func = parse(f"@T.prim_func\ndef main({declared}):\n    A[0] = 1.0")
    assert show(func).splitlines()[1] == 'def main(A: T.Buffer((8,), "float32")):'


def test_handles_take_the_buffer_matched_to_them_in_their_place():
    func = parse(
        """
        @T.prim_func
        def main(a: T.handle, C: T.Buffer((4,), "int8"), b: T.handle()) -> None:
            T.func_attr({"global_symbol": "other", "tir.noalias": True})
            B = T.match_buffer(b, (2, 2), "float16", strides=(2, 1), scope="global")
            A = T.match_buffer(a, [8])
            A[0] = 1.0
        """
    )
    assert func.name == "other" and func.attrs == (("tir.noalias", True),)
    assert [(b.name, b.shape, b.type) for b in func.params] == [
        ("A", (8,), "float32"),
        ("C", (4,), "int8"),
        ("B", (2, 2), "float16"),
    ]
    assert 'B: T.Buffer((2, 2), "float16"))' in show(func)


@pytest.mark.parametrize("alloc", ["T.alloc_buffer", "T.sblock_alloc_buffer"])
@pytest.mark.parametrize("shape", ["(8,)", "[8]", "8"])
def test_allocations(alloc, shape):
    lines = printed(A8, f'C = {alloc}({shape}, dtype="float32", scope="shared")', "A[0] = C[1]")
    assert lines == ['C = T.alloc_buffer((8,), scope="shared")', "A[0] = C[1]"]


@pytest.mark.parametrize(
    ("loop", "again"),
    [
        ("range(8)", "range(8)"),
        ("range(2, 8)", "range(2, 8)"),
        ("T.serial(8)", "range(8)"),
        ("T.serial(2, 8)", "range(2, 8)"),
        ("T.serial(8, annotations={'k': [1, 'x']})", 'T.serial(8, annotations={"k": [1, "x"]})'),
        ("T.grid(8)", "range(8)"),
        ("T.unroll(8)", "T.unroll(8)"),
        ("T.vectorized(8)", "T.vectorized(8)"),
        ("T.parallel(0, 8)", "T.parallel(8)"),
        ("T.thread_binding(8, thread='threadIdx.x')", 'T.thread_binding(8, thread="threadIdx.x")'),
        (
            'T.thread_binding(0, 8, thread="blockIdx.y", annotations={"a": True})',
            'T.thread_binding(8, thread="blockIdx.y", annotations={"a": True})',
        ),
        ("range(T.int64(8))", "range(T.int64(8))"),
        ("range(A.shape[0])", "range(8)"),
        ("range(2 * 3 + 2)", "range(8)"),
    ],
)
def test_loops(loop, again):
    assert printed(A8, f"for i in {loop}:", "    A[i] = 1.0")[0] == f"for i in {again}:"


def test_nests_of_plain_loops_merge_and_others_do_not():
    lines = printed(
        'A: T.Buffer((8, 8, 8), "float32")',
        "for i in range(8):",
        "    for j in T.serial(8):",
        "        for k in range(j + 1):",
        "            A[i, j, k] = 1.0",
    )
    assert lines[:2] == ["for i, j in T.grid(8, 8):", "    for k in range(j + 1):"]


BITS = 'A: T.Buffer((8,), "int32"), p: T.Buffer((8,), "bool"), u: T.Buffer((8,), "uint8")'


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("T.bitwise_and(A[1], 3)", "A[1] & 3"),
        ("T.bitwise_or(A[1], T.bitwise_xor(3, A[2]))", "A[1] | 3 ^ A[2]"),
        ("(A[1] ^ A[2]) & A[3]", "(A[1] ^ A[2]) & A[3]"),
        ("A[1] ^ (A[2] >> 1)", "A[1] ^ A[2] >> 1"),
        ("(A[1] & 7) + 1", "(A[1] & 7) + 1"),
        ("A[1] & 7 + 1", "A[1] & 8"),
        ("T.shift_left(A[1], 3) >> (A[2] << 1)", "A[1] << 3 >> (A[2] << 1)"),
        ("~A[1] * 2", "~A[1] * 2"),
        ("~(A[1] * 2)", "~(A[1] * 2)"),
        ("~~A[1]", "~~A[1]"),
        ("T.bitwise_not(A[1], dtype='int32')", "~A[1]"),
        ("A[1] ^ -1", "~A[1]"),
        ("~5 | A[1]", "-6 | A[1]"),
        ("A[1] << 0", "A[1]"),
        ("A[1] | 0", "A[1] | 0"),
        ("T.LShift(5, 2)", "T.LShift(5, 2)"),
        ("T.Cast('int32', ~u[1] & 7)", 'T.Cast("int32", ~u[1] & T.uint8(7))'),
        ("T.Cast('int32', A[1] & 7 == 3)", 'T.Cast("int32", A[1] & 7 == 3)'),
        (
            "T.Cast('int32', p[1] & (A[1] < 3) | ~p[2])",
            'T.Cast("int32", p[1] and A[1] < 3 or not p[2])',
        ),
        ("T.Cast('int32', p[1] ^ p[2])", 'T.Cast("int32", p[1] != p[2])'),
        ("T.likely(A[1])", "A[1]"),
        ("T.max_value('int32')", "2147483647"),
        ("T.min_value('int32')", "-2147483648"),
    ],
)
def test_bits_bind_as_in_python(text, again):
    assert stored(text, BITS) == again


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("T.if_then_else(A[0] < 3.0, 1.0, A[1], dtype='float32')",) * 2,
        ("T.exp(A[1], dtype='float32')", "T.exp(A[1])"),
        ("T.pow(A[1], 2.0, dtype='float32')", "T.pow(A[1], T.float32(2))"),
        ("T.sqrt(x=A[1], dtype='float32')", "T.sqrt(A[1])"),
        ("T.min_value('float32')", "T.float32(-3.4028234663852886e+38)"),
        ("-T.infinity('float32')", 'T.float32("-inf")'),
        ("T.Cast('float32', T.max_value('float16'))", 'T.Cast("float32", T.float16(65504))'),
        ("T.if_then_else(T.likely(A[0] < 1.0), 1.0, A[1])",) * 2,
    ],
)
def test_what_tvm_says_besides_the_value(text, again):
    plain = again.replace(", dtype='float32'", "").replace(
        "T.likely(A[0] < 1.0)", "A[0] < T.float32(1)"
    )
    plain = plain.replace("3.0", "T.float32(3)").replace(" 1.0", " T.float32(1)")
    assert stored(text) == plain


def test_no_scope_is_global_memory():
    assert printed(A8, 'C = T.alloc_buffer((8,), scope="")', "A[0] = C[1]")[0] == (
        "C = T.alloc_buffer((8,))"
    )


@pytest.mark.parametrize(
    ("axis", "again"),
    [
        ("vi = T.axis.spatial(8, i)", "vi = T.axis.spatial(8, i)"),
        ("vi = T.axis.S(8, i)", "vi = T.axis.spatial(8, i)"),
        ("vi = T.axis.R(8, i)", "vi = T.axis.reduce(8, i)"),
        ('vi = T.axis.remap("S", [i])', "vi = T.axis.spatial(8, i)"),
        ('[vi] = T.axis.remap("R", [i])', "vi = T.axis.reduce(8, i)"),
        ("vi = T.axis.spatial((2, 6), i + 2)", "vi = T.axis.spatial((2, 6), i + 2)"),
        (
            "vi = T.axis.spatial(T.int64(8), T.int64(0))",
            "vi = T.axis.spatial(T.int64(8), T.int64(0))",
        ),
    ],
)
def test_iterators(axis, again):
    lines = printed(
        A8,
        "for i in range(8):",
        '    with T.sblock("B"):',
        f"        {axis}",
        "        A[vi] = 1.0",
    )
    assert lines[1:3] == ['    with T.block("B"):', f"        {again}"]


def test_everything_at_the_head_of_a_block_in_its_order():
    lines = printed(
        A8,
        "for i, k in T.grid(8, 4):",
        '    with T.block("B"):',
        '        vi, vk = T.axis.remap("SR", [i, k])',
        "        D = T.alloc_buffer((8,))",
        '        T.sblock_attr({"k": 1})',
        "        T.where(i < 7)",
        "        T.writes([A[vi]])",
        "        with T.init():",
        "            A[vi] = 0",
        "        A[vi] += D[vi]",
    )
    assert lines == [
        "for i, k in T.grid(8, 4):",
        '    with T.block("B"):',
        '        vi, vk = T.axis.remap("SR", [i, k])',
        "        T.where(i < 7)",
        "        T.reads()",
        "        T.writes(A[vi])",
        '        T.block_attr({"k": 1})',
        "        D = T.alloc_buffer((8,))",
        "        with T.init():",
        "            A[vi] = T.float32(0)",
        "        A[vi] = A[vi] + D[vi]",
    ]


def test_whole_buffers_and_boxes_as_regions():
    lines = printed(
        'A: T.Buffer((8,), "float32"), B: T.Buffer((8, 8), "float32")',
        "for i in range(4):",
        '    with T.block("B"):',
        "        vi = T.axis.spatial(4, i)",
        "        T.reads(B, A[vi * 2 : vi * 2 + 2])",
        "        T.writes(A[0:8])",
        "        A[vi] = B[vi, 0]",
    )
    assert lines[3:5] == [
        "        T.reads(B[0:8, 0:8], A[vi * 2 : vi * 2 + 2])",
        "        T.writes(A[0:8])",
    ]


def test_conditions():
    lines = printed(A8, "if A[0] < 1.0:", "    A[0] = 1.0", "elif A[0] < 2.0:", "    A[1] = 1.0",
                    "else:", "    A[2] = 1.0")  # fmt: skip
    assert lines == [
        "if A[0] < T.float32(1):",
        "    A[0] = T.float32(1)",
        "else:",
        "    if A[0] < T.float32(2):",
        "        A[1] = T.float32(1)",
        "    else:",
        "        A[2] = T.float32(1)",
    ]


@pytest.mark.parametrize(
    ("value", "again"),
    [
        # literals
        ("1", "T.float32(1)"),
        ("0.1", "T.float32(0.1)"),
        ("-2.5", "T.float32(-2.5)"),
        ("-0.0", "T.float32(-0.0)"),
        ("1e-30", "T.float32(1e-30)"),
        ('T.float32("inf")', 'T.float32("inf")'),
        ('T.float32("nan")', 'T.float32("nan")'),
        ("True", "T.float32(1)"),
        ("T.float64(0.5)", 'T.Cast("float32", T.float64(0.5))'),
        ("T.int32(3)", "T.float32(3)"),
        ("A[1] * 2", "A[1] * T.float32(2)"),
        ("2 * 3 + A[1]", "T.float32(6) + A[1]"),
        ("n[0] + 1", 'T.Cast("float32", n[0] + 1)'),
        ("n[0] + 1.5", 'T.Cast("float32", n[0]) + T.float32(1.5)'),
        ("n[0] + 3000000000", 'T.Cast("float32", T.Cast("int64", n[0]) + T.int64(3000000000))'),
        ("n[0] + T.int64(1)", 'T.Cast("float32", T.Cast("int64", n[0]) + T.int64(1))'),
        # operators
        ("A[1] - (A[2] - A[3])", "A[1] - (A[2] - A[3])"),
        ("(A[1] - A[2]) - A[3]", "A[1] - A[2] - A[3]"),
        ("(A[1] + A[2]) * A[3]", "(A[1] + A[2]) * A[3]"),
        ("A[1] / A[2]", "A[1] / A[2]"),
        ("-A[1]", "A[1] * T.float32(-1)"),
        ("+A[1]", "A[1]"),
        ("n[0] // 2 % 3", 'T.Cast("float32", n[0] // 2 % 3)'),
        ("T.floordiv(n[0], 2)", 'T.Cast("float32", n[0] // 2)'),
        ("T.floormod(n[0], 2)", 'T.Cast("float32", n[0] % 2)'),
        ("n[0] * -3", 'T.Cast("float32", n[0] * -3)'),
        ("T.Mul(n[0], 1)", 'T.Cast("float32", T.Mul(n[0], 1))'),
        ("T.min(A[1], 0)", "T.min(A[1], T.float32(0))"),
        ("T.max(2, 3)", "T.float32(3)"),
        # choices
        ("T.if_then_else(n[0] < 3, A[1], 0)", "T.if_then_else(n[0] < 3, A[1], T.float32(0))"),
        ("T.Select(n[0] < 3 and n[1] > 2, A[1], 0.5)",
         "T.Select(n[0] < 3 and n[1] > 2, A[1], T.float32(0.5))"),
        ("T.Select(T.And(n[0] < 3, T.Not(n[1] >= 2)), 1.0, 0.0)",
         "T.Select(n[0] < 3 and not n[1] >= 2, T.float32(1), T.float32(0))"),
        ("T.Select(n[0] == 1 or n[1] != 2 or n[2] <= 0, 1.0, 0.0)",
         "T.Select(n[0] == 1 or n[1] != 2 or n[2] <= 0, T.float32(1), T.float32(0))"),
        ("T.Select(T.Or(n[0] < 1, n[1] < 2) and n[2] < 3, 1.0, 0.0)",
         "T.Select((n[0] < 1 or n[1] < 2) and n[2] < 3, T.float32(1), T.float32(0))"),
        # casts and functions
        ('n[0].astype("float32")', 'T.Cast("float32", n[0])'),
        ('T.cast(n[0], "float32")', 'T.Cast("float32", n[0])'),
        ("T.float32(n[0])", 'T.Cast("float32", n[0])'),
        ("T.exp(A[1])", "T.exp(A[1])"),
        ("T.exp(1)", "T.exp(T.float32(1))"),
        ("T.fabs(A[1])", "T.abs(A[1])"),
        ("T.power(A[1], 2)", "T.pow(A[1], T.float32(2))"),
        ("T.abs(n[0])", 'T.Cast("float32", T.abs(n[0]))'),
    ],
)  # fmt: skip
def test_values(value, again):
    assert stored(value, 'A: T.Buffer((8,), "float32"), n: T.Buffer((8,), "int32")') == again


@pytest.mark.parametrize(
    "header",
    [
        "# from tvm.script import tir as T\n",
        "from __future__ import annotations\nfrom tvm.script import tir as T\n",
        '"""A program."""\nimport workbench as wb\n',
    ],
)
def test_what_stands_above_a_program_is_left_aside(header):
    func = parse(f"{header}@T.prim_func(private=True, s_tir=True)\ndef main({A8}):\n    A[0] = 1.0")
    assert isinstance(func, PrimFunc)


@pytest.mark.parametrize("decorator", ["@ir_module", "@I.ir_module", "@tvm.script.ir_module"])
def test_modules(decorator):
    func = f"    @T.prim_func\n    def f({A8}):\n        A[0] = 1.0"
    module = parse(f'{decorator}\nclass M:\n    """It."""\n{func}')
    assert isinstance(module, IRModule) and module["f"].name == "f"


def test_the_root_block_may_be_written_out():
    written = parse(
        f"""
        @T.prim_func
        def main({A8}):
            with T.block("root"):
                T.reads()
                T.writes()
                T.block_attr({{"k": 1}})
                C = T.alloc_buffer((8,))
                A[0] = C[0]
        """
    )
    assert written.root.annotations == (("k", 1),)
    assert [b.name for b in written.root.alloc_buffers] == ["C"]
    assert structural_equal(parse(show(written)), written)


def test_names_come_from_the_environment():
    text = "@T.prim_func\ndef main(A: T.Buffer(S, 'float32')):\n    A[n, k] = x"
    env = {"S": [8, 4], "n": np.int64(3), "k": 2, "x": 0.5}
    assert "A[3, 2] = T.float32(0.5)" in show(parse(text, env))


@pytest.mark.parametrize(
    "lines",
    [
        ("x: T.let[T.float32] = A[1]", "A[0] = x + x"),
        ("x: T.let = A[1]", "A[0] = x + x"),
        ("x: T.float32 = A[1]", "A[0] = x + x"),
        ("x = T.bind(A[1])", "A[0] = x + x"),
        ("x = T.bind(A[1], T.float32)", "A[0] = x + x"),
        ("with T.LetStmt(A[1]) as x:", "    A[0] = x + x"),
        ('x = T.var("float32")', "with T.LetStmt(A[1], var=x):", "    A[0] = x + x"),
        ("x = T.float32()", "with T.let(x, A[1]):", "    A[0] = x + x"),
        ("x = T.float32()", "A[0] = T.Let(x + x, where={x: A[1]})"),
        ("y: T.let = 1", "x: T.let = A[y]", "A[0] = x + x"),
    ],
)
def test_a_name_for_a_value_is_the_value(lines):
    assert printed(A8, *lines) == ["A[0] = A[1] + A[1]"]


def test_stores_of_names_are_done_at_once():
    """As TVM prints updates of several values: each value is that from before all stores."""
    lines = ("x: T.let = A[0] + C[0]", "y: T.let = C[0] + 1.0", "C[0] = y", "A[0] = x")
    params = f'{A8}, C: T.Buffer((8,), "float32")'
    assert printed(params, *lines) == ["A[0] = A[0] + C[0]", "C[0] = C[0] + T.float32(1)"]
    assert printed(params, *lines[:2], "A[0] = x", "C[0] = y") == [
        "A[0] = A[0] + C[0]",
        "C[0] = C[0] + T.float32(1)",
    ]


def test_a_name_ends_with_the_body_that_it_stands_in():
    lines = (
        "x: T.let = A[1] + 1.0",
        "A[i] = x",
        "if i < 3:",
        "    y: T.let = i + 1",
        "    A[y] = 1.0",
    )
    more = ("else:", "    y: T.let = i", "    A[y] = 2.0", "A[0] = A[i] * A[i]")
    inner = [f"    {line}" for line in (*lines, *more)]
    assert printed(A8, "for i in range(8):", *inner) == [
        "for i in range(8):",
        "    A[i] = A[1] + T.float32(1)",
        "    if i < 3:",
        "        A[i + 1] = T.float32(1)",
        "    else:",
        "        A[i] = T.float32(2)",
        "    A[0] = A[i] * A[i]",
    ]


def test_a_use_of_a_name_is_nodes_of_its_own():
    func = parse(f"@T.prim_func\ndef main({A8}):\n    x: T.let = A[1]\n    A[0] = x + x")
    loads = [node for node in walk(func) if isinstance(node, BufferLoad)]
    assert len(loads) == len(set(loads)) == 2


def test_a_value_that_nobody_uses_does_nothing():
    lines = ("T.evaluate(0)", "T.evaluate(A[1] + 1.0)", "T.exp(A[2])", "A[0] = 1.0")
    assert printed(A8, *lines) == ["A[0] = T.float32(1)"]


def test_a_parameter_that_is_one_number():
    text = f"@T.prim_func\ndef main({A8}, n: T.int32, s: T.float16, f: T.bool):\n"
    func = parse(text + "    A[n] = T.Cast('float32', s) + A[n + 1]\n    if f:\n        A[0] = 1.0")
    verify(func)
    assert structural_equal(parse(show(func)), func)
    assert show(func).startswith(text)
    assert [(p.name, p.shape, p.type, p.scalar) for p in func.params] == [
        ("A", (8,), "float32", False),
        ("n", (), "int32", True),
        ("s", (), "float16", True),
        ("f", (), "bool", True),
    ]


def test_a_block_does_not_say_that_it_reads_a_number():
    lines = printed(
        f"{A8}, n: T.int32",
        "for i in range(8):",
        '    with T.block("B"):',
        "        vi = T.axis.spatial(8, i)",
        "        A[vi] = A[n] * T.Cast('float32', n)",
    )
    assert lines[3:5] == ["        T.reads(A[n])", "        T.writes(A[vi])"]


def in_block(*lines: str) -> list[str]:
    """What the statements of a block print; its iterator is `v`."""
    signature = 'A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")'
    head = ["for i in range(8):", '    with T.block("B"):', "        v = T.axis.spatial(8, i)"]
    made = printed(signature, *head, *(f"        {line}" for line in lines))
    return [line.removeprefix("        ") for line in made[3:]]


@pytest.mark.parametrize(
    ("region", "again"),
    [
        ("A[:v, 0]", "A[0:v, 0]"),
        ("A[v, 2:]", "A[v, 2:6]"),
        ("A[:, :]", "A[0:8, 0:6]"),
        ("A[: T.int64(4), v:]", "A[T.int64(0):T.int64(4), v : v + (6 - v)]"),
        ("A[1:T.int64(4), 0]", "A[T.int64(1):T.int64(4), 0]"),
    ],
)
def test_ranges_that_leave_an_end_out(region, again):
    lines = in_block(f"T.reads({region})", "T.writes(B[v, 0])", "B[v, 0] = A[0, 0]")
    assert lines[0] == f"T.reads({again})"


@pytest.mark.parametrize(
    ("view", "use", "again"),
    [
        ("A[v, 0:6], (6,)", "M[2]", "A[v, 2]"),
        ("A[v, 2:6], (4,)", "M[3]", "A[v, 5]"),
        ("A[v, 2:], (4,)", "M[v]", "A[v, 2 + v]"),
        ("A[v:v + 1, 2:6], (1, 4)", "M[0, 1]", "A[v, 3]"),
        ("A, (8, 6), 'float32'", "M[v, 1]", "A[v, 1]"),
        ("A[v, 2:6], (4,), strides=(1,), elem_offset=v * 6 + 2", "M[1]", "A[v, 3]"),
        ('A[v, 2:6], (4,), strides=("s",), offset_factor=1, align=4', "M[1]", "A[v, 3]"),
        ("A[0:4, 2:6], (4, 4), strides=[6, 1]", "M[1, 1]", "A[1, 3]"),
        ("A[0:1, 2:6], (1, 4), strides=[4, 1]", "M[0, 1]", "A[0, 3]"),
    ],
)
def test_a_view_is_the_cells_that_it_views(view, use, again):
    lines = in_block(f"M = T.match_buffer({view})", f"B[v, 0] = {use}")
    assert lines == [f"T.reads({again})", "T.writes(B[v, 0])", f"B[v, 0] = {again}"]


def test_names_of_strides_and_offsets_stand_for_them():
    lines = in_block(
        "s = T.int32()",
        "o = T.int32()",
        "M = T.match_buffer(A[v, 2:6], (4,), strides=(s,), elem_offset=o)",
        "M[s] = T.Cast('float32', o + s)",
    )
    assert lines[-1] == 'A[v, 3] = T.Cast("float32", v * 6 + 2 + 1)'


def test_a_view_of_a_view_and_in_regions():
    lines = in_block(
        "M = T.match_buffer(A[v, 1:6], (5,))",
        "N = T.match_buffer(M[2:4], (2,))",
        "for j in range(2):",
        '    with T.block("C"):',
        "        w = T.axis.spatial(2, j)",
        "        T.reads(M[w : w + 2])",
        "        T.writes(N[w])",
        "        N[w] = M[w] + M[w + 1]",
    )
    assert lines[-3:] == [
        "        T.reads(A[v, 1 + w : 1 + w + 2])",
        "        T.writes(A[v, 3 + w])",
        "        A[v, 3 + w] = A[v, 1 + w] + A[v, 1 + (w + 1)]",
    ]


def test_what_one_case_stores_the_other_does_not_see():
    lines = ("x: T.let = A[1]", "if A[0] < 1.0:", "    A[1] = x", "else:", "    A[2] = x")
    assert printed(A8, *lines)[-1] == "    A[2] = A[1]"
    with pytest.raises(ParseError, match="`x` was loaded from `A`, which is stored to"):
        printed(A8, *lines, "A[3] = x")


def test_no_number_has_no_sign():
    assert stored('T.float32("-nan")') == 'T.float32("nan")'
