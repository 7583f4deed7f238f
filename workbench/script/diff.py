"""What changed between two programs, line by line and word by word."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from workbench.ir import Node
from workbench.script.show import show_spans
from workbench.script.writer import Printed

Columns = tuple[tuple[int, int], ...]  # (start, end) of each changed stretch of a line


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a comparison; a side that has no such line has number None and text "".

    `sign` is " " where both sides say the same (the indentation aside), "~" where a line was
    changed, "-" where it is gone and "+" where it is new. The columns are those of the changed
    words of a "~" line.
    """

    sign: str
    left_no: int | None
    right_no: int | None
    left: str
    right: str
    left_words: Columns = ()
    right_words: Columns = ()


def diff(a: Node, b: Node) -> list[DiffLine]:
    """The lines of `a` beside those of `b`.

    Loops and blocks are matched by identity, so that a renamed or rebound loop is a changed line;
    programs that share nothing are matched by their names.
    """
    return diff_printed(show_spans(a), show_spans(b))


def diff_printed(left: Printed, right: Printed, by_name: bool = False) -> list[DiffLine]:
    """`diff` of two programs that are printed already; matched `by_name` where that is said."""
    by_name = by_name or set(left.names).isdisjoint(right.names)
    pairs = _aligned(_rows(left, by_name), _rows(right, by_name))
    return [_line(left, right, i, j) for i, j in pairs]


# --- rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """A line, which part of a statement it is, and what it is the line of."""

    text: str
    part: str
    key: frozenset[Hashable]  # a loop's variables; else the block around and a count within it
    place: Hashable = None  # of other lines: the block around and the part, without the count
    weight: int = 1  # of a header: how many lines it has below it, so that moving few lines wins


def _rows(printed: Printed, by_name: bool) -> list[_Row]:
    defined: dict[int, list[Hashable]] = {}
    for m in printed.marks:
        if printed.lines[m.line - 1].part in ("for", "block"):
            name = printed.text_at(m)
            defined.setdefault(m.line, []).append((m.key[0], name) if by_name else m.key[1])
    rows = []
    around: list[tuple[int, Hashable]] = []  # the blocks that the line is in, with indentation
    counts: dict[Hashable, int] = {}
    for number, line in enumerate(printed.lines, 1):
        indent = len(line.text) - len(line.text.lstrip())
        while around and indent <= around[-1][0]:
            around.pop()
        place: Hashable = None
        if line.part == "for":
            key: frozenset[Hashable] = frozenset(defined[number])
        elif line.part == "block":
            key = frozenset(defined[number])
            around.append((indent, defined[number][0]))
        else:
            place = (around[-1][1] if around else None, line.part)
            counts[place] = counts.get(place, 0) + 1
            key = frozenset([(place, counts[place])])
        is_header = line.part in ("for", "block")
        weight = len(printed.extents[line.owner].lines) if is_header else 1
        rows.append(_Row(line.text.lstrip(), line.part, key, place, weight))
    return rows


# --- alignment -----------------------------------------------------------------------------------


def _likeness(a: _Row, b: _Row) -> float:
    """How well one line stands beside the other; 0 where they have nothing in common."""
    if a.part != b.part:
        return 0
    same_text = a.text == b.text
    if not a.key.isdisjoint(b.key):
        return (5 if same_text else 3) * min(a.weight, b.weight)
    if same_text and a.place is not None and a.place == b.place:
        return 5  # of the same block, with more or fewer lines before it
    # Another block's line says something else, however alike it looks.
    return 2 if same_text and a.part == "for" else 0


def _is_same(a: _Row, b: _Row) -> bool:
    return a.part == b.part and a.text == b.text and not a.key.isdisjoint(b.key)


