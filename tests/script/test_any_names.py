"""Programs of any names and notes: their text reads back as the same program."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from tests.support.named_programs import named_program
from workbench.ir import Block, BlockRealize, Entries, For, IRModule, PrimFunc, structural_equal
from workbench.script import parse, show

ODD = [
    *(
        "",
        "1",
        "a b",
        '"',
        "'",
        "\\",
        "\\'\"",
        "a\nb",
        "\0",
        "\u2028",
        "é",
        "T",
        "for",
        "root",
        "_",
    ),
    *('"""', "__class__", "global_symbol", "{x}", "%s", "# with", "\x85", "\U000e0001"),
]
names = st.sampled_from(ODD) | texts(6)
values = st.recursive(
    names
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(names, inner, max_size=3).map(Entries.of)
    ),
    max_leaves=4,
)
notes = st.dictionaries(names.filter(lambda key: key != "global_symbol"), values, max_size=3)


@st.composite
def programs(draw: st.DrawFn) -> PrimFunc:
    """Loops and arrays of any names in a block of any name, with notes everywhere."""
    func = named_program(draw(st.lists(names, min_size=1, max_size=4)), draw(names))
    loop = func.root.body
    assert isinstance(loop, For)
    name = draw(names.filter(lambda name: name != "root"))
    block = Block(name, (), (), (), loop.body, annotations=tuple(draw(notes).items()))
    body = BlockRealize((), func.body.predicate, block)
    loop = replace(loop, body=body, annotations=tuple(draw(notes).items()))
    root = replace(func.root, body=loop, annotations=tuple(draw(notes).items()))
    attrs = tuple(draw(notes).items())
    return replace(func, body=replace(func.body, block=root), attrs=attrs)


@pytest.mark.fuzz
@given(programs())
def test_the_text_reads_back(func: PrimFunc) -> None:
    for dialect in ("workbench", "tvm"):
        text = show(func, dialect)
        again = parse(text)
        assert structural_equal(again, func)
        assert again.name == func.name
        assert show(again, dialect) == text
        assert all(line.isprintable() for line in text.split("\n"))
        kinds = {type(node) for node in ast.walk(ast.parse(text))}
        assert not kinds & {ast.Lambda, ast.Import, ast.JoinedStr, ast.NamedExpr, ast.Starred}


@given(st.lists(names, min_size=1, max_size=3, unique=True))
def test_a_module_of_any_functions_reads_back(called: list[str]) -> None:
    module = IRModule(tuple(named_program(["A"], name) for name in called))
    again = parse(show(module))
    assert isinstance(again, IRModule)
    assert [func.name for func in again.functions] == called
    assert structural_equal(again, module)
