"""c_name: the name of a thing of a program as C reads it."""

from __future__ import annotations

import re


def c_name(name: str) -> str:
    """`name` in ASCII letters, digits and single underscores: itself where it is that already.

    C++ keeps names with two underscores in a row, or with one in front, to itself ([lex.name]).
    """
    clean = re.sub(r"[^A-Za-z0-9]+", "_", name)
    return clean if clean[:1].isalpha() else f"v{clean}"
