"""From a schedule of stages to steps of a `wb.Schedule`.

Copies of results are made first, then parts of sums, then copies for readers, then stages are
inlined, each in the order of the graph; then each stage is placed, scheduled and bound, consumers
before producers, since only a placed consumer tells how far the loops of its producer run. Sums get
their start ahead of their first reduce loop, as TVM's stages do. So the steps depend on what was
asked of each stage, not on the order of the questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from workbench.ir import Block, BlockRealize, Buffer, Const, For, Stmt, Var, children
from workbench.ir.places import places
from workbench.schedule import BlockHandle, LoopHandle, Schedule, ScheduleError
from workbench.te import Tensor, create_prim_func
from workbench.te.create_prim_func import block_names, in_blocks
from workbench.te.tensor import operations
from workbench.tvm.te.axes import Loop
from workbench.tvm.te.stages import Body, Call, Stage, Stages

_MOST_UNROLLED_LOOPS = 8  # in each other: TVM's auto_max_depth


def apply(declared: Stages, args: Sequence[Tensor], name: str) -> Schedule:
    """See `Schedule.applied` of stages."""
    given = {tensor.op for tensor in args}
    for op in declared.outputs:
        if op not in given:
            raise ScheduleError(
                f"Can't build without {op.name}: it is an output, and not among the arguments",
                asked=f"build(s, [{', '.join(tensor.name for tensor in args)}])",
                hint=f"name it, too: [{', '.join(t.name for t in (*args, op.output(0)))}]",
            )
    for tensor in args:
        if tensor.op.body and tensor.op not in declared.bodies:
            raise ScheduleError(
                f"Can't build {tensor.name}: this schedule does not compute it",
                hint="name it when the schedule is made: te.create_schedule([C.op, D.op])",
            )
    func = replace(create_prim_func(args), name=name)
    return _Applied(declared, args, Schedule(func)).schedule


class _Applied:
    """One schedule of stages on its way into steps."""

    def __init__(self, declared: Stages, args: Sequence[Tensor], schedule: Schedule) -> None:
        self.schedule = schedule
        self.stages, self.updates = declared.stages, declared.updates
        self.blocks: dict[Body, BlockHandle] = {}
        self.loops: dict[Stage, dict[Loop, LoopHandle]] = {}
        self.starts: dict[Stage, BlockHandle] = {}  # of sums, what fills ahead of their loops
        self.buffers = dict(zip(args, schedule.func.params, strict=True))
        self._find_blocks(declared, args)
        for stage in self.stages:
            self._copy_out(stage)
        for stage in reversed(self.stages):
            self._factor(stage)
        for stage in self.stages:
            self._copy_in(stage)
        for stage in self.stages:
            if stage.inlined:
                with _asked(stage.inlined):
                    self._inline(stage)
        placed = [stage for stage in self._consumers_first() if stage.body and not stage.inlined]
        for stage in placed:
            self._place(stage)
            self._arrange(stage)
        for stage in reversed(placed):
            self._start_sum(stage)
        for stage in placed:
            self._tensorize(stage)
        for stage in placed:
            self._unroll_small(stage)

    # --- what stands where -----------------------------------------------------------------------

    def _find_blocks(self, declared: Stages, args: Sequence[Tensor]) -> None:
        """The block of each body of the graph; its copies come later."""
        names = block_names([op for op in operations(args) if op.body])
        for op, body in declared.bodies.items():
            self.blocks[body] = self.schedule.get_block(names[in_blocks(op)[0]])

    def block(self, stage: Stage) -> BlockHandle:
        """The block that fills the tensor of a stage."""
        assert stage.body is not None
        return self.blocks[stage.body]

    def _node(self, handle: BlockHandle) -> Block:
        return places(self.schedule.func).blocks[handle.key].block

    def _buffer(self, stage: Stage) -> Buffer:
        """Where the tensor of a stage lies now."""
        stage = self.updates.get(stage, stage)
        if stage.body is None:
            return self.buffers[stage.op.output(0)]
        return self._node(self.block(stage)).writes[0].buffer

    # --- copies ----------------------------------------------------------------------------------

    def _copy_out(self, stage: Stage) -> None:
        if stage.body is None or stage.body not in self.blocks:
            return
        for copy, scope in stage.body.copies_out:
            with _asked(copy.name):
                made = self.schedule.cache_write(self.blocks[stage.body], 0, scope)
            self.blocks[copy] = made

    def _copy_in(self, stage: Stage) -> None:
        body = stage.body
        if body is None or not body.scope:
            return
        source = self._buffer(body.inputs[0])
        readers = [self.blocks[reader] for reader in dict.fromkeys(self._readers(stage))]
        reads = [region.buffer for region in self._node(readers[0]).reads]
        others = self._reading(source)
        only = {} if set(others) <= set(readers) else {"consumer_blocks": readers}
        with _asked(body.name):
            made = self.schedule.cache_read(readers[0], reads.index(source), body.scope, **only)
        self.blocks[body] = made
        self._copy_out(stage)

    def _reading(self, buffer: Buffer) -> list[BlockHandle]:
        """The blocks that read it."""
        return [b for b in self.schedule.get_blocks() if buffer in _reads(self._node(b))]

    def _readers(self, stage: Stage) -> Iterator[Body]:
        """The bodies that read a copy, through copies of it that are not made yet, too."""
        for other in self.stages:
            if other.body is not None and stage in other.body.inputs:
                if other.body in self.blocks:
                    yield other.body
                else:
                    yield from self._readers(other)

    def _inline(self, stage: Stage) -> None:
        """Inline a stage into its readers; a result of the program is computed for itself, too."""
        block, result = self.block(stage), self._buffer(stage)
        readers = self._reading(result)
        if readers and result in self.schedule.func.params:
            self.schedule.cache_write(block, 0, "global", consumer_blocks=readers)
        self.schedule.compute_inline(block)

    # --- parts of sums ---------------------------------------------------------------------------

    def _factor(self, stage: Stage) -> None:
        """Make the parts of a sum, and note the loops of both: rfactor has an order of its own."""
        if stage.body is None or not stage.body.parts:
            return
        if stage in self.loops:
            self._put_in_order(stage, stage.body.parts[0].axes)
        else:
            self._note_loops(stage, stage.body.parts[0].axes)
        for parts in stage.body.parts:
            made: set[Loop] = {loop for call in parts.calls for loop in call.made}
            for call in parts.calls:
                with _asked(call.text):
                    self._take(call, stage, made)
            with _asked(parts.text):
                block = self.schedule.rfactor(self.loops[stage][parts.loop], parts.factor_axis)
            assert parts.stage.body is not None
            self.blocks[parts.stage.body] = block
            self._note_loops(parts.stage, [*parts.became.values()])
            self._note_loops(stage, [*stage.axes, parts.left])

    def _note_loops(self, stage: Stage, axes: Sequence[Loop]) -> None:
        """Note that the innermost loops of a stage are `axes`."""
        loops = self.schedule.get_loops(self.block(stage))
        self.loops[stage] = dict(zip(axes, loops[len(loops) - len(axes) :], strict=True))

    def _put_in_order(self, stage: Stage, axes: Sequence[Loop]) -> None:
        """Let the loops of a stage stand as `axes` do, which rfactor may have left otherwise."""
        if list(self.loops[stage]) != list(axes):
            loops = self.loops[stage] = {axis: self.loops[stage][axis] for axis in axes}
            with _asked(stage.name):
                self.schedule.reorder(*loops.values())

    def _by_iterator(self, stage: Stage, text: str) -> list[Loop]:
        """The axes of a stage in the order of its block's iterators, as compute_at has them."""
        known = places(self.schedule.func)
        noted = {known.loops[loop.key].loop_var: axis for axis, loop in self.loops[stage].items()}
        values = known.blocks[self.block(stage).key].iter_values
        axes = [noted.pop(value) for value in values if isinstance(value, Var) and value in noted]
        if noted or len(axes) != len(values):
            raise ScheduleError(
                f"Can't compute {stage.name} there: its loops are not those of its iterators",
                asked=text,
                hint="split and fuse, ahead of rfactor, the loop alone that it takes",
            )
        return axes

    # --- places and loops ------------------------------------------------------------------------

    def _consumers_first(self) -> list[Stage]:
        """The stages from the outputs on, each behind its readers; as read, where that is free."""
        waiting = {
            stage: sum(stage in other.body.inputs for other in self.stages if other.body)
            for stage in self.stages
        }
        order = [stage for stage in reversed(self.stages) if not waiting[stage]]
        for stage in order:
            for source in dict.fromkeys(stage.body.inputs if stage.body else ()):
                waiting[source] -= 1
                if not waiting[source]:
                    order.append(source)
        return order

    def _place(self, stage: Stage) -> None:
        """Compute a stage where it is attached, in memory that is seen there; note its loops."""
        block, in_order = self.block(stage), [*stage.axes, *stage.op.reduce_axis]
        factored = stage in self.loops
        if not factored:
            self._note_loops(stage, in_order)
        if stage.attached is not None:
            parent, asked, text = stage.attached
            loop = self._loop(parent, asked, text)
            axes = self._by_iterator(stage, text) if factored else in_order
            buffer = self._buffer(stage)
            scoped = any(call.verb == "set_scope" for call in stage.calls)
            free = buffer.scope == "global" and buffer not in self.schedule.func.params
            scope = self._seen_at(loop) if free and not scoped else ""
            with _asked(text):
                if scope:
                    self.schedule.set_scope(block, 0, scope)
                self.schedule.compute_at(block, loop, preserve_unit_loops=True)
            self._note_loops(stage, axes)
        self._put_in_order(stage, in_order)

    def _loop(self, stage: Stage, asked: Loop, text: str) -> LoopHandle:
        loop = stage.where(asked)
        if loop not in self.loops.get(stage, {}):
            why = (
                "stands before what attaches there" if stage not in self.loops else "has it no more"
            )
            if stage.inlined:
                why = "is inlined, and has no loops"
            raise ScheduleError(
                f"Can't compute at `{asked.name}`: {stage.name} {why}",
                asked=text,
                hint="attach it to a stage that is computed, and reads it",
            )
        return self.loops[stage][loop]

    def _seen_at(self, loop: LoopHandle) -> str:
        """The memory of a stage without one: a thread's own below threads, a block's below blocks.

        As TVM infers it: "" outside of both.
        """
        known = places(self.schedule.func)
        inner = known.loops[loop.key]
        bound = [one.thread or "" for one in (*known.all_loops_above(inner), inner)]
        if any(axis.startswith(("threadIdx", "vthread")) for axis in bound):
            return "local"
        return "shared" if any(axis.startswith("blockIdx") for axis in bound) else ""

    def _arrange(self, stage: Stage) -> None:
        bound = _bound(stage)
        for call in _heeded(stage):
            with _asked(call.text):
                self._take(call, stage, bound)

    def _take(self, call: Call, stage: Stage, bound: set[Loop]) -> None:
        sch, data = self.schedule, call.data
        loops, block = self.loops[stage], self.block(stage)
        on = [loops[loop] for loop in call.loops]
        if call.verb in ("split", "fuse"):
            if call.verb == "split":
                made = sch.split(on[0], factors=self._factors(call, on[0], bound))
            else:
                made = [sch.fuse(*on)] if len(on) > 1 else on
            loops.update(zip(call.made, made, strict=True))
        elif call.verb == "bind":
            self._check_extent(call, on[0])
            sch.bind(on[0], data["thread_axis"])
        elif call.verb == "set_scope":
            sch.set_scope(block, 0, data["storage_scope"])
        elif call.verb == "storage_align":
            sch.storage_align(block, 0, data["axis"], data["factor"], data["offset"])
        elif call.verb == "double_buffer":
            sch.annotate(block, "double_buffer_scope", 0)
        elif call.verb == "set_store_predicate":
            self._check_stored_by(call, stage)
        elif call.verb not in ("tensorize", "auto_unroll_max_step"):  # once all loops stand
            sch.apply(call.verb, *on)

    def _factors(self, call: Call, loop: LoopHandle, bound: set[Loop]) -> list[int | None]:
        """What to split by: no part has more turns than the loop, unless it makes up threads.

        As in TVM, where a stage that is attached may run for less than its own splits say.
        """
        extent = self._for(loop).extent
        return [
            min(size, int(extent.value))
            if size is not None and part not in bound and isinstance(extent, Const)
            else size
            for part, size in zip(call.made, call.data["factors"], strict=True)
        ]

    def _check_extent(self, call: Call, loop: LoopHandle) -> None:
        said, extent = call.data["extent"], self._for(loop).extent
        if said is not None and not (isinstance(extent, Const) and extent.value == said):
            turns = extent.value if isinstance(extent, Const) else "a varying number of"
            raise ScheduleError(
                f"Can't bind `{call.loops[0].name}`: it runs {turns} times, the thread axis {said}",
                hint="split it so that the part you bind runs as often, or leave the extent out: "
                f'te.thread_axis("{call.data["thread_axis"]}")',
            )

    def _check_stored_by(self, call: Call, stage: Stage) -> None:
        """Refuse a predicate that is not already in what threads that share a sum out become."""
        axis, number = call.data["thread_axis"], call.data["number"]
        shared = [c.data["thread_axis"] for c in stage.calls
                  if c.verb == "bind" and c.loops[0].kind == "reduce"]  # fmt: skip
        if number != 0 or axis not in shared:
            raise ScheduleError(
                f"Can't let thread {number} of {axis} alone store {stage.name}",
                detail="of threads that share a sum out the first one stores it, anyway; others "
                "store what each has computed",
                hint=f"bind a loop of its sum to {axis} and ask for thread 0, or leave it out",
            )

    # --- sums and pragmas ------------------------------------------------------------------------

    def _start_sum(self, stage: Stage) -> None:
        """Start a sum ahead of its outermost reduce loop, unless threads share it out."""
        assert stage.body is not None
        shared = {c.loops[0] for c in stage.calls if c.verb == "bind"}
        tiles = {call.loops[0] for call in _tensorized(stage)}
        around = [loop for loop in stage.leaf_iter_vars if loop.kind == "reduce" or loop in tiles]
        reduced = [loop for loop in around if loop.kind == "reduce"]
        block = self.block(stage)
        if reduced and self._node(block).init is not None and not shared.intersection(reduced):
            made = self.schedule.decompose_reduction(block, self.loops[stage][around[0]])
            self.starts[stage] = made

    # --- tiles -----------------------------------------------------------------------------------

    def _tensorize(self, stage: Stage) -> None:
        """Let intrinsics run the tiles of a stage, and of its start what is inside of them."""
        for call in _tensorized(stage):
            intrin, tile = call.data["intrin"], call.loops[0]
            with _asked(call.text):
                self.schedule.tensorize(self.loops[stage][tile], intrin.name)
                if intrin.init and stage in self.starts:
                    at = stage.leaf_iter_vars.index(tile)
                    inside = [loop for loop in stage.leaf_iter_vars[at:] if loop.kind != "reduce"]
                    loops = self.schedule.get_loops(self.starts[stage])
                    self.schedule.tensorize(loops[len(loops) - len(inside)], intrin.init)

    def _unroll_small(self, stage: Stage) -> None:
        for call in stage.calls:
            if call.verb == "auto_unroll_max_step":
                around = self.loops[stage][stage.where(call.loops[0])]
                with _asked(call.text):
                    unroll_small(self.schedule, self._for(around), call.data["steps"])

    def _for(self, loop: LoopHandle) -> For:
        return places(self.schedule.func).loops[loop.key]


