"""Histories as Python for apache-tvm 0.27: the program, the steps as TVM's calls, what they make.

The calls are those of `Trace.as_python`, since verbs and arguments have TVM's names; where TVM asks
for a value in another form, `in_their_form` has it. Nobody has to believe that TVM takes each step
as we do: the file holds our last program, too, and ends in an error where TVM made another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, dropwhile
from typing import Any, Literal

from workbench import script
from workbench.history.errors import ScheduleError
from workbench.history.history import HistoryNode
from workbench.history.step import Ref, Step
from workbench.history.trace import Bare, PythonLines, Trace, locate
from workbench.ir import Block, BlockId, IRModule, dtypes
from workbench.ir.places import places
from workbench.script.writer import string
from workbench.verbs import index_map
from workbench.verbs.caching import named_buffer, nth_buffer
from workbench.verbs.pipeline_notes import notes
from workbench.verbs.primitive import REGISTRY
from workbench.verbs.site import Site
from workbench.verbs.tvm_intrinsics import IMPORT, registered, tvm_name

_HEAD = '''"""The steps of a schedule for apache-tvm 0.27; `module` is what TVM makes of them."""

import tvm
from tvm.s_tir import Schedule
from tvm.script import ir as I
from tvm.script import tirx as T
'''
_COMPARED = """
# Both with their index expressions shortened by TVM. An error here: TVM took a step in another
# way, and made another program than `Scheduled`.
short = tvm.tirx.transform.StmtSimplify()
tvm.ir.assert_structural_equal(short(sch.mod), short(Scheduled))
"""
_TILES = """
# From here on TVM makes another program: it puts each implementation there at once, with a view
# for each parameter.
"""
_LAST = "module = sch.mod\n"
# Verbs of which TVM 0.27 never makes what we make, and why.
_OTHERWISE = {
    "loop_partition": "TVM puts blocks around the parts that do not say what they read or write",
}
# Verbs of which TVM takes a buffer by its number only, and the side on which it counts.
_BY_NUMBER: dict[str, Literal["reads", "writes"]] = {
    "storage_align": "writes",
    "reindex_cache_read": "reads",
    "reindex_cache_write": "writes",
}


def tvm_file(node: HistoryNode) -> str:
    """The text of a file that takes the steps to `node` in TVM, and compares what they make.

    Raises ScheduleError for what TVM 0.27 has no call for, or takes for another thing.
    """
    path = node.path()
    trace = Trace(tuple(n.step for n in path if n.step))
    _refuse_two_plain_axes(node.mod)
    lines = _TvmLines(trace, path)
    steps, tiles = lines.parts()
    compared = path[len(path) - 1 - lines.tensorized]
    before, after = _as_class(path[0].mod, "Program"), _as_class(compared.mod, "Scheduled")
    return f"{_HEAD}\n\n{before}\n\n\n{after}\n\n\n{steps}\n{_COMPARED}{tiles}{_LAST}"


def in_their_form(name: str, value: Any) -> Any:
    """A step's argument as TVM asks for it: maps as functions, ("read", 0) as a tuple."""
    if name == "index_map":
        index_map.parse(value)  # nothing but indices and arithmetic, so that it may be run
        return Bare(value)
    if name == "buffer" and not isinstance(value, str):
        return Bare(repr(tuple(value)))
    return value


def _as_class(mod: IRModule, name: str) -> str:
    plain = script.parse(script.show(mod))  # without names for values, which steps may forget
    rows = script.show(plain, dialect="tvm").splitlines()
    first = rows.index("@I.ir_module")  # above it stands what is imported
    return "\n".join([rows[first], f"class {name}:", *rows[first + 2 :]])


def _refuse_two_plain_axes(mod: IRModule) -> None:
    for func in mod.functions:
        known = places(func)
        for realize in known.blocks.values():
            plain = [lp for lp in known.loops_above(realize) if lp.thread == "vthread"]
            for one, other in combinations([lp.loop_var.name for lp in plain], 2):
                raise _refusal(
                    f"`{one}` and `{other}` are both on vthread, one axis there",
                    "bind them to vthread.x and vthread.y, which are two in TVM as well",
                    "TVM would leave out the iterations in which they differ",
                )


def _refusal(found: str, hint: str, detail: str = "") -> ScheduleError:
    return ScheduleError(
        f"Can't write this for TVM: {found}", asked="sch.to_tvm(path)", detail=detail, hint=hint
    )


