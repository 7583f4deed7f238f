"""The verbs of a schedule, as methods. Written by ``python -m docs.stubs``; a test holds it up to date."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.history.handles import BlockHandle
from workbench.history.handles import LoopHandle

class Verbs:
    def add_unit_loop(self, block_or_loop: BlockHandle | LoopHandle | str) -> LoopHandle:
        """Put a loop that runs once around a block or a loop, to be bound to a thread axis."""

    def annotate(
        self,
        block_or_loop: BlockHandle | LoopHandle | str,
        ann_key: str,
        ann_val: bool | int | float | str | Sequence[bool | int | float | str] | Mapping[str, bool | int | float | str | Sequence[bool | int | float | str]],
    ) -> None:
        """Leave the note `ann_key` = `ann_val` on a loop or a block; a note of that key is replaced.

        A note is a number, a text, True or False, a list of such, or a dictionary of these by texts.
        """

    def bind(self, loop: LoopHandle | str, thread_axis: str) -> None:
        """Turn `loop` from time into blocks or threads, all at once: each does one iteration.

        Threads of a block that do a loop of a sum, product, minimum or maximum share it out: each adds
        up its own part, and all put the parts together. So they do with several sums of one block, and
        with several values that are updated together, as by argmax.

        A virtual thread, "vthread.x", "vthread.y", "vthread.z" or "vthread", is a copy inside one
        thread: each statement below is done for all copies before the next one is, and what a copy
        keeps in local memory is its own. So a thread owns strided cells. Each loop on plain "vthread"
        is an axis of its own; a loop of a sum is no virtual thread.
        """

    def blockize(
        self,
        target: LoopHandle | str | Sequence[BlockHandle | str],
        preserve_unit_iters: bool = True,
    ) -> BlockHandle:
        """Make one turn of the loops around `target` a block, which runs `target` and all inside.

        `target` is a loop, or a list of blocks that stand one after the other and sum nothing; the
        loops around all of them then count the turns, and its block is called after them all.

        Each iterator is cut in two: …_o counts turns, …_i counts within one. A T.init() moves out to
        the new block. Returns the new block, …_o; the one inside keeps its handle.
        """

    def cache_read(
        self,
        block: BlockHandle | str,
        read_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockHandle | str] | None = None,
    ) -> BlockHandle:
        """Copy a buffer that `block` reads into `storage_scope`, and let its readers read the copy.

        The buffer is told by its number among those that the block reads, or by its name. All blocks
        that read it then read the copy; with `consumer_blocks`, only those. Returns the new block.
        """

    def cache_write(
        self,
        block: BlockHandle | str,
        write_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockHandle | str] | None = None,
    ) -> BlockHandle:
        """Let `block` write its result in `storage_scope`, and copy it from there to where it belongs.

        The buffer is told by its number among those that the block writes, or by its name. Blocks that
        read it go on reading it after the copy; those in `consumer_blocks` read what `block` wrote.
        Returns the new block.
        """

    def compute_at(
        self,
        block: BlockHandle | str,
        loop: LoopHandle | str,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Move `block` under `loop`, to make there only what the blocks that read it need there.

        The loops around it become ax0, ax1, …, one for each of its iterators; those that would run
        once are left out unless `preserve_unit_loops`. `index` says where among the statements of the
        loop: -1 as late as possible, -2 as early as possible.

        Shared memory is filled for all threads of a block, and for all virtual threads: what they read
        together is made once. What lies in local memory is made by each thread, and by each virtual
        thread, for itself.
        """

    def compute_inline(self, block: BlockHandle | str) -> None:
        """Put what `block` computes into every block that reads it, and drop it and its buffer."""

    def decompose_padding(self, block: BlockHandle | str, loop: LoopHandle | str) -> BlockHandle:
        """Cut a block that pads in two: one fills all with the padding, one copies what is inside.

        Both go where `loop` is, a loop around the block. Then neither asks a question for each cell.
        Returns the new block, …_pad_const.
        """

    def decompose_reduction(self, block: BlockHandle | str, loop: LoopHandle | str) -> BlockHandle:
        """Take the T.init() of `block` out into a block of its own, run ahead of `loop`.

        `loop` is one around the block, and no loop that the sum runs over is further out. The block
        goes on as …_update; its handle stays. Returns the new block, …_init.
        """

    def fuse(self, *loops: LoopHandle | str, preserve_unit_iters: bool = True) -> LoopHandle:
        """Make one loop of `loops`, nested directly in each other, given from outside to inside.

        The iterations keep their order. Loops that run once stay in the bindings unless
        `preserve_unit_iters` is False.
        """

    def loop_partition(
        self,
        loop: LoopHandle | str,
        factors: Sequence[int | None],
        preserve_unit_iters: bool = True,
    ) -> list[LoopHandle]:
        """Cut `loop` into loops that run one after the other: one for each factor, one for the rest.

        One factor may be None: what the others leave. Each part has copies of the blocks inside, with
        conditions left out that always hold there; only a part that begins sums keeps their T.init().
        `preserve_unit_iters` is TVM's, where it changes nothing either. Returns the new loops.
        """

    def merge(self, *loops: LoopHandle | str) -> LoopHandle:
        """Make one loop of several that stand one after the other and run equally often.

        Each turn then does that turn of the first, of the second, and so on. Loops around them, up to
        one that holds them all, are merged too. Returns the loop made of those named.
        """

    def pad_einsum(self, block: BlockHandle | str, padding: Sequence[int]) -> None:
        """Round each iterator of `block` up to a multiple of its number in `padding`.

        The block touches each buffer at one cell, told by iterators and constants alone; those rounded
        up have a loop each. What it reads is copied first, with zeros for the rest; what it writes goes
        through a copy, of which the part that was meant is kept. Terms of sums that come in addition
        must be zero.
        """

    def parallel(self, loop: LoopHandle | str) -> None:
        """Let the cores of a CPU share the iterations of `loop`; on a GPU, use bind."""

    def pipeline(
        self,
        loop: LoopHandle | str,
        stages: Sequence[int],
        order: Sequence[int] | None = None,
        copies: Mapping[str, int] | None = None,
        async_stages: Sequence[int] | None = None,
    ) -> None:
        """Run statement k of iteration i of `loop` in turn ``i + stages[k]``: fetch ahead of the work.

        Each statement of the body has a stage, from 0, and a place in the `order` of a turn, which is
        that of the program unless it is given. Lowering writes out the turns in which not all of them
        run, before the loop and behind it. What a statement hands on to a later stage has as many
        copies as in TVM, used in turn, or as `copies` says by name: one more can save a barrier. What
        is in one of `async_stages` copies from global to shared memory, and its threads go on meanwhile
        (CUDA's cp.async, from sm_80 on); they wait for it before it is used. The notes on the loop are
        TVM's, ``software_pipeline_stage``, ``…_order`` and ``…_async_stages``.

        Raises ScheduleError where a statement would find a cell before another one has written or read
        it, which TVM does not ask; for the wrong number of stages; and for what is asynchronous and no
        plain copy.
        """

    def reindex(self, block: BlockHandle | str, buffer: Sequence[str | int] | str) -> BlockHandle:
        """Let `block` touch a buffer through a copy with one axis for each iterator that it uses.

        `buffer` is ("read", number), ("write", number) or a name. What is read is copied ahead of the
        block's loops, what is written is copied back behind them. Returns the new block.
        """

    def reindex_cache_read(
        self,
        block: BlockHandle | str,
        read_buffer_index: int | str,
        storage_scope: str,
        index_map: str | Callable[..., Any],
    ) -> BlockHandle:
        """Let `block` read a buffer through a copy in `storage_scope`, with the indices of `index_map`.

        The buffer is told by its number among those that the block reads, or by its name. `index_map`
        is a function of the block's iterators such as ``lambda i, k: (k, i)``, or its text; it gives
        each of them that says what is read a cell of its own. Other blocks go on reading the buffer.
        Returns the new block, ahead of the block's loops.
        """

    def reindex_cache_write(
        self,
        block: BlockHandle | str,
        write_buffer_index: int | str,
        storage_scope: str,
        index_map: str | Callable[..., Any],
    ) -> BlockHandle:
        """Let `block` write into a copy in `storage_scope`, with the indices of `index_map`.

        The buffer is told by its number among those that the block writes, or by its name. `index_map`
        is a function of the block's iterators such as ``lambda i, k: (i // 4, i % 4)``, or its text;
        it gives each of them that says what is written a cell of its own. Returns the new block, which
        copies back behind the block's loops.
        """

    def reorder(self, *ordered_loops: LoopHandle | str) -> None:
        """Put nested loops into the order given, outermost first; other loops keep their places."""

    def reorder_block_iter_var(self, block: BlockHandle | str, new_order: Sequence[int]) -> None:
        """Put the iterators of a block into the order `new_order`, of their numbers; loops stay.

        The order is that in which `pad_einsum`, `reindex` and `transform_block_layout` tell iterators.
        """

    def reverse_compute_at(
        self,
        block: BlockHandle | str,
        loop: LoopHandle | str,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Move `block` under `loop`, to use there what the blocks that it reads make there.

        The loops around it become ax0, ax1, …, one for each of its iterators; those that would run
        once are left out unless `preserve_unit_loops`. Where what is made there is no box, it has the
        loops and the T.where of the block that makes it, and runs once for each cell. `index` says
        where among the statements of the loop: -1 as late as possible, -2 as early as possible.
        """

    def reverse_compute_inline(self, block: BlockHandle | str) -> None:
        """Put what `block` does into the one block that feeds it, and drop the buffer between them."""

    def rfactor(self, loop: LoopHandle | str, factor_axis: int) -> BlockHandle:
        """Give each iteration of `loop`, one that a sum runs over, a sum of its own; then sum those.

        The parts go into a new buffer with one axis more, at position `factor_axis`. The order of
        additions changes, as it must to run them side by side. Several values that are updated
        together, as by argmax, have parts together; of the outermost loop of the reduction only, where
        their order counts. Returns the new block, …_rf.
        """

    def sample_categorical(
        self,
        candidates: Sequence[int],
        probs: Sequence[float],
        decision: int | None = None,
    ) -> int:
        """Choose one of `candidates`, each as often as its probability in `probs` says; returns it.

        `decision` is its index, counted from 0; without one the schedule draws it, by its seed. The
        program stays as it is.
        """

    def sample_compute_location(
        self,
        block: BlockHandle | str,
        decision: int | None = None,
    ) -> LoopHandle | int:
        """Choose where `block` is computed: returns the loop for `compute_at`, or -1 or -2.

        -2 is for `compute_inline`, -1 leaves it where it is. `decision` is one of these, or which of
        the loops around all its readers, outermost first, counted from 0; without one the schedule
        draws it, by its seed, among those that are possible. The program stays as it is.
        """

    def sample_perfect_tile(
        self,
        loop: LoopHandle | str,
        n: int,
        max_innermost_factor: int = 16,
        decision: Sequence[int] | None = None,
    ) -> list[int]:
        """Choose `n` factors, outermost first, whose product is how often `loop` runs; returns them.

        The last is at most `max_innermost_factor`. Without a `decision` the schedule draws one, by its
        seed: each prime's exponents are dealt out so that every way is as likely. The program stays as
        it is: `split` takes the factors.
        """

    def set_scope(
        self,
        block: BlockHandle | str,
        buffer_index: int | str,
        storage_scope: str,
    ) -> None:
        """Let a buffer that `block` writes live in `storage_scope`: "global", "shared" or "local".

        `buffer_index` is the buffer's position among those that the block writes, or its name. The
        buffer's name then tells where it is, as in TVM.
        """

    def split(
        self,
        loop: LoopHandle | str,
        factors: Sequence[int | None],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopHandle]:
        """Cut `loop` into one loop per factor, outermost first; one factor may be None.

        Where the factors do not divide the extent, a predicate guards what is too much; with
        `disable_predication` they are refused then. Loops that run once stay in the bindings unless
        `preserve_unit_iters` is False.
        """

    def storage_align(
        self,
        block: BlockHandle | str,
        buffer_index: int | str,
        axis: int,
        factor: int,
        offset: int,
    ) -> None:
        """Let one step along `axis` be `offset` above a multiple of `factor` elements in memory.

        The buffer is told by its number among those that `block` writes, or by its name; a negative
        `axis` counts from the last. What is computed stays the same; lowering spaces the rows.
        """

    def tensorize(
        self,
        block_or_loop: LoopHandle | BlockHandle | str,
        tensor_intrin: str,
        preserve_unit_iters: bool = True,
    ) -> None:
        """Let the intrinsic of that name run what the block, or one turn around the loop, does.

        A loop is made a block first, as `blockize` does. What the block does has to be what the
        intrinsic's description says, loop by loop and operand by operand, and nothing else; it stays
        as it is, with a note which intrinsic runs it. Lowering puts the implementation there.
        """

    def transform_block_layout(
        self,
        block: BlockHandle | str,
        index_map: str | Callable[..., Any],
    ) -> None:
        """Let a block run by the iterators that `index_map` makes of its own, each under a new loop.

        `index_map` is a function such as ``lambda i, j: (i // 4, j, i % 4)``, or its text, made of
        ``+ - * // %`` and whole numbers. It must give each new iteration to exactly one old one, and
        not mix spatial and reduce iterators. Each iterator has to be bound to a loop of its own.
        """

    def transform_layout(
        self,
        block: BlockHandle | str,
        buffer: Sequence[str | int] | str,
        index_map: str | Callable[..., Any],
        pad_value: int | float | None = None,
    ) -> None:
        """Move the cell of `buffer` at some indices to where `index_map` says, everywhere it is used.

        `buffer` is ("read", number), ("write", number) or a name; `index_map` a function such
        as ``lambda i, j: (i // 4, j, i % 4)``, or its text, made of ``+ - * // %`` and whole numbers.
        It must give every new cell to exactly one old one. With `pad_value` it may leave cells over,
        which the block that writes the buffer then fills with that number.
        """

    def unannotate(self, block_or_loop: BlockHandle | LoopHandle | str, ann_key: str) -> None:
        """Take the note `ann_key` off a loop or a block."""

    def unroll(self, loop: LoopHandle | str) -> None:
        """Write the iterations of `loop` out one after the other, so that no time goes into counting."""

    def vectorize(self, loop: LoopHandle | str) -> None:
        """Do all iterations of `loop` with one instruction: one load of 4 floats, not 4 loads."""
