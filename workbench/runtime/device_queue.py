"""Workers that share a GPU have it one after the other, so that a time is that of one alone.

Who waits is a file, in a folder for each GPU where all users' temporary files are: its name is a
number, larger than those that were there, and its owner locks it until it leaves. The smallest
number that is locked has the GPU. A lock ends with its process, whatever ended that, so that a
file nobody locks is what a dead worker left; who finds it takes it away. All that looks at the
files holds a lock on the folder meanwhile, so that numbers are in the order of coming.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

try:
    import fcntl
except ImportError:  # Windows: workers there do not wait for each other
    fcntl = None  # type: ignore[assignment]

_ANYONE = 0o777  # also other users take away what a dead worker left
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def alone_on(device: str, tell: Callable[[int], None]) -> Iterator[float]:
    """Have the GPU that is called `device`, a UUID, alone among workers of this machine.

    Waits for those who came before; `tell` gets their number whenever it changes, and 0 when they
    have gone. Gives the seconds since a worker had it. Containers that share a GPU need a `TMPDIR`
    that they share. Where no file can be locked, nobody waits, and it gives 0.
    """
    idle = 0.0
    with ExitStack() as held:
        with suppress(OSError):
            folder = _opened(os.path.join(tempfile.gettempdir(), f"workbench-gpu-{device}"))
            held.callback(os.close, folder)
            number, idle = _joined(folder, held)
            if _wait(folder, number, tell):
                idle = 0.0
        yield idle


def _opened(path: str) -> int:
    if fcntl is None:
        raise OSError("no locks")
    with suppress(FileExistsError):
        os.mkdir(path)
        os.chmod(path, _ANYONE)  # whatever the umask says
    return os.open(path, _READ | os.O_DIRECTORY)


@contextmanager
def _looking(folder: int) -> Iterator[list[int]]:
    """The numbers of those who have the GPU or wait for it, in order, while nobody else looks."""
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        numbers = sorted(int(name) for name in os.listdir(folder) if name.isdecimal())
        yield [number for number in numbers if _alive(folder, number)]
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def _alive(folder: int, number: int) -> bool:
    """Whether someone locks that number; what nobody locks is taken away."""
    try:
        ticket = os.open(str(number), _READ, dir_fd=folder)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(ticket, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        _remove(folder, number)
        return False
    finally:
        os.close(ticket)


def _joined(folder: int, held: ExitStack) -> tuple[int, float]:
    """A new number at the end, which `held` gives up, and for how long nobody came or left."""
    with _looking(folder) as numbers:
        idle = time.time() - os.fstat(folder).st_mtime
        number = max(numbers, default=0) + 1
        ticket = os.open(str(number), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
        held.callback(os.close, ticket)  # and with it the lock
        held.callback(_remove, folder, number)
        os.fchmod(ticket, 0o666)
        fcntl.flock(ticket, fcntl.LOCK_EX)
    return number, idle


def _remove(folder: int, number: int) -> None:
    with suppress(FileNotFoundError):  # who cleans up temporary files was there before
        os.unlink(str(number), dir_fd=folder)


def _wait(folder: int, number: int, tell: Callable[[int], None]) -> bool:
    """Wait for those before; whether there was somebody."""
    told, waited = 0, False
    while True:
        with _looking(folder) as numbers:
            before = [other for other in numbers if other < number]
        if len(before) != told:
            told = len(before)
            tell(told)
        if not before:
            return waited
        waited = True
        with suppress(FileNotFoundError):  # it has gone since
            first = os.open(str(before[0]), _READ, dir_fd=folder)
            try:
                fcntl.flock(first, fcntl.LOCK_SH)  # returns when it goes
            finally:
                os.close(first)
