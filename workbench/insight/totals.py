"""totals: what all launches ask of memory, as it is written and as it is compiled.

What a compiler made of a kernel is known where a GPU counted it (`recorded`); else there is a
range, with what is most likely in it: see `made`. Of 339 kernels on an H200, and ten with Tensor
Cores on an H100, the range holds what was counted of both memories. So it is of wavefronts by
instructions; a counter of the memory itself has waits for what loads bring in it, too: up to 6 %
more, of ten kernels more than 1.5 %, differently in each run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.insight.issued import Asked, issued
from workbench.insight.made import UNITS, Span, spans
from workbench.insight.page import Kind, Table
from workbench.insight.recorded import Counted, counted
from workbench.ir import Kernel
from workbench.lower.keep_values import keep_values

COMPILED = ("compiled, at least", "most likely", "at most")


@dataclass(frozen=True, slots=True)
class Total:
    """What all warps take of one memory by reads or by writes, in `unit`s.

    So many as `written`; as a compiler may have it at least `low`, most likely `likely` and at most
    `high`, all of them `recorded` where a GPU counted all kernels. `words` say it in a line.
    """

    scope: str
    access: str
    unit: str
    written: int
    low: int
    likely: int
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
    rows = tuple((t.scope, t.access, t.unit, t.written, t.low, t.likely, t.high) for t in found)
    columns = ("memory", "access", "what", "as written", *COMPILED)
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
        return Total(of.scope, of.access, unit, written, made, made, made, made, words)
    parts = [spans(text).get((of.scope, of.access, unit), Span(0, 0, 0)) for text in texts]
    low, likely, high = (sum(part[end] for part in parts) for end in range(3))
    words = f"as written {short(written)}; a compiler issues {short(high)}"
    if low < high:
        words = (
            f"as written {short(written)}; a compiler issues {short(low)} to {short(high)}, most "
            f"likely {short(likely)}"
        )
    if low == written:
        words = f"as written {short(written)}, and a compiler saves none"
    return Total(of.scope, of.access, unit, written, low, likely, high, None, words)


_WORDS = {"read": "load", "write": "store"}


def short(number: int) -> str:
    """A count with three digits, or all of up to five: "25,194", "2.15 G"."""
    if number < 100_000:
        return f"{number:,}"
    power, letter = next((p, c) for p, c in ((9, "G"), (6, "M"), (3, "k")) if number >= 10**p)
    return f"{number / 10**power:.3g} {letter}"