def unroll_small(schedule: Schedule, loop: For, most: int) -> None:
    """Unroll the loops from `loop` on whose stores, written out, are at most `most`."""
    for small in _small(loop, most):
        schedule.unroll(LoopHandle(schedule.history, small.loop_var))


def _heeded(stage: Stage) -> list[Call]:
    """The calls on a stage that its program shows; as in TVM, these do not.

    What was noted of a loop that was split or fused later, and that a loop is parallel, unrolled or
    vectorized which threads or blocks run; of several axes that a loop was bound to the last holds.
    """
    marks = ("bind", "parallel", "unroll", "vectorize")
    threads = {call.loops[0]: call for call in stage.calls if call.verb == "bind"}
    return [
        call
        for call in stage.calls
        if call.verb not in marks
        or (call.loops[0] in stage.leaf_iter_vars and threads.get(call.loops[0], call) is call)
    ]


def _tensorized(stage: Stage) -> list[Call]:
    """The calls that tensorize a loop: of several for one the last, as in TVM."""
    last = {call.loops[0]: call for call in stage.calls if call.verb == "tensorize"}
    return [call for loop, call in last.items() if loop in stage.leaf_iter_vars]


def _bound(stage: Stage) -> set[Loop]:
    """The loops of a stage that are bound, and those of which a part is."""
    bound = {call.loops[0] for call in stage.calls if call.verb == "bind"}
    for call in reversed(stage.calls):
        if bound.intersection(call.made):
            bound.update(call.loops)
    return bound


