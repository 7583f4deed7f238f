"""Programs drawn at random that a tensor intrinsic may run: most it may, many not quite.

A tile of each buffer begins anywhere, behind any number of leading dimensions, one may lie in
another memory; indices may be exchanged, move by two, or differ between a load and a store;
operands, loops and casts stand as they come.
"""

from __future__ import annotations

import random

from workbench import script
from workbench.ir import PrimFunc

ROW, PLANES = 20, 3  # the sizes of a dimension of a tile, and of one ahead of it
# Of each intrinsic its loops, and of A, B and C the loop along each dimension of the tile.
TILES = {
    "dot4": (("k",), (("k",), ("k",), ("",))),
    "outer4x4": (("i", "j"), (("i", ""), ("", "j"), ("i", "j"))),
}


class _Drawing:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.name = rng.choice(list(TILES))
        self.inner, self.axes = TILES[self.name]
        self.outer = {name: rng.choice((2, 3)) for name in rng.sample("xy", rng.randrange(3))}
        self.ahead = [[self.plane() for _ in range(rng.choice((0, 0, 1, 2)))] for _ in "ABC"]
        self.begin = [[self.start() for _ in axes] for axes in self.axes]

    def one_in(self, many: int) -> bool:
        return self.rng.randrange(many) == 0

    def plane(self) -> str:
        return self.rng.choice([*(f"v{loop}" for loop in self.outer), "0", "1"])

    def start(self) -> str:
        moved = [f"v{loop} * 4 + " for loop in self.outer if self.one_in(2)][:1]
        return "".join(moved) + (f"{self.rng.randrange(1, 4)} + " if self.one_in(4) else "")

    def indices(self, which: int, again: bool = False) -> list[str]:
        """A cell of one of A, B, C in the tile, or something near it."""
        ahead = list(self.ahead[which])
        if again and ahead and self.one_in(10):
            ahead[-1] = self.plane()
        inside = []
        for start, loop in zip(self.begin[which], self.axes[which], strict=True):
            step = "2 * " if loop and self.one_in(50) else ""
            inside.append(f"{start}{step}v{loop}" if loop else f"{start}0")
        if again and self.one_in(20):
            inside[0] += " + 1"
        return ahead + (inside[::-1] if self.one_in(20) else inside)

    def update(self) -> str:
        """The statement, with L for A where A is read through a copy."""
        store, load = (f"C[{', '.join(self.indices(2, again))}]" for again in (False, True))
        factors = [f"{name}[{', '.join(self.indices(k))}]" for k, name in enumerate("LB")]
        if self.one_in(6):
            factors.reverse()
        if self.one_in(12):
            factors[1] = f'T.Cast("float32", T.Cast("float16", {factors[1]}))'
        terms = [load, " * ".join(factors)]
        return f"{store} = {' + '.join(terms[::-1] if self.one_in(8) else terms)}"


def random_tensorized(rng: random.Random) -> tuple[PrimFunc, str, str]:
    """A program, an intrinsic that may run a tile of it, and the outermost loop of the tile."""
    drawn = _Drawing(rng)
    tile = dict.fromkeys(drawn.inner, 4)
    if drawn.one_in(12):
        tile[rng.choice(drawn.inner)] = rng.choice((3, 5))
    order = [*tile, *(["u"] if drawn.one_in(6) else [])]
    if drawn.one_in(4):
        rng.shuffle(order)
    loops = {**drawn.outer, **{name: tile.get(name, 1) for name in order}}
    shapes = [
        ", ".join(map(str, [PLANES] * len(ahead) + [ROW] * len(axes)))
        for ahead, axes in zip(drawn.ahead, drawn.axes, strict=True)
    ]
    params = (f'{n}: T.Buffer(({s},), "float32")' for n, s in zip("ABC", shapes, strict=True))
    update = drawn.update()
    lines = ["@T.prim_func", f"def main({', '.join(params)}):"]
    if drawn.one_in(5):
        lines += _copy(shapes[0], rng.choice(("local", "global")))
    else:
        update = update.replace("L[", "A[")
    lines += [
        f"    for {', '.join(loops)} in T.grid({', '.join(map(str, loops.values()))}):",
        '        with T.block("C"):',
        *(
            f"            v{name} = T.axis.{'reduce' if name in 'xyk' else 'spatial'}({n}, {name})"
            for name, n in loops.items()
        ),
        f"            {update}",
    ]
    func = script.parse("\n".join(lines) + "\n")
    assert isinstance(func, PrimFunc)
    return func, drawn.name, order[0]


def _copy(shape: str, scope: str) -> list[str]:
    """The lines that make L, a copy of A in the memory `scope`."""
    names = [f"a{k}" for k in range(shape.count(",") + 1)]
    cell = ", ".join(f"v{name}" for name in names)
    return [
        f'    L = T.alloc_buffer(({shape},), scope="{scope}")',
        f"    for {', '.join(names)} in T.grid({shape}):",
        '        with T.block("L"):',
        *(
            f"            v{name} = T.axis.spatial({n}, {name})"
            for name, n in zip(names, shape.split(", "), strict=True)
        ),
        f"            L[{cell}] = A[{cell}]",
    ]
