"""Predictions: questions whose answer is read off the program that the learner makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import prod
from typing import Literal

from workbench import insight, script
from workbench.diag import count_text
from workbench.insight import Cell
from workbench.ir import (
    BlockRealize,
    BufferStore,
    Const,
    For,
    Node,
    PrimFunc,
    attrs_dict,
    children,
    substitute,
    walk,
)
from workbench.lower.permute_layouts import PERMUTED
from workbench.script.writer import data
from workbench.widgets import Question, Verdict
from workbench.widgets.page.question import NOT_SURE

PIPELINE = "software_pipeline_"
Judge = Callable[[PrimFunc], Verdict | None]
Measure = Callable[[PrimFunc], str]
"""A number or a name that a program decides, in the words of the choices."""
Others = Callable[[], Mapping[str, PrimFunc]]
"""Programs for which other choices are true, by the words that end "… would be right"."""
Slips = Callable[[PrimFunc], Mapping[str, str]]
"""Choices that no other program makes true: what each of them is, of the program asked about."""


def would_be_right(measure: Measure, others: Mapping[str, PrimFunc]) -> dict[str, str]:
    """What `measure` finds for each of the `others`: "“3 times” would be right without a copy."."""
    found: dict[str, str] = {}
    for words, func in others.items():
        found.setdefault(measure(func), words)
    return {choice: f"“{choice}” would be right {words}." for choice, words in found.items()}


def _wrong(measure: Measure, others: Others | None, slips: Slips | None) -> Slips:
    """What is said of the choices that are not true, worked out once it is needed."""
    known = cache(lambda: would_be_right(measure, others()) if others else {})
    return lambda func: {**known(), **(slips(func) if slips else {})}


def nests(func: PrimFunc) -> dict[str, str]:
    """The loops around each block, outermost first: {"C": "i_0 2 blockIdx.x, i_1 4"}.

    A pipeline's has its notes: 'k 8 stage [0, 1] order [1, 0] copies {"S": 2}'; and a block whose
    columns change places, as "permuted_layout".
    """
    found: dict[str, str] = {}

    def visit(node: Node, loops: tuple[str, ...]) -> None:
        if isinstance(node, For):
            extent = script.expr_text(node.extent)
            bound = f" {node.thread}" if node.thread else ""
            noted = "".join(
                f" {key.removeprefix(PIPELINE)} {data(value)}"
                for key, value in node.annotations
                if key.startswith(PIPELINE)
            )
            loops = (*loops, f"{node.loop_var.name} {extent}{bound}{noted}")
        elif isinstance(node, BlockRealize):
            moved = (PERMUTED,) * (PERMUTED in attrs_dict(node.block.annotations))
            found[node.block.name] = ", ".join((*loops, *moved))
        for child in children(node):
            visit(child, loops)

    visit(func.root.body, ())
    return found


def _of(asked: Mapping[str, str] | None, judge: Judge) -> Judge:
    """`judge`, of the program with the nests that are `asked` for and of no other."""
    if asked is None:
        return judge
    return lambda func: judge(func) if nests(func) == asked else None


def _todo(steps: str, asked: Mapping[str, str] | None) -> str:
    only = " Only these steps answer it: undo any other first."
    return f"{steps}.{only if asked else ''}"


def who_computes(
    buffer: str,
    cell: int | tuple[int, ...],
    choices: tuple[str, ...],
    *,
    steps: str,
    asked: Mapping[str, str] | None = None,
    others: Others | None = None,
    slips: Slips | None = None,
) -> Question:
    """Ask which block and thread compute one cell of `buffer` after `steps`.

    The program decides it as soon as it binds both a block's and a thread's axis; with `asked`,
    only the program that has just these `nests`. Choices are written as pictures label cells:
    "block 1, thread 1". `others` and `slips` say what is true of the wrong ones.

    >>> choices = ("block 1, thread 1", "block 5, thread 0")
    >>> asked = lesson.who_computes("B", 5, choices, steps="split(i, [2, 4])")
    >>> asked.text
    'after split(i, [2, 4]), who computes B[5]?'
    """
    index = tuple(int(k) for k in (cell if isinstance(cell, Iterable) else (cell,)))
    name = f"{buffer}[{', '.join(map(str, index))}]"
    wrong = _wrong(lambda func: who_is(func, buffer, index), others, slips)

    def judge(func: PrimFunc) -> Verdict | None:
        writer = _cell(func, buffer, index)
        if writer is None or writer.block is None or writer.thread is None:
            return None
        return Verdict(writer.label, _why(func, buffer, writer), wrong(func))

    return Question(
        name=f"who computes {name} after {steps}",
        text=f"after {steps}, who computes {name}?",
        choices=(*choices, NOT_SURE),
        judge=_of(asked, judge),
        todo=_todo(f"click a loop in the program, apply {steps}, and watch {name}", asked),
        cell=(buffer, index),
    )


def who_is(func: PrimFunc, buffer: str, index: tuple[int, ...]) -> str:
    """Who computes the cell, as pictures label it."""
    writer = _cell(func, buffer, index)
    return writer.label if writer else ""


def why_who(func: PrimFunc, buffer: str, index: tuple[int, ...]) -> str:
    """Why it is who computes the cell: the index of the store, read with the loops' values."""
    writer = _cell(func, buffer, index)
    return _why(func, buffer, writer) if writer else ""


