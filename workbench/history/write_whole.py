"""Files written whole or not at all: what was there stays until all of the new lies on the disk."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident

from workbench.diag import Fail

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

PATIENCE = 2.0  # seconds; a writer holds a file for milliseconds
_LONGEST = 60  # characters of a name in that of its part: file systems take 255 bytes
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
_HINTS = {
    errno.ENOSPC: "make room on the disk, or write to another one",
    errno.EDQUOT: "make room on the disk, or write to another one",
    errno.ETIMEDOUT: "close what writes it, and try again",
}


class NotWritten(Fail, OSError):
    """A file that could not be written; what was there is as it was."""


def write_whole(path: str | Path, text: str | bytes) -> None:
    """Make `text` all that the file `path` holds; when that fails, the file is as it was.

    The file's mode stays, and a link stays a link. Raises NotWritten, an OSError.
    """
    with replacing(path) as replace:
        replace(text)


@contextmanager
def replacing(path: str | Path) -> Iterator[Callable[[str | bytes], None]]:
    """Hold the file `path`: no other process that writes it through here does until this is left.

    Gives what replaces all that the file holds, to be called once or not at all. Raises NotWritten,
    an OSError, also for what fails to be read meanwhile.

    The new text goes into a part beside the file, which then takes its name. The part is the lock,
    too: a process writes only into a part that it has locked and that still has its name. One that
    was left by a crash is empty of locks, and the next writer puts it away.
    """
    _check_path(path)
    try:
        target = Path(os.path.realpath(path))
        _make_folder(target.parent)
        _refuse_all_but_files(target)
        part = _Part(target)
        try:
            yield part.replace
        finally:
            part.leave()
    except Fail:
        raise
    except (OSError, ValueError) as error:  # a path with a null byte is a ValueError
        raise _not_written(path, error) from None


def _not_written(path: str | Path, error: Exception) -> NotWritten:
    why = getattr(error, "strerror", None) or str(error)
    number = getattr(error, "errno", None)
    refusal = NotWritten(
        f"Can't write {Path(path).name or path}: {why[:1].lower()}{why[1:]}",
        asked=f"a file at {path}",
        hint=_HINTS.get(number or 0, "give a path in a folder where you may write files"),
    )
    refusal.errno, refusal.strerror, refusal.filename = number, why, str(path)
    return refusal


def _check_path(path: object) -> None:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        what = "an empty text" if path == "" else f"a value of type {type(path).__name__}"
        raise NotWritten(
            f"Can't write a file: {what} is no path",
            asked=f"a file at {what}",
            hint='give the name of a file, such as "schedule.json"',
        )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, f"{folder.name} is a file, no folder") from None


def _refuse_all_but_files(target: Path) -> None:
    with suppress(FileNotFoundError):
        mode = target.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is a device, no file")
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "it may not be written")


class _Part:
    """The part of a file that is being written, locked where the file system has locks."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f".{target.name[:_LONGEST]}.part")
        self.locked = fcntl is not None
        self.number = self._alone() if self.locked else self._own()

    def _alone(self) -> int:
        """The part that all writers of the file share, once it is nobody else's, and empty."""
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                number = _open(self.path)
                _check_part(number)
            except OSError:  # another user's, a link, a folder: left alone, it stops nobody
                return self._own()
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _has_name(number, self.path):
                    if os.fstat(number).st_size == 0:
                        return number
                    os.unlink(self.path)  # left by a crash
            except OSError as error:
                if error.errno in _NO_LOCKS:
                    os.close(number)
                    return self._own()
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    os.close(number)
                    raise
                time.sleep(0.002)
            os.close(number)
            if time.monotonic() > give_up:
                raise TimeoutError(errno.ETIMEDOUT, "another notebook is writing it")

    def _own(self) -> int:
        """A part for this thread alone: whole files also where nothing can be locked."""
        self.locked = False
        self.path = self.path.with_suffix(f".{os.getpid()}-{get_ident()}.part")
        return _open(self.path, os.O_TRUNC)

    def replace(self, text: str | bytes) -> None:
        """Write `text` down to the disk, and give it the name of the file."""
        with open(self.number, "wb", closefd=False) as file:
            file.write(text.encode() if isinstance(text, str) else text)
            file.flush()
            os.fsync(self.number)
        with suppress(FileNotFoundError):
            os.chmod(self.path, stat.S_IMODE(self.target.stat().st_mode))
        if not self.locked:  # Windows renames no open file; a lock is held to the end
            self._close()
        os.replace(self.path, self.target)
        self.path = self.target

    def leave(self) -> None:
        """Put away what did not become the file, and let others write it."""
        if self.path != self.target:
            if not self.locked:
                self._close()
            with suppress(FileNotFoundError):
                os.unlink(self.path)
        self._close()

    def _close(self) -> None:
        if self.number >= 0:
            os.close(self.number)
        self.number = -1


def _open(path: Path, more: int = 0) -> int:
    flags = os.O_RDWR | os.O_CREAT | more
    # no link is followed: it could name any file
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o666)


def _check_part(number: int) -> None:
    """Close the open file, and raise OSError, if it is not a file of this user's with one name."""
    found = os.fstat(number)
    ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink < 2
    if not ours:  # a pipe would take the file's place, and another name's file be written
        os.close(number)
        raise OSError(errno.EINVAL, "it is nothing that was left by a crash")


def _has_name(number: int, path: Path) -> bool:
    """Whether the open file is still the one at `path`."""
    try:
        return os.path.samestat(os.fstat(number), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False
