"""The text of programs: TVMScript from a program, a program from TVMScript, and what changed."""

from workbench.ir.writer import Writer, write_with

# The files of rules: importing them enters the rules into the tables of `grammar`.
from workbench.script import blocks, calls, functions, lets, loops, memory, operators  # noqa: F401
from workbench.script.diff import DiffLine, changed_words, diff, diff_printed
from workbench.script.highlight import (
    diff_text,
    highlight_css,
    highlight_html,
    highlight_terminal,
    print_diff,
    print_highlighted,
    repr_html,
)
from workbench.script.parse import T, ir_module, parse, specialize
from workbench.script.reader import ParseError
from workbench.script.show import expr_text, mark_nodes, place_of, show, show_spans
from workbench.script.writer import Line, Mark, Printed

write_with(Writer(show, print_highlighted, repr_html, specialize))

__all__ = [
    "DiffLine",
    "Line",
    "Mark",
    "ParseError",
    "Printed",
    "T",
    "changed_words",
    "diff",
    "diff_printed",
    "diff_text",
    "expr_text",
    "highlight_css",
    "highlight_html",
    "highlight_terminal",
    "ir_module",
    "mark_nodes",
    "parse",
    "place_of",
    "print_diff",
    "print_highlighted",
    "repr_html",
    "show",
    "show_spans",
    "specialize",
]
