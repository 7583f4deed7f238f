"""TensorIntrin: a name, a description that says what it means, an implementation that runs it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache

from workbench import access, arith, script
from workbench.access.boxes import inside
from workbench.diag import Fail
from workbench.intrin import mma, simdgroup, teaching, wmma
from workbench.ir import (
    WARP_CALL,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    Node,
    PrimFunc,
    is_text,
    rewrite,
    structural_equal,
    walk,
)

NOTE = "tensor_intrin"
"""The annotation of a block that names the intrinsic that runs it."""

TEXTS = {**teaching.TEXTS, **wmma.TEXTS, **mma.TEXTS, **simdgroup.TEXTS}
_registered: dict[str, TensorIntrin] = {}


@dataclass(frozen=True, slots=True)
class TensorIntrin:
    """A tensor intrinsic: `desc` is the program that it means, `impl` the one that runs for it.

    Both take the same tiles, one for each parameter, in the same memories. `sch.tensorize` finds
    `desc` in a program; lowering puts `impl` there.

    >>> intrin = wb.TensorIntrin.get("dot4")
    >>> for line in intrin.desc.script().splitlines()[3:]:
    ...     print(line)
        for k in range(4):
            with T.block("dot"):
                vk = T.axis.reduce(4, k)
                T.reads(C[0], A[vk], B[vk])
                T.writes(C[0])
                C[0] = C[0] + A[vk] * B[vk]
    """

    name: str
    desc: PrimFunc
    impl: PrimFunc

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> TensorIntrin:
        """The intrinsic `name`, which `sch.tensorize` knows from now on. As TVM's.

        Registered once more as it was, it is the same. Raises Fail where the two programs take
        other parameters, where `impl` does anything else than `desc` says, proved by their terms,
        where data decide what one of them does, and, without `override`, for a name that another
        pair has.

        >>> dot4 = wb.TensorIntrin.get("dot4")
        >>> wb.TensorIntrin.register("my_dot4", dot4.desc, dot4.impl).name
        'my_dot4'
        """
        if not name or not is_text(name):
            raise _refusal(name, "that is no name", "give a name: 'dot4'")
        known = TensorIntrin.get(name, allow_missing=True)
        impl = in_order(desc, impl)
        if known is not None:
            if structural_equal(known.desc, desc) and structural_equal(known.impl, impl):
                return known
            if not override or name in TEXTS:
                other = "" if name in TEXTS else ", or pass override=True"
                raise _refusal(name, "another pair has that name", f"give another name{other}")
        made = TensorIntrin(name, desc, impl)
        check(made)
        _registered[name] = made
        return made

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic `name`; None for a name that there is not, with `allow_missing`.

        Raises Fail for such a name else.

        >>> print(wb.TensorIntrin.get("dot4").desc.params[0].shape)
        (4,)
        """
        found = _registered.get(name)
        if found is None and name in TEXTS:
            found = _own(name)
        if found is None and not allow_missing:
            near = get_close_matches(str(name), names(), n=3)
            raise Fail(
                f"Can't find the tensor intrinsic {name!r}",
                detail=f"{'near it' if near else 'there are'}: {', '.join(near or names())}",
                hint="register it first: wb.TensorIntrin.register(name, desc, impl)",
            )
        return found


def names() -> tuple[str, ...]:
    """The names of all tensor intrinsics that there are."""
    return tuple(dict.fromkeys((*TEXTS, *_registered)))


@cache
def _own(name: str) -> TensorIntrin:
    """One of those that come with us; the tests `check` each."""
    desc, impl = map(script.parse, TEXTS[name])
    assert isinstance(desc, PrimFunc) and isinstance(impl, PrimFunc)
    return TensorIntrin(name, desc, impl)


def in_order(desc: PrimFunc, impl: PrimFunc) -> PrimFunc:
    """`impl` with the order of memory that a product of tiles has in `desc`.

    TVM's call does not say it: a tile is multiplied as it was loaded. Where the description reads
    the second tile by column and term, so does the call.
    """
    if not isinstance(desc, PrimFunc) or not isinstance(impl, PrimFunc):
        return impl
    turned = any(_reads_turned(node) for node in walk(desc.body) if isinstance(node, BufferStore))

    def visit(node: Node) -> Node:
        if not isinstance(node, For) or (WARP_CALL, _PRODUCT) not in node.annotations:
            return node
        order = "col_major" if turned else "row_major"
        notes = ((WARP_CALL, (*_PRODUCT, "row_major", order)),)
        body = rewrite(node.body, _turned) if turned else node.body
        return replace(node, body=body, annotations=notes)

    return rewrite(impl, visit)


_PRODUCT = ("tvm_mma_sync",)


def _reads_turned(store: BufferStore) -> bool:
    """Whether a store adds a product of which the second tile is read by the store's column."""
    loads = [n for n in walk(store.value) if isinstance(n, BufferLoad)]
    last = loads[-1].indices if loads else ()
    return len(last) == 2 and len(store.indices) == 2 and last[0] is store.indices[1]


def _turned(node: Node) -> Node:
    """A load of the second tile with its indices exchanged."""
    if isinstance(node, BufferLoad) and node.buffer.tag == "wmma.matrix_b":
        return replace(node, indices=node.indices[::-1])
    return node


# --- what a pair must be like --------------------------------------------------------------------


