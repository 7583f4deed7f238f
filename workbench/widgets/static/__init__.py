"""The browser's part of the lab: modules that a browser loads as they are, and style sheets."""

from __future__ import annotations

import re
from functools import cache
from graphlib import TopologicalSorter
from importlib.resources import files

STYLES = (
    "theme.css",
    "lab.css",
    "program.css",
    "pictures.css",
    "track.css",
    "popup.css",
    "costs.css",
    "lesson.css",
    "words.css",
    "print.css",
)
BROKEN = ("theme.css", "program.css", "pictures.css")
TIMELINE = ("theme.css", "pictures.css", "track.css")
SEARCH = ("theme.css", "pictures.css")
PLAYING = (*STYLES, "playing.css")
STILL = ("theme.css", "pictures.css", "still.css", "print.css")
_IMPORT = re.compile(r'^import [^;]* from "\./([\w-]+\.js)";\n', re.MULTILINE)


@cache
def script() -> str:
    """The lab as one JavaScript module: a notebook's widget cannot import beside itself."""
    return _joined("widget.js")


@cache
def offline_script() -> str:
    """The lab as one module, with a model that lives in the page in place of Python."""
    return _joined("offline.js")


@cache
def playing_script() -> str:
    """The lab as one module, for a page that opens links with a browser's own Python."""
    return _joined("playing.js")


@cache
def python_script() -> str:
    """The worker of that page, in which this Python is."""
    return _joined("python.js")


@cache
def reveal_script() -> str:
    """What brings an output into view whose cell was run by hand: `arrive`, of its element."""
    return _joined("reveal.js").replace("\nexport ", "\n")


@cache
def broken_script() -> str:
    """What shows a kernel that is broken on purpose, also outside of a lab."""
    return _joined("broken.js").replace("\nexport ", "\n")


@cache
def timeline_script() -> str:
    """What plays a track, also outside of a lab: `timeline`, with `h` and `markup`."""
    return _joined("timeline.js").replace("\nexport ", "\n")


def _joined(last: str) -> str:
    """The module `last` behind those that it imports, in one scope: each name is declared once."""
    needs: dict[str, list[str]] = {}
    waiting = [last]
    while waiting:
        name = waiting.pop()
        if name not in needs:
            needs[name] = imported(name)
            waiting += needs[name]
    return "\n".join(
        _IMPORT.sub("", _read(name)) for name in TopologicalSorter(needs).static_order()
    )


def imported(name: str) -> list[str]:
    """The modules that the module `name` imports, in order: two machines join them alike."""
    return sorted(set(_IMPORT.findall(_read(name))))


@cache
def style() -> str:
    """The style sheet."""
    return "\n".join(_read(name) for name in STYLES)


@cache
def playing_style() -> str:
    """The style sheet of a page that opens links."""
    return "\n".join(_read(name) for name in PLAYING)


@cache
def broken_style() -> str:
    """The style sheet of `broken_script`."""
    return "\n".join(_read(name) for name in BROKEN)


@cache
def timeline_style() -> str:
    """The style sheet of `timeline_script`."""
    return "\n".join(_read(name) for name in TIMELINE)


@cache
def search_style() -> str:
    """The style sheet of the pictures of a search, outside of a lab."""
    return "\n".join(_read(name) for name in SEARCH)


@cache
def words_style() -> str:
    """The style sheet of the words that a lesson explains where they stand."""
    return _read("words.css")


@cache
def still_style() -> str:
    """The style sheet of the page without a script."""
    return "\n".join(_read(name) for name in STILL)


def _read(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")
