"""How a refusal is told and a place in a text is marked; knows nothing of programs."""

from workbench.diag.fail import Act, Fail, Refusal, shortened
from workbench.diag.prose import count_text, plural, preformatted, prose, size_text, visible
from workbench.diag.span import Span, mark

__all__ = [
    "Act",
    "Fail",
    "Refusal",
    "Span",
    "count_text",
    "mark",
    "plural",
    "preformatted",
    "prose",
    "shortened",
    "size_text",
    "visible",
]
