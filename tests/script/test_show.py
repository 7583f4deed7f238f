"""Printed programs: places, marks, names, dialects, kernels."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import HealthCheck, given, settings

from tests.script.random_programs import programs
from tests.script.sample import kernel, window
from workbench.diag import Fail
from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    For,
    IRModule,
    Var,
    const,
    substitute,
    walk,
)
from workbench.script import (
    expr_text,
    mark_nodes,
    parse,
    place_of,
    show,
    show_spans,
)

# Line 3 is the attribute, 4 the root block, 5 the allocation, 6 and 7 the bound loops.
LOOPS = {n.loop_var.name: n for n in walk(window) if isinstance(n, For)}
BLOCKS = {n.block.name: n for n in walk(window) if isinstance(n, BlockRealize)}


def text_at(printed, span):
    return printed.lines[span.line - 1].text[span.col : span.end_col]


def test_every_node_has_its_place():
    printed = show_spans(window)
    places = printed.spans
    assert text_at(printed, places[LOOPS["ax0"]]) == "for ax0 in range(130):"
    assert text_at(printed, places[BLOCKS["C"]]) == 'with T.block("C"):'
    assert places[BLOCKS["C"].block] == places[BLOCKS["C"]]
    store = BLOCKS["C"].block.body
    assert isinstance(store, BufferStore)
    assert text_at(printed, places[store]).startswith("B[vi] = A_shared[vi] + ")
    assert isinstance(store.value, BinOp)
    assert text_at(printed, places[store.value.b]) == "A_shared[vi + 2]"
    assert text_at(printed, places[BLOCKS["C"].block.reads[0]]) == "A_shared[vi : vi + 3]"
    assert text_at(printed, places[BLOCKS["root"]]) == '# with T.block("root"):'
    for node in walk(window):
        if isinstance(node, (For, BlockRealize, BufferStore, BufferLoad)):
            assert node in places, node


def test_a_statement_extends_over_its_body():
    extents = show_spans(window).extents
    block = extents[BLOCKS["A_shared"]]
    assert extents[LOOPS["ax0"]].lines == range(8, 14) and block.lines == range(9, 14)
    assert extents[window].lines == range(1, len(show(window).splitlines()) + 1)


def test_the_loops_of_a_grid_have_their_names_as_places():
    func = parse("@T.prim_func\ndef f(A: T.Buffer((4, 4))):\n"
                 "    for i, j in T.grid(4, 4):\n        A[i, j] = 1.0")  # fmt: skip
    outer = func.root.body
    printed = show_spans(func)
    assert text_at(printed, printed.spans[outer]) == "i"
    assert text_at(printed, printed.spans[outer.body]) == "j"
    assert printed.extents[outer] == printed.extents[outer.body]


def test_marks_are_every_occurrence_of_a_name():
    printed = show_spans(window)
    wanted = ("loop", LOOPS["i_0"].loop_var)
    assert [m.line for m in printed.marks if m.key == wanted] == [6, 10, 15]
    for m in printed.marks:
        kind, node = m.key
        name = "root" if kind == "block" else printed.names[node]
        if kind == "block":
            name = next(b.block.name for b in BLOCKS.values() if b.block.id is node)
        assert printed.text_at(m) == name
    kinds = {m.key[0] for m in printed.marks}
    assert kinds == {"loop", "iter", "buffer", "block"}


@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_names_are_unique_where_they_mean_something(func):
    """Two things in one line never share a name, and no name is a word of the language."""
    printed = show_spans(func)
    for line in range(1, len(printed.lines) + 1):
        meant = {}
        for m in printed.marks:
            if m.line == line and m.key[0] != "block":
                name = printed.text_at(m)
                assert meant.setdefault(name, m.key[1]) is m.key[1]
                assert name.isidentifier() and name != "T" and not keyword.iskeyword(name)
    assert "\n".join(line.text for line in printed.lines) == printed.text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("i", "i"),
        ("i.outer", "i_outer"),
        ("2x", "v2x"),
        ("for", "for_"),
        ("T", "T_"),
        ("range", "range_"),
        ("", "v"),
        ("größe", "größe"),
        ("α", "α"),
        ("ﬁ", "fi"),  # as Python reads it
        ("²", "v2"),
        ("🙂", "_"),
        ("a b", "a_b"),
    ],
)
def test_a_name_is_made_readable(name, shown):
    assert show(Var(name)) == shown


def test_two_variables_of_one_name_are_told_apart():
    assert expr_text(Var("i") + Var("i") * Var("i_1")) == "i + i_1 * i_1_1"
    i = Var("i")
    assert expr_text(i + Var("i"), {i: "vi"}) == "vi + i"


def test_names_are_free_again_after_their_scope():
    func = parse("@T.prim_func\ndef f(A: T.Buffer((4,))):\n"
                 "    for i in range(4):\n        A[i] = 1.0\n"
                 "    for i in range(4):\n        A[i] = 2.0")  # fmt: skip
    assert show(func).count("for i in range(4):") == 2


def test_whole_loops_merge_into_a_remap_and_others_do_not():
    func = parse(
        """
        @T.prim_func
        def f(A: T.Buffer((4, 4, 4))):
            for i, j, k in T.grid(4, 4, 4):
                with T.block("A"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.reduce(4, j)
                    vk = T.axis.spatial(8, k)
                    A[vi, vj, vk] = 1.0
        """
    )
    lines = [line.strip() for line in show(func).splitlines()]
    assert lines[5:7] == [
        'vi, vj = T.axis.remap("SR", [i, j])',
        "vk = T.axis.spatial(8, k)",
    ]


def test_marked_nodes():
    assert mark_nodes(window, [BLOCKS["C"], LOOPS["i_1"].loop_var]) == (
        '   5 |     A_shared = T.alloc_buffer((1027,), scope="shared")\n'
        '   6 |     for i_0 in T.thread_binding(8, thread="blockIdx.x"):\n'
        '   7 |         for i_1 in T.thread_binding(128, thread="threadIdx.x"):\n'
        "     |             ^^^\n"
        "   8 |             for ax0 in range(130):\n"
        '   9 |                 with T.block("A_shared"):\n'
        "    …\n"
        "  12 |                     T.writes(A_shared[v0])\n"
        "  13 |                     A_shared[v0] = A[v0]\n"
        '  14 |             with T.block("C"):\n'
        "     |             ^^^^^^^^^^^^^^^^^^\n"
        "  15 |                 vi = T.axis.spatial(1024, i_0 * 128 + i_1)\n"
        "  16 |                 T.reads(A_shared[vi : vi + 3])"
    )


def test_nodes_that_are_elsewhere_are_left_out():
    assert mark_nodes(window, [Var("x"), Buffer("D", (8,))]) == ""


def test_what_can_be_marked():
    printed = show_spans(window)
    block = BLOCKS["C"].block
    assert isinstance(block, Block)

    def lines(node):
        span = place_of(printed, node)
        return span and span.line

    declared = window.root.alloc_buffers[0]
    assert lines(declared) == 5 and lines(window.params[1]) == 2
    assert lines(block.id) == lines(block) == lines(BLOCKS["C"]) == lines(printed_header(printed))
    assert lines(block.iter_vars[0].var) == lines(block) + 1
    assert lines(block.reads[0].region[0]) == lines(block) + 2
    assert lines(LOOPS["i_1"].body) == lines(LOOPS["ax0"])  # a sequence: its first statement
    assert lines("a string") is None


def printed_header(printed):
    return next(line.owner for line in printed.lines if line.text.strip() == 'with T.block("C"):')


def test_a_kernel():
    assert show(kernel()) == (
        "# one launch: 2 blocks of 128 × 4 threads\n"
        'def main_kernel(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):\n'
        '    blockIdx_x = T.launch_thread("blockIdx.x", 2)\n'
        '    threadIdx_x = T.launch_thread("threadIdx.x", 128)\n'
        '    S = T.alloc_buffer((512,), scope="shared")\n'
        "    if threadIdx_x < 100:\n"
        "        S[threadIdx_x * 4 : threadIdx_x * 4 + 4] = "
        "A[threadIdx_x * 4 : threadIdx_x * 4 + 4]\n"
        "    T.barrier()\n"
        "    for u in T.unroll(4):\n"
        "        S[u] = S[u]\n"
        "    B[threadIdx_x * 4 : threadIdx_x * 4 + 4] = "
        "S[T.Ramp(threadIdx_x, 128, 4)] * T.Broadcast(T.float32(2), 4)"
    )


def test_statements_and_expressions_alone():
    loop = LOOPS["ax0"]
    assert show(loop).splitlines()[0] == "for ax0 in range(130):"
    assert show(loop.body).splitlines()[0] == 'with T.block("A_shared"):'
    assert show(const(0.5, "float16")) == "T.float16(0.5)"
    assert show(BLOCKS["C"].block.reads[0]) == "A_shared[vi : vi + 3]"


def test_an_unfolded_operator_is_written_as_a_function():
    i = Var("i")
    unfolded = BinOp("+", BinOp("*", i, const(1, "int32")), const(0, "int32"))
    assert expr_text(unfolded) == "T.Add(T.Mul(i, 1), 0)"
    assert expr_text(substitute(i * 4 + 1, {i: const(2, "int32")})) == "9"


def test_a_dialect_that_nobody_speaks_is_refused():
    with pytest.raises(ValueError) as error:
        show(window, "halide")
    assert str(error.value) == "there is no dialect 'halide'; there are: workbench, tvm"


def test_tvms_dialect():
    text = IRModule((window,)).script(dialect="tvm")
    assert text.splitlines()[:9] == [
        "# from tvm.script import ir as I",
        "# from tvm.script import tirx as T",
        "",
        "@I.ir_module",
        "class Module:",
        "    @T.prim_func(s_tir=True)",
        '    def window(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")):',
        '        T.func_attr({"tirx.noalias": True})',
        '        # with T.sblock("root"):',
    ]
    assert "T.block" not in text and "T.alloc_buffer" not in text


def test_a_program_at_the_end_of_a_cell_shows_its_text():
    module = IRModule((window,))
    assert repr(window) == window.script() == show(window)
    assert repr(module) == module.script() == show(module)


def test_what_is_no_part_of_a_program_is_not_shown():
    with pytest.raises(Fail) as refused:
        show(3)  # type: ignore[arg-type]
    assert str(refused.value) == (
        "Can't show a int: it is no part of a program.\ndo:    pass a program, such as sch.func"
    )
