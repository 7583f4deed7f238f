"""What stands for NumPy in a browser's Python that has none: all that computes with it refuses."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from workbench.diag import Fail


class _Missing:
    """A name of NumPy's: modules that mention it can be loaded; a call of it is refused."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Missing:
        if name.startswith("__"):  # by which Python and copies ask for what an object can
            raise AttributeError(name)
        return _Missing(f"{self._name}.{name}")

    def __getitem__(self, _: object) -> _Missing:  # np.ndarray[Any, Any]
        return self

    def __instancecheck__(self, _: object) -> bool:
        return False

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise Fail(
            "Can't work this out on this page: its Python has no NumPy",
            detail=f"it asks for {self._name}",
            hint="open the link in Python: wb.open(…), or workbench open in a terminal",
        )


def stand_in() -> None:
    """Let `import numpy` give what stands for it. For a Python without NumPy."""
    modules: dict[str, Any] = sys.modules
    modules["numpy"] = _Missing("numpy")
