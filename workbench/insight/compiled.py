"""compiled: what nvcc makes of the text of a kernel, as far as a modelled time depends on it.

Seen in what nvcc 13.0 makes of the lessons' schedules for sm_90. A loop that nobody asks to unroll
is, if it comes to few instructions, else some of its turns are put together. What the turns of a
loop have in common is loaded once, ahead of it, and stored once, behind it, unless threads wait in
it, or it differs in turns of a loop inside that are not all written out. A load that is chosen by a
condition stays in its branch. Loads of shared memory that lie side by side in such turns become one
of up to 16 bytes, where they are surely aligned, as do loads and stores of local memory; pointers
into global memory are not known to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod

from workbench.arith import reads_memory
from workbench.check.kernels import extent_of
from workbench.emulate.kernels.affine import Digits, Form
from workbench.insight.accesses import Access, Loop, accesses
from workbench.insight.warp_requests import INSTRUCTIONS, lane_words
from workbench.ir import (
    ARITHMETIC,
    BITWISE,
    MATHS,
    SHUFFLE,
    Barrier,
    BinOp,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    Ramp,
    Stmt,
    Var,
    WaitGroup,
    children,
    dtypes,
    free_vars,
    is_warp_call,
    once,
    substitute,
    walk,
    walk_statements,
)

WRITTEN = 100  # instructions up to which turns of a loop are written out: all, or a power of two
OTHERS = 24  # registers of a thread for indices and what is on its way
VECTOR = 16  # bytes that a load brings at most
# Of a thread, of a multiprocessor, and of what a thread's are a multiple, on every CUDA GPU since
# sm_60 (CUDA C++ Programming Guide, technical specifications; cuda_occupancy.h)
MOST_REGISTERS, REGISTERS, ROUNDED = 255, 65536, 8


@dataclass(frozen=True)
class Compiled:
    """What is known of a kernel once it is compiled.

    `together` has the variables of its loops with how many turns are written out at a time, all of
    them where that is the extent. In the loops `waiting`, threads wait, for each other or for
    copies. In those `asked`, conditions ask which turn it is, so that the first turns that are
    written out stand ahead of the rest. A thread's own arrays `in_memory` are in local memory:
    those at numbers that loops count, which registers do not have, and those that are `spilled`
    where there are surely too few registers: of all, such a share of the cells. Each has with it
    the loops in which it is written: there no turn finds what the one before had. `registers` are
    those of a thread, estimated; `words` are what its own arrays take.
    """

    together: Mapping[Var, int]
    waiting: frozenset[Var]
    asked: frozenset[Var]
    in_memory: frozenset[Buffer]
    spilled: Mapping[Buffer, frozenset[Var]]
    share: float
    registers: int
    words: int

    def issued(self, access: Access) -> Access:
        """`access` in the turns in which it is made, and as wide."""
        if access.store and access.node in chosen_loads(access.store.value):
            return access
        scope, rewritten = access.buffer.scope, self.spilled.get(access.buffer, frozenset())
        used, loops, rolled = access.variables(), list[Loop](), False
        for loop in reversed(access.loops):
            threads = loop.role in ("block", "thread")
            counted = not threads and self.together[loop.var] < loop.extent
            if threads or rolled or loop.var in used | self.waiting | rewritten:
                loops.append(loop)
                # registers have no addresses: what is loaded there differs from turn to turn
                rolled = rolled or counted
        fewer = replace(access, loops=tuple(reversed(loops)))
        joins = not access.writes if scope == "shared" else scope == "local" and not rewritten
        alone = not isinstance(access.indices[0], Ramp)
        return self._merged(fewer) if joins and alone else fewer

    def shares(self, loads: Iterable[Access]) -> dict[Access, float]:
        """What part of the turns of each of `loads` is made: the rest finds what another loaded.

        Loads of one array that differ by a number meet in turns that are written out.
        """
        alike: dict[object, list[Access]] = {}
        for load in loads:
            if not load.guards and not isinstance(load.indices[0], Ramp):
                alike.setdefault((load.buffer, *(loop.var for loop in load.loops)), []).append(load)
        shares: dict[Access, float] = {}
        for group in alike.values():
            digits = Digits({loop.var: loop.extent for loop in group[0].loops}, {})
            digits.cut_for(load.indices[0] for load in group)
            forms = {load: digits.form(load.indices[0]) for load in group}
            by_terms: dict[object, list[Access]] = {}
            for load, form in forms.items():
                key = frozenset(form.terms.items()) if not form.rest else load
                by_terms.setdefault(key, []).append(load)
            for same in by_terms.values():
                starts = {forms[load].const for load in same}
                share = self._share(same[0], starts, forms[same[0]], digits) / len(same)
                share *= self._not_ahead(same[0])
                shares |= dict.fromkeys(same, share)
        return shares

    def _not_ahead(self, load: Access) -> float:
        """What part of a load's turns is made where the first ones of a loop stand ahead of it.

        Those are loaded once for all turns of loops around that do not change them.
        """
        around = 1
        for loop in load.loops:
            extent, together = loop.extent, self.together.get(loop.var, 1)
            if loop.var in self.asked and loop.var in load.variables() and together < extent:
                return 1 - together / extent * (1 - 1 / around)
            if loop.role == "serial" and loop.var not in load.variables() | self.waiting:
                around *= extent
        return 1.0

    def _share(self, load: Access, starts: set[int], form: Form, digits: Digits) -> float:
        """How many cells a load and those beside it touch, over the turns that are written out."""
        cells, turns = starts, 1
        for loop in load.loops:
            times, own = self.together.get(loop.var, 1), digits.of[loop.var]
            if times > 1 and len(own) == 1 and turns * times <= WRITTEN:
                steps = [form.terms.get(own[0], 0) * turn for turn in range(times)]
                cells, turns = {cell + step for cell in cells for step in steps}, turns * times
        return len(cells) / turns

    def _merged(self, load: Access) -> Access:
        """`load` of several elements at once, where turns that are written out lie side by side."""
        most = VECTOR // dtypes.itemsize(load.buffer.type)
        (index,) = load.indices
        asked = {var for guard in load.guards for var in free_vars(guard)}
        for loop in load.loops:
            lanes = min(_power(self.together.get(loop.var, 1)), most)
            while lanes > 1 and not _aligned(load, loop, lanes):
                lanes //= 2
            if lanes > 1 and loop.var not in asked:
                at = Ramp(substitute(index, {loop.var: loop.var * lanes}), 1, lanes)
                turns = replace(loop, extent=loop.extent // lanes)
                loops = tuple(turns if one is loop else one for one in load.loops)
                return replace(load, indices=(at,), loops=loops)
        return load


@once
def compiled(kernel: Kernel) -> Compiled:
    """What nvcc is taken to make of `kernel`."""
    loops = [node for node in walk_statements(kernel.body) if isinstance(node, For)]
    waiting = {
        loop.loop_var
        for loop in loops
        if any(isinstance(node, (Barrier, WaitGroup)) for node in walk_statements(loop.body))
    }
    together: dict[Var, int] = {}
    for loop in loops:
        extent = extent_of(loop)
        size = 0 if loop.loop_var in waiting else instructions(loop.body)
        if loop.kind == "unrolled" or loop.virtual or 0 < size * extent <= WRITTEN:
            together[loop.loop_var] = extent
        else:
            together[loop.loop_var] = _power(min(extent, WRITTEN // size)) if size else 1
    asked = {
        loop.loop_var
        for loop in loops
        for node in walk_statements(loop.body)
        if isinstance(node, IfThenElse) and loop.loop_var in free_vars(node.condition)
    }
    in_memory = frozenset(a.buffer for a in accesses(kernel) if _is_counted(a, together))
    own = {b for b in kernel.allocs if b.scope == "local"} - in_memory
    words = sum(map(lane_words, own))
    most = min(MOST_REGISTERS, REGISTERS // prod(kernel.block) // ROUNDED * ROUNDED)
    spilled: dict[Buffer, frozenset[Var]] = {}
    for access in accesses(kernel) if words > most else ():
        if access.writes and access.buffer in own:
            written = {x.var for x in access.loops if x.role not in ("block", "thread")}
            spilled[access.buffer] = spilled.get(access.buffer, frozenset()) | written
    return Compiled(
        together,
        frozenset(waiting),
        frozenset(asked),
        in_memory | spilled.keys(),
        spilled,
        min(1.0, (words + OTHERS - most) / words) if spilled else 0.0,
        min(words + OTHERS, most),
        words,
    )


def _is_counted(access: Access, together: Mapping[Var, int]) -> bool:
    """Whether it is to an array of a thread, at a number that is not known when it is compiled."""
    if access.buffer.scope != "local" or access.buffer.is_fragment:
        return False
    rolled = {x.var for x in access.loops if together.get(x.var, 1) < x.extent}
    return any(
        reads_memory(index) or not rolled.isdisjoint(free_vars(index)) for index in access.indices
    )


@once
def chosen_loads(expr: Expr) -> set[Node]:
    """The loads in `expr` that are made where a condition in it holds, in a branch of their own."""
    choices = (n for n in walk(expr) if isinstance(n, Call) and n.op == "if_then_else")
    branches = (branch for choice in choices for branch in choice.args[1:])
    return {n for branch in branches for n in walk(branch) if isinstance(n, BufferLoad)}


def instructions(stmt: Stmt) -> int:
    """What a thread runs for `stmt`, with the turns of all loops in it; indices left out."""
    match stmt:
        case For() if is_warp_call(stmt):
            return INSTRUCTIONS
        case For():
            return extent_of(stmt) * instructions(stmt.body)
        case BufferStore():
            loads = sum(_in_memory(node) for node in walk(stmt.value))
            (index,) = stmt.indices
            lanes = index.lanes if isinstance(index, Ramp) else 1
            stores = stmt.buffer.scope != "local"
            return max(1, operations(stmt.value) * lanes + loads + stores)
    return sum(instructions(child) for child in children(stmt) if isinstance(child, Stmt))


@once
def operations(expr: Expr) -> int:
    """Instructions for the operations on values in `expr`, of each lane of a vector.

    What indices and conditions do is left out.
    """
    if isinstance(expr, BufferLoad) or expr.dtype == "bool":
        return 0
    inside = sum(operations(child) for child in children(expr) if isinstance(child, Expr))
    if isinstance(expr, BinOp) and expr.op in ARITHMETIC | BITWISE:
        return inside + (not _adds_a_product(expr))
    return inside + (isinstance(expr, Call) and (expr.op in MATHS or expr.op == SHUFFLE))


def _adds_a_product(expr: BinOp) -> bool:
    """Whether it is the second half of a multiply-add, which its first half counts for."""
    if expr.op not in ("+", "-") or not dtypes.is_float(expr.dtype):
        return False
    return any(isinstance(side, BinOp) and side.op == "*" for side in (expr.a, expr.b))


def _in_memory(node: object) -> bool:
    return isinstance(node, BufferLoad) and node.buffer.scope != "local"


def _aligned(load: Access, loop: Loop, lanes: int) -> bool:
    """Whether `load` in turns of `loop` is of neighbours, from a multiple of `lanes` on."""
    digits = Digits({one.var: one.extent for one in load.loops}, {})
    digits.cut_for(load.indices)
    form = digits.form(load.indices[0])
    own = digits.of[loop.var]
    if len(own) != 1 or form.terms.get(own[0]) != 1 or form.rest or loop.extent % lanes:
        return False
    others = (factor for digit, factor in form.terms.items() if digit is not own[0])
    return all(factor % lanes == 0 for factor in (form.const, *others))


def _power(number: int) -> int:
    """The largest power of two that is no more than `number`, at least 1."""
    return 1 << max(number.bit_length() - 1, 0) if number > 0 else 1
