"""The package as an archive for a browser's Python, and what that compiled of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

PACKAGE = "workbench"
# What no lab needs of the package, by where it lies there.
LEFT_OUT = ("_lessons", "lesson", "tvm", "widgets/small", "widgets/static")
UNCHECKED = (1).to_bytes(4, "little")  # of bytecode that holds whatever the source's time is


def sources() -> bytes:
    """The package as a ZIP archive, the same from the same files."""
    return _zipped(((f"{PACKAGE}/{name}", raw) for name, raw in _files(files(PACKAGE), "")), 9)


def _files(folder: Traversable, at: str) -> Iterator[tuple[str, bytes]]:
    """The files below `folder`, by their names from the package on, in order."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        name = f"{at}{path.name}"
        if path.is_dir() and path.name != "__pycache__" and name not in LEFT_OUT:
            yield from _files(path, f"{name}/")
        elif path.is_file():
            yield name, path.read_bytes()


def compiled() -> bytes:
    """The bytecode of those modules of the package that are loaded, as a ZIP archive.

    To load it in place of the sources takes a browser's Python less than half as long. Python goes
    by the time of a source, which is another whenever it is unpacked: here that counts no more.
    """
    home = Path(str(files(PACKAGE))).parent
    cached = (getattr(module, "__cached__", None) for module in [*sys.modules.values()])
    here = [path for name in cached if name and (path := Path(name)).is_relative_to(home)]
    ours = [path for path in here if path.relative_to(home).parts[0] == PACKAGE and path.exists()]
    named = ((path.relative_to(home).as_posix(), _unchecked(path)) for path in ours)
    return _zipped(named, 1)  # soon done: a learner's clicks wait for it


def _unchecked(path: Path) -> bytes:
    """The bytecode at `path`, whose second word says how it is held against its source."""
    raw = path.read_bytes()
    return raw[:4] + UNCHECKED + raw[8:]


def _zipped(named: Iterator[tuple[str, bytes]], level: int) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        for name, raw in named:
            archive.writestr(ZipInfo(name), raw, ZIP_DEFLATED, level)
    return made.getvalue()
