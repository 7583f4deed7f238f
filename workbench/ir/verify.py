"""What a well-formed program is; tests ask after every step."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.ir import dtypes
from workbench.ir.nodes import (
    ARITHMETIC,
    AXES,
    BITWISE,
    COMPARISONS,
    LOGICAL,
    LOOP_KINDS,
    MATHS,
    REINTERPRET,
    SCOPES,
    BinOp,
    BlockId,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Cast,
    Const,
    Data,
    Expr,
    For,
    IfThenElse,
    IRModule,
    Node,
    Not,
    PrimFunc,
    Select,
    SeqStmt,
    SizeVar,
    Stmt,
    Var,
    is_data,
    is_text,
    lie_apart,
)
from workbench.ir.visit import walk


class VerifyError(AssertionError):
    """A program that is not well-formed: a fault of the step that made it, never the learner's."""

    def __init__(self, problem: str, path: Sequence[Node]) -> None:
        super().__init__(f"{problem}\nat: {' > '.join(map(_name, path))}")
        self.problem = problem
        self.path = tuple(path)


def verify(program: PrimFunc | IRModule) -> None:
    """Raise VerifyError, with the place, unless `program` is well-formed.

    Variables and buffers are defined once, around where they are used; blocks and loops are
    separate objects; types and numbers of dimensions agree; sequences are flat.
    """
    functions = program.functions if isinstance(program, IRModule) else (program,)
    names = [func.name for func in functions]
    if len(set(names)) < len(names):
        raise VerifyError(f"two functions of one name: {names}", [program])
    for func in functions:
        _Verifier().func(func)


def _name(node: Node) -> str:
    match node:
        case For(loop_var=var):
            return f"for {var.name}"
        case BlockRealize(block=block):
            return f'block "{block.name}"'
        case PrimFunc(name=name):
            return name
        case BufferStore(buffer=buffer) | BufferLoad(buffer=buffer):
            return f"{type(node).__name__} {buffer.name}"
    return type(node).__name__