def _cell(func: PrimFunc, buffer: str, index: tuple[int, ...]) -> Cell | None:
    return next((c for c in insight.who(func, buffer).cells if c.index == index), None)


def _why(func: PrimFunc, buffer: str, cell: Cell) -> str:
    """The index of the store with the loops' values put in."""
    stored = _store(func, buffer)
    name = f"{buffer}[{', '.join(map(str, cell.index))}]"
    if stored is None:
        return f"{name} is labelled {cell.label}."
    store, loops = stored
    values = {loop.loop_var: value for loop in loops if (value := _value(loop, cell)) is not None}
    index = ", ".join(script.expr_text(i) for i in store.indices)
    bound = [loop for loop in loops if loop.loop_var in values]
    roles = [f"{_role(loop)} `{loop.loop_var.name}` = {values[loop.loop_var]}" for loop in bound]
    sentence = f"the program writes `{buffer}[{index}]`; {', '.join(roles)}"
    if len(values) < len(loops):
        return f"{sentence}; the other loops run one step after the other in that thread."
    numbers = index
    for var, value in values.items():
        numbers = re.sub(rf"\b{re.escape(var.name)}\b", str(value), numbers)
    return f"{sentence}: `{buffer}[{numbers}]` is {name}."


def _role(loop: For) -> str:
    return "block" if str(loop.thread).startswith("block") else "thread"


def _store(func: PrimFunc, buffer: str) -> tuple[BufferStore, list[For]] | None:
    """The only store to `buffer`, by the loops around it; None where it is not so simple."""
    loops = [node for node in walk(func.body) if isinstance(node, For)]
    written = []
    for node in walk(func.root.body):
        if isinstance(node, BlockRealize):
            iters = (i.var for i in node.block.iter_vars)
            body = substitute(node.block.body, dict(zip(iters, node.iter_values, strict=True)))
            written += [
                s for s in walk(body) if isinstance(s, BufferStore) and s.buffer.name == buffer
            ]
    return (written[0], loops) if len(written) == 1 else None


def _value(loop: For, cell: Cell) -> int | None:
    """The value of a bound loop in the thread that computes the cell."""
    if loop.thread is None or loop.virtual:
        return None
    unit, _, axis = loop.thread.partition(".")
    point = cell.block if unit == "blockIdx" else cell.thread
    start = loop.min.value if isinstance(loop.min, Const) else 0
    return None if point is None else point["xyz".index(axis)] + int(start)


