"""ahead: what fetching ahead costs: bytes of shared memory against barriers a turn."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.check.pipelines import written_out
from workbench.diag import count_text
from workbench.insight.counts import barriers_passed
from workbench.ir import For, PrimFunc, Var, walk
from workbench.lower import Lowered
from workbench.lower.shared_memory import shared_bytes


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a block of threads needs: bytes of shared memory, and `barriers` a turn of a pipeline.

    These are None where no turn has all statements. Of a buffer with several `copies`: how many
    there are, and how many would do.
    """

    shared_bytes: int
    barriers: int | None
    copies: dict[str, tuple[int, int]]

    @property
    def words(self) -> str:
        """Such as "256 bytes of shared memory, 1 barrier a turn; 2 copies of S, 1 would do"."""
        text = f"{self.shared_bytes:,} bytes of shared memory"
        if self.barriers is not None:
            text += f", {count_text(self.barriers, 'barrier')} a turn"
        alike: dict[tuple[int, int], list[str]] = {}
        for name, counts in self.copies.items():
            alike.setdefault(counts, []).append(name)
        for (count, least), names in alike.items():
            text += f"; {count} copies of {' and '.join(names)}"
            text += f", {least} would do" if least < count else ""
        return text


def ahead(func: PrimFunc, lowered: Lowered, loop: Var) -> Ahead:
    """What the pipeline over `loop` costs in `lowered`, the kernels of `func`."""
    (made,) = (made for one, made in written_out(func).pipelines if one.loop.loop_var is loop)
    nodes = (node for kernel in lowered.kernels for node in walk(kernel.body))
    turns = [node for node in nodes if isinstance(node, For) and node.loop_var is loop]
    return Ahead(
        max(map(shared_bytes, lowered.kernels)),
        sum(barriers_passed(turn.body) for turn in turns) if turns else None,
        {old.name: (int(new.shape[0]), made.least[old]) for old, new in made.copies.items()},
    )
