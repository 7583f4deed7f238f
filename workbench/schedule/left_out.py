"""What TVM's schedule has and ours does not: why, and what to do instead."""

from __future__ import annotations

_SEED = (
    "a schedule draws by the seed that it began with, so that its steps can be taken again",
    "give it at the start: wb.Schedule(program, seed=1)",
)
_STATE = "it asks for or changes what a schedule is in TVM"
_HISTORY = (_STATE, "a schedule here is a history of programs: sch.trace, sch.fork(), sch.goto(0)")
_TOLD = "it lets the caller say what a block reads or holds, which later steps then could not prove"
_REGIONS = (_TOLD, "leave regions alone: they are worked out from the program")
_COPY = (
    "it makes a block without iterators, which only TVM's tensorisation fills in",
    "use cache_read with compute_at, or cache_write with reverse_compute_at",
)
_DTYPE = (
    "values stored in another type are rounded or cut off: the program would mean another one",
    "write the type in the program: T.Buffer(shape, dtype), T.Cast(dtype, x)",
)
_IN_ONE = "it makes one block of a producer and its consumer, which says less of what each needs"

LEFT_OUT = {
    "annotate_buffer_access": _REGIONS,
    "cache_index": (
        "it puts loads from memory in the place of a few additions",
        "leave index expressions where they are: lowering shortens them",
    ),
    "cache_inplace": (
        "its copies name an iterator of the block outside of it, so that nothing can be lowered",
        "let the block write another buffer, and use cache_read and cache_write",
    ),
    "can_decompose_padding": (
        _STATE,
        "sch.actions(block) says whether decompose_padding is possible",
    ),
    "enter_postproc": _HISTORY,
    "fork_seed": _SEED,
    "fuse_reduction_epilogue": (
        _IN_ONE,
        "keep the epilogue a block of its own, and move it: reverse_compute_at",
    ),
    "get_sref": _HISTORY,
    "read_at": _COPY,
    "remove_rv": _HISTORY,
    "rolling_buffer": (
        "iterations would read what earlier ones left, so that no loop around could be bound",
        "move the producer with compute_at, which makes anew what one iteration needs",
    ),
    "sample_partitioned_tile": (
        "it draws tiles of a shape that one tuner asks for",
        "use sample_perfect_tile, and multiply the factors that belong together",
    ),
    "seed": _SEED,
    "set_dtype": _DTYPE,
    "state": _HISTORY,
    "unsafe_hide_buffer_access": _REGIONS,
    "unsafe_set_dtype": _DTYPE,
    "write_at": _COPY,
}
"""By name, why it is left out, and what to do instead; docs/differences-from-tvm.md says more."""
