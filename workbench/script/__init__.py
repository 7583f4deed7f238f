"""The text of programs: TVMScript from a program, a program from TVMScript, and what changed."""

from workbench.script import blocks, calls, functions, loops, memory, operators  # the rules
from workbench.script.highlight import (
    highlight_css,
    highlight_html,
    highlight_terminal,
    print_highlighted,
)
from workbench.script.reader import ParseError
from workbench.script.show import expr_text, mark_nodes, place_of, show, show_spans
from workbench.script.writer import Line, Mark, Printed

__all__ = [
    "Line",
    "Mark",
    "ParseError",
    "Printed",
    "expr_text",
    "highlight_css",
    "highlight_html",
    "highlight_terminal",
    "mark_nodes",
    "place_of",
    "print_highlighted",
    "show",
    "show_spans",
]