def _small(loop: For, most: int) -> list[For]:
    """The loops from `loop` on that TVM unrolls where stores may be written out `most` times.

    From inside out: a loop whose body's stores, written out, are at most `most` in all its turns,
    and which holds no loop that stays. Loops of threads and vector lanes are gone by then.
    """
    unrolled: list[For] = []

    def visit(stmt: Stmt) -> tuple[int, int, bool]:
        """Stores written out, loops unrolled in each other, and whether a loop stays."""
        if isinstance(stmt, BlockRealize):
            return 1, 0, False
        inner = (child for child in children(stmt) if isinstance(child, Stmt))
        below = [visit(child) for child in inner]
        stores = sum(each[0] for each in below)
        deep = max((each[1] for each in below), default=0)
        stays = any(each[2] for each in below)
        if not isinstance(stmt, For) or stmt.kind in ("thread_binding", "vectorized"):
            return stores, deep, stays
        turns = int(stmt.extent.value) if isinstance(stmt.extent, Const) else most + 1
        if stmt.kind == "unrolled":
            return stores * turns, deep + 1, stays
        small = not stays and deep < _MOST_UNROLLED_LOOPS and stores * turns <= most
        if stmt.kind == "serial" and small:
            unrolled.append(stmt)
            return stores * turns, deep + 1, False
        return stores, deep, True

    visit(loop)
    return unrolled


def _reads(block: Block) -> set[Buffer]:
    return {region.buffer for region in block.reads}


@contextmanager
def _asked(call: str) -> Iterator[None]:
    """Refusals of steps name the call on a stage that asked for them."""
    try:
        yield
    except ScheduleError as error:
        asked = f"{call}, as {error.asked}" if error.asked else call
        raise ScheduleError(
            error.headline, asked=asked, where=error.where, detail=error.detail, hint=error.hint
        ) from None
