"""Programs and their differences in colour: in a terminal, in a notebook, as HTML for views."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from html import escape

from workbench.ir import Node
from workbench.script.diff import Columns, DiffLine, diff
from workbench.script.show import show


def print_highlighted(node: Node, dialect: str = "workbench") -> None:
    """Show the program `node`: coloured in a notebook and in a terminal, else as plain text.

    >>> block = add.root.body.body.block
    >>> script.print_highlighted(block.body)
    B[vi] = A[vi] + T.float32(1)
    """
    text = show(node, dialect)
    _output(text, lambda: highlight_terminal(text), lambda: highlight_html(text))


def print_diff(before: Node, after: Node) -> None:
    """Show what changed from `before` to `after`: signs in front, changed words marked.

    >>> sch.unroll("i")
    >>> script.print_diff(add, sch.func)
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
    lines = diff(before, after)
    _output(diff_text(lines), lambda: diff_terminal(lines), lambda: diff_html(lines))


# --- one program ---------------------------------------------------------------------------------


def highlight_terminal(text: str) -> str:
    """`text`, a program, with the escape codes of a terminal's colours."""
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import PythonLexer

    return highlight(text, PythonLexer(stripnl=False), TerminalFormatter()).rstrip("\n")


def highlight_html(text: str, language: str = "python") -> str:
    """`text` as HTML lines with Pygments' short class names; `language` is "python" or "cuda".

    Gives as many lines as `text` has, without a ``<pre>`` around them; colours: `highlight_css`.
    """
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    html = highlight(text, lexer, HtmlFormatter(nowrap=True))
    added = html.count("\n") > text.count("\n")  # it ends the last line too
    return html.removesuffix("\n") if added else html


def highlight_css(selector: str, dark: bool = False) -> str:
    """The colours of `highlight_html` for elements under the CSS `selector`."""
    from pygments.formatters import HtmlFormatter

    # Both styles keep a contrast of at least 4.5 : 1 on white and on JupyterLab's dark grey.
    return HtmlFormatter(style="github-dark" if dark else "xcode").get_style_defs(selector)


# --- two programs --------------------------------------------------------------------------------


def diff_text(lines: list[DiffLine]) -> str:
    """A comparison as text; a changed line stands twice, after "-" as it was, "+" as it is."""
    return "\n".join(f"{sign} {text}".rstrip() for sign, text, _ in _signed(lines))


def diff_terminal(lines: list[DiffLine]) -> str:
    """A comparison with a terminal's colours; the changed words are inverted."""
    colours = {"-": "31", "+": "32"}
    rows = []
    for sign, text, words in _signed(lines):
        marked = _wrapped(text, words, "\x1b[7m", "\x1b[27m", str)
        row = f"{sign} {marked}"
        rows.append(f"\x1b[{colours[sign]}m{row}\x1b[0m" if sign in colours else row)
    return "\n".join(rows)


def diff_html(lines: list[DiffLine]) -> str:
    """A comparison as HTML lines: ``<del>`` and ``<ins>``, the changed words in ``<mark>``."""
    tags = {"-": "del", "+": "ins", " ": "span"}
    rows = []
    for sign, text, words in _signed(lines):
        marked = _wrapped(text, words, "<mark>", "</mark>", escape)
        rows.append(f"<{tags[sign]}>{sign} {marked}</{tags[sign]}>")
    return "\n".join(rows)


def _signed(lines: list[DiffLine]) -> list[tuple[str, str, Columns]]:
    """Sign, text and changed words of each line to show."""
    rows: list[tuple[str, str, Columns]] = []
    for line in lines:
        if line.sign in "~-":
            rows.append(("-", line.left, line.left_words))
        if line.sign in "~+":
            rows.append(("+", line.right, line.right_words))
        if line.sign == " ":
            rows.append((" ", line.right, ()))
    return rows


def _wrapped(
    text: str, words: Columns, before: str, after: str, clean: Callable[[str], str]
) -> str:
    """`text` with `before` and `after` around each of `words`, all else through `clean`."""
    pieces, done = [], 0
    for start, end in words:
        pieces += [clean(text[done:start]), before, clean(text[start:end]), after]
        done = end
    return "".join([*pieces, clean(text[done:])])


def repr_html(text: str, language: str = "python", caption: str = "") -> str | None:
    """What a notebook shows of a value: `text` in colour, and what it is above it.

    None, which lets a notebook show the value's plain text, where Pygments is not installed.
    """
    try:
        code = _standalone(highlight_html(text, language))
    except ModuleNotFoundError:
        return None
    return f"<div>{escape(caption)}</div>{code}" if caption else code


# --- where the output goes -----------------------------------------------------------------------


def _output(text: str, terminal: Callable[[], str], html: Callable[[], str]) -> None:
    """Show the form that the place where output goes can show."""
    if _in_notebook():
        from IPython.display import display

        display({"text/plain": text, "text/html": _standalone(html())}, raw=True)
    elif sys.stdout.isatty():
        print(terminal())
    else:
        print(text)


# How JupyterLab, VS Code and Colab say that their theme is dark.
_DARK = ':is([data-jp-theme-light="false"], .vscode-dark, html[theme="dark"]) .wb-code'


def _standalone(html: str) -> str:
    """A block that stands alone in a cell's output, in a notebook's light and dark themes."""
    rules = [
        *_used(html, ".wb-code"),
        *_used(html, _DARK, dark=True),
        ".wb-code { background: none; line-height: 1.4; "
        "color: var(--jp-content-font-color1, inherit); }",
        ".wb-code del { color: #b3261e; text-decoration: none; }",
        ".wb-code ins { color: #1a7f37; text-decoration: none; }",
        f"{_DARK} del {{ color: #ff8a80; }}",
        f"{_DARK} ins {{ color: #7ee787; }}",
        # no line below, which would hide underscores
        ".wb-code mark { color: inherit; font-weight: 700; border-radius: 2px; "
        "background: color-mix(in srgb, currentColor 14%, transparent); }",
    ]
    return f'<style>{chr(10).join(rules)}</style><pre class="wb-code">{html}</pre>'


def _used(html: str, selector: str, dark: bool = False) -> list[str]:
    """The rules of the colours that `html` uses, but for plain black: that is the page's ink."""
    used = set(re.findall(r'class="(\w+)"', html))
    rules = [rule for rule in highlight_css(selector, dark).splitlines() if "#000 }" not in rule]
    return [rule for rule in rules if rule.removeprefix(f"{selector} .").split(" ")[0] in used]


def _in_notebook() -> bool:
    """Whether output goes to a notebook, which can show HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None
