"""totals: what all launches ask of memory, as it is written and as it is compiled.

A compiler keeps values and joins requests. What it made of a kernel is known where a GPU counted it
(`recorded`); else there is a range. It issues no more than the text that it gets, which keeps
values already (`lower/keep_values.py`), and no fewer than if each thread asks once for what its
loops repeat, and for up to 16 bytes at a time where cells of shared memory lie side by side; what
threads wrote to global memory themselves they need not read at all. (Of global memory nvcc joins
nothing: it knows of no array that it starts at a multiple of 16 bytes.)

Of 339 kernels on an H200 the range holds what was counted of global memory, but for sectors of
asynchronous copies (8 % more), and of shared memory, but for 10 kernels of which up to 6 % more
wavefronts were counted than their text has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from workbench.emulate.kernels.affine import Atom, Digit, Digits, never_meets
from workbench.insight.accesses import Access, accesses, kind_of
from workbench.insight.issued import Asked, issued
from workbench.insight.kinds import UnknownError, kinds_of_requests
from workbench.insight.page import Kind, Table
from workbench.insight.recorded import Counted, counted
from workbench.insight.sectors import sectors
from workbench.insight.warps import lane_bytes
from workbench.insight.wavefronts import wavefronts
from workbench.ir import (
    Barrier,
    Buffer,
    For,
    Kernel,
    Var,
    WaitGroup,
    const,
    free_vars,
    once,
    substitute,
    walk,
)
from workbench.lower.keep_values import keep_values

MOST_BYTES = 16  # that a thread asks for at once
UNITS = {"global": "sectors", "shared": "wavefronts"}
"""What requests to each memory take."""


@dataclass(frozen=True, slots=True)
class Total:
    """What all warps take of one memory by reads or by writes, in `unit`s.

    So many as `written`; at least `low` and at most `high` as a compiler may have it, both
    `recorded` where a GPU counted all kernels. `words` say it in a line.
    """

    scope: str
    access: str
    unit: str
    written: int
    low: int
    high: int
    recorded: int | None
    words: str


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of all launches, memory by memory; `left_out` is as in `Issued`."""

    totals: tuple[Total, ...]
    left_out: tuple[str, ...]
    table: Table
    kind: Kind

    def written(self, scope: str, access: str | None = None) -> int:
        """Sectors or wavefronts of a memory, as written: of an access ("read"), or of both."""
        return sum(t.written for t in self._of(scope) if access in (None, t.access))

    def caption_of(self, *scopes: str) -> str:
        """What is told of memories, in a sentence for reads and one for writes."""
        found = (t for scope in scopes for t in self._of(scope))
        said = [f"{t.scope.title()} {t.access}s, in {t.unit}: {t.words}." for t in found]
        rest = [f"Not counted: {', '.join(self.left_out)}."] if self.left_out else []
        return " ".join([*said, *rest])

    @property
    def caption(self) -> str:
        """The same of all memory."""
        return self.caption_of(*UNITS)

    def _of(self, scope: str) -> list[Total]:
        return [t for t in self.totals if (t.scope, t.unit) == (scope, UNITS[scope])]


def totals(kernels: Sequence[Kernel]) -> Totals:
    """Requests, sectors and wavefronts of `kernels`, as written and as compiled."""
    written, texts = issued(kernels), [keep_values(kernel) for kernel in kernels]
    known = [counted(kernel) for kernel in kernels]
    found = tuple(
        _total(of, unit, texts, [c for c in known if c is not None])
        for of in written.totals
        for unit in ("requests", UNITS[of.scope])
    )
    rows = tuple((t.scope, t.access, t.unit, t.written, t.low, t.high) for t in found)
    columns = ("memory", "access", "what", "as written", "compiled, at least", "compiled, at most")
    kind: Kind = "counted" if None in known else "recorded"
    return Totals(found, written.left_out, Table(columns, rows), kind)


