"""A kernel that is broken on purpose, as a lab shows it: what can be wrong, and what is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from workbench import draw, script
from workbench.codegen.begins import Begins
from workbench.codegen.cuda import CUDA
from workbench.diag import Fail
from workbench.emulate import EmulationError
from workbench.emulate.kernels.orders import Orders
from workbench.emulate.kernels.report import Met
from workbench.ir import (
    BufferLoad,
    BufferStore,
    Node,
    PrimFunc,
    Stmt,
    WaitGroup,
    expressions_in,
    stores,
    walk_statements,
)
from workbench.lower import Fault, faults, missing, number_of, put_ahead, stand, waits
from workbench.runtime import Built
from workbench.runtime.building import break_it, with_kernels
from workbench.widgets.page.cost_bar import block_of
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.memo import build, memo, origin_of

PANE = "cuda"  # the text in which one breaks and mends
NOTHING = "Nothing can be broken here: there is no barrier, condition, loop or stride."
GPU = "It stays here: no GPU runs it, where it may hang or give any numbers."
HARMLESS = "Here nothing comes of it: what else stands around it holds it back."
DOES = {
    "barrier": "take this barrier away",
    "wait": "take this wait for copies away",
    "copy": "take the second copy of {name} away",
    "guard": "take this condition away",
    "bound": "let {name} take one turn more",
    "stride": "make a stride of {name} one cell too short",
}
KINDS = {
    "barrier": "Barriers",
    "wait": "Waits for copies",
    "copy": "Second copies",
    "guard": "Conditions",
    "bound": "Loops",
    "stride": "Strides",
}


def offers(func: PrimFunc) -> Mapping[str, Any]:
    """What can be broken in the kernels of `func`, kind by kind, or why nothing can.

    `offers` are faults, each with its kind in words, the line of the text in which it would be,
    from 1 on, that line, and what to do there; 0 where no one line has it. Loops and accesses
    within a call of a warp stand in no text, and are left out. `none` says why there are none.
    """
    return memo(func, "breaks", lambda: _offers(func))


def kernel_of(func: PrimFunc) -> Built:
    """What is broken of `func`; of copies that not every GPU can make, that of one which can.

    Raises Fail where there is no valid kernel.
    """
    try:
        return build(func)
    except Fail as fail:
        with suppress(Fail):
            return build(func, draw.GPU)
        raise fail from None


def _offers(func: PrimFunc) -> dict[str, Any]:
    try:
        built = kernel_of(func)
    except Fail as fail:
        return {"offers": [], "none": fail.headline}
    kernels, where = stand(built.lowered)
    begins = [Begins(kernels, built.target, number) for number in range(len(kernels))]
    text, found = built.source.splitlines(), list[dict[str, Any]]()
    for fault in faults(built.lowered):
        stmt, name = where.get(fault, (None, fault.buffer))
        own = begins[number_of(built.lowered, fault.kernel)]
        line = next(iter(own.lines(stmt)), 0) if stmt is not None else 0
        while line and text[line - 1].lstrip().startswith("#"):
            line += 1  # what is said of a loop stands ahead of it
        code = text[line - 1].strip() if line else ""
        within = {"bound": f" {name} = " not in code, "stride": not line}
        if within.get(fault.kind):
            continue
        does = DOES[fault.kind].format(name=name)
        one = {"fault": str(fault), "kind": KINDS[fault.kind], "line": line}
        found.append({**one, "code": code, "does": does})
    return {"offers": found, "none": "" if found else NOTHING}


@dataclass(frozen=True, eq=False)
class Broken:
    """`kernel`, which is `whole` with a fault; what is missing is put back ahead of a line."""

    whole: Built
    kernel: Built
    fault: Fault
    choice: int | None = None  # that line of its text

    @cached_property
    def begins(self) -> Sequence[Begins]:
        """Where the statements of each kernel stand in the text."""
        kernels = self.kernel.kernels
        return [Begins(kernels, self.kernel.target, number) for number in range(len(kernels))]

    @cached_property
    def number(self) -> int:
        """Which of the kernels has the fault."""
        return number_of(self.whole.lowered, self.fault.kernel)

    @cached_property
    def gaps(self) -> Mapping[int, Stmt]:
        """The lines of its text ahead of which what is missing can be put back, in order."""
        if self.missing is None:
            return {}
        found: dict[int, Stmt] = {}
        begins = self.begins[self.number]
        for node in walk_statements(self.kernel.kernels[self.number].body):
            if isinstance(node, Stmt) and (line := begins.ahead(node)):
                found.setdefault(line + self.head, node)
        return dict(sorted(found.items()))

    @cached_property
    def missing(self) -> Stmt | None:
        """What a gap takes; None where something else is wrong."""
        return missing(self.whole.lowered, self.fault)

    @property
    def put(self) -> str:
        """That as the text has it; "" where there is no such thing."""
        if isinstance(self.missing, WaitGroup):
            return f"cp_async_wait_group<{self.missing.count}>();"
        return "" if self.missing is None else CUDA.barrier

    @property
    def head(self) -> int:
        """Lines ahead of the text that its statements are counted in."""
        return self.kernel.source.count("\n") - self.kernel.source.partition("\n")[2].count("\n")

    @cached_property
    def tried(self) -> Built:
        """The kernel that is run: with what is missing at the chosen place."""
        stmt = None if self.choice is None else self.gaps[self.choice]
        if stmt is None or self.missing is None:
            return self.kernel
        name = self.fault.kernel
        lowered = put_ahead(self.kernel.lowered, stmt, self.missing, name=name)
        return with_kernels(self.kernel, lowered)

    def at_gap(self, line: int | None) -> Broken:
        """The same with what is missing ahead of `line`. Raises Fail for what is no gap."""
        if line is not None and line not in self.gaps:
            raise Fail(f"Can't put anything ahead of line {line}", hint="choose one of the gaps")
        return replace(self, choice=line)

    @property
    def beyond(self) -> str:
        """How much more often than needed a thread waits in what is tried; "" where it does not."""
        both = (self.tried, self.whole)
        often, least = (waits(one.kernels[self.number].body) for one in both)
        return f"a thread waits {often} times, and {least} would do" if often > least else ""

    def lit(self, places: Sequence[object]) -> list[int]:
        """The lines of its text where what is wrong stands."""
        return [line for place in places for line in self._lines(place)]

    def _lines(self, place: object) -> list[int]:
        if not isinstance(place, Node):
            return []
        return [line + self.head for begins in self.begins for line in begins.lines(place)]

    def in_text(self, orders: Orders, sites: Sequence[Node]) -> Orders:
        """`orders`, whose acts are those of `sites`, with the lines of its text."""
        first, second = (
            replace(act, line=next(iter(self._lines(site)), act.line))
            for act, site in zip(orders.acts, sites, strict=True)
        )
        return replace(orders, acts=(first, second))

    def program_lines(self, places: Sequence[object]) -> list[int]:
        """The lines of the program that these places of the kernel are of: its stores."""
        func, found = origin_of(self.whole.func), set[int]()
        printed = script.show_spans(func)
        texts = {kernel: script.show_spans(kernel) for kernel in self.kernel.kernels}
        every = ((texts[kernel], stmt) for kernel in texts for stmt in walk_statements(kernel.body))
        for text, stmt in every:
            if not isinstance(stmt, BufferStore) or stmt not in text.spans:
                continue
            inside = {stmt, *expressions_in(stmt)}
            if not any(place in inside for place in places if isinstance(place, Node)):
                continue
            line = text.lines[text.spans[stmt].line - 1].text.strip()
            block = block_of(func, line, stmt.buffer.name)
            own = [one for one in stores(block) if one in printed.spans] if block else []
            alike = [one for one in own if _loads(one) == _loads(stmt)]
            found |= {printed.spans[one].line for one in alike or own}
        return sorted(found)


def broken_by(func: PrimFunc, name: str) -> Broken:
    """The kernel of `func` with the fault of that name. Raises Fail where it has no such thing."""
    whole = kernel_of(func)
    kernel = break_it(whole, name)
    (fault,) = (one for one in faults(whole.lowered) if str(one) == name)
    return Broken(whole, kernel, fault)


def shown(broken: Broken, desk: Desk) -> dict[str, Any]:
    """What a lab shows of a broken kernel before it was run: its text, its gaps, what is wrong."""
    words = desk.names(origin_of(broken.whole.func)).words
    return {
        "fault": str(broken.fault),
        "told": f"Broken on purpose: {broken.kernel.lowered.fault}.",
        "stays": GPU,
        "lines": desk.lines.add_text(broken.kernel.source, words, PANE),
        "put": broken.put,
        "gaps": [*broken.gaps],
        "choice": broken.choice,
        "found": None,
    }


def found(
    broken: Broken, said: str, ok: bool | None, fail: EmulationError | None, orders: Orders | None
) -> dict[str, Any]:
    """What a run of it came to, as a lab shows it: in words, in the texts, and as a picture."""
    refused = fail.refusal if fail is not None else None
    places = refused.at if refused is not None else ()
    if isinstance(refused, Met) and orders is not None:
        orders = broken.in_text(orders, refused.meeting.sites)
    if broken.choice is not None:
        said = f"With {broken.put} ahead of line {broken.choice}: {said}"
    elif ok:
        said = f"{said} {HARMLESS}"
    if ok and broken.beyond:
        said = f"{said} But {broken.beyond}."
    return {
        "ok": ok,
        "said": said,
        "detail": fail.detail if fail is not None else "",
        "lit": broken.lit(places),
        "program": broken.program_lines(places),
        "picture": None if orders is None else draw.plain(draw.orders_picture(orders)),
    }


def _loads(store: BufferStore) -> bool:
    return any(isinstance(node, BufferLoad) for node in expressions_in(store))
