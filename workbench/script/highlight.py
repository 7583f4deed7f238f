"""Programs in colour: in a terminal, in a notebook, and as HTML for views."""

from __future__ import annotations

import sys

from workbench.ir import Node
from workbench.script.show import show


def print_highlighted(node: Node, dialect: str = "workbench") -> None:
    """Show the program `node`: coloured in a notebook and in a terminal, else as plain text."""
    text = show(node, dialect)
    if _in_notebook():
        from IPython.display import HTML, display

        display(HTML(_standalone(highlight_html(text))))  # type: ignore[no-untyped-call]
    elif sys.stdout.isatty():
        print(highlight_terminal(text))
    else:
        print(text)


def highlight_terminal(text: str) -> str:
    """`text`, a program, with the escape codes of a terminal's colours."""
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import PythonLexer

    return highlight(text, PythonLexer(stripnl=False), TerminalFormatter()).rstrip("\n")


def highlight_html(text: str, language: str = "python") -> str:
    """`text` as HTML lines with Pygments' short class names; `language` is "python" or "cuda".

    Gives as many lines as `text` has, without a ``<pre>`` around them; colours are `highlight_css`.
    """
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    return highlight(text, lexer, HtmlFormatter(nowrap=True)).removesuffix("\n")


def highlight_css(selector: str, dark: bool = False) -> str:
    """The colours of `highlight_html` for elements under the CSS `selector`."""
    from pygments.formatters import HtmlFormatter

    # Both styles keep a contrast of at least 4.5 : 1 on white and on JupyterLab's dark grey.
    style = "github-dark" if dark else "xcode"
    return HtmlFormatter(style=style).get_style_defs(selector)


def _standalone(html: str) -> str:
    """A block that stands alone in a cell's output, in JupyterLab's light and dark themes."""
    light = highlight_css(".wb-code")
    dark = highlight_css('[data-jp-theme-light="false"] .wb-code', dark=True)
    rules = f"{light}\n{dark}\n.wb-code {{ background: none; line-height: 1.4; }}"
    return f'<style>{rules}</style><pre class="wb-code">{html}</pre>'


def _in_notebook() -> bool:
    """Whether output goes to a notebook, which can show HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None
