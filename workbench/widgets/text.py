"""Program text as interned lines of tokens, with the keys of what each token names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Token: TypeAlias = tuple[str, str] | tuple[str, str, str]
"""Kind ("keyword", "comment", "string", "number" or ""), text, and the key of what it names."""

Mark: TypeAlias = tuple[int, int, str]
"""From a column up to another: the key of what stands there."""

PYTHON = (
    *("and", "as", "break", "class", "continue", "def", "elif", "else", "False", "for", "from"),
    *("if", "import", "in", "None", "not", "or", "return", "True", "while", "with"),
)
C_LIKE = (
    *("bool", "char", "const", "constant", "device", "double", "extern", "float", "half", "int"),
    *("kernel", "long", "short", "sizeof", "struct", "threadgroup", "typedef", "uint"),
    *("unsigned", "using", "void", "volatile"),
)
KEYWORDS = frozenset({*PYTHON, *C_LIKE})
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*|//\s[^\n]*|/\*.*?\*/)|(?P<string>"[^"\n]*"|'[^'\n]*')"""
    r"""|(?P<word>[A-Za-z_]\w*(?:(?<=Idx)\.[xyz]\b)?)|(?P<number>\d[\w.]*)"""
    r"""|(?P<other>[^\w"'\#/]+|.)"""
)


@dataclass
class Lines:
    """Every different line once, so that a long history stays small."""

    all: list[list[Token]] = field(default_factory=list)
    _index: dict[tuple[Token, ...], int] = field(default_factory=dict)
    _known: dict[tuple[str, tuple[Mark, ...]], int] = field(default_factory=dict)

    def add(self, line: str, marks: Iterable[Mark]) -> int:
        """The number of a line with its marks, which is new or known."""
        known = (line, tuple(marks))
        if known not in self._known:
            key = tuple(tokens(*known))
            if key not in self._index:
                self._index[key] = len(self.all)
                self.all.append(list(key))
            self._known[known] = self._index[key]
        return self._known[known]

    def add_text(self, text: str, words: Mapping[str, str]) -> list[int]:
        """The lines of a text whose identifiers in `words` are marked."""
        return [self.add(line, word_marks(line, words)) for line in text.splitlines()]


def word_marks(line: str, words: Mapping[str, str]) -> list[Mark]:
    """Where the words of a line that are names of something stand, outside its comments."""
    return [
        (m.start(), m.end(), words[m.group()])
        for m in _TOKEN.finditer(line)
        if m.lastgroup == "word" and m.group() in words
    ]


def tokens(line: str, marks: Iterable[Mark]) -> list[Token]:
    """A line cut into tokens, and again at the edges of its marks."""
    by_start = sorted(marks)
    made: list[Token] = []
    for match in _TOKEN.finditer(line):
        made.extend(_cut(match.start(), match.group(), _kind(line, match), by_start))
    return _joined(made)


def _kind(line: str, match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    if kind == "word":
        return "keyword" if match.group() in KEYWORDS else ""
    if kind == "comment" and match.group().startswith("//") and not _starts_comment(line, match):
        return ""  # Python's floor division
    return "" if kind in ("other", "number") else kind


def _starts_comment(line: str, match: re.Match[str]) -> bool:
    """Whether `//` has nothing to divide before it."""
    before = line[: match.start()].rstrip()
    return not before or before[-1] in ";{}"


def _cut(start: int, text: str, kind: str, marks: Sequence[Mark]) -> Iterable[Token]:
    at, end = start, start + len(text)
    for left, right, key in marks:
        if right <= at or left >= end:
            continue
        left, right = max(left, at), min(right, end)
        if left > at:
            yield kind, text[at - start : left - start]
        yield kind, text[left - start : right - start], key
        at = right
    if at < end:
        yield kind, text[at - start :]


def _joined(made: list[Token]) -> list[Token]:
    """Neighbours of one kind that name nothing, as one token: fewer elements on the page."""
    joined: list[Token] = []
    for token in made:
        if joined and len(token) == 2 and len(joined[-1]) == 2 and joined[-1][0] == token[0]:
            joined[-1] = (token[0], joined[-1][1] + token[1])
        else:
            joined.append(token)
    return joined
