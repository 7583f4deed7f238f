"""Sentences, numbers and units as people read them, in HTML and in text."""

from __future__ import annotations

import re
from html import escape

_UNIT = re.compile(r"(?<=\d) (?=(?:[KMGT]?i?B(?:/s)?|bytes?|[nµm]?s|[MG]Hz|[GT]FLOP/s)\b)")


def prose(text: str) -> str:
    """`text` as HTML: escaped, what stands between backticks as code, units beside their numbers.

    >>> prose("Bind `i` where i < 8.")
    'Bind <code>i</code> where i &lt; 8.'
    """
    kept = _UNIT.sub("\N{NO-BREAK SPACE}", escape(visible(text)))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", kept)


def visible(text: str, but: str = "") -> str:
    """`text` with what does not print, as a name of a program may hold it, as escapes.

    >>> visible("Can't split `a\\nb`")
    "Can't split `a\\\\nb`"
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in but else repr(c)[1:-1] for c in text)


def preformatted(text: str, role: str = "") -> str:
    """`text` as HTML that keeps its columns; pages such as nbconvert's give it no font of its own.

    >>> preformatted("1 < 2")
    '<pre style="font-family: monospace">1 &lt; 2</pre>'
    """
    named = f' class="{role}"' if role else ""
    return f'<pre{named} style="font-family: monospace">{escape(text)}</pre>'


def size_text(count: int) -> str:
    """Bytes as one says them.

    >>> [size_text(n) for n in (520, 4096, 4100, 1536, 2**20 - 1)]
    ['520 B', '4 KiB', '4 KiB', '1.5 KiB', '1 MiB']
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count > size * 0.99995:  # else it were "1,024 KiB"
            return f"{count / size:,.1f}".removesuffix(".0") + f" {unit}"
    return f"{count:,} B"


def count_text(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count_text(1, "cell"), count_text(1300, "cell")
    ('1 cell', '1,300 cells')
    """
    return f"{number:,} {plural(number, noun)}"


def plural(number: int, noun: str, many: str = "") -> str:
    """`noun` as it stands behind `number`: `many` says it where that is more than an "s".

    >>> plural(1, "index", "indices"), plural(0, "index", "indices"), plural(2, "step")
    ('index', 'indices', 'steps')
    """
    return noun if number == 1 else many or f"{noun}s"
