"""What the nests of a program are called where they are folded."""

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.widgets.programs import ADD, parse
from workbench import script
from workbench.ir import PrimFunc
from workbench.widgets.page.nests import named_nests

PADDED = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32"), S: T.Buffer((), "int32")):
    P = T.alloc_buffer((18,), scope="shared")
    for i in range(18):
        with T.block("P"):
            vi = T.axis.spatial(18, i)
            P[vi] = T.if_then_else(1 <= vi and vi < 17, A[vi - 1], T.float32(0))
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = P[vi] + P[vi + 2]
    with T.block("S"):
        S[()] = 1
"""


def names(func: PrimFunc) -> dict[str, list[str]]:
    """The name of each nest, with its lines, which hold one block."""
    printed = script.show_spans(func)
    found = {
        name: [line.text for line in printed.lines[first - 1 : last]]
        for first, last, name in named_nests(func, printed)
    }
    for lines in found.values():
        assert sum("T.block(" in line for line in lines) == 1
    return found


def test_the_nests_of_a_finished_kernel() -> None:
    sch = wb.Schedule(matmul(1024))
    blocking_with_shared(sch, 8, 8, 8, 8, 8)
    assert list(names(sch.func)) == [
        "fill C_local 8 x 8 with 0",
        "fetch A_shared 64 x 8, 64 threads",
        "fetch B_shared 8 x 64, 64 threads",
        "compute C_local 8 x 8",
        "write C 8 x 8",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ADD, ["compute C 8"]),
        (PADDED, ["fetch P 18", "compute C 16", "fill S with 1"]),
    ],
)
def test_what_a_nest_does(text: str, told: list[str]) -> None:
    assert list(names(parse(text))) == told
