"""Programs as the files of lessons write them: ``tiled(start, (2, 2), (3, 3), 2)``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from typing import Any

from workbench.lesson import convolutions, half_products, programs, spaces, tile_convolutions
from workbench.lesson.content import Entry
from workbench.lesson.machine import Launch
from workbench.lesson.products import in_registers, in_shared, scheduled

BUILDERS: Mapping[str, Callable[..., Any]] = {
    build.__name__: build
    for build in (
        programs.elementwise,
        programs.window,
        programs.product,
        programs.stages,
        programs.smoothed,
        programs.bound,
        programs.strided,
        programs.fetched,
        programs.one_each,
        programs.tiled,
        programs.prefetched,
        programs.staged,
        convolutions.convolution,
        convolutions.one_output_each,
        convolutions.tiled_convolution,
        tile_convolutions.tile_convolution,
        tile_convolutions.on_tensor_cores,
        spaces.layer,
        half_products.half_product,
        half_products.half_tiles,
        half_products.under_way,
        half_products.described,
    )
} | {
    "launch": Launch,
    "in_registers": scheduled(in_registers),
    "in_shared": scheduled(in_shared),
    "tile_layer": scheduled(spaces.tile_layer),
    "share_out": scheduled(tile_convolutions.share_out),
    "start_apart": scheduled(tile_convolutions.start_apart),
}
"""What a file may call. Nothing else is run: a file is data."""

START = "start"


class Programs:
    """The programs of one question: each is read at once, and made when it is asked for."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._start = cache(self.read(START)) if entry.has(START) else None

    def read(self, key: str) -> Callable[[], Any]:
        """What makes the program under `key`."""
        return self._maker(key, self._entry.text(key))

    def table(self, key: str) -> dict[str, Callable[[], Any]]:
        """What makes each program of the table `key`, {} without one."""
        calls = self._entry.texts(key, {})
        return {words: self._maker(f"{key}.{words}", call) for words, call in calls.items()}

    def _maker(self, key: str, text: str) -> Callable[[], Any]:
        try:
            call = ast.parse(text, mode="eval").body
            self._check(call, key)
        except (SyntaxError, TypeError, ValueError) as error:
            raise self._entry.refuse(
                f"{key} is no program: {getattr(error, 'msg', error)}",
                f"call one of {', '.join(BUILDERS)}, with numbers, texts and start",
            ) from None
        return lambda: self._made(call)

    def _check(self, node: ast.expr, key: str) -> None:
        """Raise ValueError for all but calls of `BUILDERS`, literals, and the start; TypeError for
        a call that lacks arguments, or has others."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                if name not in BUILDERS:
                    raise ValueError(f"there is no {name}")
                signature(BUILDERS[name]).bind(*args, **{str(k.arg): k.value for k in keywords})
                for part in (*args, *(keyword.value for keyword in keywords)):
                    self._check(part, key)
            case ast.Name(id=name):
                if name != START or key == START or not self._entry.has(START):
                    raise ValueError(f"there is no {name}")
            case _:
                ast.literal_eval(node)

    def _made(self, node: ast.expr) -> Any:
        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                named = {str(k.arg): self._made(k.value) for k in keywords}
                return BUILDERS[name](*map(self._made, args), **named)
            case ast.Name() if self._start is not None:
                return self._start()
        return ast.literal_eval(node)
