"""How programs are built inside a ``with``: tvm.transform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from typing import Any

from workbench.tvm.not_carried import NotCarried, refusing

__all__ = ["PassContext"]

_UNROLL = "tir.UnrollLoop"


class PassContext:
    """Options of TVM's passes: of a schedule of stages, small loops are unrolled as asked.

    `config` may hold ``{"tir.UnrollLoop": {"auto_max_step": 64}}``; its "explicit_unroll", which
    says how TVM unrolls, changes nothing here, nor does `opt_level`. Raises NotCarried for others.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[object] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        asked = {
            **dict.fromkeys((*(required_pass or ()), *(disabled_pass or ()))),
            **(config or {}),
        }
        others = [name for name in asked if name != _UNROLL] or (instruments and ["instruments"])
        if others:
            raise NotCarried(
                f"Can't set {others[0]!r}: that is of TVM's passes, which are not in the workbench",
                asked=f"tvm.transform.PassContext(… {others[0]!r} …)",
                hint=f"leave it out; {_UNROLL!r} is heeded",
            )
        self.unrolled_steps = int((asked.get(_UNROLL) or {}).get("auto_max_step", 0))
        self._before: list[Token[PassContext | None]] = []

    @staticmethod
    def current() -> PassContext:
        """The one of the innermost ``with`` around."""
        return _CURRENT.get() or PassContext()

    def __enter__(self) -> PassContext:
        self._before.append(_CURRENT.set(self))
        return self

    def __exit__(self, *raised: object) -> None:
        _CURRENT.reset(self._before.pop())


def build_config(auto_unroll_max_step: int = 0, unroll_explicit: bool = True) -> PassContext:
    """Options as TVM 0.6 and before spell them, to be used in a ``with``."""
    return PassContext(config={_UNROLL: {"auto_max_step": auto_unroll_max_step}})


_CURRENT: ContextVar[PassContext | None] = ContextVar("PassContext", default=None)

__getattr__ = refusing(__name__)
