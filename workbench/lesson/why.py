"""why: what a program loses most of its time to; a list that stays closed until one is named."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from workbench import target
from workbench.diag import prose
from workbench.draw.pictures import GPU
from workbench.insight.launched import us_text
from workbench.insight.recorded import counted
from workbench.ir import Kernel, PrimFunc
from workbench.lesson.faults import REGISTERS, losses, spills
from workbench.lesson.quiz import is_answered
from workbench.runtime import recorded
from workbench.runtime.building import build, function_of
from workbench.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Losses:
    """What a program loses its time to, most first; `rows` are µs, "" where unknown, and words.

    `headline` says its time. In a notebook a table, printed a text.
    """

    headline: str
    rows: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        wide = max((len(gain) for gain, _ in self.rows), default=0)
        rows = (f"  {gain.rjust(wide)}  {words}" for gain, words in self.rows)
        return "\n".join([self.headline, *rows, *self.notes])

    def _repr_html_(self) -> str:
        left = 'style="text-align:left"'
        rows = "".join(
            f"<tr><td>{escape(gain)}</td><td {left}>{prose(words)}</td></tr>"
            for gain, words in self.rows
        )
        heads = f'<th scope="col">to gain</th><th scope="col" {left}>why</th>'
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        notes = "".join(f"<p>{prose(note)}</p>" for note in self.notes)
        return f"<p><b>{prose(self.headline)}</b></p>{table if rows else ''}{notes}"


def why(program: Schedule | PrimFunc, quiz: str = "", *, gpu: str = "") -> Losses:
    """What `program` loses its time to on a GPU, and what each alone would gain: modelled.

    Beside it stand the times that were recorded of it: on that `gpu` ("nvidia/h100"); without one
    on all, and it is modelled for an H200. With the name of a `quiz`, only once its questions are
    answered. Raises Fail where no kernel is built, and for a GPU that there is not.

    >>> print(lesson.why(bound).headline)
    Of 0.647 µs most is the launch: no schedule makes it faster.
    """
    on = target.get(gpu or GPU)
    if quiz and not is_answered(quiz):
        return Losses("Name it first: answer the question above, and run this cell again.", (), ())
    func = function_of(program, "say why")
    built, found = build(func, on.name).kernels, losses(func, on.name)
    guessed, rows = spills(func), list[tuple[str, str]]()
    for fault in found.faults:
        told = f" ({fault.help})" if fault.help else ""
        about = "about " * (guessed and fault.name == REGISTERS)
        rows.append((f"{about}{us_text(fault.gain)}", f"{fault.words}{told}"))
    if found.us is None or not rows:
        return Losses(found.caption, tuple(rows), ())
    times = [f"{us_text(found.us)} on {on.title}, modelled"]
    times += [
        f"{t.median * 1e6:,.4g} µs recorded on {t.device}"
        for t in recorded.times(func)
        if not gpu or target.of_device(t.device) is on
    ]
    joined = any(" compiled to " in fault.words for fault in found.faults)
    notes = [GAIN, *([GUESSED] if guessed else []), *([JOINED] if joined else [])]
    return Losses(f"{'; '.join(times)}.", tuple(rows), (*notes, *_spills(built)))


GAIN = "To gain: how much shorter the modelled time would be if this one thing were ideal."
GUESSED = (
    "What registers would gain is a guess: a compiler decides what it keeps in memory, and how "
    "often it loads that. So they stand first, whatever the number."
)
JOINED = (
    "A picture shows a load as the program has it, one number a lane. A compiler joins neighbours, "
    "such as four numbers in 16 bytes a lane: the list has the wavefronts of that load."
)


def _spills(built: tuple[Kernel, ...]) -> list[str]:
    """What a GPU counted of what threads put from registers into memory, where one did."""
    found = [c for kernel in built if (c := counted(kernel))]
    return [
        f"{c.registers} registers a thread; warps load {c.numbers['local load requests']:,} times "
        f"from what did not fit ({c.compiler}, {c.source})."
        for c in found
        if c.numbers["local load requests"]
    ]
