"""The texts of a program's panes: TensorIR with its diff, plain loops, code, its path."""

from __future__ import annotations

import re
from typing import Any

from workbench import script
from workbench.codegen import LANGUAGES
from workbench.diag import Fail
from workbench.history.history import HistoryNode
from workbench.history.trace import Trace
from workbench.ir import BlockId, Buffer, PrimFunc, Var
from workbench.script import Printed
from workbench.script.functions import def_name
from workbench.widgets.page.lines import Lines, Mark
from workbench.widgets.page.memo import build, memo
from workbench.widgets.page.names import Keys, Names
from workbench.widgets.page.nests import named_nests
from workbench.widgets.page.plain import plain_loops

LABELS = {
    "tensorir": "TensorIR program",
    "loops": "the program as plain loops",
    **{name: f"{language.title} code" for name, language in LANGUAGES.items()},
    "code": "the path as Python",
}


def text_pane(
    name: str,
    node: HistoryNode,
    keys: Keys,
    names: Names,
    lines: Lines,
    dragged: PrimFunc | None = None,
) -> dict[str, Any]:
    """The pane `name` of the program of `node`; a refusal stands where there is no valid kernel.

    Where a number was dragged, `dragged` is the program that it was dragged in.
    """
    made: dict[str, Any] = {"title": "Program", "label": LABELS[name]}
    if name == "tensorir" and dragged is not None:
        changed = program_lines(dragged, node.func, keys, lines, by_name=True)
        return {**made, "title": "Program: what the dragged number changed", **changed}
    if name == "tensorir":
        title = f"Program: what “{node.label}” changed" if node.before else "Program"
        return {**made, "title": title, **program_lines(node.before, node.func, keys, lines)}
    if name == "loops":
        text = memo(node.func, "loops", lambda: plain_loops(node.func))
        return {**made, "lines": lines.add_text(text, names.words), "note": LOOPS_NOTE}
    if name == "code":
        return {**made, "lines": lines.add_text(python_of(node), {}), "note": CODE_NOTE}
    try:
        text = source_of(node.func, name)
    except Fail as fail:
        return {**made, "refusal": refusal(fail)}
    return {**made, "lines": lines.add_text(text, names.words, name)}


LOOPS_NOTE = "Every loop, bound ones too, as a loop: what is computed, not who does it."
CODE_NOTE = "The program and the steps as Python, for a cell of a notebook."


def source_of(func: PrimFunc, target: str) -> str:
    """The code of `func` for `target`. Raises Fail where there is no valid kernel."""
    return build(func, target).source


def python_of(node: HistoryNode) -> str:
    """Runnable Python: the program that the history starts from, and the steps to `node`."""
    start = node.path()[0]
    whole = start.mod if len(start.mod.functions) > 1 else start.func
    name = "Module" if whole is start.mod else def_name(start.func)
    imports = "T, ir_module" if whole is start.mod else "T"
    steps = Trace(tuple(n.step for n in node.path() if n.step)).as_python(name)
    head = f"import workbench as wb\nfrom workbench import {imports}"
    return f"{head}\n\n\n{script.show(whole)}\n\n\n{steps}"


def lines_of(node: HistoryNode) -> str:
    """The lines for the solution's cell, "" for the start; they begin there, to run again."""
    steps = as_code(Trace(tuple(n.step for n in node.path() if n.step)))
    return f'mine.goto("start")\n{steps}' if steps else ""


def as_code(trace: Trace) -> str:
    """The steps of `trace` as lines of Python on the schedule `mine`."""
    _, *lines = trace.as_python().splitlines()  # the first makes a schedule
    return "\n".join(re.sub(r"^((?:[\w, ()]+ = )?)sch\b", r"\1mine", line) for line in lines)


def program_lines(
    before: PrimFunc | None, after: PrimFunc, keys: Keys, lines: Lines, by_name: bool = False
) -> dict[str, Any]:
    """The program `after` as rows of a diff against `before`; as lines where that is None.

    Lines stand beside those of the same loop or block, or `by_name` of one that is called so.
    With a diff come the "nests" of `after`: from which line to which, and what that does.
    """
    right = _Numbered(script.show_spans(after), keys, lines)
    if before is None:
        return {"lines": [right.line(k + 1) for k in range(len(right.printed.lines))]}
    left = _Numbered(script.show_spans(before), keys, lines)
    rows = [
        [
            row.sign,
            row.left_no,
            row.right_no,
            left.line(row.left_no) if row.left_no else None,
            right.line(row.right_no) if row.right_no else None,
            [list(span) for span in row.left_words],
            [list(span) for span in row.right_words],
        ]
        for row in memo(
            after,
            ("diff", before, by_name),
            lambda: script.diff_printed(left.printed, right.printed, by_name),
        )
    ]
    nests = memo(after, "nests", lambda: named_nests(after, right.printed))
    return {"diff": rows, "nests": [list(nest) for nest in nests]}


class _Numbered:
    """A printed program whose lines are interned when they are asked for."""

    def __init__(self, text: Printed, keys: Keys, lines: Lines) -> None:
        self.printed = text
        self.lines = lines
        self.marks: dict[int, list[Mark]] = {}
        for mark in text.marks:
            thing = mark.key[1]
            if isinstance(thing, (Var, Buffer, BlockId)) and mark.key[0] != "iter":
                self.marks.setdefault(mark.line, []).append(
                    (mark.col, mark.end_col, keys.of(thing))
                )

    def line(self, number: int) -> int:
        text = self.printed.lines[number - 1].text
        return self.lines.add(text, self.marks.get(number, ()))


def refusal(fail: Fail) -> dict[str, str]:
    """A refusal as plain data."""
    return {
        "headline": fail.headline,
        "hint": fail.hint,
        "where": fail.where,
        "detail": fail.detail,
    }
