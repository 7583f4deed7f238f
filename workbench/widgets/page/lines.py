"""Program text as interned lines of tokens, with the keys of what each token names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, TypeAlias

from workbench.codegen import LANGUAGES

Token: TypeAlias = tuple[str, str] | tuple[str, str, str]
"""Kind ("keyword", "comment", "string" or ""), text, and the key of what it names."""

Mark: TypeAlias = tuple[int, int, str]
"""From a column up to another: the key of what stands there."""

# An axis is one word: threadIdx.x, and in OpenCL get_local_id(0).
_WORD = re.compile(r"\d[\w.]*|[A-Za-z_]\w*(?:(?<=Idx)\.[xyz]\b|(?<=_id)\(\d\))?")


@dataclass
class Lines:
    """Every different line once, so that a long history stays small."""

    all: list[list[Token]] = field(default_factory=list)
    _index: dict[tuple[Token, ...], int] = field(default_factory=dict)
    _known: dict[tuple[str, tuple[Mark, ...], str], int] = field(default_factory=dict)

    def add(self, line: str, marks: Iterable[Mark], language: str = "python") -> int:
        """The number of a line with its marks, which is new or known."""
        known = (line, tuple(marks), language)
        if known not in self._known:
            key = tuple(tokens(*known))
            if key not in self._index:
                self._index[key] = len(self.all)
                self.all.append(list(key))
            self._known[known] = self._index[key]
        return self._known[known]

    def add_text(self, text: str, words: Mapping[str, str], language: str = "python") -> list[int]:
        """The lines of a text whose identifiers in `words` are marked."""
        return [
            self.add(line, word_marks(line, words, language), language)
            for line in text.splitlines()
        ]


def word_marks(line: str, words: Mapping[str, str], language: str = "python") -> list[Mark]:
    """Where the words of a line that are names of something stand, outside its comments."""
    return [
        (start, end, words[word]) for start, end, word in _words(line, language) if word in words
    ]


@lru_cache(1 << 13)
def _words(line: str, language: str) -> Sequence[tuple[int, int, str]]:
    """From where to where each word of a line stands, outside its comments."""
    found, at = list[tuple[int, int, str]](), 0
    for kind, text in _lexed(line, language):
        if kind not in ("comment", "string"):
            found += [(at + m.start(), at + m.end(), m.group()) for m in _WORD.finditer(text)]
        at += len(text)
    return found


def tokens(line: str, marks: Iterable[Mark], language: str = "python") -> list[Token]:
    """A line cut into Pygments' tokens, and again at the edges of its marks."""
    by_start = sorted(marks)
    made: list[Token] = []
    at = 0
    for kind, text in _lexed(line, language):
        made.extend(_cut(at, text, kind, by_start))
        at += len(text)
    return _joined(made)


def _lexed(line: str, language: str) -> Sequence[tuple[str, str]]:
    """Kinds and texts of a line, as Pygments has them."""
    rest = line.lstrip(" ")
    indent = line[: len(line) - len(rest)]
    words = _without_indent(rest, language) if rest else ()
    return [("", indent), *words] if indent else words


@lru_cache(maxsize=1 << 15)  # a step leaves most lines as they were, or moves them in or out
def _without_indent(line: str, language: str) -> Sequence[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    try:
        found_by = lexer(language)
    except ModuleNotFoundError:  # without Pygments a line has one colour
        return [("", line)]
    for _, token, text in found_by.get_tokens_unprocessed(f"{line}\n"):
        kind = _kind(token)
        if found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + text)
        else:
            found.append((kind, text))
    kind, text = found.pop()
    return (*found, (kind, text.removesuffix("\n"))) if text != "\n" else tuple(found)


@cache
def _kind(token: Any) -> str:
    """What of Pygments' many kinds has a look of its own."""
    from pygments.token import Comment, Keyword, Operator, String

    kinds = ((Comment, "comment"), (String, "string"), (Keyword, "keyword"))
    if token is Operator.Word:
        return "keyword"
    return next((kind for known, kind in kinds if token in known), "")


@cache
def lexer(language: str) -> Any:
    """Pygments' lexer of "python", TVMScript among it, or of a language of codegen's."""
    from pygments.lexers import CppLexer, CudaLexer, PythonLexer
    from pygments.token import Keyword, Name

    class Lexer(CppLexer):
        """C++ with what a language adds to it; of most, Pygments has no lexer."""

        def get_tokens_unprocessed(self, text: str, stack: tuple[str, ...] = ("root",)) -> Any:
            for at, token, word in super().get_tokens_unprocessed(text, stack):
                yield at, Keyword if token is Name and word in added else token, word

    if language in ("python", "cuda"):
        return PythonLexer() if language == "python" else CudaLexer()
    added = LANGUAGES[language].keywords()
    return Lexer()


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
