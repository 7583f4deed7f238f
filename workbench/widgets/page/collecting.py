"""collecting_later: no collector of cycles while somebody waits for pages."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collecting_later(kept: bool = False) -> Iterator[None]:
    """Without the collector of cycles, which searches all that a history keeps.

    That takes a tenth of a second and more, and what one page makes is enough for it to begin. It
    begins behind this, where nobody waits; where all that was made is `kept`, not for the sake of
    that, which is searched with what is old.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            if kept and not gc.get_freeze_count():
                gc.freeze()  # with `unfreeze`, what is young becomes old
                gc.unfreeze()
            gc.enable()