def how_many_loads(
    buffer: str,
    text: str,
    choices: tuple[int, ...],
    *,
    by: Literal["element", "block"],
    steps: str,
    why: Mapping[int, str],
    threads: int = 1,
    stage: str | None = None,
    asked: Mapping[str, str] | None = None,
    others: Others | None = None,
    slips: Slips | None = None,
) -> Question:
    """Ask how often an element of `buffer` is loaded, or how many loads from it one block makes.

    The program decides it once it binds `threads` loops to threadIdx.x and, where `stage` is
    given, has a block of that name under a bound loop; with `asked`, only the program that has just
    these `nests`. `why` explains numbers that may come out, `others` and `slips` wrong choices.

    >>> text = "how often is A[5] loaded?"
    >>> asked = lesson.how_many_loads("A", text, (1, 3), by="element", steps="bind i", why={})
    >>> asked.choices
    ('once', '3 times', 'not sure')
    """
    wrong = _wrong(lambda func: load_times(func, buffer, by), others, slips)

    def judge(func: PrimFunc) -> Verdict | None:
        nodes = list(walk(func.body))
        bound = sum(isinstance(n, For) and n.thread == "threadIdx.x" for n in nodes)
        if bound != threads or (stage is not None and stage not in _stages(func)):
            return None
        all_loads, of = loads_of(func, buffer), _of_each(func, buffer, by)
        reason = f"{_loaded(buffer, all_loads, of, by)}. {why.get(round(all_loads / of), '')}"
        return Verdict(load_times(func, buffer, by), reason.rstrip(), wrong(func))

    return Question(
        name=f"loads of {buffer} after {steps}",
        text=text,
        choices=(*map(times if by == "element" else loads, choices), NOT_SURE),
        judge=_of(asked, judge),
        todo=_todo(steps, asked),
    )


def load_times(func: PrimFunc, buffer: str, by: Literal["element", "block"]) -> str:
    """How often an element of `buffer` is loaded, or how many loads one block makes, in words."""
    all_loads, of = loads_of(func, buffer), _of_each(func, buffer, by)
    if by == "element":
        return times(round(all_loads / of))
    return f"{'about ' if all_loads % of else ''}{loads(round(all_loads / of))}"


def _of_each(func: PrimFunc, buffer: str, by: Literal["element", "block"]) -> int:
    return _blocks(func) if by == "block" else _cells(func, buffer)


def times(number: int) -> str:
    """A number of times in words: "once", "16,640 times"."""
    return "once" if number == 1 else f"{number:,} times"


def loads(number: int) -> str:
    """A number of loads in words: "1 load", "16,640 loads"."""
    return count_text(number, "load")


def _loaded(buffer: str, number: int, of: int, by: Literal["element", "block"]) -> str:
    if by == "element":
        return f"{buffer} has {of:,} elements, and the program makes {loads(number)} from it"
    if number % of:
        return f"{of:,} blocks make {loads(number)} from {buffer}, not all as many"
    all_blocks = f", all {of:,} blocks together {number:,}" if of > 1 else ""
    return f"one block makes {loads(number // of)} from {buffer}{all_blocks}"


def _blocks(func: PrimFunc) -> int:
    """How many blocks the program launches; its blockIdx axes have constant extents."""
    axes = {
        node.thread: node.extent.value
        for node in walk(func.body)
        if isinstance(node, For) and str(node.thread).startswith("blockIdx")
        if isinstance(node.extent, Const)
    }
    return prod(map(int, axes.values()))


def _cells(func: PrimFunc, buffer: str) -> int:
    return prod(next(param.shape for param in func.params if param.name == buffer))


