"""Schedule: a cursor in a history of programs, with every primitive as a method."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from workbench import script
from workbench.check.schedulable import (
    check_arguments,
    check_control,
    check_declared,
    check_domains,
)
from workbench.diag import Refusal
from workbench.history import file
from workbench.history.errors import NotThere, ScheduleError, UnknownVerb
from workbench.history.handles import BlockHandle, Handle, LoopHandle, handle_of
from workbench.history.history import TRIED, History, HistoryNode, Observer
from workbench.history.step import Ref, Step, Value, value_text
from workbench.history.trace import Trace, known_primitive, locate, map_refs, refer
from workbench.history.tvm_file import tvm_file
from workbench.history.write_whole import write_whole
from workbench.ir import (
    DEEPEST,
    Block,
    BlockId,
    BlockRealize,
    For,
    IRModule,
    PrimFunc,
    SymbolicFunc,
    Var,
    is_text,
    too_deep,
)
from workbench.ir.places import Places
from workbench.schedule.actions import Verdict, verdicts
from workbench.schedule.arguments import Call, as_given, bind
from workbench.schedule.completion import complete_in_ipython
from workbench.schedule.find import Finder, name_in
from workbench.schedule.left_out import LEFT_OUT
from workbench.schedule.retuning import retuned
from workbench.verbs import primitive
from workbench.verbs.choices import Decide, drawing
from workbench.verbs.nest import check_depth
from workbench.verbs.primitive import Edit
from workbench.verbs.site import Site, declared_writes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from workbench.schedule.methods import Verbs  # for type checkers and editors only
else:
    Verbs = object


class Schedule(Verbs):
    """A program on its way to a fast kernel: every step is kept, any can be gone back to.

    `program` is a PrimFunc or an IRModule. Each primitive is a method; it moves this schedule to
    the program that it makes. Applying a step again at the same place goes to the program that it
    made before, and returns the same handles. Choices that steps leave open, such as those of
    `sample_perfect_tile`, are drawn by `seed`, or made by `decide` of what each may be.

    Raises ScheduleError for what is no program, for one whose shapes are not known yet, and for one
    in which blocks do more than they declare, or whose own stores decide, outside of a block, which
    blocks run.

    >>> sch = wb.Schedule(add)
    >>> sch.split("i", factors=[2, 4])
    [<loop i_0>, <loop i_1>]
    """

    def __init__(
        self,
        program: PrimFunc | IRModule | SymbolicFunc,
        *,
        seed: int | None = None,
        decide: Decide | None = None,
    ) -> None:
        if isinstance(program, SymbolicFunc):
            headline, hint = program.refusal("schedule")
            raise ScheduleError(headline, hint=hint)
        mod = IRModule((program,)) if isinstance(program, PrimFunc) else program
        mod = IRModule(mod.functions) if isinstance(mod, IRModule) else mod
        if not isinstance(mod, IRModule) or not mod.functions:
            raise ScheduleError(
                f"Can't schedule {type(program).__name__}: it is no program",
                hint="pass what @T.prim_func or @ir_module made",
            )
        if too_deep(mod):
            raise ScheduleError(
                f"Can't schedule this: it is nested too deeply, more than {DEEPEST} levels",
                hint="store a part of the longest expression in a buffer first",
            )
        for func in mod.functions:
            try:
                check_arguments(func)
                check_control(func)
                check_declared(func)
                check_domains(func)
            except Refusal as refusal:
                raise as_error(refusal, func, "") from None
        names = [func.name for func in mod.functions]
        self.history = History(mod, "main" if "main" in names else names[0])
        self._node = self.history.root
        clear = "main" in names or len(names) == 1
        self._func_name = self._node.func_name if clear else None
        self._forward: dict[HistoryNode, HistoryNode] = {}  # where redo goes
        self._decide = decide or drawing(seed)
        self._tries = False  # whether its steps stay out of the history
        self._observers: list[Observer] = []
        complete_in_ipython(Schedule)

    # --- the program -----------------------------------------------------------------------------

    @property
    def node(self) -> HistoryNode:
        """Where in the history this schedule stands.

        >>> sch.node.id
        0
        """
        return self._node

    @property
    def mod(self) -> IRModule:
        """The program as a module.

        >>> [func.name for func in sch.mod.functions]
        ['add']
        """
        return IRModule(self._node.mod.functions)  # its own: a module's functions may be set

    @property
    def func(self) -> PrimFunc:
        """The function that is worked on: "main", the only one, or that of `work_on`.

        Raises ScheduleError where there are several, none of them "main", and `work_on` named none.

        >>> sch.func.name
        'add'
        """
        if self._func_name is None:
            raise as_error(self._finder("work").unclear("on a function"), self._shown, "")
        return self.mod[self._func_name]

    @property
    def func_working_on(self) -> str | None:
        """The name of the function that names are looked up in; None where that is not said.

        >>> sch.func_working_on
        'add'
        """
        return self._func_name

    @property
    def _shown(self) -> PrimFunc:
        """The function that is worked on, or, where that is not said, the node's own."""
        return self.mod[self._func_name or self._node.func_name]

    def _finder(self, task: str, func: PrimFunc | None = None) -> Finder:
        meant = self._func_name is not None or func is not None
        return Finder(self._node, func or self._shown, task, meant)

    def work_on(self, func_name: str) -> None:
        """Look names up in the function `func_name` from now on.

        Raises ScheduleError where the module has no such function.

        >>> sch.work_on("add")
        """
        self._func_name = self._function(func_name, "work_on").name

    def _places(self, func: PrimFunc) -> Places:
        return self._node.places[func.name]

    def _function(self, name: str, method: str) -> PrimFunc:
        mod = self.mod
        try:
            return mod[name]
        except KeyError:
            raise ScheduleError(
                f"Can't {method}: the module has no function {name!r}",
                asked=f"sch.{method}({name!r})",
                hint=f"its functions: {', '.join(func.name for func in mod.functions)}",
            ) from None

    def show(self) -> None:
        """Print the program, coloured where the output can show colour.

        >>> sch.show()
        @T.prim_func
        def add(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
            # with T.block("root"):
            for i in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(8, i)
                    T.reads(A[vi])
                    T.writes(B[vi])
                    B[vi] = A[vi] + T.float32(1)
        """
        script.print_highlighted(self._whole)

    @property
    def _whole(self) -> PrimFunc | IRModule:
        """What is shown: the module, or the function that is all of it."""
        return self._shown if len(self.mod.functions) == 1 else self.mod

    def diff(
        self, a: str | int | HistoryNode | None = None, b: str | int | HistoryNode | None = None
    ) -> None:
        """Print what changed from `a` to `b` (marks or node numbers), line by line.

        Without `b`: to where this schedule stands. Without both: what the last step changed.
        Raises ScheduleError for a mark or number that there is not.

        >>> sch.unroll("i")
        >>> sch.diff()
          @T.prim_func
          def add(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
              # with T.block("root"):
        -     for i in range(8):
        +     for i in T.unroll(8):
                  with T.block("B"):
                      vi = T.axis.spatial(8, i)
                      T.reads(A[vi])
                      T.writes(B[vi])
                      B[vi] = A[vi] + T.float32(1)
        """
        after = self._node if b is None else self.history.find(b)
        before = (after.parent or after) if a is None else self.history.find(a)
        script.print_diff(before.mod[after.func_name], after.func)

    @overload
    def figure(
        self,
        picture: str,
        *,
        buffer: str | None = None,
        level: str | None = None,
        before: str | int | HistoryNode | None = None,
        path: None = None,
        **select: int | Sequence[int],
    ) -> Figure: ...

    @overload
    def figure(
        self,
        picture: str,
        *,
        buffer: str | None = None,
        level: str | None = None,
        before: str | int | HistoryNode | None = None,
        path: str | Path,
        **select: int | Sequence[int],
    ) -> None: ...

    def figure(
        self,
        picture: str,
        *,
        buffer: str | None = None,
        level: str | None = None,
        before: str | int | HistoryNode | None = None,
        path: str | Path | None = None,
        **select: int | Sequence[int],
    ) -> Figure | None:
        """Draw the program: "who" computes what, its "memory", its "tiles", its "pipeline"; what a
        warp asks of "sectors" and "banks"; "occupancy"; in a "timeline" which blocks run when;
        under the "roofline" the steps up to here; in "fragments" which lane of a warp holds which
        cell, of the `call` of that number.

        `buffer` is the one whose cells "who" shows (default: the last output), or for which sectors
        or banks are asked (default: the worst). `select` chooses what "tiles" shows, and which
        request (default: the worst): `block` and `thread`, each a number or (x, y, z), loops by
        name, and a `warp`; of a timeline the number of a `block`, a `warp` of it and the `clock` of
        a request; `level` how near tiles are: "whole", "block", "thread", "registers" (default: the
        first two). What differs from `before`, a mark or node number, is marked. With `path`, the
        picture is written there as SVG, in which words stay words, without matplotlib, and nothing
        is returned. Raises ScheduleError for a picture, buffer, axis, value or level that there is
        not, Fail for a `path` that does not end with .svg, NotWritten, an OSError, where it cannot
        be written, ImportError without matplotlib.

        >>> sch.figure("who").savefig("who.pdf")
        >>> sch.figure("who", path="who.svg")
        """
        from workbench import draw

        then = None if before is None else self.history.find(before).mod[self.func.name]
        try:
            drawn = draw.picture_of(
                self.func,
                picture,
                buffer=buffer,
                select=select,
                level=level,
                before=then,
                steps=[(n.id, n.mod[self.func.name]) for n in self._node.path()],
            )
        except ValueError as error:
            found, _, hint = str(error).partition("; ")
            options = {"buffer": buffer, "level": level, "before": before, **select}
            given = {name: value for name, value in options.items() if value is not None}
            asked = f"sch.figure({as_given((picture,), given)})"
            raise ScheduleError(f"Can't draw it: {found}", asked=asked, hint=hint) from None
        if path is None:
            return draw.figure(drawn)
        draw.write_svg(drawn, path)
        return None

    # --- the history -----------------------------------------------------------------------------

    def undo(self) -> None:
        """Go back to the program before the last step. Raises ScheduleError at the start.

        >>> sch.unroll("i")
        >>> sch.undo()
        >>> sch.node.id
        0
        """
        if self._node.parent is None:
            raise ScheduleError("Can't undo: this is the start", hint="apply a step first")
        self._move(self._node.parent)

    def redo(self) -> None:
        """Go forward again to where `undo` came from; else along the newest step from here.

        Raises ScheduleError where no step was taken from here.

        >>> sch.unroll("i")
        >>> sch.undo()
        >>> sch.redo()
        >>> sch.node.id
        1
        """
        children = self._node.children
        if not children:
            raise ScheduleError(
                "Can't redo: no step was taken from here", hint="apply a step, or goto a node"
            )
        self._move(self._forward.get(self._node, children[-1]))

    def goto(self, place: str | int | HistoryNode) -> None:
        """Go to the program with that mark or node number.

        Raises ScheduleError where there is none.

        >>> sch.mark("start")
        >>> sch.unroll("i")
        >>> sch.goto("start")
        >>> sch.node.id
        0
        """
        self._move(self.history.find(place))

    def mark(self, name: str) -> None:
        """Name the program that this schedule stands at, for `goto` and `diff`.

        A name that another program has moves here, so that a cell may run again. Raises
        ScheduleError for what is no text, or text with half a character that no file can keep.

        >>> sch.mark("start")
        >>> sch.node.mark
        'start'
        """
        if not name or not is_text(name):
            raise ScheduleError(
                f"Can't mark with {value_text(name)}", hint="give a name: sch.mark('tiled')"
            )
        self.history.mark(self._node, name)

    def fork(self) -> Schedule:
        """A second cursor at the same program of the same history; it moves on its own.

        >>> other = sch.fork()
        >>> other.unroll("i")
        >>> sch.node.id, other.node.id
        (0, 1)
        """
        other = object.__new__(type(self))
        other.history = self.history
        other._node, other._func_name = self._node, self._func_name
        other._forward = dict(self._forward)
        other._decide, other._tries = self._decide, self._tries
        other._observers = []
        return other

    def trial(self) -> Schedule:
        """A second cursor whose steps are no part of the history until `adopt` is given it.

        Steps that the history has already are gone along as they are.

        >>> trial = sch.trial()
        >>> trial.split("i", factors=[2, 4])
        [<loop i_0>, <loop i_1>]
        >>> len(sch.history)
        1
        """
        other = self.fork()
        other._tries = True
        return other

    def adopt(self, trial: Schedule) -> None:
        """Make the steps of `trial` part of the history, as they were made, and go there.

        Handles that the trial's steps returned are good from then on. Raises ScheduleError for what
        is no trial of this history.

        >>> trial = sch.trial()
        >>> trial.unroll("i")
        >>> sch.adopt(trial)
        >>> sch
        <Schedule of add at step 1: unroll(i)>
        """
        if not isinstance(trial, Schedule) or trial.history is not self.history:
            what = "belongs to another schedule" if isinstance(trial, Schedule) else "is no trial"
            raise ScheduleError(
                f"Can't adopt {value_text(trial)}: it {what}",
                hint="pass what sch.trial() made of this schedule",
            )
        with self.history.together():
            for node in trial._node.path():
                if node.id != TRIED:
                    continue
                assert node.parent is not None and node.step is not None
                if self.history.child(node.parent, node.step):
                    self.take(trial.trace)  # another cursor took the same step meanwhile
                    return
                self.history.adopt(node)
        self._move(trial._node)

    def retune(
        self, number: int, *, also: Mapping[int, Mapping[str, Any]] | None = None, **changed: Any
    ) -> None:
        """Take the `number`-th step on the way here with other arguments, and the rest after it.

        It is a branch from before that step. What is not `changed` stays; `also` changes later
        steps, by their numbers. Raises ScheduleError for a step that there is not, and where it, or
        a later one, is refused then, with what else would have to change: nothing is taken.

        >>> i_0, i_1 = sch.split("i", factors=[None, 4])
        >>> sch.unroll(i_1)
        >>> sch.retune(1, factors=[None, 2])
        >>> print(sch.trace)
        1. split(i, factors=[None, 2])
        2. unroll(i_1)
        """
        trial = retuned(self, self.trial, number, changed, also or {})
        if self._tries:
            self._move(trial._node)
        else:
            self.adopt(trial)

    def copy(self) -> Schedule:
        """`fork`, as TVM calls it.

        >>> other = sch.copy()
        >>> other.func is sch.func
        True
        """
        return self.fork()

    def save(self, path: str | Path) -> None:
        """Write the whole history, and where this schedule stands, to a file for `wb.load`.

        The file is written whole or not at all. Raises NotWritten, an OSError, where that fails;
        ScheduleError where it holds something else than a saved schedule.

        >>> sch.unroll("i")
        >>> sch.save("steps.json")
        >>> wb.load("steps.json")
        <Schedule of add at step 1: unroll(i)>
        """
        file.save(self.history, self._node, path)

    def to_tvm(self, path: str | Path) -> None:
        """Write a Python file that takes the steps to here with apache-tvm 0.27.

        It holds the program, each step as TVM's call, and the program that they made here: run
        there, it ends with `module`, TVM's own, or in an error where TVM made another one. Raises
        ScheduleError for what TVM has no call for or takes in another way; NotWritten, an OSError,
        where the file can't be written, which is then as it was.

        >>> sch.unroll("i")
        >>> sch.to_tvm("steps.py")
        """
        write_whole(path, tvm_file(self._node))

    def _move(self, node: HistoryNode) -> None:
        here: HistoryNode | None = node
        while here is not self._node and here is not None and here.parent is not None:
            self._forward[here.parent] = here  # those of where one stands lead there already
            here = here.parent
        self._node = node
        for observer in list(self._observers):
            observer(node)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with each node that this schedule goes to from now on; a step taken again
        adds none to the history, which tells of it to nobody. Returns how to stop it.

        >>> stop = sch.observe(print)
        >>> sch.unroll("i")
        <1: unroll(i)>
        >>> stop()
        """
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    @property
    def trace(self) -> Trace:
        """The steps from the start to here, as plain data.

        >>> sch.unroll("i")
        >>> print(sch.trace.as_python())
        sch = wb.Schedule(program)
        block_B = sch.get_block("B")
        (i,) = sch.get_loops(block_B)
        sch.unroll(i)
        """
        return Trace(tuple(node.step for node in self._node.path() if node.step))

    @classmethod
    def replay(cls, program: PrimFunc | IRModule, trace: Trace) -> Schedule:
        """A new schedule of `program` on which the steps of `trace` were taken.

        Raises ScheduleError, with the step's number, where one is not possible.

        >>> sch.unroll("i")
        >>> wb.Schedule.replay(add, sch.trace)
        <Schedule of add at step 1: unroll(i)>
        """
        schedule = cls(program)
        schedule.take(trace)
        return schedule

    def take(self, trace: Trace) -> None:
        """Take the steps of `trace` from the start of this history.

        Raises ScheduleError where `trace` is none, and where a step is not possible.

        >>> sch.unroll("i")
        >>> other = wb.Schedule(add)
        >>> other.take(sch.trace)
        >>> other
        <Schedule of add at step 1: unroll(i)>
        """
        if not isinstance(trace, Trace):
            raise ScheduleError(
                f"Can't take steps: {_a(trace)} is no trace",
                asked=f"sch.take({value_text(trace)})",
                hint="pass the trace of a schedule: sch.take(other.trace)",
            )
        self._move(self.history.root)
        for number, step in enumerate(trace, 1):
            self.take_step(number, step)

    def take_step(self, number: int, step: Step) -> None:
        """Take one step that a trace tells, the `number`-th on the way from the start.

        Raises ScheduleError where the step is not possible here.

        >>> sch.unroll("i")
        >>> other = wb.Schedule(add)
        >>> other.take_step(1, sch.trace.steps[0])
        >>> other
        <Schedule of add at step 1: unroll(i)>
        """
        known_primitive(number, step)
        here = self._node
        func_name = self._function_of(number, step)

        def handle(ref: Ref) -> Handle:
            key = locate(ref, here, func_name)
            if key is None:
                refused = NotThere(
                    f"Can't take step {number}, {step.verb}: the program has no {ref.kind} "
                    f"`{ref.name}` where the trace has it",
                    hint="replay the trace on a program with the same blocks and loops",
                )
                refused.kind, refused.name = ref.kind, ref.name
                raise refused
            return handle_of(self.history, key)

        args = map_refs(step.args, handle)
        kwargs = {name: map_refs(value, handle) for name, value in step.kwargs}
        work, self._func_name = self._func_name, func_name
        try:
            self.apply(step.verb, *args, **kwargs)
        finally:
            self._func_name = work

    def _function_of(self, number: int, step: Step) -> str:
        """The function that a step of a trace is for: the one of its name, or the only one."""
        names = [func.name for func in self.mod.functions]
        if step.func in names or len(names) == 1:
            return step.func if step.func in names else names[0]
        raise ScheduleError(
            f"Can't take step {number}: the program has no function {step.func!r}",
            hint=f"its functions: {', '.join(names)}",
        )

    # --- steps -----------------------------------------------------------------------------------

    def apply(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        """Take the step `verb(*args, **kwargs)`; returns the handles of what it made.

        Raises ScheduleError where the step is not possible or would change the program's meaning.

        >>> sch.apply("split", "i", factors=[2, 4])
        [<loop i_0>, <loop i_1>]
        """
        prim = primitive.REGISTRY.get(verb) if isinstance(verb, str) else None
        if prim is None:
            raise _unknown(str(verb))
        finder, func = self._finder(verb), self._shown
        try:
            call = self._decided(bind(prim, finder, args, kwargs))
            func = call.func
            step = self._step(call)
            node = self.history.child(self._node, step)
            if node is None:
                edit = prim.take(func, *call.args, **call.kwargs)
                check_depth(func, edit.func, verb)
                twin = self.history.twin(self._node, step, edit.places) if not prim.domain else None
                node = twin or self._add(step, func, edit)
        except Refusal as refusal:
            asked = f"sch.{verb}({as_given(args, kwargs)})"
            raise as_error(refusal, func, asked) from None
        self._move(node)
        return self._handles(node.result)

    def _decided(self, call: Call) -> Call:
        """The call with its decision, made here where it is one of a choice and leaves it out."""
        if call.prim.domain is None or "decision" in call.kwargs:
            return call
        domain = call.prim.domain(call.func, *call.args, **call.kwargs)
        return replace(call, kwargs={**call.kwargs, "decision": self._decide(domain)})

    def _step(self, call: Call) -> Step:
        """The call as plain data."""

        def plain(value: Any) -> Value:
            if isinstance(value, tuple):
                return tuple(plain(v) for v in value)
            if isinstance(value, Block):
                return refer(self._node, call.func, self._places(call.func).realize(value))
            return refer(self._node, call.func, value) if isinstance(value, For) else value

        args = tuple(plain(value) for value in call.args)
        kwargs = tuple((name, plain(value)) for name, value in call.kwargs.items())
        return Step(call.prim.name, args, kwargs, call.func.name)

    def _add(self, step: Step, func: PrimFunc, edit: Edit) -> HistoryNode:
        functions = tuple(edit.func if f is func else f for f in self.mod.functions)
        mod = replace(self.mod, functions=functions)
        single = edit.result is not None and not isinstance(edit.result, tuple)
        made = tuple(name_in([edit.places], key) for key in edit.keys)
        noted = replace(step, made=made, single=single, alone=len(functions) == 1)
        add = self.history.try_ if self._tries else self.history.add
        return add(self._node, noted, mod, edit)

    def _handles(self, result: Any) -> Any:
        if isinstance(result, tuple):
            return [self._handles(item) for item in result]
        return handle_of(self.history, result) if isinstance(result, (Var, BlockId)) else result

    def actions(
        self, place: LoopHandle | BlockHandle | str, verbs: Collection[str] | None = None
    ) -> list[Verdict]:
        """What every primitive, or each of `verbs`, says at `place`, a loop or a block.

        Possible, with the arguments for which it is, or refused and why. Raises ScheduleError for a
        place or a verb that there is not.

        >>> (verdict,) = sch.actions("i", ["split"])
        >>> verdict.choices[0]
        {'factors': [None, 2]}
        """
        verbs = (verbs,) if isinstance(verbs, str) else verbs
        if verbs is not None and not isinstance(verbs, Collection):
            raise ScheduleError(
                f"Can't list actions: verbs takes names of primitives, not {_a(verbs)}",
                asked=f"sch.actions({as_given((place, verbs), {})})",
                hint='name some: verbs=["split", "bind"], or leave them out for all',
            )
        for verb in verbs or ():
            if verb not in tuple(primitive.REGISTRY):  # it may be unhashable
                raise _unknown(str(verb))
        func, node = self._ask("actions", "list actions at", Finder.either, place)
        return verdicts(func, node, verbs)

    # --- questions -------------------------------------------------------------------------------

    def get_block(self, name: str, func_name: str | None = None) -> BlockHandle:
        """The block called `name`, in the function `func_name` or the one worked on.

        Raises ScheduleError where there is none of that name, or several.

        >>> sch.get_block("B")
        <block B>
        """
        func = None if func_name is None else self._function(func_name, "get_block")
        _, block = self._ask("get_block", "find", Finder.block, name, func)
        return BlockHandle(self.history, block.id)

    def get_sblock(self, name: str, func_name: str | None = None) -> BlockHandle:
        """`get_block`, as TVM 0.27 calls it.

        >>> sch.get_sblock("B")
        <block B>
        """
        return self.get_block(name, func_name)

    def get(self, place: BlockHandle | LoopHandle | str) -> Block | For:
        """The block or the loop itself, as it stands in the program.

        Raises ScheduleError where the program has no such block or loop.

        >>> sch.get("i").extent.value
        8
        >>> sch.get("B").name_hint
        'B'
        """
        node: Block | For = self._ask("get", "get", Finder.either, place)[1]
        return node

    def get_blocks(self, name: str | None = None) -> list[BlockHandle]:
        """Every block but the root, in program order; of those called `name` where it is given.

        >>> sch.get_blocks()
        [<block B>]
        """
        _, *inner = self._places(self.func).blocks.values()
        return self._blocks(r for r in inner if name in (None, r.block.name))

    def get_loops(self, block: BlockHandle | str) -> list[LoopHandle]:
        """The loops around `block`, outermost first, inside the block that holds it.

        Raises ScheduleError where the program has no such block.

        >>> sch.get_loops("B")
        [<loop i>]
        """
        site = self._site("get_loops", "get the loops of", Finder.block, block)
        return [LoopHandle(self.history, loop.loop_var) for loop in site.loops]

    def get_child_blocks(self, block_or_loop: BlockHandle | LoopHandle | str) -> list[BlockHandle]:
        """The blocks directly inside a block or a loop, in program order.

        Raises ScheduleError where the program has no such block or loop.

        >>> sch.get_child_blocks("i")
        [<block B>]
        """
        site = self._site("get_child_blocks", "get the blocks in", Finder.either, block_or_loop)
        return self._blocks(site.places.blocks_under(site.stmt))

    def get_producers(self, block: BlockHandle | str) -> list[BlockHandle]:
        """The blocks before `block` that write what it reads or writes, in program order.

        Raises ScheduleError where the program has no such block.

        >>> sch.cache_read("B", 0, "shared")
        <block A_shared>
        >>> sch.get_producers("B")
        [<block A_shared>]
        """
        site = self._site("get_producers", "get the producers of", Finder.block, block)
        return self._blocks(site.producers)

    def get_consumers(self, block: BlockHandle | str) -> list[BlockHandle]:
        """The blocks after `block` that read or write what it writes, in program order.

        Raises ScheduleError where the program has no such block.

        >>> sch.cache_read("B", 0, "shared")
        <block A_shared>
        >>> sch.get_consumers("A_shared")
        [<block B>]
        """
        site = self._site("get_consumers", "get the consumers of", Finder.block, block)
        return self._blocks(site.consumers)

    def get_output_blocks(self, scope_block: BlockHandle | str) -> list[BlockHandle]:
        """The blocks directly in `scope_block`, such as "root", that write for what is outside it.

        Those that write a buffer which does not live in it, in program order. Raises ScheduleError
        where the program has no such block.

        >>> sch.get_output_blocks("root")
        [<block B>]
        """
        site = self._site("get_output_blocks", "get the outputs of", Finder.block, scope_block)
        own = {*site.node.alloc_buffers}
        inner = site.places.blocks_under(site.stmt)
        return self._blocks(r for r in inner if not own.issuperset(declared_writes(r.block)))

    def _blocks(self, realizes: Iterable[BlockRealize]) -> list[BlockHandle]:
        return [BlockHandle(self.history, realize.block.id) for realize in realizes]

    def _site(
        self,
        method: str,
        task: str,
        find: Callable[[Finder, Any], tuple[PrimFunc, Any]],
        value: Any,
    ) -> Site[Any]:
        """Where what `find` finds for `value` stands; refused as ScheduleError."""
        func, node = self._ask(method, task, find, value)
        return Site(self._places(func), node, "")

    def _ask(
        self,
        method: str,
        task: str,
        find: Callable[[Finder, Any], tuple[PrimFunc, Any]],
        value: Any,
        func: PrimFunc | None = None,
    ) -> tuple[PrimFunc, Any]:
        """What `find` finds for `value`, in `func` for a name; refused as ScheduleError."""
        finder = self._finder(task, func)
        try:
            return find(finder, value)
        except Refusal as refusal:
            asked = f"sch.{method}({as_given((value,), {})})"
            raise as_error(refusal, finder.func, asked) from None

    def _repr_html_(self) -> str | None:
        return script.repr_html(self._whole.script(), caption=repr(self))

    def __repr__(self) -> str:
        return f"<Schedule of {self._shown.name} at step {self._node.id}: {self._node.label}>"

    if not TYPE_CHECKING:  # or it would take every name for one that is there

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """What is not there; the primitives are, as methods that `_add_methods` makes."""
            if name.startswith("_"):  # Python and IPython ask for many of these
                raise AttributeError(f"a Schedule has no {name}")
            raise _unknown(name)


def _a(value: object) -> str:
    return f"a value of type {type(value).__name__}"


def _unknown(name: str) -> UnknownVerb:
    """The refusal of a verb, or another name, that a schedule does not have."""
    if name in LEFT_OUT:
        why, instead = LEFT_OUT[name]
        return UnknownVerb(
            f"Can't use sch.{name}: it is TVM's, and is not in the workbench",
            asked=f"sch.{name}",
            detail=why,
            hint=instead,
        )
    there = [own for own in dir(Schedule) if not own.startswith("_")]
    close = get_close_matches(name, there, n=1)
    verbs = f"the verbs: {', '.join(primitive.REGISTRY)}"
    return UnknownVerb(
        f"Can't use sch.{name}: a schedule has nothing of that name",
        hint=f"is it sch.{close[0]}?" if close else verbs,
    )


def as_error(refusal: Refusal, func: PrimFunc, asked: str) -> ScheduleError:
    """A refusal as the learner gets it: its nodes marked in the program, its headline one line."""
    where = partial(script.mark_nodes, func, refusal.at) if refusal.at else ""
    error = ScheduleError(
        refusal.headline, asked=asked, where=where, detail=refusal.detail, hint=refusal.hint
    )
    error.at = refusal.at
    return error


def _add_methods() -> None:
    """Make each primitive a method of Schedule, with its own signature and docstring."""
    for prim in primitive.discover().values():

        def method(self: Schedule, *args: Any, _verb: str = prim.name, **kwargs: Any) -> Any:
            return self.apply(_verb, *args, **kwargs)

        method.__name__ = prim.name
        method.__qualname__ = f"Schedule.{prim.name}"
        method.__doc__ = prim.doc
        method.__signature__ = _with_self(prim)  # type: ignore[attr-defined]
        setattr(Schedule, prim.name, method)


def _with_self(prim: primitive.Primitive) -> inspect.Signature:
    self_param = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [self_param, *prim.signature.parameters.values()]
    return prim.signature.replace(parameters=parameters)


_add_methods()
