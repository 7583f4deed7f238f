"""async_copies: how many bytes a thread copies at a time, and whether the machine does that."""

from __future__ import annotations

from workbench.diag import Refusal
from workbench.ir import Buffer, Expr, Kernel, Ramp, dtypes, stores
from workbench.target import Target


def copied_bytes(buffer: Buffer, place: Expr) -> int:
    """How many bytes of the flat `buffer` an access at `place` is."""
    return dtypes.itemsize(buffer.type) * (place.lanes if isinstance(place, Ramp) else 1)


def refuse_odd_copies(kernel: Kernel, target: Target) -> None:
    """Refuse asynchronous copies of a width that `target` does not have."""
    taken = target.async_copy_bytes or ()
    for store in stores(kernel.body):
        size = copied_bytes(store.buffer, store.indices[0])
        if store.is_async and size not in taken:
            raise Refusal(
                f"Can't copy into {store.buffer.name} asynchronously: a thread copies {size} bytes "
                "at a time",
                dict(kernel.views)[store.buffer],
                hint="copy neighbouring cells together, with sch.vectorize, or leave the copy out "
                "of async_stages",
                detail=f"{target.title} takes {', '.join(map(str, taken))}",
            )
