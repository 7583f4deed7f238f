"""The lab without a browser's script: a readable text, plain HTML, and a page that still steps."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from workbench import draw
from workbench.diag import preformatted, prose, visible
from workbench.history.history import HistoryNode
from workbench.script.writer import string
from workbench.widgets import static
from workbench.widgets.ask.setup import said_of
from workbench.widgets.page.compare import compare_trait
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.history import said
from workbench.widgets.page.lines import Token
from workbench.widgets.page.page import page_trait
from workbench.widgets.page.pictures import who_of, written
from workbench.widgets.page.view import View


def summary(node: HistoryNode, desk: Desk) -> str:
    """The lab in a few lines: the path, where it stands, and who computes what."""
    steps = [f"  {n.id} {n.label}" + (f"  {string(n.mark)}" if n.mark else "") for n in node.path()]
    lines = [f"Lab: {visible(node.func.name)}, {len(node.history)} programs", *steps, said(node)]
    func = desk.at(node.func)
    if not desk.hides("who", node.func) and not func.sizes:
        lines += [who_of(func, buffer).caption for buffer in written(func)[:1]]
    return "\n".join(lines)


def still(node: HistoryNode, view: View, state: Mapping[str, Any], todo: str) -> str:
    """The page of `node` as HTML without a script, for where no Python answers; `todo`, which
    stands first, brings the lab back.

    `state` are the traits of a lab. Where that lab is shown, this hides itself; each program of
    the path is folded, that of `node` open.
    """
    page, own = state[page_trait(str(node.id))], state["setup"]["own"]
    hides = f'body:has(.wb-lab[data-own="{own}"]) .wb-still[data-own="{own}"]{{display:none}}'
    parts = [
        f"<style>{static.still_style()}{hides}</style>",
        f"<p>{todo}</p>",
        *_title(state["setup"]),
        *_asked(state["setup"]["question"], state["answers"]),
        *_task(state["setup"]["task"], page["goals"]),
        *(_program(step, step is node) for step in node.path()),
        *_text(view.program, page, state["lines"]),
        *(f"<p><b>Note:</b> {prose(note)}</p>" for note in page["notes"]),
        *_picture(page["pictures"].get(page["shown"].get(view.machine, ""))),
        *_costs(page["costs"]),
        *_bar(page["bar"]),
        *_guess(page["guess"]),
        *_run(page.get("run")),
    ]
    return f'<div class="wb-still wb-theme" data-own="{own}">{"".join(parts)}</div>'


def run_again(at: int, kept: bool) -> str:
    """What brings a lab back in a notebook: its cell goes on at the node `at`, as steps are `kept`.

    A page without a script can't tell why the lab is not there, so that it says each case.
    """
    where = f"goes on at step {at}" if kept and at else "begins at the start"
    newer = " Steps taken since the notebook was saved are there, too." if kept else ""
    return (
        f"<b>Run this cell again: it {where}.</b>{newer} While Python is busy, wait: the lab comes "
        "back by itself. If Python was restarted, run the cells above first."
    )


def _title(setup: Mapping[str, Any]) -> Iterator[str]:
    if not setup.get("offline"):  # a page of its own has it above
        yield f"<p><b>{prose(setup['title'])}</b></p>"


def _asked(question: Mapping[str, Any] | None, answers: Mapping[str, str]) -> Iterator[str]:
    if question is None:
        return
    yield f"<p><b>Before you try:</b> {prose(question['text'])}</p>"
    given = answers.get(question["name"])
    if given is None and not question["guess"]:
        yield f"<ul>{''.join(f'<li>○ {prose(choice)}</li>' for choice in question['choices'])}</ul>"
    elif given is not None:
        yield f"<p>{prose(said_of(given))}</p>"


def _guess(guess: Mapping[str, Any] | None) -> Iterator[str]:
    """What was guessed, of what, and what came of it; nothing where nobody guessed."""
    if guess is not None and guess["told"]:
        said = f"You guessed: {guess['text']} {guess['answer']}."
        yield f"<p>{prose(' '.join([said, *guess['told'], guess['why']]))}</p>"


def _task(task: str | None, goals: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if task:
        yield f"<p><b>Do:</b> {prose(task)}</p>"
    if goals:
        items = "".join(f"<li>{'✓' if g['ok'] else '○'} {prose(g['aim'])}</li>" for g in goals)
        yield f'<ul style="list-style:none">{items}</ul>'


def _program(node: HistoryNode, opened: bool) -> str:
    return (
        f"<details{' open' if opened else ''}><summary>{prose(f'{node.id} {node.label}')}</summary>"
        f"{preformatted(node.func.script())}</details>"
    )


def _text(name: str, page: Mapping[str, Any], lines: Sequence[Sequence[Token]]) -> Iterator[str]:
    """The program as CUDA, say, where that pane is open; as TensorIR it is there already."""
    if name == "tensorir":
        return
    pane = page["texts"][name]
    if "refusal" in pane:
        yield _refused(pane["refusal"])
    else:
        text = "\n".join("".join(token[1] for token in lines[k]) for k in pane["lines"])
        yield f"<p>{prose(pane['label'])}:</p>{preformatted(text)}"


def _picture(pane: Mapping[str, Any] | None) -> Iterator[str]:
    if pane is not None and "refusal" in pane:
        yield _refused(pane["refusal"])
    elif pane is not None:
        yield draw.picture_html(pane)


def _costs(strip: Mapping[str, Any]) -> Iterator[str]:
    """The costs as sentences; nothing where they were not counted."""
    if strip["rows"]:
        said = "".join(f"<li>{prose(row['said'])}</li>" for row in strip["rows"])
        yield f"<ul>{said}</ul><p>{prose(strip['text'])}</p>"


def _bar(bar: Mapping[str, Any]) -> Iterator[str]:
    """The modelled time as a sentence; nothing where it was not worked out."""
    if said := bar.get("said"):
        yield f"<p>{prose(said)}</p>"


def _run(result: Mapping[str, Any] | None) -> Iterator[str]:
    if result is None:
        return
    yield f"<p><b>{prose(result['text'])}</b> {prose(result.get('time', ''))}</p>"
    yield result.get("times", "")
    yield from (f"<p>{prose(note)}</p>" for note in result.get("notes", ()))


def _refused(refusal: Mapping[str, str]) -> str:
    hint = f"<br>Do: {prose(refusal['hint'])}" if refusal["hint"] else ""
    return f"<p>✕ {prose(refusal['headline'])}{hint}</p>"


WITHOUT_SCRIPT = (
    "These are the steps to one program. A browser of 2023 or later, with JavaScript, shows every "
    "program of the history here, one step at a time, with its pictures and its code."
)


def _told_once(state: Mapping[str, Any]) -> str:
    """JSON of [the state, parts of pictures]: in the state each part is a number among these."""
    parts, numbered = _Parts(), dict(state)
    for name, made in state.items():
        if name.startswith(page_trait("")):
            pictures = {key: parts.picture(one) for key, one in made["pictures"].items()}
            numbered[name] = {**made, "pictures": pictures}
        elif name.startswith(compare_trait("")):
            beside = [{**one, "picture": parts.picture(one["picture"])} for one in made["pictures"]]
            numbered[name] = {**made, "pictures": beside}
    return f"[{_json(numbered)},[{','.join(parts.numbers)}]]"


class _Parts:
    """The parts of pictures as JSON, each once, however many pictures have it."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._known: dict[int, tuple[Any, int]] = {}  # by identity: most parts come again as such

    def picture(self, made: Mapping[str, Any]) -> dict[str, int]:
        """The picture with the numbers of its parts."""
        return {name: self._number(part) for name, part in made.items()}

    def _number(self, part: Any) -> int:
        if id(part) not in self._known:
            number = self.numbers.setdefault(_json(part), len(self.numbers))
            self._known[id(part)] = part, number
        return self._known[id(part)][1]


_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode


def offline_page(title: str, state: Mapping[str, Any], still: str) -> str:
    """One HTML page with the lab's state and code in it: it steps with no Python and no network.

    The state is packed: pages of neighbouring steps say much the same. What a reader without the
    script sees is `still`, which the lab replaces.
    """
    data = b64encode(zlib.compress(_told_once(state).encode())).decode()
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(visible(title))}</title>
<style>:root {{ color-scheme: light dark; }} body {{ margin: 8px; background: Canvas; }}
{static.style()}</style></head>
<body><main><h1 style="font: 600 16px system-ui">{escape(visible(title))}</h1>
<div id="lab">{still}</div></main>
<script type="text/plain" id="state">{data}</script>
<script type="module">
{static.offline_script()}
</script></body></html>
"""