def check(intrin: TensorIntrin) -> None:
    """Refuse a pair that `tensorize` and lowering could not put in each other's place.

    The two mean the same where all cells of the parameters end with the same terms (`access`),
    whatever is in them, since no data decide which terms there are. An
    implementation also touches no cell that the description does not: beside a tile stand those
    of others, whom nothing orders.
    """
    name, desc, impl = intrin.name, intrin.desc, intrin.impl
    for func, what in ((desc, "description"), (impl, "implementation")):
        if not isinstance(func, PrimFunc) or func.sizes or any(p.scalar for p in func.params):
            raise _refusal(
                name, f"its {what} is no program of tiles", "write it with T.prim_func and numbers"
            )
    _check_parameters(name, desc, impl)
    _check_description(name, desc)
    _check_implementation(name, impl)
    _check_decided(name, desc, "description")
    _check_decided(name, impl, "implementation")
    try:
        found = access.difference(desc, impl, access.random_data(desc, 0))
    except access.Invalid as invalid:
        found = str(invalid)
    if found:
        raise _refusal(
            name,
            "its implementation does not do what its description says",
            "compare the two: both take the same tiles, and leave the same values in them",
            found,
        )
    _check_touched(name, desc, impl)


def _refusal(name: object, why: str, hint: str, detail: str = "") -> Fail:
    return Fail(f"Can't register {name!r}: {why}", detail=detail, hint=hint)


def _check_parameters(name: str, desc: PrimFunc, impl: PrimFunc) -> None:
    told = [[_told(p) for p in func.params] for func in (desc, impl)]
    if told[0] != told[1] or not told[0]:
        raise _refusal(
            name,
            "its two programs take other parameters",
            "give both the same shapes, types and scopes, in the same order",
            f"the description takes {_listed(told[0])}; the implementation {_listed(told[1])}",
        )


def _told(param: Buffer) -> str:
    sizes = " x ".join(map(str, param.shape))
    return f"{sizes} {param.type} in {param.storage_scope}"


def _listed(told: list[str]) -> str:
    return ", ".join(told) or "none"


def _check_description(name: str, desc: PrimFunc) -> None:
    """What `match` could not find: a start of sums, memory of its own, tiles that it leaves out."""
    blocks = [node for node in walk(desc.body) if isinstance(node, Block)]
    if any(block.init is not None for block in blocks):
        raise _refusal(
            name,
            "its description has a T.init()",
            "describe the start of a sum by an intrinsic of its own, which fills",
        )
    if any(block.alloc_buffers for block in blocks):
        raise _refusal(
            name,
            "its description allocates memory",
            "describe what it does to its parameters; the implementation may have its own",
        )
    unused = [p.name for p in desc.params if not any(r.buffer is p for r in _touched(desc))]
    if unused:
        raise _refusal(name, f"its description does not use {unused[0]}", "leave that out")


def _check_implementation(name: str, impl: PrimFunc) -> None:
    """What no step of a schedule has proved: it runs as one statement of one thread."""
    for node in walk(impl.body):
        if isinstance(node, For) and node.kind not in ("serial", "unrolled"):
            raise _refusal(
                name,
                f"`{node.loop_var.name}` of its implementation is {node.thread or node.kind}",
                "write its loops with range or T.unroll; bind and vectorize are steps",
            )
        for own in node.alloc_buffers if isinstance(node, Block) else ():
            if own.scope != "local":
                raise _refusal(
                    name,
                    f"{own.name} of its implementation is in {own.scope} memory",
                    'allocate what it needs for itself in scope="local"',
                )


def _check_decided(name: str, func: PrimFunc, what: str) -> None:
    """Refuse what data lets run: terms follow one course, that of the data that they are run on."""
    for node in walk(func.body):
        for decides in _deciding(node):
            if arith.reads_memory(decides):
                raise _refusal(
                    name,
                    f"what its {what} does depends on data: {script.expr_text(decides)}",
                    "choose between values with T.Select, T.min or T.max, and let loops alone "
                    "tell the cells",
                )


def _deciding(node: Node) -> tuple[Expr, ...]:
    """What decides whether, where and how often `node`, or a part of it, is evaluated."""
    match node:
        case IfThenElse(condition=condition) | Call("if_then_else", (condition, _, _)):
            return (condition,)
        case BufferLoad(indices=indices) | BufferStore(indices=indices):
            return indices
        case For(min=first, extent=extent):
            return (first, extent)
        case BlockRealize(iter_values=values, predicate=predicate):
            return (*values, predicate)
    return ()


def _touched(func: PrimFunc) -> tuple[BufferRegion, ...]:
    reads, writes = arith.access_regions(func.root)
    return (*reads, *writes)


def _check_touched(name: str, desc: PrimFunc, impl: PrimFunc) -> None:
    says = dict(zip(impl.params, desc.params, strict=True))
    (_, written), (reads, writes) = (arith.access_regions(f.root) for f in (desc, impl))
    for regions, allowed in ((reads, _touched(desc)), (writes, written)):
        for region in regions:
            param = says.get(region.buffer)
            if param is None or any(
                one.buffer is param and inside(region.region, one.region, param.shape, {})
                for one in allowed
            ):
                continue
            raise _refusal(
                name,
                f"its implementation touches more of {region.buffer.name} than its description",
                "read and write the cells of which the description speaks",
            )