def _total(of: Asked, unit: str, texts: Sequence[Kernel], known: Sequence[Counted]) -> Total:
    written = getattr(of, unit)
    name = f"{of.scope} {_WORDS[of.access]} {unit}"
    numbers = [c.numbers[name] for c in known]
    if len(known) == len(texts) and None not in numbers:
        made = sum(n for n in numbers if n is not None)
        source = f"{known[0].compiler} issues {short(made)} ({known[0].source})"
        words = f"as written {short(written)}; {source}"
        return Total(of.scope, of.access, unit, written, made, made, made, words)
    least = sum(_least(text)[of.scope, of.access, unit] for text in texts)
    kept = (t for t in issued(texts).totals if (t.scope, t.access) == (of.scope, of.access))
    most = sum(getattr(t, unit) for t in kept)
    words = f"as written {short(written)}; a compiler issues {short(least)} to {short(most)}"
    if least == most:
        words = f"as written {short(written)}; a compiler issues {short(most)}"
    if least == written:
        words = f"as written {short(written)}, and a compiler saves none"
    return Total(of.scope, of.access, unit, written, least, most, None, words)


_WORDS = {"read": "load", "write": "store"}


def short(number: int) -> str:
    """A count with three digits, or all of up to five: "25,194", "2.15 G"."""
    if number < 100_000:
        return f"{number:,}"
    power, letter = next((p, c) for p, c in ((9, "G"), (6, "M"), (3, "k")) if number >= 10**p)
    return f"{number / 10**power:.3g} {letter}"


@once
def _least(kernel: Kernel) -> dict[tuple[str, str, str], int]:
    """What a compiler cannot save of a kernel's text, by memory, access and unit.

    Of several reads of one buffer, or writes, one may bring what all the others want.
    """
    groups: dict[tuple[Buffer, bool], list[Access]] = defaultdict(list)
    for access in accesses(kernel):
        if access.buffer.scope in UNITS:
            groups[access.buffer, access.writes].append(access)
    waiting = {n.loop_var for n in walk(kernel.body) if isinstance(n, For) and _waits(n)}
    found: dict[tuple[str, str, str], int] = defaultdict(int)
    for (buffer, writes), alike in groups.items():
        if buffer.scope == "global" and not writes and (buffer, True) in groups:
            continue
        fewest = [_fewest(kernel, access, waiting, len(alike) > 1) for access in alike]
        for unit in ("requests", UNITS[buffer.scope]):
            found[buffer.scope, kind_of(alike[0]), unit] += max(each[unit] for each in fewest)
    return found


def _waits(loop: For) -> bool:
    return any(isinstance(node, Barrier | WaitGroup) for node in walk(loop))


def _fewest(kernel: Kernel, access: Access, waiting: Set[Var], others: bool) -> dict[str, int]:
    """The fewest requests that bring all that threads want by an access, and what they take.

    Loops in whose turns a thread may want what it had stay at their first: those that do not say
    which cell it is, or, with longer ones, say it twice. What others write to shared memory while a
    thread waits it has to read again. Cells of shared memory that lie side by side, in turns or
    with `others`, may come together.
    """
    digits = Digits({loop.var: loop.extent for loop in access.loops}, {})
    digits.cut_for(access.indices[:1])
    form = digits.form(access.indices[0])
    unclear = {var for e, _ in form.rest for var in free_vars(e)}
    shared, telling = access.buffer.scope == "shared", dict[Atom, int]()
    stay = set[Var]()
    for loop in sorted(access.loops, key=lambda loop: -loop.extent):
        own: dict[Atom, int] = {
            d: n for d, n in form.terms.items() if isinstance(d, Digit) and d.var is loop.var
        }
        if loop.role in ("block", "thread") or (shared and loop.var in waiting):
            continue
        if own and loop.var not in unclear and never_meets(telling | own):
            telling |= own
        else:
            stay.add(loop.var)
    asked = _at_first(access, stay)
    try:
        table, times = kinds_of_requests(kernel, asked)
    except UnknownError:
        return {"requests": 0, UNITS[access.buffer.scope]: 0}
    width = lane_bytes(access)
    each = wavefronts(table, width, writes=access.writes) if shared else sectors(table, width)
    joined = shared and (others or unclear or 1 in map(abs, telling.values()))
    together = MOST_BYTES // width if joined else 1
    numbers = {"requests": times, UNITS[access.buffer.scope]: each * times}
    return {unit: -(-int(number.sum()) // together) for unit, number in numbers.items()}


def _at_first(access: Access, stay: Set[Var]) -> Access:
    """`access` with the loops of these variables in their first turn."""
    zero = {var: const(0, var.type) for var in stay}
    return replace(
        access,
        indices=tuple(substitute(e, zero) for e in access.indices),
        guards=tuple(substitute(e, zero) for e in access.guards),
        loops=tuple(loop for loop in access.loops if loop.var not in stay),
    )
