"""Lines of tokens: nothing is lost, names are marked where they stand, equal lines are one."""

from __future__ import annotations

import pytest

from tests.widgets.programs import ADD, WINDOW, parse, window_steps
from workbench import script
from workbench.codegen import LANGUAGES
from workbench.schedule import Schedule
from workbench.widgets.page.lines import Lines, tokens, word_marks
from workbench.widgets.page.names import Keys, names_of
from workbench.widgets.page.plain import plain_loops

LINES = [
    '    for i_0 in T.thread_binding(2, thread="blockIdx.x"):  # over blocks of i_0',
    "  C[((int)blockIdx.x) * 4 + (int)threadIdx.x] = A[i // 2];  // done",
    "a // b",
    "x = 1.5e-3f",
    "  ",
    "\t\"open 'text # é “…” // ?",
    "",
]


@pytest.mark.parametrize("language", ["python", *LANGUAGES])
@pytest.mark.parametrize("line", LINES)
def test_tokens_put_together_are_the_line(line: str, language: str):
    marks = word_marks(line, {"i_0": "L1", "blockIdx.x": "L2", "A": "B1"}, language)
    assert "".join(token[1] for token in tokens(line, marks, language)) == line


def test_names_are_marked_in_code_and_not_in_comments_or_texts():
    line = LINES[0]
    marked = [t for t in tokens(line, word_marks(line, {"i_0": "L1", "blockIdx.x": "L2"}))
              if len(t) == 3]  # fmt: skip
    assert marked == [("", "i_0", "L1")]


def test_an_axis_is_one_word_in_c():
    line = LINES[1]
    assert [t[1:] for t in tokens(line, word_marks(line, {"blockIdx.x": "L2"})) if len(t) == 3] == [
        ("blockIdx.x", "L2")
    ]


def test_an_axis_is_one_word_in_opencl():
    line = "  int i_0 = get_group_id(0) + f(0);"
    marks = word_marks(line, {"get_group_id(0)": "L2", "f": "L3"}, "opencl")
    assert [t[1:] for t in tokens(line, marks, "opencl") if len(t) == 3] == [
        ("get_group_id(0)", "L2"), ("f", "L3"),
    ]  # fmt: skip


def test_floor_division_is_no_comment():
    assert tokens("a // b", []) == [("", "a // b")]
    assert tokens("  x;  // b", [], "cuda")[-1] == ("comment", "// b")


@pytest.mark.parametrize(
    ("line", "language", "bold"),
    [
        ("@T.prim_func", "python", []),
        ("for i in range(8) if not None else True:", "python",
         ["for", "in", "if", "not", "None", "else", "True"]),
        ("extern \"C\" __global__ void f(const float4* __restrict__ A) { return; }", "cuda",
         ["extern", "__global__", "void", "const", "float4", "__restrict__", "return"]),
        ("kernel void f(device const float* A, uint3 threadIdx)", "metal",
         ["kernel", "void", "device", "const", "float", "uint3"]),
        ("__kernel void f(__global const float4* restrict A, uint i)", "opencl",
         ["__kernel", "void", "__global", "const", "float4", "restrict", "uint"]),
        ("#pragma unroll", "cuda", []),
    ],
)  # fmt: skip
def test_words_of_the_language_are_told_by_pygments(line: str, language: str, bold: list[str]):
    made = tokens(line, [], language)
    assert "".join(token[1] for token in made) == line
    assert [token[1] for token in made if token[0] == "keyword"] == bold


def test_a_mark_inside_a_text_cuts_it():
    assert tokens('with T.block("C"):', [(14, 15, "K1")]) == [
        ("keyword", "with"),
        ("", " T.block("),
        ("string", '"'),
        ("string", "C", "K1"),
        ("string", '"'),
        ("", "):"),
    ]


def test_equal_lines_are_kept_once():
    lines = Lines()
    assert lines.add_text("a\nb\na", {}) == [0, 1, 0]
    assert len(lines.all) == 2


def test_keys_survive_a_step_and_axes_mean_the_loops_bound_to_them():
    sch = Schedule(parse(WINDOW))
    keys = Keys()
    before = names_of(sch.func, keys)
    window_steps(sch)
    after = names_of(sch.func, keys)
    block = next(k for k, about in before.about.items() if about["kind"] == "block")
    assert after.about[block]["name"] == "C"
    bound = after.words["threadIdx.x"].split()
    assert [after.about[k]["name"] for k in bound] == ["i_1", "ax0_1"]
    assert after.about[bound[0]]["label"] == "loop i_1, 128 times, on threadIdx.x"


def test_plain_loops_of_vector_add():
    sch = Schedule(parse(ADD))
    i_0, i_1 = sch.split("i", factors=[2, 4])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    assert plain_loops(sch.func) == (
        "for i_0 in range(2):  # blockIdx.x: one block for each value, all at the same time\n"
        "    for i_1 in range(4):  # threadIdx.x: one thread for each value\n"
        "        C[i_0 * 4 + i_1] = A[i_0 * 4 + i_1] + B[i_0 * 4 + i_1]"
    )


def test_plain_loops_compute_what_the_program_computes():
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    A = [float(k * k % 31) for k in range(1027)]
    B, A_shared = [0.0] * 1024, [0.0] * 1027
    exec(plain_loops(sch.func), {"A": A, "B": B, "A_shared": A_shared})
    for k in range(1024):
        assert B[k] == A[k] + A[k + 1] + A[k + 2]


def test_plain_loops_start_a_sum_before_its_first_step():
    func = script.parse("""
@T.prim_func
def total(A: T.Buffer((4, 3), "int32"), B: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 3):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
""")
    text = plain_loops(func)
    assert "        if k == 0:\n            B[i] = 0\n        B[i] = B[i] + A[i, k]" in text


def test_words_of_c_are_keywords():
    line = "static void f(const float* restrict A, int64_t i)"
    kinds = {token[1].strip(): token[0] for token in tokens(line, [], "c")}
    assert kinds["float"] == kinds["int64_t"] == "keyword"