class _Verifier:
    def __init__(self) -> None:
        self.path: list[Node] = []
        self.scope: set[Var | Buffer] = set()  # what may be used here
        self.loops: set[Var] = set()  # those of the scope that are loops
        self.defined: set[Var | Buffer | BlockId] = set()  # what has been defined anywhere

    def require(self, holds: bool, problem: str) -> None:
        if not holds:
            raise VerifyError(problem, self.path)

    def define(self, node: Var | Buffer | BlockId, what: str) -> None:
        named = is_text(what) if isinstance(node, BlockId) else node.name.isidentifier()
        self.require(named, f"{what}: no such name can be written")
        self.require(node not in self.defined, f"{what} is defined twice")
        self.defined.add(node)
        if not isinstance(node, BlockId):
            self.scope.add(node)

    # --- the frame ---

    def func(self, f: PrimFunc) -> None:
        self.path.append(f)
        for size in f.sizes:
            self.define(size, f"size {size.name}")
        for buffer in f.params:
            self.buffer(buffer)
            self.require(not buffer.strides, f"parameter {buffer.name} is no whole array")
        self.require(isinstance(f.body, BlockRealize), "the body is no block realisation")
        self.notes(f.attrs)
        self.require("global_symbol" not in dict(f.attrs), "the name is an attribute, too")
        root = f.body.block
        self.require(not root.iter_vars and root.init is None, "the root block iterates")
        self.require(not root.reads and not root.writes, "the root block names regions")
        self.stmt(f.body)
        self.path.pop()

    def buffer(self, buffer: Buffer) -> None:
        self.define(buffer, f"buffer {buffer.name}")
        sizes = buffer.shape
        for n in sizes:
            whole = isinstance(n, Expr) or (type(n) is int and n > 0)
            self.require(whole, f"buffer {buffer.name} has shape {sizes}")
            if isinstance(n, Expr):
                self.size(n, buffer)
        self.require(buffer.type in dtypes.BITS, f"buffer {buffer.name} has type {buffer.type}")
        self.require(buffer.scope in SCOPES, f"buffer {buffer.name} is in {buffer.scope!r}")
        one = not buffer.scalar or (not sizes and buffer.scope == "global")
        self.require(one, f"scalar {buffer.name} has shape {sizes}, in {buffer.scope} memory")
        strides = buffer.strides
        counted = not any(isinstance(n, Expr) for n in sizes)
        apart = len(strides) == len(sizes) and counted and lie_apart(sizes, strides)
        self.require(not strides or apart, f"buffer {buffer.name} has strides {strides}")

    def size(self, n: Expr, buffer: Buffer) -> None:
        """A dimension that sizes tell."""
        self.index(n)
        told = [node for node in walk(n) if isinstance(node, (Var, BufferLoad))]
        sizes = bool(told) and all(isinstance(node, SizeVar) for node in told)
        self.require(sizes, f"a dimension of {buffer.name} that its sizes do not tell")

    # --- statements ---

    def stmt(self, s: Stmt) -> None:
        self.path.append(s)
        match s:
            case BufferStore():
                self.require(not s.buffer.scalar, f"a store to scalar {s.buffer.name}")
                self.element(s.buffer, s.indices)
                self.expr(s.value)
                self.require(
                    s.value.dtype == s.buffer.type,
                    f"a {s.value.dtype} is stored to {s.buffer.type} {s.buffer.name}",
                )
            case SeqStmt():
                self.require(len(s.stmts) > 1, f"a sequence of {len(s.stmts)}")
                for inner in s.stmts:
                    self.require(not isinstance(inner, SeqStmt), "a sequence in a sequence")
                    self.stmt(inner)
            case For():
                self.loop(s)
            case IfThenElse():
                self.condition(s.condition)
                self.stmt(s.then_case)
                if s.else_case is not None:
                    self.stmt(s.else_case)
            case BlockRealize():
                self.realize(s)
            case _:
                self.require(False, f"a {type(s).__name__} in a program")
        self.path.pop()

    def loop(self, s: For) -> None:
        self.index(s.min)
        self.index(s.extent)
        self.define(s.loop_var, f"loop {s.loop_var.name}")
        self.loops.add(s.loop_var)
        types = {s.loop_var.type, s.min.dtype, s.extent.dtype}
        self.require(len(types) == 1, f"the loop's variable, min and extent have types {types}")
        self.notes(s.annotations)
        self.require(s.kind in LOOP_KINDS, f"a loop of kind {s.kind}")
        bound = s.kind == "thread_binding"
        self.require(bound == (s.thread is not None), f"a {s.kind} loop has thread {s.thread}")
        self.require(not bound or s.thread in AXES, f"a thread axis {s.thread}")
        if isinstance(s.extent, Const):
            self.require(s.extent.value > 0, f"a loop of extent {s.extent.value}")
            if isinstance(s.min, Const):
                stop, most = s.min.value + s.extent.value, dtypes.limits(s.loop_var.type)[1]
                self.require(stop <= most, f"a loop up to {stop} counts in {s.loop_var.type}")
        self.stmt(s.body)
        self.scope.discard(s.loop_var)
        self.loops.discard(s.loop_var)

    def realize(self, s: BlockRealize) -> None:
        block = s.block
        self.require(
            len(s.iter_values) == len(block.iter_vars),
            f"{len(s.iter_values)} values for {len(block.iter_vars)} iterators",
        )
        for value in s.iter_values:
            self.index(value)
        self.condition(s.predicate)
        self.define(block.id, f"block {block.name}")
        is_root = len(self.path) == 2  # below the function
        self.require(is_root == (block.name == "root"), f'a block named "{block.name}" here')
        for i, value in zip(block.iter_vars, s.iter_values, strict=True):
            self.index(i.dom.min)
            self.index(i.dom.extent)
            self.define(i.var, f"iterator {i.var.name}")
            types = {i.var.type, value.dtype, i.dom.min.dtype, i.dom.extent.dtype}
            self.require(len(types) == 1, f"iterator {i.var.name} has types {sorted(types)}")
            self.require(i.kind in ("spatial", "reduce"), f"an iterator of kind {i.kind}")
        for buffer in block.alloc_buffers:
            self.buffer(buffer)
            self.require(not buffer.scalar, f"scalar {buffer.name} is no parameter")
        # A block with iterators knows the loops around it by its iterators only.
        hidden = set(self.loops) if block.iter_vars else set()
        self.scope -= hidden
        self.loops -= hidden
        self.notes(block.annotations)
        for region in (*block.reads, *block.writes):
            self.region(region)
        if block.init is not None:
            self.stmt(block.init)
        self.stmt(block.body)
        self.scope |= hidden
        self.loops |= hidden
        self.scope.difference_update(block.alloc_buffers, (i.var for i in block.iter_vars))

    def notes(self, notes: tuple[tuple[str, Data], ...]) -> None:
        """Annotations and attributes: a key once, values that a text can hold."""
        keys = [key for key, _ in notes]
        self.require(all(map(is_text, keys)), f"notes of keys {keys}")
        self.require(len(set(keys)) == len(keys), f"two notes of one key: {keys}")
        for key, value in notes:
            self.require(is_data(value), f"note {key!r} is {value!r}")

    def region(self, region: BufferRegion) -> None:
        self.path.append(region)
        self.require(not region.buffer.scalar, f"a region of scalar {region.buffer.name}")
        self.require(region.buffer in self.scope, f"region of unknown buffer {region.buffer.name}")
        self.require(
            len(region.region) == len(region.buffer.shape),
            f"{len(region.region)} ranges for {region.buffer.name}{region.buffer.shape}",
        )
        for r in region.region:
            self.index(r.min)
            self.index(r.extent)
            same = r.min.dtype == r.extent.dtype
            self.require(same, f"a range of {r.min.dtype} and {r.extent.dtype}")
        self.path.pop()

    # --- expressions ---

    def element(self, buffer: Buffer, indices: tuple[Expr, ...]) -> None:
        self.require(buffer in self.scope, f"buffer {buffer.name} is not declared here")
        self.require(
            len(indices) == len(buffer.shape),
            f"{len(indices)} indices for {buffer.name}{buffer.shape}",
        )
        for index in indices:
            self.index(index)

    def index(self, e: Expr) -> None:
        self.expr(e)
        self.require(e.dtype in ("int32", "int64"), f"an index of type {e.dtype}")

    def condition(self, e: Expr) -> None:
        self.expr(e)
        self.require(e.dtype == "bool", f"a condition of type {e.dtype}")

    def expr(self, e: Expr) -> None:
        self.path.append(e)
        match e:
            case Var():
                self.require(e in self.scope, f"variable {e.name} is not defined here")
            case Const():
                self.constant(e)
            case BinOp():
                self.binop(e)
            case Not():
                self.condition(e.a)
            case Cast():
                self.require(e.type in dtypes.BITS, f"a cast to {e.type}")
                self.expr(e.value)
            case Select():
                self.choice(e.condition, e.true_value, e.false_value)
            case Call(op="if_then_else"):
                self.require(len(e.args) == 3, f"if_then_else of {len(e.args)} arguments")
                self.choice(*e.args)
                self.require(e.type == e.args[1].dtype, f"if_then_else of type {e.type}")
            case Call(op=op, args=(value,)) if op == REINTERPRET:
                self.expr(value)
                ends = value.dtype, e.type
                same = len({dtypes.BITS.get(end) for end in ends}) == 1
                right = same and sorted(map(dtypes.is_float, ends)) == [False, True]
                self.require(right, f"bits of {value.dtype} as {e.type}")
            case Call():
                self.require(MATHS.get(e.op) == len(e.args), f"a call {e.op}/{len(e.args)}")
                for arg in e.args:
                    self.expr(arg)
                    self.require(arg.dtype == e.type, f"{e.op} of {arg.dtype} as {e.type}")
            case BufferLoad():
                self.element(e.buffer, e.indices)
            case _:
                self.require(False, f"a {type(e).__name__} in a program")
        self.path.pop()

    def choice(self, condition: Expr, a: Expr, b: Expr) -> None:
        self.condition(condition)
        self.expr(a)
        self.expr(b)
        self.require(a.dtype == b.dtype, f"a choice between {a.dtype} and {b.dtype}")

    def constant(self, e: Const) -> None:
        self.require(e.type in dtypes.BITS, f"a constant of type {e.type}")
        kind = bool if e.type == "bool" else int if dtypes.is_int(e.type) else float
        self.require(type(e.value) is kind, f"{e.value!r} as {e.type}")

    def binop(self, e: BinOp) -> None:
        self.expr(e.a)
        self.expr(e.b)
        self.require(e.op in ARITHMETIC | BITWISE | COMPARISONS | LOGICAL, f"an operator {e.op}")
        self.require(e.a.dtype == e.b.dtype, f"{e.a.dtype} {e.op} {e.b.dtype}")
        whole = dict.fromkeys(("//", "%", *BITWISE), dtypes.is_int)
        takes = {"/": dtypes.is_float, **whole}.get(e.op)
        self.require(takes is None or takes(e.a.dtype), f"{e.op} on {e.a.dtype}")
        logical = e.op not in LOGICAL or e.a.dtype == "bool"
        self.require(logical, f"{e.op} on {e.a.dtype}")
