"""Each way in which a program can be ill-formed is found, with its place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.ir import (
    TRUE,
    Barrier,
    BinOp,
    Block,
    BlockId,
    BlockRealize,
    Broadcast,
    Buffer,
    BufferRegion,
    BufferStore,
    Call,
    Cast,
    Const,
    For,
    IfThenElse,
    IRModule,
    IterVar,
    Not,
    PrimFunc,
    Range,
    Select,
    SeqStmt,
    Var,
    VerifyError,
    const,
    copy_fresh,
    seq,
    verify,
)

ZERO, ONE, EIGHT = (const(n, "int32") for n in (0, 1, 8))
REAL = const(0.5, "float32")
A = Buffer("A", (8,))
i, vi = Var("i"), Var("vi")


def store(value=REAL, index=ZERO, buffer=A):
    return BufferStore(buffer, value, (index,))


def loop(body, var=None, **changes):
    var = Var("i") if var is None else var
    fields = {"loop_var": var, "min": ZERO, "extent": EIGHT, "kind": "serial"}
    return For(**{**fields, "body": body, **changes})


def block(body, iters=(), values=(), **changes):
    fields = {"name": "C", "iter_vars": iters, "reads": (), "writes": (), "body": body}
    predicate = changes.pop("predicate", TRUE)
    return BlockRealize(tuple(values), predicate, Block(**{**fields, **changes}))


def program(body, params=(A,), allocs=(), **changes):
    fields = {"name": "root", "iter_vars": (), "reads": (), "writes": (), "body": body}
    root = Block(**{**fields, "alloc_buffers": allocs, **changes})
    return PrimFunc("main", params, BlockRealize((), TRUE, root))


def spatial(var=vi, extent=EIGHT, kind="spatial"):
    return IterVar(var, Range(ZERO, extent), kind)


def problem(func):
    with pytest.raises(VerifyError) as error:
        verify(func)
    return error.value.problem


def value(e):
    """A program that stores `e`, converted where it is no float."""
    return program(store(e if e.dtype == "float32" else Cast("float32", e)))


SHARED = store()
TWICE = loop(store())
IDENTITY = BlockId()

ILL = {
    "variable i is not defined here": program(store(index=i)),
    "loop i is defined twice": program(loop(loop(store(), i), i)),
    "the loop's variable, min and extent have types": program(
        loop(store(), extent=const(8, "int64"))
    ),
    "a loop of kind sideways": program(loop(store(), kind="sideways")),
    "a serial loop has thread threadIdx.x": program(loop(store(), thread="threadIdx.x")),
    "a thread_binding loop has thread None": program(loop(store(), kind="thread_binding")),
    "a thread axis threadIdx.w": program(
        loop(store(), kind="thread_binding", thread="threadIdx.w")
    ),
    "a loop of extent 0": program(loop(store(), extent=ZERO)),
    "an index of type float32": program(store(index=REAL)),
    "2 indices for A(8,)": program(BufferStore(A, REAL, (ZERO, ZERO))),
    "buffer B is not declared here": program(store(buffer=Buffer("B", (8,)))),
    "buffer A is defined twice": program(store(), allocs=(A,)),
    "buffer B has shape (0,)": program(store(), allocs=(Buffer("B", (0,)),)),
    "buffer B has type real": program(store(), allocs=(Buffer("B", (8,), "real"),)),
    "buffer B has strides (1, 1)": program(store(), allocs=(Buffer("B", (8,), strides=(1, 1)),)),
    "buffer B has strides (2, 3)": program(store(), allocs=(Buffer("B", (4, 4), strides=(2, 3)),)),
    "parameter B is no whole array": program(
        store(), params=(A, Buffer("B", (4, 4), strides=(5, 1)))
    ),
    "an index of type uint8": program(store(index=const(1, "uint8"))),
    "a int32 is stored to float32 A": program(store(ONE)),
    "a sequence of 1": program(SeqStmt((store(),))),
    "a sequence in a sequence": program(SeqStmt((store(), SeqStmt((store(), store()))))),
    "a Barrier in a program": program(seq(store(), Barrier())),
    "a condition of type int32": program(IfThenElse(ONE, store())),
    "1 values for 0 iterators": program(block(store(), (), [ZERO])),
    "iterator vi is defined twice": program(block(store(), (spatial(), spatial()), [ZERO, ZERO])),
    "iterator vi has types ['int32', 'int64']": program(
        block(store(), (spatial(),), [const(0, "int64")])
    ),
    "an iterator of kind sideways": program(block(store(), (spatial(kind="sideways"),), [ZERO])),
    "block C is defined twice": program(
        seq(block(store(), id=IDENTITY), block(store(), id=IDENTITY))
    ),
    'a block named "root" here': program(block(store(), name="root")),
    'a block named "main" here': program(store(), name="main"),
    "the root block iterates": program(store(), init=store()),
    "the root block names regions": program(store(), reads=(BufferRegion(A, (Range(ZERO, ONE),)),)),
    "region of unknown buffer B": program(
        block(store(), reads=(BufferRegion(Buffer("B", (8,)), (Range(ZERO, ONE),)),))
    ),
    "0 ranges for A(8,)": program(block(store(), reads=(BufferRegion(A, ()),))),
    "a range of int32 and int64": program(
        block(store(), reads=(BufferRegion(A, (Range(ZERO, const(1, "int64")),)),))
    ),
    "an operator <>": value(BinOp("<>", ONE, ONE)),
    "int32 + int64": value(BinOp("+", ONE, const(1, "int64"))),
    "/ on int32": value(BinOp("/", ONE, ONE)),
    "// on float32": value(BinOp("//", REAL, REAL)),
    "and on int32": value(BinOp("and", ONE, ONE)),
    "a cast to real": value(Cast("float32", Cast("real", ONE))),
    "a choice between int32 and int64": value(Select(TRUE, ONE, const(1, "int64"))),
    "if_then_else of 2 arguments": value(Call("if_then_else", (TRUE, ONE), "int32")),
    "if_then_else of type int8": value(Call("if_then_else", (TRUE, ONE, ONE), "int8")),
    "a call exp/2": value(Call("exp", (REAL, REAL), "float32")),
    "exp of int32 as float32": value(Call("exp", (ONE,), "float32")),
    "a Broadcast in a program": value(Broadcast(REAL, 4)),
    "a constant of type real": value(Cast("float32", Const(1, "real"))),
    "1 as float32": value(Const(1, "float32")),
    "True as int32": value(Const(True, "int32")),
}


@pytest.mark.parametrize("expected", ILL)
def test_it_is_found(expected):
    assert problem(ILL[expected]).startswith(expected)


def test_negation_takes_a_condition():
    assert problem(value(Not(ONE))) == "a condition of type int32"


def test_a_block_with_iterators_does_not_see_the_loops_around_it():
    inside = block(store(index=i), (spatial(),), [i])
    assert problem(program(loop(inside, i))) == "variable i is not defined here"
    opaque = block(store(index=i))
    verify(program(loop(opaque, i)))
    verify(program(loop(block(store(index=vi), (spatial(),), [i], predicate=i < 7), i)))


def test_a_loop_is_gone_after_it():
    after = seq(loop(store(), i), store(index=i))
    assert problem(program(after)) == "variable i is not defined here"


def test_one_statement_may_stand_in_two_places_and_a_loop_may_not():
    verify(program(seq(SHARED, SHARED)))
    assert problem(program(seq(TWICE, TWICE))) == "loop i is defined twice"
    verify(program(seq(TWICE, copy_fresh(TWICE)[0])))


def test_two_functions_of_one_name():
    func = program(store())
    verify(func)
    assert problem(IRModule((func, func))) == "two functions of one name: ['main', 'main']"


def test_the_message_names_the_place():
    with pytest.raises(VerifyError) as error:
        verify(program(loop(block(store(index=Var("j"))), i)))
    assert str(error.value) == (
        'variable j is not defined here\nat: main > block "root" > for i > block "C" '
        "> BufferStore A > Var"
    )


def test_the_body_is_a_block():
    func = replace(program(store()), body=store())
    assert problem(func) == "the body is no block realisation"
