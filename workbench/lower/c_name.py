"""c_name: the name of a thing of a program as C reads it."""

from __future__ import annotations

import re
import unicodedata


def c_name(name: str) -> str:
    """`name` in ASCII letters, digits and single underscores: itself where it is that already.

    C++ keeps names with two underscores in a row, or with one in front, to itself ([lex.name]).
    Letters of other alphabets are spelt out, `größe` as `grosse` and `Δx` as `Deltax`: nvcc takes
    them in a variable, but not in the name of a kernel, and g++ before 10 in neither.
    """
    if not name.isascii():
        name = "".join(map(_spelt, unicodedata.normalize("NFKC", name)))
    clean = re.sub(r"[^A-Za-z0-9]+", "_", name)
    return clean if clean[:1].isalpha() else f"v{clean}"


def _spelt(char: str) -> str:
    """`char` in ASCII: a letter by its Unicode name, or else its number; `_` for the rest."""
    if char.isascii():
        return char
    if char in "ßẞ":
        return "ss"
    base = unicodedata.name(char, "").partition(" WITH ")[0]
    letter = re.search(r"(?:LETTER|SYLLABLE) (?:.* )?([A-Z]+)$", base)
    if letter:
        return letter[1].title() if char.isupper() else letter[1].lower()
    return f"u{ord(char):04x}" if char.isalnum() else "_"
