"""from_tvm: the steps that TVM's MetaSchedule recorded as the fastest, on a schedule of ours.

A line of ``database_tuning_record.json`` holds the number of a program, TVM's trace of it, the
seconds of its runs, and for what it was tuned. The trace is plain JSON: instructions, each with its
inputs, attributes and the names of what it makes, and the decisions of those that sample. The
programs are in another file, in TVM's own form, which nothing but TVM reads: ours is given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from workbench.diag import Fail, count_text
from workbench.ir import IRModule, PrimFunc
from workbench.schedule import Schedule, ScheduleError
from workbench.tuning.trial import checked_times
from workbench.tuning.tvm_index_map import text_of_map
from workbench.verbs.primitives.sample_compute_location import INLINE, ROOT

MOST_BYTES = 64 << 20
LONGEST = 10_000  # instructions of a trace

Inputs: TypeAlias = list[Any]  # what was made before, by its handle, and plain values
# Of each of TVM's instructions what it asks of a schedule: from its inputs and attributes, in
# TVM's order (src/s_tir/schedule/primitive), and the decision, None for what samples nothing.
Taken: TypeAlias = Callable[[Schedule, Inputs, list[Any], Any], object]


class TvmRecordError(Fail, ValueError):
    """A file that is no database of TVM's, or a trace that has no steps of ours."""


def _plain(verb: str) -> Taken:
    """Inputs and then attributes are the arguments."""
    return lambda sch, given, attrs, _: getattr(sch, verb)(*given, *attrs)


def _named(sch: Schedule, _: Inputs, attrs: list[Any], __: Any) -> object:
    """A block, whose name is an identifier here; what its function is called says nothing."""
    return sch.get_block(attrs[0].replace(".", "_"))


def _sampled(verb: str) -> Taken:
    return lambda sch, given, attrs, decision: getattr(sch, verb)(*given, *attrs, decision=decision)


def _cached(verb: str) -> Taken:
    return lambda sch, given, attrs, _: getattr(sch, verb)(given[0], *attrs, given[1] or None)


def _moved(verb: str) -> Taken:
    """A move to where a choice says: with TVM it may be inline, or where the block is already."""

    def taken(sch: Schedule, given: Inputs, attrs: list[Any], _: Any) -> object:
        if given[1] == INLINE:
            return getattr(sch, verb.replace("_at", "_inline"))(given[0])
        if given[1] == ROOT:
            return None
        return getattr(sch, verb)(given[0], given[1], bool(attrs[0]), attrs[1])

    return taken


def _touched(attrs: list[Any]) -> tuple[str, int]:
    """A buffer by its place among those that a block reads, 0, or writes, 1."""
    return ("read", "write")[attrs[1]], attrs[0]


def _laid_out(sch: Schedule, given: Inputs, attrs: list[Any], _: Any) -> None:
    block, index_map = given
    if attrs[2] is not None:
        raise ValueError("what fills gaps is a function")
    sch.transform_layout(block, _touched(attrs), index_map)


def _truths(values: list[Any]) -> list[bool]:
    """What JSON has as 0 and 1."""
    return [bool(value) for value in values]


_PLAIN = {  # TVM's name -> our verb
    "GetLoops": "get_loops",
    "GetChildBlocks": "get_child_blocks",
    "GetChildSBlocks": "get_child_blocks",
    "GetProducers": "get_producers",
    "GetConsumers": "get_consumers",
    "GetOutputBlocks": "get_output_blocks",
    "GetOutputSBlocks": "get_output_blocks",
    "Merge": "merge",
    "Reorder": "reorder",
    "Parallel": "parallel",
    "Vectorize": "vectorize",
    "Unroll": "unroll",
    "Bind": "bind",
    "ComputeInline": "compute_inline",
    "ReverseComputeInline": "reverse_compute_inline",
    "DecomposeReduction": "decompose_reduction",
    "DecomposePadding": "decompose_padding",
    "RFactor": "rfactor",
    "StorageAlign": "storage_align",
    "SetScope": "set_scope",
    "AddUnitLoop": "add_unit_loop",
    "Unannotate": "unannotate",
}
TAKEN: Mapping[str, Taken] = {
    **{name: _plain(verb) for name, verb in _PLAIN.items()},
    "GetBlock": _named,
    "GetSBlock": _named,
    "SamplePerfectTile": _sampled("sample_perfect_tile"),
    "SampleCategorical": _sampled("sample_categorical"),
    "SampleComputeLocation": _sampled("sample_compute_location"),
    "CacheRead": _cached("cache_read"),
    "CacheWrite": _cached("cache_write"),
    "Split": lambda sch, given, attrs, _: sch.split(given[0], given[1:], *_truths(attrs)),
    "Fuse": lambda sch, given, attrs, _: sch.fuse(*given, preserve_unit_iters=bool(attrs[0])),
    "ComputeAt": _moved("compute_at"),
    "ReverseComputeAt": _moved("reverse_compute_at"),
    "Blockize": lambda sch, given, attrs, _: sch.blockize(given[0], bool(attrs[0])),
    "Tensorize": lambda sch, given, attrs, _: sch.tensorize(given[0], attrs[0], bool(attrs[1])),
    "Annotate": lambda sch, given, attrs, _: sch.annotate(given[0], attrs[0], given[1]),
    "ReIndex": lambda sch, given, attrs, _: sch.reindex(given[0], _touched(attrs)),
    "TransformLayout": _laid_out,
    "TransformBlockLayout": lambda sch, given, attrs, _: sch.transform_block_layout(
        given[0], text_of_map(attrs[0], {})
    ),
    "PadEinsum": lambda sch, given, attrs, _: sch.pad_einsum(given[0], attrs[0]),
    "EnterPostproc": lambda *_: None,  # what follows is written out as well
}


