"""What is said of pipelines: a sentence for each, and the table of their turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.diag import count_text
from workbench.insight.page import Table
from workbench.insight.pipelined import Pipelined, Run


def caption_of(loops: Sequence[Pipelined], plain: Mapping[str, tuple[str, ...]]) -> str:
    if loops:
        return "\n".join(map(_sentence, loops))
    would = (
        "No loop of the program is a pipeline. Of one it would show, turn by turn, which iteration "
        "each statement works on, on which copies, what is on its way and where threads wait."
    )
    if not plain:
        return f"{would}\nFirst fetch into a loop what it uses: cache_read, then compute_at."
    loop, stmts = list(plain.items())[-1]
    return (
        f"{would}\nTake `pipeline` at `{loop}`, with a stage for each of its {len(stmts)} "
        "statements: 0 for those that fetch, 1 for the work."
    )


def _sentence(loop: Pipelined) -> str:
    """Such as "k_0: 8 iterations in 9 turns, 2 at a time; 2 copies of A_shared, B_shared."."""
    many = f"{'at most ' if loop.most else ''}{count_text(loop.iterations, 'iteration')}"
    text = f"{loop.loop}: {many} in {count_text(loop.count, 'turn')}"
    at_a_time = min(loop.depth + 1, loop.iterations)
    if at_a_time > 1:
        text += f", {at_a_time} at a time"
    copies = dict.fromkeys(
        (use.copies, use.buffer) for run in loop.runs for use in run.uses if use.copies > 1
    )
    for count in dict.fromkeys(count for count, _ in copies):
        text += f"; {count} copies of " + ", ".join(name for n, name in copies if n == count)
    return text + "."


def table_of(loops: Sequence[Pipelined], plain: Mapping[str, tuple[str, ...]]) -> Table:
    """The runs in the order of time; without any, the loops that could have them."""
    if not loops:
        rows = tuple((loop, "; ".join(stmts)) for loop, stmts in plain.items())
        return Table(("loop", "what each turn runs"), rows)
    columns = ("loop", "part", "turn", "statement", "iteration", "touches", "on its way", "waits")
    return Table(columns, tuple(_entry(loop, run) for loop in loops for run in loop.runs))


def _entry(loop: Pipelined, run: Run) -> tuple[str | int, ...]:
    waits = [w for w in loop.waits or () if w.at == run.at]
    said = "; ".join(wait.words for wait in waits)
    flying = [f.words for f in loop.flights if f.begins < run.at < f.ends]
    return (
        loop.loop,
        loop.part(run.at.turn),
        run.at.turn,
        loop.rows[run.at.row].name,
        run.iteration,
        ", ".join(use.words for use in run.uses),
        ", ".join(flying) or "–",
        said or ("–" if loop.waits is not None else "?"),
    )
