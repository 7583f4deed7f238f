"""A place in a text, and the text with places marked under its lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WIDEST = 240  # columns that are shown of a line; a learner's own lines are far shorter
_PAGE = (
    95  # columns of a notebook's output: a longer line wraps there, and leaves its carets behind
)
_HANGING = 4  # columns that what is folded stands further in


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """From (line, col) up to, not including, (end_line, end_col); lines from 1, columns from 0."""

    line: int
    col: int
    end_line: int
    end_col: int

    @property
    def lines(self) -> range:
        """The numbers of the lines that it touches."""
        return range(self.line, self.end_line + 1)


def mark(text: str, spans: Sequence[Span], context: int = 2, first_line: int = 1) -> str:
    """The lines of `text` near `spans`, numbered from `first_line`, with carets under the spans.

    Up to `context` lines are shown before and after each marked one; lines left out between two
    shown ones are a line of dots. A span of several lines is marked on its first, and a marked line
    of more than 95 columns is folded, each part above its own carets; of one of more than 240, the
    part around its first mark is shown.

    >>> print(mark("for i in range(10):\\n    B[i] = A[i]", [Span(1, 4, 1, 5)]))
       1 | for i in range(10):
         |     ^
       2 |     B[i] = A[i]
    """
    lines = text.splitlines()
    carets: dict[int, list[tuple[int, int]]] = {}
    for span in spans:
        last = span.end_col if span.end_line == span.line else len(lines[span.line - 1])
        carets.setdefault(span.line, []).append((span.col, max(last, span.col + 1)))
    near = sorted(
        {
            number
            for line in carets
            for number in range(line - context, line + context + 1)
            if 1 <= number <= len(lines)
        }
    )
    width = max(4, len(str(first_line + len(lines))) + 2)
    shown = []
    for before, number in zip([None, *near], near, strict=False):
        if before is not None and number > before + 1:
            shown.append(" " * width + "…")
        label = f"{first_line + number - 1:>{width}}"
        line, marked = _window(lines[number - 1], carets.get(number, []))
        for part, below in _folded(line, marked, _PAGE - width - len(" | ")):
            shown.append(f"{label} | {part}".rstrip())
            label = " " * width
            if below:
                shown.append(f"{label} | {_underline(below)}")
    return "\n".join(shown)


def _window(line: str, carets: list[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """The part of a very long line that holds its first caret, and the carets in that part."""
    if len(line) <= _WIDEST:
        return line, carets
    first = min((start for start, _ in carets), default=0)
    left = 0 if first < _WIDEST // 2 else first - _WIDEST // 4
    part = line[left : left + _WIDEST]
    dots = "…" if left else ""
    inside = _within(carets, left, left + _WIDEST, len(dots))
    return dots + part + ("…" if left + _WIDEST < len(line) else ""), inside


def _folded(
    line: str, carets: list[tuple[int, int]], width: int
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """The parts of a line with carets, none wider than `width`, and the carets below each.

    It is cut behind a space in the second half of what a part holds, if there is one, and if there
    is one outside of what is marked, there.
    """
    if not carets or len(line) <= width:
        yield line, carets
        return
    hanging = min(len(line) - len(line.lstrip()) + _HANGING, width // 2)
    first, ahead = 0, 0
    while len(line) - first > width - ahead:
        last = first + width - ahead
        ends = [k for k in range(last, (first + last) // 2, -1) if line[k - 1] == " "]
        plain = (k for k in ends if not any(a < k < b for a, b in carets))
        stop = next(plain, next(iter(ends), last))
        yield " " * ahead + line[first:stop], _within(carets, first, stop, ahead)
        first, ahead = stop, hanging
    yield " " * ahead + line[first:], _within(carets, first, len(line) + 1, ahead)


def _within(
    carets: list[tuple[int, int]], first: int, stop: int, ahead: int
) -> list[tuple[int, int]]:
    """The carets of the columns from `first` up to `stop`, told where that stands `ahead`."""
    shift = ahead - first
    inside = [(max(a, first) + shift, min(b, stop) + shift) for a, b in carets]
    return [(a, b) for a, b in inside if a < b]


def _underline(ranges: list[tuple[int, int]]) -> str:
    """Carets below each of the column `ranges` of one line."""
    under = [" "] * max(end for _, end in ranges)
    for start, end in ranges:
        under[start:end] = "^" * (end - start)
    return "".join(under)