def from_tvm(
    program: PrimFunc | IRModule | Schedule, path: str | Path, workload: int = 0
) -> Schedule:
    """The schedule of the fastest of TVM's records of `program` in a database's file.

    `path` is a ``database_tuning_record.json``; its programs are numbered in the order of the
    ``database_workload.json`` beside it, and `workload` is the number of this one. Choices stand in
    the trace with TVM's decisions, so that a search can go on from there. What made the records
    is not run. Raises TvmRecordError for a file that is none, one without such a record, and an
    instruction that no verb stands for; ScheduleError where a step is refused, or where `program`
    is another than TVM's; OSError where there is no such file.

    >>> from pathlib import Path
    >>> steps = [["GetBlock", [], ["B"], ["b0"]], ["GetLoops", ["b0"], [], ["l1"]],
    ...          ["Unroll", ["l1"], [], []]]
    >>> record = str([0, [[steps, []], [2e-6]]]).replace("'", '"')
    >>> _ = Path("database_tuning_record.json").write_text(record)
    >>> tuning.from_tvm(add, "database_tuning_record.json")
    <Schedule of add at step 1: unroll(i)>
    """
    records = _records(Path(path))
    own = [record for record in records if record[0] == workload and record[2] is not None]
    if not own:
        known = sorted({record[0] for record in records})
        numbers = ", ".join(map(str, known[:9])) or "none"
        raise _wrong(
            f"Can't take steps from {Path(path).name}: it has no time of program {workload}",
            f"it has {count_text(len(records), 'record')}, of the programs: {numbers}",
            "give the program's place in database_workload.json: workload=…",
        )
    _, trace, _ = min(own, key=lambda record: record[2])
    func = program.func if isinstance(program, Schedule) else program
    return _taken(Schedule(func), trace, Path(path).name)


def _records(path: Path) -> list[tuple[int, Any, Any]]:
    """The program's number, the trace and the median of the seconds, None without, of each line."""
    if path.stat().st_size > MOST_BYTES:
        raise _wrong(f"Can't read {path.name}: it has more than {MOST_BYTES >> 20} MiB")
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines()):
        if not line.strip():
            continue
        try:
            workload, (trace, seconds, *_) = json.loads(line)
            times = [float(one) for one in [*(seconds or ())]]
            if type(workload) is not int or isinstance(seconds, str):
                raise TypeError
        except (ValueError, TypeError, RecursionError):
            raise _wrong(
                f"Can't read {path.name}: line {number + 1} is no record of TVM's"
            ) from None
        # 1e10 seconds are what TVM writes of a run that failed
        found.append((workload, trace, None if checked_times((*times,)) else median(times)))
    return found


def _taken(sch: Schedule, trace: Any, name: str) -> Schedule:
    """The schedule after the instructions of a trace."""
    made: dict[str, Any] = {}
    try:
        instructions, decisions = trace
        decided = {int(k): value for k, value in decisions}
        steps = [(str(kind), given, attrs, [*out]) for kind, given, attrs, out in instructions]
    except (ValueError, TypeError):
        raise _wrong(f"Can't take steps from {name}: its trace is none of TVM's") from None
    if len(steps) > LONGEST:
        raise _wrong(f"Can't take steps from {name}: {len(steps):,} are more than {LONGEST:,}")
    for number, (kind, given, attrs, out) in enumerate(steps):
        taken = TAKEN.get(kind)
        if taken is None:
            raise _wrong(
                f"Can't take steps from {name}: no verb stands for {kind}",
                f"it is instruction {number + 1} of {len(steps)}",
                "take the steps before it by hand, or tune without the rule that makes it",
            )
        try:
            inputs = [_value(one, made) for one in given]
            result = taken(sch, inputs, attrs, decided.get(number))
            results = result if isinstance(result, list) else [result]
            made |= dict(zip(out, results, strict=True)) if out else {}
        except ScheduleError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            told = f"instruction {number + 1}, {kind}, is cut or changed"
            raise _wrong(f"Can't take steps from {name}: {told}", str(error)[:200]) from None
    return sch


def _wrong(
    headline: str,
    detail: str = "",
    hint: str = "give a database_tuning_record.json that MetaSchedule wrote",
) -> TvmRecordError:
    return TvmRecordError(headline[:119], detail=detail, hint=hint)


def _value(one: Any, made: Mapping[str, Any]) -> Any:
    """An input: what an instruction made, by its name; text in quotes; a map; a number; several."""
    if isinstance(one, list):
        return [_value(each, made) for each in one]
    if not isinstance(one, str):
        return one
    if one == "None":
        return None
    if one.startswith("{"):
        return text_of_map(one, made)
    return one[1:-1] if one.startswith('"') else made[one]
