"""A place in a text, and the text with places marked under its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
    shown ones are a line of dots. A span of several lines is marked on its first.

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
        shown.append(f"{first_line + number - 1:>{width}} | {lines[number - 1]}".rstrip())
        if number in carets:
            shown.append(" " * width + " | " + _underline(carets[number]))
    return "\n".join(shown)


def _underline(ranges: list[tuple[int, int]]) -> str:
    """Carets below each of the column `ranges` of one line."""
    under = [" "] * max(end for _, end in ranges)
    for start, end in ranges:
        under[start:end] = "^" * (end - start)
    return "".join(under)