def _aligned(a: Sequence[_Row], b: Sequence[_Row]) -> list[tuple[int | None, int | None]]:
    """Pairs of line indices in order, None where a line has no partner: the likest alignment."""
    start = 0
    while start < min(len(a), len(b)) and _is_same(a[start], b[start]):
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and _is_same(a[-1 - end], b[-1 - end]):
        end += 1
    head: list[tuple[int | None, int | None]] = [(k, k) for k in range(start)]
    middle = _best(a[start : len(a) - end], b[start : len(b) - end])
    inner = [
        (None if i is None else i + start, None if j is None else j + start) for i, j in middle
    ]
    tail = [(len(a) - k, len(b) - k) for k in range(end, 0, -1)]
    return [*head, *inner, *tail]


def _best(a: Sequence[_Row], b: Sequence[_Row]) -> list[tuple[int | None, int | None]]:
    """The alignment of greatest total likeness, found from the end backwards."""
    total = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            like = _likeness(a[i], b[j])
            paired = like + total[i + 1][j + 1] if like else 0
            total[i][j] = max(paired, total[i + 1][j], total[i][j + 1])
    pairs: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < len(a) or j < len(b):
        like = _likeness(a[i], b[j]) if i < len(a) and j < len(b) else 0
        if like and total[i][j] == like + total[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif i < len(a) and total[i][j] == total[i + 1][j]:
            pairs.append((i, None))  # what is gone comes before what is new
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    return pairs


# --- words ---------------------------------------------------------------------------------------

_WORD = re.compile(r"\w+|\s+|//|[^\w\s]")


def changed_words(left: str, right: str) -> tuple[Columns, Columns]:
    """The columns of the words in which two lines differ, in each; the indentation aside.

    >>> changed_words("for i in range(8):", "for i in T.unroll(8):")
    (((9, 14),), ((9, 17),))
    """
    a, b = _without_common_ends(_words(left), _words(right))
    matcher = SequenceMatcher(None, [w for w, _ in a], [w for w, _ in b], autojunk=False)
    left_columns, right_columns = [], []
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag != "equal":
            left_columns.append(_columns(a, i, i_end))
            right_columns.append(_columns(b, j, j_end))
    return _joined(left, left_columns), _joined(right, right_columns)


Word = tuple[str, int]  # with its column


def _without_common_ends(a: list[Word], b: list[Word]) -> tuple[list[Word], list[Word]]:
    """What is left between the words that both lines begin with and those that both end with."""
    start = 0
    while start < min(len(a), len(b)) and a[start][0] == b[start][0]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end][0] == b[-1 - end][0]:
        end += 1
    return a[start : len(a) - end], b[start : len(b) - end]


def _words(text: str) -> list[Word]:
    """The words of a line with their columns; spaces count only between words."""
    indent = len(text) - len(text.lstrip())
    return [(m.group(), m.start()) for m in _WORD.finditer(text, indent)]


def _columns(words: list[Word], first: int, end: int) -> tuple[int, int]:
    if first == end:
        return (0, 0)
    last, col = words[end - 1]
    return words[first][1], col + len(last)


def _joined(text: str, columns: list[tuple[int, int]]) -> Columns:
    """The stretches in order, those with nothing but space between made one, empty ones gone."""
    result: list[tuple[int, int]] = []
    for start, end in columns:
        if start == end:
            continue
        if result and not text[result[-1][1] : start].strip():
            result[-1] = (result[-1][0], end)
        else:
            result.append((start, end))
    return tuple(result)


def _line(left: Printed, right: Printed, i: int | None, j: int | None) -> DiffLine:
    """What is told of line `i` of the left beside line `j` of the right."""
    if i is None:
        assert j is not None
        return DiffLine("+", None, j + 1, "", right.lines[j].text)
    if j is None:
        return DiffLine("-", i + 1, None, left.lines[i].text, "")
    before, after = left.lines[i].text, right.lines[j].text
    if before.strip() == after.strip():
        return DiffLine(" ", i + 1, j + 1, before, after)
    return DiffLine("~", i + 1, j + 1, before, after, *changed_words(before, after))
