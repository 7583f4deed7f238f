"""conflicts: whether different threads of a block may meet in one cell of memory."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product

from workbench.access.accesses import Access
from workbench.access.meet import Never, Question, meet
from workbench.access.units import buffers_written
from workbench.arith import Simplifier
from workbench.ir import Expr, For, Kernel
from workbench.lower.known_bounds import known_bounds


class Conflicts:
    """Answers for one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.known = known_bounds(kernel)
        self.simplifier = Simplifier(self.known)
        self.changing = buffers_written(kernel.body)
        places = (var for axis, var in kernel.axes if axis.startswith("threadIdx"))
        self.threads = tuple(var for var in places if self.known[var][1] > 0)

    def any(
        self,
        before: Collection[Access[For]],
        after: Collection[Access[For]],
        shared: int,
        turn: Expr | None = None,
    ) -> bool:
        """Whether a thread's access `before` and another's `after` may reach one cell, one writing.

        Both are in the same iteration of their outermost `shared` loops, and where `turn` is not
        the same, if given. False is a proof.
        """
        if not self.threads:
            return False
        below = (loop.loop_var for side in (*before, *after) for loop in side.loops[shared:])
        differ = (self.threads,) if turn is None else (self.threads, (turn,))
        question = Question(self.simplifier, {*self.threads, *below}, differ, self.changing)
        pairs = ((a, b) for a, b in product(before, after) if a.writes or b.writes)
        return not isinstance(meet(pairs, question), Never)
