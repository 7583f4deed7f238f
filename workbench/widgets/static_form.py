"""The lab without a browser's script: a readable text, plain HTML, and a page that still steps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from workbench import draw, script
from workbench.diag import Fail
from workbench.schedule.history import HistoryNode
from workbench.widgets import static
from workbench.widgets.page import said
from workbench.widgets.pictures import who_of, written


def summary(node: HistoryNode) -> str:
    """The lab in a few lines: the path, where it stands, and who computes what."""
    steps = [f"  {n.id} {n.label}" + (f'  "{n.mark}"' if n.mark else "") for n in node.path()]
    lines = [f"Lab: {node.func.name}, {len(node.history)} programs", *steps, said(node)]
    lines += [who_of(node.func, buffer).caption for buffer in written(node.func)[:1]]
    return "\n".join(lines)


def form(node: HistoryNode) -> str:
    """The path as HTML without a script: each program folded, the last one's picture open."""
    parts = [f"<p><b>Lab: {escape(node.func.name)}</b></p>"]
    for step in node.path():
        opened = " open" if step is node else ""
        title = f"{step.id} {step.label}"
        parts.append(
            f"<details{opened}><summary>{escape(title)}</summary>"
            f"<pre>{escape(script.show(step.func))}</pre></details>"
        )
    for buffer in written(node.func)[:1]:
        try:
            parts.append(draw.picture_html(draw.who_picture(who_of(node.func, buffer))))
        except Fail as fail:
            parts.append(f"<p>{escape(fail.headline)}</p>")
    return "".join(parts)


def offline_page(title: str, state: Mapping[str, Any]) -> str:
    """One HTML page with the lab's state and code in it: it steps with no Python and no network."""
    data = json.dumps(state, separators=(",", ":")).replace("<", "\\u003c")  # no tag can end it
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>:root {{ color-scheme: light dark; }} body {{ margin: 8px; background: Canvas; }}
{static.style()}</style></head>
<body><main><h1 style="font: 600 16px system-ui">{escape(title)}</h1>
<div id="lab"></div></main><script type="application/json" id="state">{data}</script>
<script type="module">
{static.offline_script()}
</script></body></html>
"""
