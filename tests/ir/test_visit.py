"""Walking, rewriting, substituting and copying share what does not change."""

from __future__ import annotations

import pytest

from workbench.ir import (
    Block,
    BlockRealize,
    BufferStore,
    For,
    SeqStmt,
    Var,
    copy_fresh,
    free_vars,
    loops_and_blocks,
    path_to,
    replace_node,
    rewrite,
    stores,
    structural_equal,
    substitute,
    substitute_buffers,
    verify,
    walk,
)
from workbench.script import T, show


@T.prim_func
def program(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0
    for i, k in T.grid(16, 4):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            vk = T.axis.reduce(4, k)
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + B[vi]


FIRST, SECOND = program.root.body.stmts


def test_a_walk_meets_parents_first_and_in_order():
    met = [n for n in walk(program) if isinstance(n, (For, BlockRealize))]
    names = [n.loop_var.name if isinstance(n, For) else n.block.name for n in met]
    assert names == ["root", "i", "B", "i", "k", "C"]
    assert list(loops_and_blocks(program)) == met[1:]


def test_rewriting_nothing_gives_back_the_same_object():
    assert rewrite(program, lambda n: n) is program
    assert substitute(program, {}) is program
    assert substitute(program, {Var("elsewhere"): Var("x")}) is program


def test_untouched_subtrees_are_shared():
    changed = substitute(program, {FIRST.loop_var: Var("j")})
    assert changed.root.body.stmts[1] is SECOND
    assert changed.root.body.stmts[0] is not FIRST


def test_substitution_folds_what_becomes_constant():
    store = next(stores(FIRST))
    assert structural_equal(
        substitute(store.indices[0] * 1 + 0, {store.indices[0]: Var("v")}), Var("v")
    )
    e = store.indices[0] * 4 + 1
    assert substitute(e, {store.indices[0]: Var("v") * 0 + 2}).value == 9


def test_dropping_one_of_two_statements_leaves_the_other():
    left = replace_node(program, SECOND, None)
    assert left.root.body is FIRST


def test_dropping_the_only_statement_of_a_body_is_refused():
    with pytest.raises(ValueError, match=r"^removing the only body of a For$"):
        replace_node(program, FIRST.body, None)


def test_replacing_what_is_not_there_is_refused():
    with pytest.raises(AssertionError, match=r"^the node to replace is not in the tree$"):
        replace_node(FIRST, SECOND, None)


def test_replacing_a_statement_by_two_keeps_sequences_flat():
    again, _ = copy_fresh(FIRST)
    both = replace_node(program, FIRST, SeqStmt((FIRST, again)))
    assert [type(s) for s in both.root.body.stmts] == [For, For, For]
    verify(both)


def test_a_copy_shares_no_variable_and_no_identity():
    again, fresh = copy_fresh(SECOND)
    assert structural_equal(again, SECOND)

    def defined(stmt):
        loops = {n.loop_var for n in walk(stmt) if isinstance(n, For)}
        blocks = [n for n in walk(stmt) if isinstance(n, Block)]
        return loops | {i.var for b in blocks for i in b.iter_vars} | {b.id for b in blocks}

    assert defined(again).isdisjoint(defined(SECOND))
    assert set(fresh) == defined(SECOND) and set(fresh.values()) == defined(again)


def test_buffers_are_replaced_wherever_they_are_named():
    a, c = program.params
    swapped = substitute_buffers(program, {a: c, c: a})
    assert swapped.params == (c, a)
    assert "T.writes(A[vi])" in show(swapped)


def test_the_free_variables_of_a_statement():
    assert free_vars(FIRST) == ()
    assert free_vars(FIRST.body) == (FIRST.loop_var,)


def test_the_path_to_a_node():
    store = [n for n in walk(program) if isinstance(n, BufferStore)][-1]
    path = path_to(program, store)
    assert path[0] is program and path[-1] is store
    assert path_to(FIRST, SECOND) == ()
