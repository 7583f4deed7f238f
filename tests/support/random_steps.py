"""Random steps of a schedule: of any verb, at places and with arguments that suit."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import Any

from tests.support.told import Loop, Named, Told
from workbench.access.pipelines import statements
from workbench.diag import Refusal
from workbench.intrin.teaching import TEXTS as TEACHING
from workbench.ir import Block, BlockRealize, BufferStore, Call, For, PrimFunc, Var, stores, walk
from workbench.verbs.primitive import REGISTRY, discover

SCOPES = ("global", "shared", "local")
AXES = ("blockIdx.x", "threadIdx.x", "threadIdx.y", "blockIdx.y", "threadIdx.z", "vthread.x",
        "vthread.y", "vthread")  # fmt: skip


class Chooser:
    """Draws steps that suit the program as it is, and now and then some that do not."""

    def __init__(self, func: PrimFunc, rng: random.Random) -> None:
        self.rng = rng
        self.func = func
        self.nests: dict[str, list[For]] = {}
        self.blocks: dict[str, BlockRealize] = {}
        self._visit(func.root.body, [])

    def _visit(self, node: Any, loops: list[For]) -> None:
        if isinstance(node, For):
            loops = [*loops, node]
        if isinstance(node, BlockRealize):
            self.nests[node.block.name] = loops
            self.blocks[node.block.name] = node
            loops = []
        for child in _statements(node):
            self._visit(child, loops)

    # --- places ----------------------------------------------------------------------------------

    def block(self) -> Named:
        """Any block."""
        return Named(self.rng.choice(list(self.blocks)))

    def loop(self, kinds: tuple[str, ...] = ()) -> Loop | None:
        """Any loop, or one of `kinds` where there is one."""
        every = [
            (Loop(name, k), loop)
            for name, loops in self.nests.items()
            for k, loop in enumerate(loops)
        ]
        fitting = [at for at, loop in every if not kinds or loop.kind in kinds]
        if fitting and self.rng.random() < 0.9:
            return self.rng.choice(fitting)
        return self.rng.choice(every)[0] if every else None

    def node(self, at: Loop) -> For:
        """The loop at a place."""
        return self.nests[at.block][at.position]

    # --- steps -----------------------------------------------------------------------------------

    def step(self, verbs: tuple[str, ...] | None = None) -> Told | None:
        """A random step of one of `verbs`; None where the draw found no place for it."""
        if not self.blocks:
            return None
        verb = self.rng.choice(verbs or every_verb())
        return DRAWS[verb](self) if verb in DRAWS else self.declared(verb)

    def declared(self, verb: str) -> Told | None:
        """A step of a verb that has no draw of its own: from the choices that it declares."""
        prim = REGISTRY[verb]
        at = self.block() if Block in prim.place.one_of else self.loop()
        if at is None:
            return None
        node = self.blocks[at.block].block if isinstance(at, Named) else self.node(at)
        try:
            ways = list(prim.choices(self.func, node)) if prim.choices else [{}]
        except Refusal:  # nothing there that the verb could be asked for
            return None
        if not ways:
            return None
        way = {name: self._told(value) for name, value in self.rng.choice(ways).items()}
        return Told(verb, (at,), tuple(way.items()))

    def _told(self, value: Any) -> Any:
        """An argument with its loops and blocks told by name and position."""
        if isinstance(value, (list, tuple)):
            return [self._told(v) for v in value]
        if isinstance(value, Block):
            return Named(value.name)
        if isinstance(value, For):
            for name, loops in self.nests.items():
                if value in loops:
                    return Loop(name, loops.index(value))
        return value

    def split(self) -> Told | None:
        at = self.loop(("serial",))
        if at is None:
            return None
        extent = getattr(self.node(at).extent, "value", 4)
        factors: list[int | None] = [
            self.rng.choice((1, 2, 3, 4, 8)) for _ in range(self.rng.choice((1, 1, 2)))
        ]
        factors.insert(self.rng.randrange(len(factors) + 1), None)
        if self.rng.random() < 0.1:
            factors = [self.rng.choice((2, 3)), extent // 2]
        return Told("split", (at,), (("factors", factors),))

    def fuse(self) -> Told | None:
        at = self.loop(("serial",))
        if at is None:
            return None
        count = self.rng.choice((2, 2, 2, 3))
        last = min(at.position + count, len(self.nests[at.block]))
        return Told("fuse", tuple(Loop(at.block, k) for k in range(at.position, last)))

    def reorder(self) -> Told | None:
        at = self.loop(("serial",))
        if at is None:
            return None
        places = list(range(len(self.nests[at.block])))
        chosen = self.rng.sample(places, min(len(places), self.rng.choice((2, 2, 3))))
        return Told("reorder", tuple(Loop(at.block, k) for k in chosen))

    def add_unit_loop(self) -> Told | None:
        at = self.loop() if self.rng.random() < 0.5 else self.block()
        return None if at is None else Told("add_unit_loop", (at,))

    def bind(self) -> Told | None:
        at = self.loop(("serial",))
        return None if at is None else Told("bind", (at, self.rng.choice(AXES)))

    def vectorize(self) -> Told | None:
        return self._on_loop("vectorize")

    def unroll(self) -> Told | None:
        return self._on_loop("unroll")

    def parallel(self) -> Told | None:
        return self._on_loop("parallel")

    def _on_loop(self, verb: str) -> Told | None:
        at = self.loop(("serial",))
        return None if at is None else Told(verb, (at,))

    def pipeline(self) -> Told | None:
        """A loop over several statements, in stages that mostly follow each other.

        What fills shared memory is often in an asynchronous one.
        """
        several = [
            (Loop(name, k), stmts)
            for name, loops in self.nests.items()
            for k, loop in enumerate(loops)
            if len(stmts := statements(loop)) > 1
        ]
        if not several:
            return None
        at, stmts = self.rng.choice(several)
        count = len(stmts)
        stages = [self.rng.choice((0, 0, 1, 1, 2)) for _ in range(count)]
        stages = sorted(stages) if self.rng.random() < 0.7 else stages
        order = self.rng.sample(range(count), count) if self.rng.random() < 0.3 else None
        shared = [
            stage
            for stage, stmt in zip(stages, stmts, strict=True)
            if any(store.buffer.scope == "shared" for store in stores(stmt))
        ]
        apart = [self.rng.choice(shared)] if shared and self.rng.random() < 0.5 else None
        way = (("stages", stages), ("order", order), ("async_stages", apart))
        return Told("pipeline", (at,), way)

    def cache_read(self) -> Told:
        at = self.block()
        count = max(len(self.blocks[at.block].block.reads), 1)
        return Told("cache_read", (at, self.rng.randrange(count), self.rng.choice(SCOPES)))

    def cache_write(self) -> Told:
        return Told("cache_write", (self.block(), 0, self.rng.choice(SCOPES)))

    def compute_at(self) -> Told | None:
        return self._move("compute_at", self._pair(is_reader=True))

    def reverse_compute_at(self) -> Told | None:
        return self._move("reverse_compute_at", self._pair(is_reader=False))

    def _move(self, verb: str, pair: tuple[str, str] | None) -> Told | None:
        if pair is None or not self.nests[pair[1]]:
            return None
        at = Loop(pair[1], self.rng.randrange(len(self.nests[pair[1]])))
        unit = (("preserve_unit_loops", True),) if self.rng.random() < 0.2 else ()
        return Told(verb, (Named(pair[0]), at), unit)

    def _pair(self, is_reader: bool) -> tuple[str, str] | None:
        """A block, and one that reads what it writes, or writes what it reads."""
        pairs = [
            (mine, other) if is_reader else (other, mine)
            for mine, one in self.blocks.items()
            for other, two in self.blocks.items()
            if mine != other
            and {r.buffer for r in one.block.writes} & {r.buffer for r in two.block.reads}
        ]
        if pairs and self.rng.random() < 0.95:
            return self.rng.choice(pairs)
        names = list(self.blocks)
        return (self.rng.choice(names), self.rng.choice(names)) if len(names) > 1 else None

    def compute_inline(self) -> Told:
        used = {r.buffer for one in self.blocks.values() for r in one.block.reads}
        plain = [
            name
            for name, one in self.blocks.items()
            if one.block.init is None and {r.buffer for r in one.block.writes} <= used
        ]
        if plain and self.rng.random() < 0.8:
            return Told("compute_inline", (Named(self.rng.choice(plain)),))
        return Told("compute_inline", (self.block(),))

    def reverse_compute_inline(self) -> Told:
        copies = [name for name, r in self.blocks.items() if self._reads_one_made_here(r)]
        if copies and self.rng.random() < 0.8:
            return Told("reverse_compute_inline", (Named(self.rng.choice(copies)),))
        return Told("reverse_compute_inline", (self.block(),))

    def _reads_one_made_here(self, realize: BlockRealize) -> bool:
        """Whether a block reads a single buffer, which another block fills."""
        reads = {r.buffer for r in realize.block.reads}
        made = {r.buffer for other in self.blocks.values() for r in other.block.writes}
        return len(reads) == 1 and reads <= made and realize.block.init is None

    def merge(self) -> Told | None:
        """Two nests that stand side by side: all of their loops, or the outer ones."""
        names = [name for name, loops in self.nests.items() if loops]
        pairs = [
            (a, b) for a in names for b in names if a != b and self._equal(a, b)
        ] or self._some_pairs(names)
        if not pairs:
            return None
        a, b = self.rng.choice(pairs)
        at = self.rng.randrange(min(len(self.nests[a]), len(self.nests[b])))
        return Told("merge", (Loop(a, at), Loop(b, at)))

    def _equal(self, a: str, b: str) -> bool:
        """Whether the loops around two blocks run equally often, and are not the same."""
        one, two = self.nests[a], self.nests[b]
        extents = [[getattr(loop.extent, "value", 0) for loop in nest] for nest in (one, two)]
        return one[0] is not two[0] and extents[0] == extents[1]

    def _some_pairs(self, names: list[str]) -> list[tuple[str, str]]:
        return [(names[0], names[-1])] if len(names) > 1 and self.rng.random() < 0.2 else []

    def decompose_padding(self) -> Told | None:
        padding = [
            name
            for name, r in self.blocks.items()
            if isinstance(r.block.body, BufferStore)
            and isinstance(r.block.body.value, Call)
            and r.block.body.value.op == "if_then_else"
        ]
        if not padding and self.rng.random() < 0.9:
            return None
        name = self.rng.choice(padding or list(self.blocks))
        count = len(self.nests[name])
        if not count:
            return None
        return Told("decompose_padding", (Named(name), Loop(name, self.rng.randrange(count))))

    def pad_einsum(self) -> Told:
        plain = [
            name
            for name, r in self.blocks.items()
            if {*r.iter_values} == {loop.loop_var for loop in self.nests[name]}
        ]
        name = self.rng.choice(plain) if plain and self.rng.random() < 0.9 else self.block().block
        iterators = self.blocks[name].block.iter_vars
        most = [it for it in iterators if it.kind == "spatial"] if self.rng.random() < 0.5 else []
        padding = [
            1 if most and it not in most else self.rng.choice((1, 2, 4, 8)) for it in iterators
        ]
        return Told("pad_einsum", (Named(name), padding))

    def decompose_reduction(self) -> Told | None:
        reducing = [name for name, r in self.blocks.items() if r.block.init is not None]
        name = self.rng.choice(reducing or list(self.blocks))
        count = len(self.nests[name])
        if not count:
            return None
        return Told("decompose_reduction", (Named(name), Loop(name, self.rng.randrange(count))))

    def rfactor(self) -> Told | None:
        reducing = [name for name, r in self.blocks.items() if r.block.init is not None]
        name = self.rng.choice(reducing or list(self.blocks))
        if not self.nests[name]:
            return None
        at = Loop(name, self.rng.randrange(len(self.nests[name])))
        return Told("rfactor", (at, self.rng.choice((0, 0, 1, -1))))

    def storage_align(self) -> Told:
        made = [
            name
            for name, r in self.blocks.items()
            if r.block.writes
            and r.block.writes[0].buffer not in self.func.params
            and len(r.block.writes[0].region) > 1
        ]
        name = self.rng.choice(made) if made else self.block().block
        writes = self.blocks[name].block.writes
        last = len(writes[0].region) - 1 if writes else 0
        axis = self.rng.randrange(last) if last and self.rng.random() < 0.9 else last
        wish = self.rng.choice(((4, 1), (8, 0), (32, 1), (8, 4)))
        return Told("storage_align", (Named(name), 0, axis, *wish))

    def blockize(self) -> Told | None:
        """A loop, or blocks that stand one after the other."""
        names = list(self.blocks)
        if len(names) < 2 or self.rng.random() < 0.6:
            return self.declared("blockize")
        at = self.rng.randrange(len(names) - 1)
        some = [Named(name) for name in names[at : at + self.rng.choice((2, 2, 3))]]
        units = (("preserve_unit_iters", False),) if self.rng.random() < 0.3 else ()
        return Told("blockize", (some,), units)

    def tensorize(self) -> Told | None:
        """A loop or block of as many turns as the tile of an intrinsic has, mostly."""
        choices = REGISTRY["tensorize"].choices
        assert choices is not None
        some: list[tuple[Loop | Named, For | Block]] = [
            (Loop(name, k), loop)
            for name, loops in self.nests.items()
            for k, loop in enumerate(loops)
        ]
        some += [(Named(name), realize.block) for name, realize in self.blocks.items()]
        fits = [
            (at, choice["tensor_intrin"])
            for at, node in some
            for choice in choices(self.func, node)
            if choice["tensor_intrin"] in TEACHING
        ]
        if fits and self.rng.random() < 0.9:
            return Told("tensorize", self.rng.choice(fits))
        return Told("tensorize", (self.rng.choice(some)[0], self.rng.choice([*TEACHING])))

    def transform_layout(self) -> Told | None:
        """A layout that swaps indices, or one that leaves cells over and fills them."""
        if self.rng.random() < 0.5:
            return self.declared("transform_layout")
        at = self.block()
        writes = self.blocks[at.block].block.writes
        shape = writes[0].buffer.shape if writes else (8,)
        names = [f"i{k}" for k in range(len(shape))]
        k, by = self.rng.randrange(len(shape)), self.rng.choice((2, 3, 4, 5))
        cut = self.rng.choice(
            ([f"{names[k]} // {by}", f"{names[k]} % {by}"], [f"{names[k]} * {by}"])
        )
        text = f"lambda {', '.join(names)}: ({', '.join([*names[:k], *cut, *names[k + 1 :]])},)"
        kwargs = (("buffer", ["write", 0]), ("index_map", text), ("pad_value", 0))
        return Told("transform_layout", (at,), kwargs)

    def transform_block_layout(self) -> Told:
        at = self.block()
        return Told("transform_block_layout", (at,), (("index_map", self._iterator_map(at)),))

    def reindex_cache_read(self) -> Told:
        return self._reindex_cache("read")

    def reindex_cache_write(self) -> Told:
        return self._reindex_cache("write")

    def _reindex_cache(self, way: str) -> Told:
        at, rng = self.block(), self.rng
        block = self.blocks[at.block].block
        regions = block.reads if way == "read" else block.writes
        index = rng.randrange(max(len(regions), 1))
        used: set[Any] = set()
        if regions and rng.random() < 0.9:
            touched = regions[index].region
            used = {v for axis in touched for v in walk(axis.min) if isinstance(v, Var)}
        text = self._iterator_map(at, used)
        return Told(f"reindex_cache_{way}", (at, index, rng.choice(SCOPES)), (("index_map", text),))

    def _iterator_map(self, at: Named, used: Collection[Any] = ()) -> str:
        """A map of the iterators of a block, of those `used` where there are any."""
        iterators = self.blocks[at.block].block.iter_vars
        sizes = [getattr(it.dom.extent, "value", 4) for it in iterators]
        return self.index_map(sizes, [not used or it.var in used for it in iterators])

    def index_map(self, sizes: list[int], told: list[bool]) -> str:
        """A map of indices with `sizes`: those `told` are cut, turned round, swapped or joined."""
        names = [f"i{k}" for k in range(len(sizes))]
        parts: list[tuple[str, int]] = []
        for name, size, is_told in zip(names, sizes, told, strict=True):
            if not is_told:
                continue
            cuts = [n for n in (2, 3, 4, 5) if size % n == 0 and size > n]
            wish = self.rng.random()
            if cuts and wish < 0.4:
                n = self.rng.choice(cuts)
                parts += [(f"{name} // {n}", size // n), (f"{name} % {n}", n)]
            else:
                parts.append((f"{size - 1} - {name}" if wish > 0.9 else name, size))
        if self.rng.random() < 0.5:
            self.rng.shuffle(parts)
        if len(parts) > 1 and self.rng.random() < 0.4:
            k = self.rng.randrange(len(parts) - 1)
            (a, m), (b, n) = parts[k : k + 2]
            parts[k : k + 2] = [(f"({a}) * {n} + ({b})", m * n)]
        return f"lambda {', '.join(names)}: ({''.join(f'{text}, ' for text, _ in parts)})"

    def set_scope(self) -> Told:
        return Told("set_scope", (self.block(), 0, self.rng.choice(SCOPES)))

    def sample_perfect_tile(self) -> Told | None:
        at = self.loop()
        return at and Told("sample_perfect_tile", (at,), (("n", self.rng.choice((1, 2, 3))),))

    def sample_categorical(self) -> Told | None:
        return Told("sample_categorical", ([1, 2, 4], [0.25, 0.25, 0.5]))

    def annotate(self) -> Told | None:
        if self.rng.random() < 0.3:
            return Told("annotate", (self.block(), "double_buffer_scope", 0))
        at = self.loop() if self.rng.random() < 0.5 else self.block()
        note = self.rng.choice((16, "tile", 1, [1, "two"], {"tile": [1, 2], "by": "hand"}))
        return None if at is None else Told("annotate", (at, "note", note))

    def unannotate(self) -> Told | None:
        noted: list[tuple[Loop | Named, str]] = [
            (Loop(name, k), key)
            for name, loops in self.nests.items()
            for k, loop in enumerate(loops)
            for key, _ in loop.annotations
        ]
        noted += [(Named(n), key) for n, r in self.blocks.items() for key, _ in r.block.annotations]
        if not noted:
            return None if self.rng.random() < 0.9 else Told("unannotate", (self.block(), "note"))
        at, key = self.rng.choice(noted)
        return Told("unannotate", (at, key))


DRAWS: dict[str, Callable[[Chooser], Told | None]] = {
    name: getattr(Chooser, name)
    for name in (
        "sample_perfect_tile",
        "sample_categorical",
        "split",
        "fuse",
        "reorder",
        "add_unit_loop",
        "bind",
        "vectorize",
        "unroll",
        "parallel",
        "pipeline",
        "cache_read",
        "cache_write",
        "compute_at",
        "reverse_compute_at",
        "compute_inline",
        "reverse_compute_inline",
        "merge",
        "decompose_padding",
        "pad_einsum",
        "decompose_reduction",
        "rfactor",
        "storage_align",
        "blockize",
        "tensorize",
        "transform_layout",
        "transform_block_layout",
        "reindex_cache_read",
        "reindex_cache_write",
        "set_scope",
        "annotate",
        "unannotate",
    )
}

# those that are seldom possible come more often
OFTEN = {
    "compute_at": 3,
    "compute_inline": 2,
    "reverse_compute_inline": 6,
    "reverse_compute_at": 3,
    "annotate": 3,
    "pipeline": 4,
    "unannotate": 5,
    "rfactor": 4,
    "merge": 10,
    "decompose_padding": 6,
    "pad_einsum": 3,
    "storage_align": 2,
    "transform_block_layout": 3,
    "reindex_cache_read": 2,
    "reindex_cache_write": 2,
    "transform_layout": 2,
}


def every_verb() -> tuple[str, ...]:
    """Every verb there is, as often as it should be drawn."""
    return tuple(verb for verb in discover() for _ in range(OFTEN.get(verb, 1)))


def _statements(node: Any) -> list[Any]:
    """The statements directly below `node`."""
    if isinstance(node, For):
        return [node.body]
    if isinstance(node, BlockRealize):
        return [part for part in (node.block.init, node.block.body) if part is not None]
    return list(getattr(node, "stmts", ()))
