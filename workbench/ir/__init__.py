"""The program: node kinds, types, walking and rewriting, structural equality, the verifier."""

from workbench.ir import dtypes
from workbench.ir.equal import assert_structural_equal, structural_equal
from workbench.ir.nodes import (
    ARITHMETIC,
    COMPARISONS,
    LOGICAL,
    LOOP_KINDS,
    MATHS,
    THREAD_AXES,
    TRUE,
    Barrier,
    BinOp,
    Block,
    BlockId,
    BlockRealize,
    Broadcast,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Cast,
    Const,
    Data,
    Expr,
    ExprLike,
    For,
    IfThenElse,
    IRModule,
    IterVar,
    Kernel,
    Node,
    Not,
    PrimFunc,
    Ramp,
    Range,
    Select,
    SeqStmt,
    Stmt,
    Var,
    as_expr,
    attrs_dict,
    binary,
    cast,
    const,
    meet,
    number_like,
    seq,
)
from workbench.ir.verify import VerifyError, verify
from workbench.ir.visit import (
    children,
    copy_fresh,
    free_vars,
    loops_and_blocks,
    path_to,
    rebuild,
    replace_node,
    rewrite,
    stores,
    substitute,
    substitute_buffers,
    walk,
)

__all__ = [
    name
    for name, value in dict(globals()).items()
    if not name.startswith("_") and not hasattr(value, "__path__")
]
