"""What a program costs, counted from its kernels: a strip of at most four, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, Literal

from workbench import insight
from workbench.diag import Fail
from workbench.insight import Counts, Kind, Totals
from workbench.ir import Kernel, PrimFunc
from workbench.lower import shared_memory
from workbench.runtime import Built
from workbench.runtime.building import REFUSED
from workbench.widgets.page.memo import build, is_known, memo, sizes_told
from workbench.widgets.page.question import MARK

COSTS = (
    "blocks",
    "threads in each",
    "global loads an output",
    "shared loads an output",
    "shared bytes a block",
    "barriers a block",
    "shuffles a thread",
)
IDLE = "idle threads"
WAVEFRONTS = "wavefronts a shared read"
WHOLE = {WAVEFRONTS: "wavefronts of the worst shared read"}  # what a strip has no room for
TOTALS = {"global sectors": "global", "shared wavefronts": "shared"}
"""Of reads and writes together, by the memory; beside them stands what a compiler makes of it."""
MODEL = "modelled time"  # which no count is: cost_bar.py tells it
SLOW = (
    IDLE,
    WAVEFRONTS,
    *TOTALS,
)  # counted only where they are asked for: threads or lanes one by one
WEIGHT = (*COSTS[2:], *COSTS[:2])  # what a schedule is mostly for comes first
MOST = 4
EXACT = "Counts are exact, from the kernels."
MODELLED = (
    f"{EXACT} Wavefronts are modelled, by the worst read or in all: "
    "32 banks, each of which serves 4 bytes at a time."
)


@dataclass(frozen=True, slots=True)
class Cost:
    """One count: how it is written, and the number, None where the kernels have different ones."""

    text: str
    number: float | None


def costs_of(counts: Counts, threads: Sequence[int], shared_bytes: int) -> dict[str, Cost]:
    """Each of `COSTS`, of kernels with so many `threads` in a block and at most `shared_bytes`."""
    blocks = max(counts.blocks, 1)
    outputs = counts.traffic[0].loads / (counts.loads_per_output or 1)
    sizes = list(dict.fromkeys(threads))
    size = Cost(" and ".join(f"{n:,}" for n in sizes), sizes[0] if len(sizes) == 1 else None)
    loads, shared = counts.loads_per_output, counts.traffic[1].loads / (outputs or 1)
    barriers, shuffles = counts.barriers / blocks, counts.shuffles / max(counts.threads, 1)
    costs = (
        Cost(f"{counts.blocks:,}", counts.blocks),
        size,
        Cost(f"{loads:,.4g}", loads),
        Cost(f"{shared:,.4g}", shared),
        Cost(f"{shared_bytes:,}", shared_bytes),
        Cost(f"{barriers:,.4g}", barriers),
        Cost(f"{shuffles:,.4g}", shuffles),
    )
    return dict(zip(COSTS, costs, strict=True))


def threads_in_each(built: Built) -> tuple[int, ...]:
    """The threads of a block, kernel by kernel."""
    return tuple(prod(kernel.block) for kernel in built.kernels)


def shared_bytes(built: Built) -> int:
    """The most shared memory, in bytes, that a block of its kernels has."""
    return max(map(shared_memory.shared_bytes, built.kernels))


def count(func: PrimFunc, names: Sequence[str] | None = None) -> dict[str, Cost]:
    """The costs of `func`, counted once, with those of `SLOW` that are among the `names`.

    Raises Fail where there is no valid kernel.
    """

    def make() -> dict[str, Cost]:
        built = build(func)
        return costs_of(insight.counts(built.kernels), threads_in_each(built), shared_bytes(built))

    def slow(name: str) -> Cost:
        kernels = build(func).kernels
        if name == WAVEFRONTS:
            return _wavefronts(kernels)
        if name in TOTALS:
            found = totals_of(func)
            return _or_more(found.written(TOTALS[name]), found.left_out)
        number = insight.idle_threads(kernels)
        return Cost(f"{number:,}", number)

    costs = memo(func, "costs", make)
    return costs | {name: memo(func, name, partial(slow, name)) for name in _slow(names)}


def _slow(names: Sequence[str] | None) -> list[str]:
    return [name for name in SLOW if name in (names or ())]


def _wavefronts(kernels: Sequence[Kernel]) -> Cost:
    found = insight.conflicts(kernels)
    number = max((use.wavefronts for use in found.uses if use.access == "read"), default=0)
    return _or_more(number, found.left_out)


def totals_of(func: PrimFunc) -> Totals:
    """What all launches ask of memory. Raises Fail where there is no valid kernel."""
    return memo(func, "totals", lambda: insight.totals(build(func).kernels))


def _or_more(number: int, left_out: Sequence[str]) -> Cost:
    """A number of which a part is not counted, if accesses are `left_out`."""
    return Cost(f"{number:,} or more" if left_out else f"{number:,}", number)


def is_counted(func: PrimFunc, names: Sequence[str] | None) -> bool:
    """Whether the costs `names` were counted already, or refused."""
    if not is_known(func, "costs"):
        return False
    wanted = _slow(names)
    return all(is_known(func, name) for name in wanted) or isinstance(_known(func), Fail)


def strip(
    before: PrimFunc | None, after: PrimFunc, names: Sequence[str] | None, slow: bool
) -> dict[str, Any]:
    """The costs `names`, by default those that matter most, as far as they are counted.

    `waits` says that they are not: "soon" where a page asks for them once it is drawn, "asked"
    where that is `slow`, so that the learner does. `kind` is that of the numbers, "" without any.
    """
    funcs = [after] if before is None else [before, after]
    if names is not None and not names:
        return _strip([], "")
    if not all(is_counted(func, names) for func in funcs):
        return _strip([], "Costs are counted when asked." if slow else "", _wait(slow))
    counted = [_known(func, names) for func in funcs]
    last = counted[-1]
    if isinstance(last, Fail):
        return _strip([], f"No costs yet: {_told(last, after)}")
    old = counted[0] if before is not None and not isinstance(counted[0], Fail) else {}
    chosen = _chosen([old, last]) if names is None else names
    missing = "none" if before is not None else ""
    rows = [_row(name, old.get(name), last[name], missing) for name in chosen]
    scopes = [scope for name, scope in TOTALS.items() if name in chosen]
    told = f" At {sizes}, as the inputs tell." if (sizes := sizes_told(after)) else ""
    told += f" {totals_of(after).caption_of(*scopes)}" if scopes else ""
    if WAVEFRONTS in chosen or "shared" in scopes:
        return _strip(rows, MODELLED + told, kind="modelled")
    return _strip(rows, EXACT + told, kind="counted")


def _told(fail: Fail, func: PrimFunc) -> str:
    """Why there are no costs, and of a program for any size how to give it one."""
    found = fail.headline.removeprefix(REFUSED)
    if not func.sizes:
        return found
    return f"{found} {fail.hint[:1].upper()}{fail.hint[1:]}, or open the lab with inputs=."


def hidden_strip(names: Sequence[str] | None) -> dict[str, Any]:
    """The strip while the question is open."""
    shown = WEIGHT[:MOST] if names is None else names
    rows = [
        _made(name, "", MARK, "", f"{name}: hidden until you answer the question") for name in shown
    ]
    return _strip(rows, "")  # the picture says why


def _wait(slow: bool) -> str:
    return "asked" if slow else "soon"


def _strip(
    rows: Sequence[Mapping[str, str]], text: str, waits: str = "", kind: Kind | Literal[""] = ""
) -> dict[str, Any]:
    return {"rows": list(rows), "text": text, "waits": waits, "kind": kind}


def _known(func: PrimFunc, names: Sequence[str] | None = None) -> dict[str, Cost] | Fail:
    try:
        return count(func, names)
    except Fail as fail:
        return fail


def _chosen(found: Iterable[Mapping[str, Cost]]) -> list[str]:
    """Those that are something in one of the programs, by weight."""
    there = {name for costs in found for name, cost in costs.items() if cost.number != 0}
    return [name for name in WEIGHT if name in there][:MOST]


def _row(name: str, old: Cost | None, new: Cost, missing: str) -> dict[str, str]:
    before = old.text if old else missing
    sign = _sign(old, new) if old else ""
    words = {"▼": ", less", "▲": ", more", "=": ", the same"}.get(sign, "")
    was = f"{before} before, " if old else ""
    said = f"{WHOLE.get(name, name)}: {was}{new.text} now{words}"
    return _made(name, before, new.text, sign, said)


def _sign(old: Cost, new: Cost) -> str:
    if old.text == new.text:
        return "="
    if old.number is None or new.number is None:
        return "≠"
    return "▼" if new.number < old.number else "▲"


def _made(name: str, before: str, after: str, sign: str, said: str) -> dict[str, str]:
    return {"name": name, "before": before, "after": after, "sign": sign, "said": said}
