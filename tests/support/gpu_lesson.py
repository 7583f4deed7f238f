"""Random schedules as lessons on GPUs take them: tiles, virtual threads, copies, fetches."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.random_steps import Chooser
from tests.support.told import Loop, Named, Told
from tests.support.walk import Walk
from workbench.ir import Block, For


@dataclass
class Lesson:
    """The steps of one block on its way to a kernel; each is refused or kept by `walk`.

    Factors need not divide, so that tiles have predicates, and copies go below any loop.
    """

    walk: Walk

    def __post_init__(self) -> None:
        self.rng = self.walk.rng
        self.threads: list[int] = []  # how many there are on threadIdx.x, threadIdx.y

    def go(self) -> None:
        """Inline, copy, tile, bind, attach and fetch. Raises Wrong."""
        for name in self._inner():
            if self.rng.random() < 0.4:
                self._take("compute_inline", Named(name))
        nests = self._now().nests
        name = self.rng.choice([*nests, list(nests)[-1]])
        if not nests[name]:
            return
        copies = self._copied(name)
        depth = self._tiled(name)
        made = [made for made, _ in copies]
        copies += [(other, "") for other in self._feeding(name) if other not in made]
        self.rng.shuffle(copies)
        for other, scope in copies:
            self._attached(name, other, scope, depth)
        for other in [name, *made]:
            if self.rng.random() < 0.5:
                self._started(other)
        self.walk.check()

    # --- steps -----------------------------------------------------------------------------------

    def _copied(self, name: str) -> list[tuple[str, str]]:
        """Copies of what the block reads and writes, each with its memory."""
        found: list[tuple[str, str]] = []
        for index in range(len(self._block(name).reads)):
            for scope in ("shared", "local"):
                if self.rng.random() < 0.4:
                    found += self._new("cache_read", Named(name), index, scope)
        if self.rng.random() < 0.4:
            found += self._new("cache_write", Named(name), 0, "local")
        return found

    def _new(self, verb: str, at: Named, index: int, scope: str) -> list[tuple[str, str]]:
        before = {*self._now().blocks}
        self._take(verb, at, index, scope)
        return [(name, scope) for name in self._now().blocks if name not in before]

    def _tiled(self, name: str) -> int:
        """Split, reorder and bind spatial loops; how many loops that made."""
        kinds = [it.kind for it in self._block(name).iter_vars]
        if len(self._loops(name)) != len(kinds):
            return 0
        spatial = kinds.count("spatial")
        if spatial > 1 and self.rng.random() < 0.2:
            self._take("fuse", *(Loop(name, k) for k in range(spatial)))
            kinds[:spatial], spatial = ["spatial"], 1
        tiled = sorted(self.rng.sample(range(spatial), min(spatial, self.rng.choice((1, 2)))))
        for k in reversed(tiled):
            parts = {"block": None}
            if self.rng.random() < 0.6:
                parts["vthread"] = self.rng.choice((2, 2, 3))
            parts["thread"] = self.rng.choice((1, 2, 2, 3, 4))
            if self.rng.random() < 0.5:
                parts["tile"] = self.rng.choice((1, 2, 3))
            if not self._take("split", Loop(name, k), factors=[*parts.values()]):
                return 0
            kinds[k : k + 1] = parts
        rest = [k for k, kind in enumerate(kinds) if kind not in AXES]
        if self.rng.random() < 0.5:
            self.rng.shuffle(rest)
        order = [k for role in AXES for k, kind in enumerate(kinds) if kind == role]
        self._take("reorder", *(Loop(name, k) for k in [*order, *rest]))
        self._bound(name, [kinds[k] for k in order])
        return len(order)

    def _bound(self, name: str, roles: list[str]) -> None:
        """Bind the outermost loops, the last of each role to x; virtual threads by either name."""
        bare = self.rng.random() < 0.5
        self.threads = []
        for k, role in enumerate(roles):
            inner = roles[k + 1 :].count(role)
            axis = "vthread" if role == "vthread" and bare else f"{AXES[role]}.{'xy'[inner]}"
            extent = getattr(self._loops(name)[k].extent, "value", 1)
            if self._take("bind", Loop(name, k), axis) and role == "thread":
                self.threads.append(int(extent))

    def _attached(self, name: str, other: str, scope: str, depth: int) -> None:
        """Put a copy, or another stage, below a loop of the block, and let threads share it."""
        chooser = self._now()
        if other not in chooser.nests or name not in chooser.nests:
            return
        if not scope and self.rng.random() < 0.8:
            scope = self.rng.choice(("shared", "local"))
            self._take("set_scope", Named(other), 0, scope)
        writes = chooser.blocks[name].block.writes
        reads = chooser.blocks[other].block.reads
        after = bool({r.buffer for r in reads} & {r.buffer for r in writes})
        verb = "reverse_compute_at" if after else "compute_at"
        count = len(chooser.nests[name])
        low = max(min(depth, count - 1) - (self.rng.random() < 0.2), 0)
        for k in self.rng.sample(range(low, count), min(3, count - low)):
            if self._take(verb, Named(other), Loop(name, k)):
                if scope == "shared" and self.rng.random() < 0.8:
                    self._fetched(other, k + 1)
                return

    def _fetched(self, name: str, outer: int) -> None:
        """Let the threads of a block share a copy's loops from `outer` on."""
        own = [Loop(name, k) for k in range(outer, len(self._loops(name)))]
        if len(own) > 1:
            self._take("fuse", *own)
        lanes = [2] if self.rng.random() < 0.4 else []
        factors = [None, *(self.threads or [2]), *lanes]
        if not self._take("split", Loop(name, outer), factors=factors):
            return
        for k, _ in enumerate(factors[1 : len(factors) - len(lanes)]):
            axis = f"threadIdx.{'xy'[len(self.threads or [2]) - 1 - k]}"
            self._take("bind", Loop(name, outer + 1 + k), axis)
        if lanes:
            self._take("vectorize", Loop(name, outer + len(factors) - 1))

    def _started(self, name: str) -> None:
        """Let a sum start ahead of a loop."""
        nests = self._now().nests
        if nests.get(name) and self._block(name).init is not None:
            at = Loop(name, self.rng.randrange(len(nests[name])))
            self._take("decompose_reduction", Named(name), at)

    # --- the program as it is --------------------------------------------------------------------

    def _now(self) -> Chooser:
        return Chooser(self.walk.sch.func, self.rng)

    def _block(self, name: str) -> Block:
        return self._now().blocks[name].block

    def _loops(self, name: str) -> list[For]:
        return self._now().nests[name]

    def _inner(self) -> list[str]:
        """The blocks whose values are read inside, and are no sums."""
        chooser = self._now()
        return [
            name
            for name, realize in chooser.blocks.items()
            if realize.block.init is None
            and not {r.buffer for r in realize.block.writes} & {*chooser.func.params}
        ]

    def _feeding(self, name: str) -> list[str]:
        """The blocks that fill what the block reads."""
        chooser = self._now()
        reads = {r.buffer for r in chooser.blocks[name].block.reads}
        return [
            other
            for other, realize in chooser.blocks.items()
            if other != name and reads & {r.buffer for r in realize.block.writes}
        ]

    def _take(self, verb: str, *args: object, **kwargs: object) -> bool:
        step = Told(verb, args, tuple(kwargs.items()))
        return self.walk.accepts(step) if verb in OF_LOOPS else self.walk.attempt(step)


OF_LOOPS = ("split", "fuse", "reorder", "bind")  # looked at with the next step of another verb
AXES = {"block": "blockIdx", "vthread": "vthread", "thread": "threadIdx"}