class _TvmLines(PythonLines):
    """Writes a trace as calls of TVM's schedule."""

    def __init__(self, trace: Trace, path: Sequence[HistoryNode]) -> None:
        super().__init__(trace, "Program")
        self.path = path
        before = dropwhile(lambda step: step.verb == "tensorize", reversed(trace.steps))
        self.tensorized = len(trace.steps) - len([*before])
        self.untiled = ""  # the lines ahead of those of these last steps
        self.taken |= {"tvm", "Schedule", "I", "T", "Scheduled", "short", "module"}

    def parts(self) -> tuple[str, str]:
        """The lines ahead of the steps at the end that tensorize, and those of these."""
        text = self.text()
        if not self.tensorized:
            return text, ""
        after = text[len(self.untiled) + 1 :]
        used = dict.fromkeys(str(step.args[1]) for step in self.trace.steps[-self.tensorized :])
        own = [name for name in used if tvm_name(name) is None]
        known = [IMPORT] if len(own) < len(used) else []
        return self.untiled, "\n".join([_TILES, *known, *map(self.registered, own), after, ""])

    def registered(self, name: str) -> str:
        """The lines that make an intrinsic known to TVM."""
        try:
            return f"\n\n{registered(name)}\n\n"
        except ValueError:
            raise _refusal(
                f"{name} is run by a call of a warp, which TVM has under other names",
                "tensorize with one of TVM's, such as wmma_load_16x16x16_f16_a_shared",
            ) from None

    def begin(self) -> str:
        """What makes the schedule; TVM looks names up in `main`, where it is told no other."""
        names = [func.name for func in self.path[0].mod.functions]
        turn = "" if "main" in names or len(names) > 1 else f"\nsch.work_on({string(names[0])})"
        return f"sch = Schedule({self.program}){turn}"

    def block(self, ref: Ref) -> str:
        """What looks a block up by its name, which TVM wants to be the only one."""
        if ref.nth is not None:
            raise _refusal(
                f"it finds a block by its name, and several are called `{ref.block}`",
                "give each block a name of its own in the program, and take the steps again",
            )
        return f"sch.get_sblock({string(ref.block)})"

    def loose_loop(self, ref: Ref) -> str:
        """Refused: TVM finds loops by the blocks in them."""
        raise _refusal(
            f"it finds a loop by a block in it, and `{ref.name}` holds none",
            "put a block around the statement: with T.block(…)",
        )

    def write(self, number: int, step: Step) -> None:
        """The line of the `number`-th step, or those that leave the notes of a pipeline."""
        if self.tensorized and number == len(self.trace.steps) - self.tensorized + 1:
            self.untiled = "\n".join(self.lines)
        if step.verb != "pipeline":
            super().write(number, step)
            return
        given: dict[str, Any] = dict(step.kwargs)  # lists, and so by name
        for note in notes(**given).items():
            as_note = replace(step, verb="annotate", args=(*step.args, *note), kwargs=())
            super().write(number, as_note)

    def arguments(self, number: int, step: Step) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What TVM's call of the `number`-th step takes."""
        if step.verb in _OTHERWISE:
            raise _refusal(
                f"step {number}, {step.verb}, makes another program there",
                f"write the steps ahead of it: sch.goto({self.path[number - 1].id}), then to_tvm",
                _OTHERWISE[step.verb],
            )
        if step.verb == "tensorize":
            return self.tensorize(number, step)
        params = REGISTRY[step.verb].params
        if any(param.many for param in params):
            return super().arguments(number, step)
        given = dict(zip((param.name for param in params), step.args, strict=False))
        numbered = self.by_number(number, step, {**given, **dict(step.kwargs)})
        form = {name: in_their_form(name, value) for name, value in numbered.items()}
        by_place = tuple(form.pop(name) for name in given)
        return by_place, form

    def tensorize(self, number: int, step: Step) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Its arguments, with TVM's name; refused where other steps follow."""
        if number <= len(self.trace.steps) - self.tensorized:
            raise _refusal(
                f"step {number}, tensorize, makes another program there, and other steps follow",
                "tensorize last: go to the step before it, take the others, then it",
                "TVM puts the implementation there, with a view for each parameter",
            )
        given: list[Any] = [*step.args, *(value for _, value in step.kwargs)]
        place, name, *rest = given
        return (place, tvm_name(name) or name, *rest), {}

    def by_number(self, number: int, step: Step, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with a buffer's number for its name, and a value of its type."""
        side = _BY_NUMBER.get(step.verb)
        which = next((name for name in arguments if name.endswith("buffer_index")), "")
        if side and isinstance(arguments[which], str):
            site = self.site(number, step)
            regions = site.node.reads if side == "reads" else site.node.writes
            buffer = nth_buffer(site, arguments[which], side)
            return {**arguments, which: [region.buffer for region in regions].index(buffer)}
        if type(arguments.get("pad_value")) is int:
            buffer, _ = named_buffer(self.site(number, step), arguments["buffer"])
            as_type = float if dtypes.is_float(buffer.type) else int
            return {**arguments, "pad_value": as_type(arguments["pad_value"])}
        return arguments

    def site(self, number: int, step: Step) -> Site[Block]:
        """The block that a step is taken on, in the program that it is taken on."""
        key = locate(step.refs()[0], self.path[number - 1], step.func)
        assert isinstance(key, BlockId)
        known = self.path[number - 1].places[step.func]
        return Site(known, known.blocks[key].block, step.verb)
