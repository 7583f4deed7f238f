"""What TVM's schedule has and ours does not, and what to do instead."""

from __future__ import annotations

_TUNING = "try the values yourself: sch.actions(loop) lists those that are possible"
_HISTORY = "a schedule here is a history of programs: sch.trace, sch.fork(), sch.goto(0)"
_COPY = "use cache_read with compute_at, or cache_write with reverse_compute_at"

LEFT_OUT = {
    "annotate_buffer_access": "regions are worked out from the program, and cannot be set by hand",
    "cache_index": "leave index expressions where they are: lowering shortens them",
    "cache_inplace": "use cache_write, which keeps the block's own buffer as it is",
    "can_decompose_padding": "sch.actions(block) says whether decompose_padding is possible",
    "copy": "sch.fork() is a second cursor at the same program",
    "enter_postproc": _HISTORY,
    "fork_seed": _TUNING,
    "fuse_reduction_epilogue": "keep the epilogue a block of its own, and move it: "
    "reverse_compute_at",
    "get": "handles name their own loop or block: handle.name",
    "get_sref": _HISTORY,
    "read_at": _COPY,
    "remove_rv": _HISTORY,
    "rolling_buffer": "move the producer with compute_at, which keeps what one iteration needs",
    "sample_categorical": _TUNING,
    "sample_compute_location": _TUNING,
    "sample_partitioned_tile": _TUNING,
    "sample_perfect_tile": _TUNING,
    "seed": _TUNING,
    "state": _HISTORY,
    "tensorize": "use blockize and keep the tile's loops: there are no tensor intrinsics here",
    "unsafe_hide_buffer_access": "regions are worked out from the program, and cannot be hidden",
    "unsafe_set_dtype": "write the type in the program: T.Buffer(shape, dtype), T.Cast(dtype, x)",
    "write_at": _COPY,
}
"""By name, what to do instead; docs/differences-from-tvm.md says why each is left out."""
