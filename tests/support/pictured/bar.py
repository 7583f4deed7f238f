"""The bar of a program's time, opened: a row a resource, against what the kernels' text asks for.

What every warp asks for by the text of a kernel is counted, request by request. A compiler joins
and keeps some of it, of which nobody has the rules but the model: so where a thread may ask twice
for a thing, a row lies between what cannot be saved and all that the text has. Where it cannot, a
row is what was counted, and so are its statements. Blocks, operations, bytes of device memory and
the places of multiprocessors are always what was counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import floor, log10, prod
from typing import Any

from tests.support.pictured.launches import COMPUTES, MATHS, work
from tests.support.pictured.log import WARP, KernelLog, ProgramLog, width
from tests.support.pictured.requests import SECTOR, cost, sectors
from tests.support.pictured.tally import Tally, counted, micro
from tests.support.warp_trace import BARRIER, Place, Request
from workbench import script
from workbench.ir import (
    SHUFFLE,
    BinOp,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    children,
    dtypes,
    free_vars,
    walk,
)
from workbench.lower.keep_values import keep_values
from workbench.target import Target

LINE = 128  # bytes that the L1 cache finds, or shared memory serves, in a clock
VECTOR = 16  # bytes that a thread asks for at once, at most
PORT = 64  # bytes a clock of a multiprocessor from L2
PARTS = 4  # statements of a row that are told
NEAR = 0.006  # of a number of three digits

Ask = tuple[str, str]  # a statement, and the buffer for which it asks


@dataclass(frozen=True)
class Span:
    """At least, and at most; `by` has what each statement asks for, where all of it is known."""

    low: float
    high: float
    by: Mapping[Ask, float] | None = None


@dataclass(frozen=True)
class Wanted:
    """What a row says of one launch: how much is asked, what a unit of it takes, and the words."""

    amount: Span
    us: Callable[[float], float]
    much: str
    words: str


@dataclass
class TextLog:
    """What the warps of a launch ask for, as the text of its kernel has it."""

    log: KernelLog
    gpu: Target
    texts: dict[int, str] = field(default_factory=dict)

    @cached_property
    def text(self) -> KernelLog:
        """The kernel as its text has it: with values kept in registers."""
        kept = keep_values(self.log.kernel)
        return self.log if kept is self.log.kernel else KernelLog(kept)

    @property
    def blocks(self) -> int:
        return prod(self.log.kernel.grid)

    @property
    def busiest(self) -> float:
        """The share of all blocks that the multiprocessor with the most has."""
        return -(-self.blocks // (self.gpu.sm_count or 1)) / self.blocks

    @property
    def each_sm(self) -> str:
        return f"on {counted(min(self.blocks, self.gpu.sm_count or 1), 'multiprocessor')}"

    def statement(self, place: Place) -> str:
        """The statement that a load or store stands in, as text."""
        store, node = place
        store = node if store is None and isinstance(node, BufferStore) else store
        if store is None:
            return "if "
        if id(store) not in self.texts:
            cell = script.expr_text(BufferLoad(store.buffer, store.indices))
            self.texts[id(store)] = f"{cell} = {script.expr_text(store.value)}"
        return self.texts[id(store)]

    @cached_property
    def is_plain(self) -> bool:
        """Whether no compiler can join or keep any of it: each thread loads each cell of memory at
        most once, stores it at most once, and has shared memory and registers in no loop."""
        if self._asks_for_turns() or self._goes_on():
            return False
        for place in self.text.places:
            scope, loops = place[1].buffer.scope, self.text.loops[id(place[1])]
            if scope != "global" and any(_extent(loop) != 1 for loop in loops):
                return False
        for noted in self.text.threads.values():
            seen: set[tuple[object, ...]] = set()
            for place, _, address in noted:
                if place is BARRIER:
                    continue
                node = place[1]
                way = node.buffer, isinstance(node, BufferStore)
                touched = {(*way, byte) for byte in range(address, address + width(node))}
                if not seen.isdisjoint(touched):
                    return False
                seen |= touched
        return True

    @cached_property
    def changed(self) -> set[Buffer]:
        """The buffers that are stored."""
        return {p[1].buffer for p in self.text.places if isinstance(p[1], BufferStore)}

    def _goes_on(self) -> bool:
        """Whether a statement goes on with what another of the same thread has begun."""
        begun = Counter(p[1].buffer for p in self.text.places if isinstance(p[1], BufferStore))
        loads = {p[1].buffer for p in self.text.places if isinstance(p[1], BufferLoad)}
        return any(times > 1 and buffer in loads for buffer, times in begun.items())

    def _asks_for_turns(self) -> bool:
        """Whether a condition asks which turn of a loop it is: then first turns stand ahead."""
        body = self.text.kernel.body
        turns = {node.loop_var for node in walk(body) if isinstance(node, For)}
        asked = (node.condition for node in walk(body) if isinstance(node, IfThenElse))
        return any(not turns.isdisjoint(free_vars(condition)) for condition in asked)

    # --- what is asked for -------------------------------------------------------------------

    def span(self, scopes: Iterable[str], each: Callable[[Place, Request], float], low: float,
             ways: Sequence[bool] = (False, True)) -> Span:  # fmt: skip
        """What the requests to memories take, one by one."""
        by: dict[Ask, float] = defaultdict(float)
        for place in self.text.places:
            node = place[1]
            if node.buffer.scope in scopes and isinstance(node, BufferStore) in ways:
                taken = sum(each(place, lanes) for lanes in self.text.requests[place].values())
                by[self.statement(place), node.buffer.name] += taken
        whole = float(sum(by.values()))
        return Span(whole, whole, by) if self.is_plain else Span(low, whole)

    def least(self, scope: str, unit: int, writes: bool = False) -> float:
        """How many units of so many bytes each warp needs of what it surely loads, or stores."""
        return float(sum(map(len, self.touched(scope, unit, writes))))

    def least_loads(self, scope: str) -> float:
        """How often each warp loads, at least: once for 16 bytes of each of its lanes."""
        return float(sum(-(-len(own) // (LINE * 4)) for own in self.touched(scope, 1)))

    def touched(self, scope: str, unit: int, writes: bool = False) -> Iterable[set[int]]:
        """Of each warp and buffer, the units of so many bytes that it surely loads, or stores.

        What a statement adds to may be in a register, and so may what is stored and loaded.
        """
        bytes_of: dict[tuple[object, ...], set[int]] = defaultdict(set)
        for place in self.text.places:
            node = place[1]
            if node.buffer.scope != scope or isinstance(node, BufferStore) != writes:
                continue
            if not writes and node.buffer in self.changed:
                continue
            for (block, warp, *_), lanes in self.text.requests[place].items():
                for start in lanes.values():
                    span = range(start // unit, (start + width(node) - 1) // unit + 1)
                    bytes_of[block, warp, node.buffer.name].update(span)
        return bytes_of.values()

    @cached_property
    def arithmetic(self) -> Mapping[Ask, float]:
        """Instructions of warps for what is computed, by statement: a multiply-add is one."""
        by: dict[Ask, float] = defaultdict(float)
        for place in self.text.places:
            node = place[1]
            if not isinstance(node, BufferStore):
                continue
            each = instructions(node.value) * getattr(node.indices[0], "lanes", 1)
            runs = {(block, warp, turns) for block, warp, turns, _ in self.text.requests[place]}
            if each:
                by[self.statement(place), node.buffer.name] += each * len(runs)
        return by

    @property
    def issue(self) -> Span:
        computed = sum(self.arithmetic.values())
        low = computed + self.least_loads("global") + self.least_loads("shared")
        found = self.span(("global", "shared", "local"), _one, low - computed)
        if found.by is None:
            return Span(low, found.high + computed)
        by = defaultdict(float, self.span(("global", "shared"), _one, 0.0).by or {})
        for key, amount in self.arithmetic.items():
            by[key] += amount
        whole = float(sum(by.values()))
        return Span(whole, whole, by)

    @property
    def lines(self) -> Span:
        """Lines of L1: of global memory, and of arrays of a thread that have no registers."""
        low = max(self.least("global", LINE), self.least("global", LINE, writes=True)) / 2
        found = self.span(("global",), _lines, low)
        if found.by is not None and self._all_awake():
            return found
        found = self.span(("global",), lambda place, lanes: _lines(place, lanes) + 1, low)
        own = self.span(("local",), lambda place, lanes: len(lanes) * width(place[1]) / 4, 0.0)
        return Span(low, found.high + own.high)

    def _all_awake(self) -> bool:
        """Whether a block is one warp, all threads of which ask, where one does."""
        threads = prod(self.log.kernel.block)
        return threads <= WARP and all(
            len(lanes) == threads
            for place in self.text.places
            if place[1].buffer.scope == "global"
            for lanes in self.text.requests[place].values()
        )

    @property
    def wavefronts(self) -> Span:
        low = self.least("shared", 4) / WARP
        return self.span(("shared",), _wavefronts, low)

    @property
    def stored(self) -> Span:
        """Bytes that are stored to L2."""
        low = self.least("global", SECTOR, writes=True) * SECTOR
        return self.span(("global",), _bytes, low, (True,))

    @property
    def loaded(self) -> Span:
        """Bytes that are loaded from L2: L1 has what another warp of the block has loaded."""
        every = self.span(("global",), _bytes, 0.0, (False,))
        asked: dict[str, float] = defaultdict(float)
        for place in self.text.places:
            if place[1].buffer.scope == "global" and isinstance(place[1], BufferLoad):
                lanes = self.text.requests[place].values()
                asked[place[1].buffer.name] += sum(_bytes(place, one) for one in lanes)
        if self.blocks >= 2 * (self.gpu.sm_count or 1):  # more than one block beside another
            return Span(0.0, every.high)
        brought = {name: min(asked[name], self._brought(name)) for name in asked}
        whole = float(sum(brought.values()))
        if every.by is None:
            return Span(0.0, whole)
        by = {key: n * brought[key[1]] / max(asked[key[1]], 1) for key, n in every.by.items()}
        return Span(whole, whole, by)

    def _brought(self, buffer: str) -> float:
        """What all blocks bring of a buffer, if each does as that in the middle of the grid."""
        x, y, _ = self.log.kernel.grid
        n = max(0, min(self.blocks // 2, self.blocks - 1))
        middle, touched = (n % x, n // x % y, n // (x * y)), set[int]()
        for place in self.text.places:
            node = place[1]
            if node.buffer.name == buffer and isinstance(node, BufferLoad):
                for (block, *_), lanes in self.text.requests[place].items():
                    touched |= {*sectors(lanes, width(node))} if block == middle else {*()}
        return float(len(touched) * SECTOR * self.blocks)

    @cached_property
    def device(self) -> int:
        """The bytes of all arrays in global memory that the text names."""
        body = self.text.kernel.body
        there = {n.buffer for n in walk(body) if isinstance(n, BufferLoad | BufferStore)}
        return sum(_size(buffer) for buffer in there if buffer.scope == "global")

    # --- what rows say -----------------------------------------------------------------------

    @cached_property
    def rows(self) -> dict[str, Wanted]:
        """By resource what this launch has to do."""
        gpu = self.gpu
        sms, clock = gpu.sm_count or 1, gpu.clock_hz or 1.0
        operations = (gpu.peak_flops or 0) / (2 * WARP * clock * sms)
        computed = sum(self.arithmetic.values())
        start = (gpu.launch_seconds or 0) * 1e6
        block = (gpu.block_seconds or 0) * 1e6
        much = counted(self.blocks, "block")
        us = micro(start + self.blocks * block)
        loaded, stored = self.loaded, self.stored
        speed = min(gpu.l2_bandwidth or 0, min(self.blocks, sms) * PORT * clock)
        way = Span(max(loaded.low, stored.low), max(loaded.high, stored.high))
        if loaded.by is not None and stored.by is not None:
            way = stored if stored.high > loaded.high else loaded
        to = r"(?:to|from)" if way.by is None else "to" if way is stored else "from"
        number = r"[\d.]+(?: [kMG])?"
        return {
            "launch": Wanted(Span(self.blocks, self.blocks, {}), lambda n: start + n * block,
                             much, re.escape(f"{much} start in {us}")),
            "issue": self._of_sm(self.issue, gpu.registers_parts or 1, "instructions", "of warps"),
            "arithmetic": self._of_sm(Span(computed, computed, self.arithmetic), operations,
                                      "operations", "of warps"),
            "L1": self._of_sm(self.lines, 1, "lines", "of the L1 cache"),
            "shared": self._of_sm(self.wavefronts, 1, "wavefronts", "of shared memory"),
            "L2": Wanted(way, lambda n: n * 1e6 / speed, "bytes",
                         rf"{number} bytes {to} L2 at {speed / 1e12:.3g} TB/s"),
        }  # fmt: skip

    def _of_sm(self, amount: Span, each: float, what: str, of: str) -> Wanted:
        each = max(each, 1)
        clock = self.gpu.clock_hz or 1.0
        words = rf"[\d.]+(?: [kMG])? {what} {of}, {each:.3g} a clock {self.each_sm}"
        return Wanted(amount, lambda n: 1e6 * n * self.busiest / each / clock, what, words)


def instructions(expr: Expr) -> int:
    """What a lane computes for a value: a product and what is added to it are one."""
    return sum(_computes(one) and not _is_fused(one) for one in _values(expr))


def _values(expr: Expr) -> Iterable[Expr]:
    """The parts of a value, without those of indices and of conditions."""
    if expr.dtype == "bool":
        return
    yield expr
    if not isinstance(expr, BufferLoad):
        for child in children(expr):
            if isinstance(child, Expr):
                yield from _values(child)


def _computes(expr: Expr) -> bool:
    if isinstance(expr, BinOp):
        return expr.op in COMPUTES
    return isinstance(expr, Call) and (expr.op in MATHS or expr.op == SHUFFLE)


def _is_fused(expr: Expr) -> bool:
    if not isinstance(expr, BinOp) or expr.op not in "+-" or not dtypes.is_float(expr.dtype):
        return False
    return any(isinstance(side, BinOp) and side.op == "*" for side in (expr.a, expr.b))


def _one(place: Place, lanes: Request) -> float:
    return 1.0


def _wavefronts(place: Place, lanes: Request) -> float:
    return float(cost(lanes, width(place[1]), isinstance(place[1], BufferStore), "shared")[0])


def _lines(place: Place, lanes: Request) -> float:
    """Lines of a request, as if the sector of its first byte were the first of a line."""
    wide, first = width(place[1]), min(lanes.values()) // SECTOR * SECTOR
    starts = [address - first for address in lanes.values()]
    return float(len({k for a in starts for k in (a // LINE, (a + wide - 1) // LINE)}))


def _bytes(place: Place, lanes: Request) -> float:
    return float(len(sectors(lanes, width(place[1]))) * SECTOR)


def _size(buffer: Buffer) -> int:
    return int(prod(buffer.shape)) * int(dtypes.itemsize(buffer.type))


def _extent(loop: For) -> int | None:
    return getattr(loop.extent, "value", None)


def short(number: float) -> str:
    """A large number in short."""
    for size, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{name}"
    return f"{number:.3g}"


def read_short(text: str) -> float:
    """The number that was written in short."""
    found = re.match(r"([\d.]+)(?: ([kMG])\b)?", text)
    assert found is not None, text
    return float(found[1]) * {"k": 1e3, "M": 1e6, "G": 1e9, None: 1.0}[found[2]]


# --- the check ------------------------------------------------------------------------------------


def check_opened(
    tally: Tally,
    program: ProgramLog,
    logs: Sequence[KernelLog],
    gpu: Target,
    bar: Mapping[str, Any],
    things: Callable[[str], object],
) -> None:
    """Every row of the opened bar, with its statements; `things` are what keys stand for."""
    texts = [TextLog(log, gpu) for log in logs]
    known = (*texts[0].rows, "device", "latency")
    for row in bar["rows"]:
        tally.among("names of resources", row["name"], known)
        if row["name"] in known:
            one = _Row(tally, program, texts, gpu, row, things)
            {"device": one.device, "latency": one.latency}.get(row["name"], one.asked)()
            one.parts()
    shares = [row["share"] for row in bar["rows"]]
    tally.same("hues of rows", shares, sorted(shares, reverse=True))
    _check_axis(tally, logs, gpu, bar)


@dataclass
class _Row:
    tally: Tally
    program: ProgramLog
    texts: Sequence[TextLog]
    gpu: Target
    row: Mapping[str, Any]
    things: Callable[[str], object]

    @property
    def wanted(self) -> list[Wanted]:
        return [one.rows[self.row["name"]] for one in self.texts]

    def asked(self) -> None:
        """A number of the longest launch, the time of all, and why."""
        name, row, tally = self.row["name"], self.row, self.tally
        every = self.wanted
        exact = all(one.amount.by is not None for one in every)
        low, high = ([w.us(getattr(w.amount, end)) for w in every] for end in ("low", "high"))
        if exact:
            ends = {micro(sum(high) * (1 + ulp)) for ulp in (-1e-12, 0, 1e-12)}  # of a tie, either
            tally.among(f"{name}: time", row["us"], ends, row["words"])
        else:
            us = _us(row["us"])
            inside = sum(low) * (1 - NEAR) <= us <= sum(high) * (1 + NEAR)
            tally.same(f"{name}: time within", inside, True, f"{row['us']} {low} {high}")
        if name != "launch":
            self.number(every, high, exact)
        forms = {one.words for one in every}
        fits = any(re.fullmatch(form, row["words"]) for form in forms)
        tally.same(f"{name}: words", fits, True, f"{row['words']} {forms}")
        if not row["words"].startswith(row["much"]):
            tally.add(f"{row['words']!r} begins not with {row['much']!r}")

    def number(self, every: Sequence[Wanted], us: Sequence[float], exact: bool) -> None:
        name, much = self.row["name"], self.row["much"]
        if exact:
            longest = [one for one, t in zip(every, us, strict=True) if t >= max(us) * (1 - 1e-9)]
            known = {f"{short(one.amount.high)} {one.much}" for one in longest}
            self.tally.among(f"{name}: amount", much, known)
            return
        number = read_short(much)
        low = min(one.amount.low for one in every)
        high = max(one.amount.high for one in every)
        inside = low * (1 - NEAR) <= number <= high * (1 + NEAR)
        self.tally.same(f"{name}: amount within", inside, True, f"{much} {low} {high}")

    def device(self) -> None:
        """All bytes once, if they do not stay in L2."""
        tally, row, cache = self.tally, self.row, self.gpu.l2_bytes or 0
        us = [n / (self.gpu.bandwidth or 1) * 1e6 if n > cache else 0.0
              for n in (one.device for one in self.texts)]  # fmt: skip
        tally.same("device: time", row["us"], micro(sum(us)))
        longest = self.texts[max(range(len(us)), key=us.__getitem__)].device
        much = f"{short(longest)} bytes" + (" in L2" if not any(us) else "")
        tally.same("device: amount", row["much"], much)
        stays = f"{much}, where they stay from run to run"
        tally.same("device: words", row["words"], stays if not any(us) else row["words"])

    def latency(self) -> None:
        """What a warp alone takes, how often, and how many are there: the last two are counted."""
        found = re.fullmatch(
            r"a warp alone takes ([\d.,e-]+ µs)(?:, ([\d.]+) times one after the other)?; "
            r"there are (\d+)% of the warps that there is room for",
            self.row["words"],
        )
        if found is None:
            self.tally.add(f"unknown words {self.row['words']!r}")
            return
        sms, most = self.gpu.sm_count or 1, self.gpu.max_warps_per_sm or 1
        self.tally.same("latency: amount", self.row["much"], f"{found[3]}% of the warps")
        few = [one for one in self.texts if one.blocks <= sms]
        if len(few) < len(self.texts):
            return
        known = {
            f"{one.blocks / sms * -(-prod(one.log.kernel.block) // WARP) / most:.0%}" for one in few
        }
        self.tally.among("latency: warps that are there", f"{found[3]}%", known)
        self.tally.same("latency: one after the other", found[2], None, self.row["words"])
        if len(few) == 1:
            self.tally.same("latency: time", self.row["us"], found[1])
        # of what is stored a load may find a value that is still in its register
        waits = any(
            p[0] is not None and p[1].buffer.scope == "global" and p[1].buffer not in one.changed
            for one in few for p in one.text.places
        )  # fmt: skip
        least = (self.gpu.l1_latency or 0) / (self.gpu.clock_hz or 1) * 1e6 * waits
        self.tally.same("latency: at least a load", _us(self.row["us"]) >= least * (1 - NEAR), True)

    def parts(self) -> None:
        """The statements that ask most, each as it stands in a kernel, with what it is for."""
        row, tally = self.row, self.tally
        told = [(part["text"], _us(part["us"])) for part in row["parts"]]
        tally.same("statements of a row", len(told) <= PARTS, True)
        tally.same("statements in order", told, sorted(told, key=lambda one: -one[1]))
        if row["name"] in ("launch", "device", "latency"):
            tally.same("rows without statements", told, [])
            return
        every = {one.statement(p) for one in self.texts for p in one.text.places}
        for part in row["parts"]:
            tally.same("statements of rows", part["text"] in every or
                       part["text"].startswith("if "), True, part["text"])  # fmt: skip
            self.keys(part)
        if sum(us for _, us in told) > _us(row["us"]) * (1 + NEAR):
            tally.add(f"statements take longer than all: {told}", row["us"])
        if all(one.amount.by is not None for one in self.wanted):
            self.exact_parts()

    def exact_parts(self) -> None:
        us: dict[Ask, list[float]] = defaultdict(list)
        for one in self.wanted:
            base = one.us(0.0)
            for key, amount in (one.amount.by or {}).items():
                if amount:
                    us[key].append(one.us(amount) - base)
        every = sorted((t for times in us.values() for t in times), reverse=True)
        told = [part["us"] for part in self.row["parts"]]
        self.tally.same("times of statements", told, [micro(t) for t in every[:PARTS]],
                        self.row["name"])  # fmt: skip
        known = {(statement, micro(t)) for (statement, _), times in us.items() for t in times}
        for part in self.row["parts"]:
            self.tally.among("times of each statement", (part["text"], part["us"]), known)

    def keys(self, part: Mapping[str, Any]) -> None:
        """A statement lights the buffer and a block that touches it in the program."""
        things = [self.things(key) for key in part["keys"].split()]
        buffers = [thing.name for thing in things if isinstance(thing, Buffer)]
        written = part["text"].partition("[")[0]
        for name in buffers:
            self.tally.same("buffers of statements of rows", re.search(
                rf"\b{re.escape(name)}(?:_kept\w*)?\[", part["text"]) is not None, True,
                f"{name}: {part['text']}")  # fmt: skip
        blocks = [n for n in walk(self.program.func.body)
                  if isinstance(n, Block) and n.id in things]  # fmt: skip
        for block in blocks:
            touched = {region.buffer.name for region in (*block.reads, *block.writes)}
            own = {*buffers, written, written.partition("_kept")[0]}
            self.tally.same("blocks of statements of rows", bool(touched & own), True,
                            f"{block.name}: {part['text']}")  # fmt: skip


def _us(text: str) -> float:
    return float(text.removesuffix(" µs").replace(",", ""))


# --- its axis -------------------------------------------------------------------------------------


def _check_axis(
    tally: Tally, logs: Sequence[KernelLog], gpu: Target, bar: Mapping[str, Any]
) -> None:
    """Each mark stands where its words say, on an axis that ends at 1, 2 or 5 of a power of ten."""
    us = {name: float(number.replace(",", "")) for name, number in (
        re.fullmatch(r"(.+) ([\d.,e+-]+) µs", mark["words"]).groups() for mark in bar["marks"]
    )}  # fmt: skip
    whole = _us(bar["us"])
    done = sum(map(work, logs))
    nodes = (node for log in logs for node in walk(log.kernel.body))
    touched = (node.buffer for node in nodes if isinstance(node, BufferLoad | BufferStore))
    sizes = {b.name: _size(b) for b in touched if b.scope == "global"}
    least = sum(sizes.values())
    speed = gpu.l2_bandwidth if least <= (gpu.l2_bytes or 0) else gpu.bandwidth
    roof = max(done / (gpu.peak_flops or 1), least / (speed or 1)) * 1e6
    tally.same("the roof of the bar", micro(us.get("roof", 0.0)), micro(roof))
    rows = {row["name"]: row["us"] for row in bar["rows"] if _us(row["us"])}
    told = {name: micro(n) for name, n in us.items() if name != "roof"}
    tally.same("names and times of marks", told, rows)
    far = max(whole, *us.values())
    power = 10.0 ** floor(log10(far))
    ends = [end * power for end in (1, 2, 5, 10) if far <= end * power * (1 + NEAR)][:2]
    spots = [(mark["at"], us[mark["words"].rpartition(" ")[0].rpartition(" ")[0]])
             for mark in bar["marks"]] if ends else []  # fmt: skip
    spots += [(bar["end"], whole), (bar["longest"], us[bar["rows"][0]["name"]])]
    near = [all(abs(at - n / end) <= NEAR * n / end + 1e-9 for at, n in spots) for end in ends]
    tally.same("places of marks", any(near), True, f"{spots} {ends}")
