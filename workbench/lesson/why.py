"""why: what a program loses most of its time to; a list that stays closed until one is named."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from workbench import insight, target
from workbench.diag import prose
from workbench.draw.pictures import GPU
from workbench.insight.launched import us_text
from workbench.insight.recorded import counted
from workbench.ir import Kernel, PrimFunc
from workbench.lesson.faults import FAULTS, REGISTERS, kept_beyond
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


def why(program: Schedule | PrimFunc, quiz: str = "") -> Losses:
    """What `program` loses its time to on an H200, and what each alone would gain: modelled.

    With the name of a `quiz`, only once its questions are answered. Raises Fail where no kernel is
    built.

    >>> print(lesson.why(bound).headline)
    Of 0.647 µs most is the launch: no schedule makes it faster.
    """
    if quiz and not is_answered(quiz):
        return Losses("Name it first: answer the question above, and run this cell again.", (), ())
    func = function_of(program, "say why")
    built, gpu = build(func, GPU).kernels, target.get(GPU)
    found = insight.why(built, gpu)
    beyond = kept_beyond(func)
    rows = [("", f"{FAULTS[REGISTERS]}: {kept:,}, and at most {room}") for kept, room in beyond]
    for fault in found.faults:
        told = f" ({fault.help})" if fault.help else ""
        rows.append((us_text(fault.gain), f"{fault.words}{told}"))
    if found.us is None or not rows:
        return Losses(found.caption, tuple(rows), ())
    times = [f"{us_text(found.us)} on {gpu.title}, modelled"]
    times += [f"{t.median * 1e6:,.4g} µs recorded on {t.device}" for t in recorded.times(func)]
    return Losses(f"{'; '.join(times)}.", tuple(rows), (GAIN, *_spills(built)))


GAIN = "To gain: what the modelled time would be less, were this alone as good as can be."


def _spills(built: tuple[Kernel, ...]) -> list[str]:
    """What a GPU counted of what threads put from registers into memory, where one did."""
    found = [c for kernel in built if (c := counted(kernel))]
    return [
        f"{c.registers} registers a thread; warps load {c.numbers['local load requests']:,} times "
        f"from what did not fit ({c.compiler}, {c.source})."
        for c in found
        if c.numbers["local load requests"]
    ]
