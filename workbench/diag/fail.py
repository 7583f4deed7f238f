"""Refusals: what was asked, where, what was found, and what to do instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from traceback import extract_tb
from typing import NamedTuple

from workbench.diag.prose import preformatted, prose, visible

_PACKAGE = PurePath(__file__).parents[1]
LONGEST = 120  # characters of a headline: a line of a terminal, or of a notebook's cell
_KEPT = 6  # characters kept at either end of a long name: enough to tell loops of one nest apart
_RED, _PLAIN = "\x1b[31m", "\x1b[0m"


class Act(NamedTuple):
    """The step that would do what is missing: a verb, and the loop or block that it is taken at."""

    verb: str
    at: object


class Fail(Exception):
    """A request that cannot be met, told in the learner's words.

    `headline` is the whole first sentence (at most 120 characters), `asked` the call that was
    made, `where` the program or source with the place marked, `detail` what was found there (two
    iterations in conflict, a counter-example), `hint` what to do instead, and `act` the step that
    does it, if it is one. All but the headline may be "". A longer headline has its long names cut
    short, and is whole in what was found.

    >>> print(Fail("Can't split `i`: [2, 4] covers 8 of 10 iterations", hint="write None for 4"))
    Can't split `i`: [2, 4] covers 8 of 10 iterations.
    do:    write None for 4
    """

    def __init__(
        self,
        headline: str,
        *,
        asked: str = "",
        where: str | Callable[[], str] = "",
        detail: str = "",
        hint: str = "",
        act: Act | None = None,
    ) -> None:
        super().__init__(headline)
        asked, detail, hint = (visible(text, but="\n") for text in (asked, detail, hint))
        whole = visible(headline)
        whole = whole if whole.endswith((".", "?", "!")) else whole + "."
        self.headline = shortened(whole)
        if self.headline != whole:
            detail = f"{whole}\n{detail}".rstrip()
        self.asked = asked
        self._where = where
        self.detail = detail
        self.hint = hint
        self.act = act

    @property
    def where(self) -> str:
        """The program or source with the place marked.

        It is drawn where somebody reads it: of what a search refuses, or tries, nobody does.
        """
        if not isinstance(self._where, str):
            self._where = self._where()
        return self._where

    def __str__(self) -> str:
        parts = [self.headline]
        if self.asked:
            parts.append(f"asked: {self.asked}")
        if self.where:
            parts.append(f"where:\n{self.where}")
        if self.detail:
            parts.append("found: " + self.detail.replace("\n", "\n       "))
        if self.hint:
            parts.append("do:    " + self.hint.replace("\n", "\n       "))
        return "\n".join(parts)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the learner's own line, then the refusal; no internals."""
        own = [
            frame
            for frame in extract_tb(self.__traceback__)
            if not PurePath(frame.filename).is_relative_to(_PACKAGE)
        ]
        name = f"{_RED}{type(self).__name__}{_PLAIN}: "
        if not own or not own[-1].line:
            return [name + str(self)]
        return [f"line {own[-1].lineno}: {own[-1].line}", name + str(self)]

    def _repr_html_(self) -> str:
        """The same parts for a notebook; what was asked and found is folded away."""
        parts = [f'<p class="wb-headline" style="color:#b3261e"><b>{prose(self.headline)}</b></p>']
        if self.hint:
            parts.append(f'<p class="wb-hint">{prose(self.hint)}</p>')
        if self.where:
            parts.append(preformatted(self.where, "wb-where"))
        folded = [
            (name, text) for name, text in (("asked", self.asked), ("found", self.detail)) if text
        ]
        if folded:
            rows = "".join(f"<dt>{name}</dt><dd>{preformatted(text)}</dd>" for name, text in folded)
            parts.append(f"<details><summary>details</summary><dl>{rows}</dl></details>")
        return f'<div class="wb-fail" role="alert">{"".join(parts)}</div>'


def shortened(headline: str) -> str:
    """A headline of at most 120 characters: long names cut in the middle, then what is too much.

    >>> shortened("Can't split `i_" + "fused_" * 20 + "1`: it is bound to threadIdx.x.")[:80]
    "Can't split `i_fused_fused_fused_fused_fused_fused_…_fused_fused_fused_fused_fus"
    """
    cut, kept = headline, LONGEST // 2
    while len(cut) > LONGEST and kept > _KEPT:
        kept -= 1
        cut = re.sub(rf"(\w{{{kept}}})\w{{2,}}(\w{{{kept}}})", r"\1…\2", headline)
    if len(cut) > LONGEST:
        cut = cut[: LONGEST - 1].rsplit(" ", 1)[0] + "…"
    return cut


class Refusal(Exception):
    """A refusal on its way to the learner: it carries the nodes to mark, not yet text.

    Raised inside; the boundary that the learner called (a schedule, a build) catches it, draws
    the program with `at` marked, and raises the `Fail` of its room in its place.
    """

    def __init__(
        self, headline: str, *at: object, hint: str, detail: str = "", act: Act | None = None
    ) -> None:
        super().__init__(headline)
        self.headline = headline
        self.at = at
        self.hint = hint
        self.detail = detail
        self.act = act
