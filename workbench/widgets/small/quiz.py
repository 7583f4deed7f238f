"""Questions on programs that stand beside them, in a notebook: each is answered once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import traitlets

from workbench.diag import Fail, preformatted, prose
from workbench.widgets.ask.asked import part
from workbench.widgets.small import Small, script, style


class QuizView(Small):
    """The questions that are `asked`, and what was `given`: None, or an answer with its outcome.

    Each of `asked` has a text, its choices, and the code it is about; `answer` takes the number of
    a question and of a choice, and returns all that is given after it; `outcome` says what all of
    it came to. Texts may have `code`.
    """

    _esm = script("quiz.js")
    _css = style("quiz.css")
    kind = "quiz"

    heading = traitlets.Unicode().tag(sync=True)
    asked: Any = traitlets.List().tag(sync=True)
    given: Any = traitlets.List().tag(sync=True)
    outcome = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        heading: str,
        asked: Sequence[Mapping[str, Any]],
        given: Sequence[Mapping[str, Any] | None],
        answer: Callable[[int, int], Sequence[Mapping[str, Any] | None]],
        outcome: Callable[[Sequence[Mapping[str, Any] | None]], str],
        text: str,
    ) -> None:
        self._answer, self._outcome, self._text = answer, outcome, text
        super().__init__(
            heading=prose(heading),
            asked=[_marked(item) for item in asked],
            given=list(map(_outcome_of, given)),
            outcome=outcome(given),
        )
        self.on_msg(self._on_message)

    def _on_message(self, _: object, message: Mapping[str, Any], __: object) -> None:
        try:
            self._take(part(message, "item", int), part(message, "choice", int))
        except Fail as fail:  # what no page of ours sends
            self.heading = prose(fail.headline)

    def _take(self, item: int, choice: int) -> None:
        if not 0 <= item < len(self.asked) or not 0 <= choice < len(self.asked[item]["choices"]):
            raise Fail("Can't take the answer: there is no such question", hint="choose one")
        given = self._answer(item, choice)
        self.given, self.outcome = list(map(_outcome_of, given)), self._outcome(given)

    def inner(self) -> str:
        """The questions with their choices."""
        items = "".join(
            f"<p><b>{number}.</b> {item['text']}</p>{_program(item['code'])}"
            f"<ul>{''.join(f'<li>○ {choice}</li>' for choice in item['choices'])}</ul>"
            for number, item in enumerate(self.asked, 1)
        )
        return f"<p>{self.heading}</p>{items}<p>To answer, run the cells down to this one.</p>"

    def __repr__(self) -> str:
        return self._text


def _marked(item: Mapping[str, Any]) -> dict[str, Any]:
    """The question as the browser shows it: sentences as markup, the code as it is."""
    return {
        "text": prose(item["text"]),
        "shown": item["shown"],
        "code": item["code"],
        "choices": [prose(choice) for choice in item["choices"]],
    }


def _program(code: str) -> str:
    return preformatted(code) if code else ""


def _outcome_of(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if given is None:
        return None
    head, said, why = (prose(given[key]) for key in ("head", "said", "why"))
    text = f"<p><b>{head}</b> {said}</p><p><b>Why:</b> {why}</p>"
    return {"choice": given["choice"], "truth": given["truth"], "told": text}