def how_often_used(
    buffer: str,
    text: str,
    choices: tuple[int, ...],
    *,
    by: Literal["block", "thread", "warp"],
    steps: str,
    why: Mapping[int, str],
    axes: tuple[str, ...] = ("threadIdx.x",),
    stage: str | None = None,
    asked: Mapping[str, str] | None = None,
    others: Others | None = None,
    slips: Slips | None = None,
) -> Question:
    """Ask how often the first thread (or the first block) reads each element of `buffer` it needs.

    Where `threadIdx.x` is not bound, a thread is a whole "warp", which is asked of then.
    The program decides it once loops are bound to all of `axes` and, where `stage` is given, it
    has a block of that name under a bound loop; with `asked`, only the program that has just these
    `nests`. `why` explains numbers that may come out, `others` and `slips` wrong choices.

    >>> text = "how often is A[5] read?"
    >>> asked = lesson.how_often_used("A", text, (1, 3), by="thread", steps="bind i", why={})
    >>> asked.choices
    ('once', '3 times', 'not sure')
    """
    wrong = _wrong(lambda func: use_times(func, buffer, by), others, slips)

    def judge(func: PrimFunc) -> Verdict | None:
        if not _bound(func) >= set(axes) or (stage is not None and stage not in _stages(func)):
            return None
        reads, cells = _reads_of_one(func, buffer, by)
        if not cells:
            return None
        who = f"the first {by} reads {cells:,} elements of {buffer}, {reads:,} times in all"
        truth = times(round(reads / cells))
        reason = f"{who}: {truth} each. {why.get(round(reads / cells), '')}"
        return Verdict(truth, reason.rstrip(), wrong(func))

    return Question(
        name=f"uses of {buffer} by a {by} after {steps}",
        text=text,
        choices=(*map(times, choices), NOT_SURE),
        judge=_of(asked, judge),
        todo=_todo(steps, asked),
    )


def use_times(func: PrimFunc, buffer: str, by: Literal["block", "thread", "warp"]) -> str:
    """How often the first block or thread reads each element of `buffer` it needs, in words."""
    reads, cells = _reads_of_one(func, buffer, by)
    return times(round(reads / cells)) if cells else ""


def _bound(func: PrimFunc) -> set[str | None]:
    return {node.thread for node in walk(func.body) if isinstance(node, For)}


def _stages(func: PrimFunc) -> set[str]:
    """The blocks under a bound loop: a copy that is still to be moved there decides nothing."""
    bound = [n for n in walk(func.body) if isinstance(n, For) and n.thread is not None]
    below = (node for loop in bound for node in walk(loop.body))
    return {node.block.name for node in below if isinstance(node, BlockRealize)}


def _reads_of_one(
    func: PrimFunc, buffer: str, by: Literal["block", "thread", "warp"]
) -> tuple[int, int]:
    """How often the first block, or its first thread, reads `buffer`, and how many cells of it."""
    units = ("block",) if by == "block" else ("block", "thread")
    return _reads_of(func, buffer, dict.fromkeys(units, (0, 0, 0)))


def _reads_of(
    func: PrimFunc, buffer: str, select: Mapping[str, tuple[int, int, int]]
) -> tuple[int, int]:
    """How often what is selected reads `buffer`, and how many cells of it."""
    tiles = insight.tiles(func, select).tiles
    read = [t for tile in tiles if tile.buffer == buffer for t in tile.touches]
    read = [t for t in read if t.access == "read"]
    return sum(t.accesses for t in read), sum(t.cells for t in read)


def reads_of_block(func: PrimFunc, buffer: str, block: tuple[int, int, int]) -> int:
    """How many elements of `buffer` one block reads, by its (x, y, z)."""
    return _reads_of(func, buffer, {"block": block})[0]


def how_many(
    name: str,
    text: str,
    choices: tuple[str, ...],
    measure: Measure,
    *,
    steps: str,
    why: str,
    asked: Mapping[str, str],
    others: Others | None = None,
    slips: Slips | None = None,
) -> Question:
    """Ask for what `measure` finds of the program that has just the nests `asked`.

    `why` explains it, `others` and `slips` say what is true of the wrong ones.
    """
    wrong = _wrong(measure, others, slips)
    of_steps = not steps.startswith("choose an answer")  # else of the program as it is
    return Question(
        name=f"{name} after {steps.removeprefix('apply ')}" if of_steps else name,
        text=text,
        choices=(*choices, NOT_SURE),
        judge=_of(asked, lambda func: Verdict(measure(func), why, wrong(func))),
        todo=_todo(steps, asked),
    )


def loads_of(func: PrimFunc, buffer: str) -> int:
    """How many elements the whole program loads from `buffer`, counted by its meaning.

    >>> lesson.loads_of(add, "A")
    8
    """
    levels = insight.memory(func).levels
    return sum(use.loads for level in levels for use in level.buffers if use.buffer == buffer)
