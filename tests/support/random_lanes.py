"""Programs drawn at random that a call of a warp by lanes may run: most it may, many not quite.

The description of an intrinsic of ``mma.sync`` or ``ldmatrix`` is put into a plane and a place of
larger buffers, its loops in any order. In every third program one thing is another: a number or
an operator of a layout, two loops, two operands, a memory, a type, how often a loop runs.
"""

from __future__ import annotations

import random
import re

from workbench import script
from workbench.intrin.mma import TEXTS
from workbench.ir import PrimFunc

PARAM = re.compile(r'(\w+): T\.Buffer\(\((\d+), (\d+)\), "(\w+)", scope="([\w.]+)"[^)]*\)')
LOOP = re.compile(r"for (\w) in range\((\d+)\):")
PLANES, BEYOND = 2, 3  # planes of a buffer, and how far from its corner a tile may begin
TYPES = ("float16", "bfloat16", "int8", "float32", "int32")
SCOPES = ("warp", "shared", "shared.dyn", "global", "local")
PRODUCTS = tuple(name for name, (text, _) in TEXTS.items() if "for k in" in text)
OTHERS = tuple(name for name in TEXTS if name not in PRODUCTS)


class _Drawing:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.name = rng.choice(PRODUCTS if self.one_in(6) else OTHERS)
        text = TEXTS[self.name][0]
        self.loops = {name: int(n) for name, n in LOOP.findall(text)}
        self.params = [[n, int(a), int(b), t, s] for n, a, b, t, s in PARAM.findall(text)]
        self.statement = text.strip().splitlines()[-1].strip()
        many = len(self.loops) > 2  # turns
        self.outer = dict.fromkeys(rng.sample("xy", rng.randrange(2 if many else 3)), 2)
        self.slip = rng.randrange(8) if self.one_in(3) else -1
        self.order = list(self.loops)
        self.shapes: dict[str, tuple[int, ...]] = {}

    def one_in(self, many: int) -> bool:
        return self.rng.randrange(many) == 0

    def slips(self) -> None:
        """Let one thing be another."""
        rng = self.rng
        match self.slip:
            case 0 | 1:  # a number of one access
                places = [*re.finditer(r"(?<=[ (])\d+(?=[,\] )])", self.statement)]
                if places:
                    at = rng.choice(places)
                    other = rng.choice(("1", "2", "4", "8", "16"))
                    self.statement = (
                        self.statement[: at.start()] + other + self.statement[at.end() :]
                    )
            case 2:
                places = [*re.finditer(r"//|%", self.statement)]
                at = rng.choice(places) if places else None
                if at:
                    other = "%" if at.group() == "//" else "//"
                    self.statement = (
                        self.statement[: at.start()] + other + self.statement[at.end() :]
                    )
            case 3:  # two loops in one access
                accesses = [*re.finditer(r"\w+\[[^]]*\]", self.statement)]
                at = rng.choice(accesses)
                one, other = rng.sample(list(self.loops), 2)
                turned = re.sub(
                    rf"\b[{one}{other}]\b", lambda m: other if m.group() == one else one, at.group()
                )
                self.statement = self.statement[: at.start()] + turned + self.statement[at.end() :]
            case 4:
                rng.choice(self.params)[4] = rng.choice(SCOPES)
            case 5:
                told = "reinterpret" in self.statement  # which takes the bits of 32
                alone = len(self.loops) > 2 and "Cast" not in self.statement
                types = TYPES[2:] if alone else TYPES  # two kinds of halves do not meet
                rng.choice(self.params)[3] = "int32" if told else rng.choice(types)
            case 6:
                loop = rng.choice(list(self.loops))
                self.loops[loop] = rng.choice((self.loops[loop] // 2, self.loops[loop] - 1, 1))
            case 7:
                self._exchange()

    def _exchange(self) -> None:
        """Two buffers of a statement, as if their registers were each other's."""
        names = [param[0] for param in self.params]
        if len(names) > 1:
            one, other = self.rng.sample(names, 2)
            self.statement = re.sub(
                rf"\b({one}|{other})\[",
                lambda m: (other if m.group(1) == one else one) + "[",
                self.statement,
            )

    def place(self) -> None:
        """Puts each buffer's tile into a plane, and somewhere in it."""
        for name, rows, columns, *_ in self.params:
            ahead = [self._plane() for _ in range(self.rng.choice((0, 0, 1, 1, 2)))]
            start = [self._start(rows), self._start(columns)]
            self.shapes[name] = (*[PLANES] * len(ahead), 2 * rows + 4, 2 * columns + 4)

            before, *accesses = re.split(rf"\b{name}\[", self.statement)
            first = "".join(f"{plane}, " for plane in ahead) + start[0]
            moved = (one.replace(", ", f", {start[1]}", 1) for one in accesses)
            self.statement = f"{name}[{first}".join([before, *moved])

    def _plane(self) -> str:
        return self.rng.choice([*(f"v{loop}" for loop in self.outer), "0", "1"])

    def _start(self, size: int) -> str:
        if self.outer and self.one_in(3):
            return f"v{self.rng.choice(list(self.outer))} * {size} + "
        return f"{self.rng.randrange(1, BEYOND + 1)} + " if self.one_in(5) else ""


def random_lanes(rng: random.Random) -> tuple[PrimFunc, str, str]:
    """A program, an intrinsic that may run a tile of it, and the outermost loop of the tile."""
    drawn = _Drawing(rng)
    drawn.slips()
    drawn.place()
    if drawn.one_in(5):
        rng.shuffle(drawn.order)
    statement = re.sub(r"\b([ijk])\b", r"v\1", drawn.statement)
    loops = {**drawn.outer, **{name: drawn.loops[name] for name in drawn.order}}
    written = statement.partition(" = ")[0]
    params = (
        f'{name}: T.Buffer(({", ".join(map(str, drawn.shapes[name]))}), "{dtype}", scope="{scope}")'
        for name, _, _, dtype, scope in drawn.params
    )
    lines = [
        "@T.prim_func",
        f"def main({', '.join(params)}):",
        f"    for {', '.join(loops)} in T.grid({', '.join(map(str, loops.values()))}):",
        '        with T.block("tile"):',
        *(
            f"            v{name} = T.axis.{'spatial' if f'v{name}' in written else 'reduce'}"
            f"({n}, {name})"
            for name, n in loops.items()
        ),
        f"            {statement}",
    ]
    func = script.parse("\n".join(lines) + "\n")
    assert isinstance(func, PrimFunc)
    return func, drawn.name, drawn.order[0]
