"""A place in a text, and the text with places marked under its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_WIDEST = 240  # columns that are shown of a line; a learner's own lines are far shorter


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
    shown ones are a line of dots. A span of several lines is marked on its first; of a line of
    more than 240 columns, the part around its first mark is shown.

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
        line, marked = _window(lines[number - 1], carets.get(number, []))
        shown.append(f"{first_line + number - 1:>{width}} | {line}".rstrip())
        if marked:
            shown.append(" " * width + " | " + _underline(marked))
    return "\n".join(shown)


def _window(line: str, carets: list[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """The part of a very long line that holds its first caret, and the carets in that part."""
    if len(line) <= _WIDEST:
        return line, carets
    first = min((start for start, _ in carets), default=0)
    left = 0 if first < _WIDEST // 2 else first - _WIDEST // 4
    part = line[left : left + _WIDEST]
    dots = "…" if left else ""
    shift = len(dots) - left
    inside = [(a + shift, min(b + shift, len(dots) + _WIDEST)) for a, b in carets]
    inside = [(a, b) for a, b in inside if a < b]
    return dots + part + ("…" if left + _WIDEST < len(line) else ""), inside


def _underline(ranges: list[tuple[int, int]]) -> str:
    """Carets below each of the column `ranges` of one line."""
    under = [" "] * max(end for _, end in ranges)
    for start, end in ranges:
        under[start:end] = "^" * (end - start)
    return "".join(under)
