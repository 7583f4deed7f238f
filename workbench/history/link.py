"""Links: the program and steps of a saved schedule, packed into the fragment of a URL.

What stands behind the ``#`` of a URL stays in the browser: no server is sent it.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any
from urllib.parse import unquote

from workbench.diag import Fail
from workbench.history.errors import ScheduleError
from workbench.history.file import parsed, path_to_data
from workbench.history.history import HistoryNode

ADDRESS = "https://github.com/mlc-workbench/workbench"
"""Where a link leads who has no workbench, if it is told nothing else: the project's page."""

VERSION = 1  # of how a link is packed; the data in it has the version of saved schedules
MOST_BYTES = 256 << 10  # of what is packed: ten times what lesson 12's 57 steps take
MOST_STEPS = 500  # taken in a second or two on the largest programs of the lessons

_FRAGMENT = re.compile(r"workbench([0-9]{1,9})\.([A-Za-z0-9_-]+)")
DEEPEST = 100  # brackets in each other, where steps have at most 30; of 3,000 browsers' Python dies
_SIGNS = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)
AGAIN = "copy it again, whole: the link button of a lab and lab.link() make one"


def link(at: HistoryNode, address: str = ADDRESS) -> str:
    """`address` with the steps that lead to `at`, and their program, as its fragment.

    Raises ScheduleError where these are more than a link holds.
    """
    if at.depth > MOST_STEPS:
        raise _too_long(f"{at.depth:,} steps lead here, and one holds {MOST_STEPS}")
    raw = json.dumps(path_to_data(at), separators=(",", ":")).encode()
    if len(raw) > MOST_BYTES:
        raise _too_long(f"program and steps have {len(raw):,} bytes, and one holds {MOST_BYTES:,}")
    packed = base64.urlsafe_b64encode(zlib.compress(raw, 9)).decode().rstrip("=")
    return f"{address}#workbench{VERSION}.{packed}"


def _too_long(why: str) -> ScheduleError:
    return ScheduleError(f"Can't make a link: {why}", hint="save a file instead: sch.save(path)")


def check_address(address: object) -> None:
    """Raise ScheduleError for what is no address that a fragment can follow."""
    if not isinstance(address, str) or not re.fullmatch(r"[a-z][a-z0-9+.-]*://[!-~]+", address):
        raise ScheduleError(
            f"Can't make links to {address!r}: it is no address",
            hint=f"give a whole one, such as {ADDRESS}",
        )
    if "#" in address:
        raise ScheduleError(
            f"Can't make links to {address!r}: it has a fragment of its own",
            hint="leave out what begins with #: the steps stand there",
        )


def plays(address: str) -> bool:
    """Whether `address` is that of a page which opens links by itself: one called play.html."""
    return re.split(r"[?#]", address)[0].endswith("/play.html")


def read_link(url: object) -> dict[str, Any]:
    """The data of a schedule that `url` tells: a whole link, or what begins with its ``#``.

    Every step is read, none is taken. Raises ScheduleError for all that `link` does not make.
    """
    if not isinstance(url, str):
        raise ScheduleError(
            f"Can't open a value of type {type(url).__name__}: it is no link",
            hint="pass its text: wb.open(lab.link())",
        )
    # mail breaks long lines, and some programs send every sign but letters and numbers as %2E
    found = _FRAGMENT.fullmatch(unquote("".join(url.split()).rpartition("#")[2]))
    if found is None:
        raise _no_link("no steps stand behind its #", hint=AGAIN)
    version, packed = int(found[1]), found[2]
    if version != VERSION:
        raise _no_link(
            f"it is of version {version}, this workbench reads {VERSION}",
            hint="open it with the newest workbench, and if that reads no such link, ask for a "
            "new one",
        )
    raw = _unpacked(packed)
    if _depth(raw) > DEEPEST:
        raise _no_link(f"more than {DEEPEST} brackets in it stand in each other", AGAIN)
    try:
        data = parsed(raw)
    except ScheduleError as error:
        raise _no_link("part of it is missing or changed", AGAIN, _found(error)) from None
    if data is None:
        raise _no_link("it is empty", hint=AGAIN)
    if len(data["nodes"]) > MOST_STEPS:
        raise _no_link(
            f"it has {len(data['nodes']):,} steps, and at most {MOST_STEPS} are read",
            hint="ask for a file in its place: sch.save(path) writes it, wb.load reads it",
        )
    return {**data, "answers": {}}  # who opens it has answered nothing


def _unpacked(packed: str) -> bytes:
    """What `link` packed. Raises ScheduleError for what it did not, or if that is too much."""
    try:
        raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        reading = zlib.decompressobj()
        found = reading.decompress(raw, MOST_BYTES + 1)
    except (ValueError, zlib.error):
        raise _no_link("part of it is missing or changed", AGAIN) from None
    if len(found) > MOST_BYTES:
        raise _no_link(f"more than {MOST_BYTES:,} bytes are packed in it", AGAIN)
    if not reading.eof or reading.unused_data:
        raise _no_link("part of it is missing or changed", AGAIN)
    return found


def _depth(raw: bytes) -> int:
    """How many brackets of the JSON text `raw` stand in each other at most."""
    depth = most = 0
    quoted = False
    for sign in _SIGNS.findall(raw):
        if sign == b'"':
            quoted = not quoted
        elif not quoted and sign in b"[{":
            depth += 1
            most = max(most, depth)
        elif not quoted and sign in b"]}":
            depth -= 1
    return most


def refused(error: Fail) -> ScheduleError:
    """The error for a link whose program or steps were refused by `error`."""
    return _no_link(
        "its program or one of its steps is refused",
        "open it with the workbench that it was made with, or ask for a new one",
        _found(error),
    )


def _found(error: Fail) -> str:
    """What `error`, of a file where there is none, says of the data."""
    return error.headline.removeprefix("Can't load this schedule: ")


def _no_link(why: str, hint: str, detail: str = "") -> ScheduleError:
    return ScheduleError(f"Can't open this link: {why}", detail=detail, hint=hint)
