"""What is told, held against what was counted: how often of each kind, and what is wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Rule: TypeAlias = "tuple[str, Callable[[re.Match[str]], object]]"
"""Which words it reads, all of them, and what holds their numbers and names against the log."""

CUT = "…"


@dataclass
class Tally:
    """What was compared, by kind, and what was wrong or nobody knew; `where` is what is read."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    where: str = ""

    def same(self, kind: str, told: object, wanted: object, about: str = "") -> None:
        """Compare what is told with what was counted."""
        self.counts[kind] += 1
        if told != wanted:
            self.add(f"{kind}: {told!r}, not {wanted!r}", about)

    def among(self, kind: str, told: object, known: Container[object], about: str = "") -> None:
        """Compare what is told with all that it may be."""
        self.counts[kind] += 1
        if told not in known:
            self.add(f"{kind}: {told!r} is none of {str(known)[:300]}", about)

    def add(self, what: str, about: str = "") -> None:
        """Note what is wrong."""
        self.wrong.append(f"{self.where}: {what}{f' ({about})' if about else ''}")

    def read(self, text: str, rules: Sequence[Rule]) -> None:
        """Read words by the first of the rules that knows all of them.

        What no rule knows is wrong, and so is a number that no group of its rule holds.
        """
        for pattern, check in rules:
            match = re.fullmatch(pattern, text)
            if match is None:
                continue
            spans = [match.span(k) for k in range(1, (match.re.groups or 0) + 1)]
            for digit in re.finditer(r"\d", text):
                if not any(a <= digit.start() < b for a, b in spans):
                    self.add(f"unread number at {digit.start()} of {text!r}")
                    break
            check(match)
            return
        self.add(f"unknown words {text!r}")

    def whole(self, text: str) -> None:
        """No name in the words is cut."""
        self.counts["words that are not cut"] += 1
        if text.endswith(CUT) and text != CUT:
            self.add(f"cut: {text!r}")


def number(count: float) -> str:
    """A whole number as pictures write it."""
    return f"{count:,.0f}"


def counted(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def bytes_text(size: int) -> str:
    """Bytes in units of 1,024, to a tenth."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size * 20000 > 1024**power * 19999:
            tenths = f"{size / 1024**power:,.1f}"
            return f"{tenths[:-2] if tenths.endswith('.0') else tenths} {unit}"
    return f"{size:,} B"


def times_text(mean: float) -> str:
    """How often each cell is touched, on a label."""
    return "× " + (f"{mean:,.0f}" if mean >= 100 else f"{mean:.3g}")


def micro(us: float) -> str:
    """A time in microseconds."""
    return f"{us:.3g} µs" if us < 999.5 else f"{us:,.0f} µs"


def runs(numbers: Iterable[int]) -> str:
    """Numbers in order; three or more that follow each other as a span."""
    left, said = sorted(numbers), list[str]()
    while left:
        end = 1
        while end < len(left) and left[end] == left[0] + end:
            end += 1
        taken, left = left[:end], left[end:]
        said += [f"{taken[0]}–{taken[-1]}"] if end > 2 else [str(one) for one in taken]
    return " ".join(said)


def fixed(*texts: str) -> list[Rule]:
    """Rules for words that are always the same, numbers among them."""
    return [(f"({re.escape(text)})", lambda _: None) for text in texts]
