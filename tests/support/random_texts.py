"""Random programs as TVM's users write them: every form that TVM 0.27 reads, drawn at random.

Each is the text of one ``@T.prim_func``. Indices stay inside their buffers, divisors and shifts
inside what has a value, so that a program can also be run.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

INTS = ("int32", "int32", "int64", "uint8", "int8", "int16")
FLOATS = ("float32", "float32", "float64")
TYPES = (*INTS, *FLOATS, "bool")
WIDTHS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "int64": 64}
SCOPES = ("", "", ', scope=""', ', scope="global"', ', scope="shared"', ', scope="local"')


@dataclass(frozen=True)
class Array:
    """A buffer, or a view of one, and what can be stored to it."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass
class Scope:
    """What an expression may use where it stands."""

    indices: dict[str, str] = field(default_factory=dict)  # integers that are small, of their type
    numbers: dict[str, str] = field(default_factory=dict)  # names for values, of their type
    loads: list[Array] = field(default_factory=list)

    def inside(self) -> Scope:
        """A scope in this one."""
        return Scope(dict(self.indices), dict(self.numbers), list(self.loads))


class Program:
    """Draws one program; `text` is what came out, `params` what it is called with.

    One that is `plain` can be compiled by TVM for a CPU and does the same each time: no loops whose
    iterations have no order, and nothing that TVM prints but does not read or lower.
    """

    def __init__(self, seed: int, plain: bool = False) -> None:
        self.rng = random.Random(seed)
        self.plain = plain
        self.lines: list[str] = []
        self.names = 0
        self.indent = 1
        self.params: list[Array] = []
        self.text = self._symbolic() if not plain and self.some(0.05) else self._program()

    # --- drawing ---

    def some(self, chance: float) -> bool:
        """Whether, this time."""
        return self.rng.random() < chance

    def name(self, stem: str) -> str:
        """A name that nothing else has."""
        self.names += 1
        return f"{stem}{self.names}"

    def put(self, line: str) -> None:
        """A line of the program."""
        self.lines.append("    " * self.indent + line)

    # --- the frame ---

    def _program(self) -> str:
        rng = self.rng
        arrays = [self._array("A") for _ in range(rng.randint(2, 3))]
        scalars = [
            Array(self.name("n"), (), rng.choice(("int32", "float32", "bool", "int64")))
            for _ in range(rng.choice((0, 0, 1, 2)))
        ]
        self.params = [*arrays, *scalars]
        rng.shuffle(self.params)
        matched: list[str] = []
        signature = ", ".join(self._parameter(p, matched) for p in self.params)
        if self.some(0.3):
            self.put('T.func_attr({"tirx.noalias": True, "note": [1, "x"]})')
        for line in matched:
            self.put(line)
        outer = Scope()
        outer.numbers |= {p.name: p.dtype for p in scalars}
        own = [self._array("t") for _ in range(rng.randint(0, 2))]
        for array in own:
            spec = f"{self._shape(array.shape)}, {array.dtype!r}{rng.choice(SCOPES[:4])}"
            self.put(f"{array.name} = T.sblock_alloc_buffer({spec})")
        written = [a for a in own if self._fill(a, outer)]
        outer.loads = [*arrays, *written]
        for _ in range(rng.randint(1, 2)):
            self._nest([*arrays, *written], outer)
        head = f"@T.prim_func(s_tir=True)\ndef main({signature}):"
        return "\n".join([head, *self.lines]) + "\n"

    def _symbolic(self) -> str:
        """A function whose shapes are told by numbers that it is called with."""
        rng = self.rng
        names = [self.name("n") for _ in range(rng.randint(1, 2))]
        kinds = [rng.choice(("int32", "int64")) for _ in names]
        told = rng.choice((True, False))  # by parameters, or by the buffers themselves
        more = "".join(f", {n}: T.{k}" for n, k in zip(names, kinds, strict=True)) if told else ""
        if not told:
            for name, kind in zip(names, kinds, strict=True):
                self.put(f"{name} = T.{kind}()")
        dtype = rng.choice(FLOATS)
        self.put(f'A = T.match_buffer(a, ({", ".join(names)},), "{dtype}")')
        last = rng.choice((names[-1], f"{names[-1]} * T.{kinds[-1]}(2)"))
        self.put(f'B = T.match_buffer(b, ({", ".join([*names[:-1], last])},), "{dtype}")')
        loops = [self.name("i") for _ in names]
        axes = [self.name("v") for _ in names]
        self.put(f"for {', '.join(loops)} in T.grid({', '.join(names)}):")
        self.indent += 1
        self.put('with T.sblock("B"):')
        self.indent += 1
        self.put(f'{", ".join(axes)} = T.axis.remap("{"S" * len(axes)}", [{", ".join(loops)}])')
        cell = ", ".join(axes)
        self.put(f"B[{cell}] = A[{cell}] * T.Cast({dtype!r}, {names[0]}) + {self._constant(dtype)}")
        head = f"@T.prim_func(s_tir=True)\ndef main(a: T.handle, b: T.handle{more}):"
        return "\n".join([head, *self.lines]) + "\n"

    def _array(self, stem: str) -> Array:
        sizes = [self.rng.randint(2, 6) for _ in range(self.rng.choice((1, 1, 2, 2, 3)))]
        return Array(self.name(stem), tuple(sizes), self.rng.choice(TYPES))

    def _shape(self, shape: tuple[int, ...]) -> str:
        sizes = [f"T.int64({n})" if self.some(0.2) else str(n) for n in shape]
        return f"({', '.join(sizes)},)"

    def _parameter(self, array: Array, matched: list[str]) -> str:
        if not array.shape:
            return f"{array.name}: T.{array.dtype}"
        ways = ("", "", ', scope=""', ", align=64", *[", offset_factor=1"][self.plain :])
        more = self.rng.choice(ways)
        spec = f'{self._shape(array.shape)}, "{array.dtype}"{more}'
        if self.some(0.2):
            handle = self.name("h")
            matched.append(f"{array.name} = T.match_buffer({handle}, {spec})")
            return f"{handle}: T.handle"
        return f"{array.name}: T.Buffer({spec})"

    # --- loops ---

    def _loops(self, extents: list[int], wide: bool) -> list[str]:
        """Opens loops of these extents and gives their variables."""
        sizes = [f"T.int64({n})" if wide else str(n) for n in extents]
        names = [self.name("i") for _ in extents]
        if len(extents) > 1 and self.some(0.5):
            self.put(f"for {', '.join(names)} in T.grid({', '.join(sizes)}):")
            self.indent += 1
            return names
        for name, size in zip(names, sizes, strict=True):
            self.put(f"for {name} in {self._loop(size)}:")
            self.indent += 1
        return names

    def _loop(self, size: str) -> str:
        kinds = (
            "range",
            "range",
            "serial",
            "unroll",
            *("parallel", "vectorized")[2 * self.plain :],
        )
        kind = self.rng.choice(kinds)
        if kind == "range":
            return f"range({size})"
        note = ', annotations={"pragma": 1, "list": [1, 2]}' if self.some(0.5) else ""
        return f"T.{kind}({size}{note})"

    def _fill(self, array: Array, outer: Scope) -> bool:
        """A nest that gives each cell of an own buffer a value."""
        before = self.indent
        loops = self._loops(list(array.shape), False)
        self.put(f'with T.sblock("{array.name}"):')
        self.indent += 1
        inside = outer.inside()
        axes = [self.name("v") for _ in loops]
        self.put(f'{self._targets(axes)} = T.axis.remap("{"S" * len(axes)}", [{", ".join(loops)}])')
        inside.indices |= dict.fromkeys(axes, "int32")
        self.put(f"{array.name}[{', '.join(axes)}] = {self.value(array.dtype, inside, 2)}")
        self.indent = before
        return True

    def _targets(self, names: list[str]) -> str:
        return ", ".join(names)

    def _nest(self, arrays: list[Array], outer: Scope) -> None:
        before = self.indent
        target = self.rng.choice(arrays)
        wide = self.some(0.25)
        inside = outer.inside()
        reduced = self.rng.choice((0, 0, 3))
        loops = self._loops([*target.shape, *[reduced][: bool(reduced)]], wide)
        if self.some(0.15):
            name = self.name("x")
            self.put(f"{name}: T.let = {loops[0]} + {self._number(1, wide)}")
        self._block(target, loops, reduced, wide, inside)
        self.indent = before

    def _number(self, value: int, wide: bool) -> str:
        return f"T.int64({value})" if wide else str(value)

    # --- blocks ---

    def _block(
        self, target: Array, loops: list[str], reduced: int, wide: bool, inside: Scope
    ) -> None:
        self.put(f'with T.sblock("{self.name("B")}"):')
        self.indent += 1
        extents = [*target.shape, *[reduced][: bool(reduced)]]
        axes = self._axes(loops, extents, reduced, wide)
        inside.indices |= dict.fromkeys(axes, "int64" if wide else "int32")
        if self.some(0.2):
            bound = self._number(extents[0] - self.rng.randint(0, 1), wide)
            self.put(f"T.where({loops[0]} < {bound})")
        cell = axes[: len(target.shape)]
        explicit = self.some(0.25)
        if explicit:
            whole = [self._whole(array) for array in inside.loads]
            self.put(f"T.reads({', '.join(whole)})")
            self.put(f"T.writes({', '.join(map(self._whole, inside.loads))})")
        if self.some(0.2):
            self.put('T.sblock_attr({"note": 1, "more": ["a", 2]})')
        if self.some(0.2):
            own = self._array("u")
            spec = f"{self._shape(own.shape)}, {own.dtype!r}{self.rng.choice(SCOPES)}"
            self.put(f"{own.name} = T.sblock_alloc_buffer({spec})")
            first = ", ".join("0" for _ in own.shape)
            later = f"{own.name}[{first}] = {self.value(own.dtype, inside, 1)}"
        else:
            later = ""
        views = [self._view(array) for array in inside.loads if self.some(0.2)]
        if reduced:
            self.put("with T.init():")
            self.put(
                f"    {target.name}[{', '.join(cell)}] = {self.value(target.dtype, Scope(), 0)}"
            )
        inside.loads += [v for v in views if v is not None]
        if later:
            self.put(later)
        self._body(target, cell, inside, 2)

    def _axes(self, loops: list[str], extents: list[int], reduced: int, wide: bool) -> list[str]:
        axes = [self.name("v") for _ in loops]
        kinds = ["S"] * (len(loops) - bool(reduced)) + ["R"] * bool(reduced)
        if self.some(0.5):
            made = f'T.axis.remap("{"".join(kinds)}", [{", ".join(loops)}])'
            self.put(f"{', '.join(axes)} = {made}")
            return axes
        words = {"S": ("spatial", "S"), "R": ("reduce", "R")}
        for axis, loop, extent, kind in zip(axes, loops, extents, kinds, strict=True):
            word = self.rng.choice(words[kind])
            self.put(f"{axis} = T.axis.{word}({self._number(extent, wide)}, {loop})")
        return axes

    def _whole(self, array: Array) -> str:
        """All of a buffer as a region, in one of the ways in which that is written."""
        ways = (":", "0:{n}", ":{n}", "0:")
        parts = [self.rng.choice(ways).format(n=n) for n in array.shape]
        return f"{array.name}[{', '.join(parts)}]"

    def _view(self, array: Array) -> Array | None:
        """A view of an array: of all of it, or of its last dimensions."""
        if len(array.shape) > 1 and self.some(0.5):
            first, shape = "0", array.shape[1:]
        else:
            first, shape = "", array.shape
        low = self.rng.randint(0, shape[-1] - 1)
        shape = (*shape[:-1], shape[-1] - low)
        parts = [*[first][: bool(first)], *(f"0:{n}" for n in shape[:-1])]
        region = ", ".join([*parts, f"{low}:{low + shape[-1]}"])
        view = Array(self.name("M"), shape, array.dtype)
        steps = ", ".join(f'"{self.name("s")}"' for _ in shape)
        more = self.rng.choice((f", strides=[{steps}], offset_factor=1", ", offset_factor=1"))
        if not self.plain and self.some(0.3):
            more = ""
        spec = f'{array.name}[{region}], {shape}, "{array.dtype}"{more}'
        self.put(f"{view.name} = T.match_buffer({spec})")
        return view

    # --- statements ---

    def _body(self, target: Array, cell: list[str], scope: Scope, depth: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self._statement(target, cell, scope, depth)
        self._store(target, cell, scope)

    def _store(self, target: Array, cell: list[str], scope: Scope) -> None:
        self._stored(target.name, scope)
        sign = self.rng.choice(("=", "=", "=", "+=")) if target.dtype != "bool" else "="
        self.put(f"{target.name}[{', '.join(cell)}] {sign} {self.value(target.dtype, scope, 3)}")

    def _stored(self, name: str, scope: Scope) -> None:
        """Names for what was loaded may not be used once it may be stored to."""
        for let in [n for n in scope.numbers if n.startswith("x")]:
            del scope.numbers[let]

    def _statement(self, target: Array, cell: list[str], scope: Scope, depth: int) -> None:
        kind = self.rng.choice(("let", "let", "if", "for", "other", "idle", "let expression"))
        if kind == "let":
            dtype = self.rng.choice(TYPES)
            name, value = self.name("x"), self.value(dtype, scope, 2)
            said = f"T.Cast({dtype!r}, {value})"
            forms = (f"{name}: T.let[T.{dtype}] = {said}", f"{name}: T.let = {said}")
            self.put(self.rng.choice((*forms, f"{name} = T.bind({said})")))
            scope.numbers[name] = dtype
        elif kind == "if" and depth:
            test = self.value("bool", scope, 2)
            self.put(f"if {f'T.likely({test})' if self.some(0.4) else test}:")
            self._indented(lambda: self._body(target, cell, scope.inside(), depth - 1))
            if self.some(0.4):
                self.put("else:")
                self._indented(lambda: self._body(target, cell, scope.inside(), depth - 1))
            self._stored(target.name, scope)
        elif kind == "for" and depth:
            self._stored(target.name, scope)
            name, inside = self.name("j"), scope.inside()
            self.put(f"for {name} in {self._loop(str(self.rng.randint(2, 4)))}:")
            inside.indices[name] = "int32"
            self._indented(lambda: self._body(target, cell, inside, depth - 1))
        elif kind == "other":  # another output of the block
            other = self.rng.choice(scope.loads or [target])
            self._stored(other.name, scope)
            place = ", ".join(self.index(n, scope) for n in other.shape)
            self.put(f"{other.name}[{place}] = {self.value(other.dtype, scope, 2)}")
        elif kind == "idle":
            self.put(
                self.rng.choice(("T.evaluate(0)", f"T.evaluate({self.value('int32', scope, 1)})"))
            )
        elif kind == "let expression":
            name = self.name("y")
            self.put(f"{name} = T.{target.dtype}()")
            value = f"T.Cast({target.dtype!r}, {self.value(target.dtype, scope, 1)})"
            inner = scope.inside()
            inner.numbers = {name: target.dtype}
            body = f"T.Cast({target.dtype!r}, {self.value(target.dtype, inner, 2)})"
            self._stored(target.name, scope)
            self.put(f"{target.name}[{', '.join(cell)}] = T.Let({body}, where={{{name}: {value}}})")

    def _indented(self, body: Callable[[], None]) -> None:
        self.indent += 1
        body()
        self.indent -= 1

    # --- expressions ---

    def index(self, size: int, scope: Scope) -> str:
        """An index into a dimension of `size`."""
        if not scope.indices or self.some(0.2):
            return str(self.rng.randrange(size))
        name, dtype = self.rng.choice(list(scope.indices.items()))
        number = "T.int64({})" if dtype == "int64" else "{}"
        if self.some(0.3) and size & (size - 1) == 0:
            return f"{name} & {number.format(size - 1)}"
        if self.some(0.2):
            return f"(({name} << {number.format(1)}) | {number.format(1)}) % {number.format(size)}"
        return f"({name} + {number.format(self.rng.randint(0, 3))}) % {number.format(size)}"

    def value(self, dtype: str, scope: Scope, depth: int) -> str:
        """A value of this type."""
        leaf = depth <= 0 or self.some(0.2)
        return self._leaf(dtype, scope) if leaf else self._inner(dtype, scope, depth - 1)

    def _constant(self, dtype: str) -> str:
        if dtype == "bool":
            return f"T.bool({self.rng.choice((True, False))})"
        limits = [f'T.{n}("{dtype}")' for n in ("min_value", "max_value")]
        if dtype in FLOATS:
            number = self.rng.choice((0.0, 1.0, -2.5, 0.5, 3.0))
            if dtype == "float64" and self.plain:  # TVM reads no float64 above the largest float32
                limits = []
            ways = [f"T.{dtype}({number})"] * 6 + [*limits, f'T.infinity("{dtype}")']
            return self.rng.choice(ways)
        plain = f"T.{dtype}({self.rng.randint(0, 9)})"
        return self.rng.choice((plain,) * 8 + tuple(limits))

    def _leaf(self, dtype: str, scope: Scope) -> str:
        ways = [self._constant(dtype)]
        ways += [n for n, t in (*scope.numbers.items(), *scope.indices.items()) if t == dtype] * 2
        for array in scope.loads:
            if array.dtype == dtype:
                place = ", ".join(self.index(n, scope) for n in array.shape)
                ways += [f"{array.name}[{place}]"] * 2
        if dtype in ("int32", "int64") and self.some(0.2):
            ways += [n for n, t in scope.indices.items() if t == dtype]
        return self.rng.choice(ways)

    def _inner(self, dtype: str, scope: Scope, depth: int) -> str:
        def part(kind: str = dtype) -> str:
            return self.value(kind, scope, depth)

        rng = self.rng
        choice = rng.random()
        if choice < 0.15:
            said = f", dtype={dtype!r}" if self.some(0.5) else ""
            a, b = self._both(dtype, part)
            return f"T.if_then_else({part('bool')}, {a}, {b}{said})"
        if choice < 0.2:
            return "T.Select({}, {}, {})".format(part("bool"), *self._both(dtype, part))
        if dtype == "bool":
            return self._condition(part)
        if choice < 0.3:
            source = rng.choice(("bool", *INTS) if dtype in INTS else TYPES)
            return f'T.Cast("{dtype}", {part(source)})'
        if choice < 0.4:
            return f"T.{rng.choice(('min', 'max'))}({part()}, {part()})"
        return self._float(dtype, part) if dtype in FLOATS else self._integer(dtype, part)

    def _both(self, dtype: str, part: Callable[[], str]) -> tuple[str, str]:
        """Two values of one type, whatever TVM makes of the constants in them."""
        return f"T.Cast({dtype!r}, {part()})", f"T.Cast({dtype!r}, {part()})"

    def _float(self, dtype: str, part: Callable[[], str]) -> str:
        name = self.rng.choice(
            ("exp", "sqrt", "floor", "ceil", "fabs", "sin", "cos", "tanh", "+", "-", "*", "/")
        )
        if len(name) == 1:
            return f"({part()} {name} {part()})"
        said = f", dtype={dtype!r}" if self.some(0.6) else ""
        return f"T.{name}({part()}{said})"

    def _integer(self, dtype: str, part: Callable[[], str]) -> str:
        rng = self.rng
        few = f"T.{dtype}({rng.randint(0, WIDTHS[dtype] - 1)})"
        some = f"T.{dtype}({rng.choice((1, 2, 3, 7))})"
        kind = rng.choice(
            ("+", "-", "*", "&", "|", "^", "~", "shift", "divide", "call", "not", "data")
        )
        if kind in "+-*&|^":
            return f"({part()} {kind} {part()})"
        if kind == "~":
            return f"~{part()}" if self.some(0.5) else f"~({part()})"
        if kind == "shift":
            return f"({part()} {rng.choice(('<<', '>>'))} {few})"
        if kind == "data":  # an amount that is only known when it runs
            mask = f"T.{dtype}({WIDTHS[dtype] - 1})"
            return f"({part()} {rng.choice(('<<', '>>'))} ({part()} & {mask}))"
        if kind == "divide":
            return rng.choice(
                ("({} // {})", "({} % {})", "T.floordiv({}, {})", "T.floormod({}, {})")
            ).format(part(), some)
        if kind == "not":
            return f"T.bitwise_not({part()})"
        name = rng.choice(("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"))
        second = few if name.startswith("shift") else part()
        return f"T.{name}({part()}, {second})"

    def _condition(self, part: Callable[..., str]) -> str:
        rng = self.rng
        kind = rng.choice(("compare", "compare", "compare", "and", "call", "not", "bits", "likely"))
        if kind == "compare":
            side = rng.choice((*INTS, *FLOATS))
            return f"({part(side)} {rng.choice(('<', '<=', '>', '>=', '==', '!='))} {part(side)})"
        if kind == "and":
            return f"({part('bool')} {rng.choice(('and', 'or'))} {part('bool')})"
        if kind == "call":
            return f"T.{rng.choice(('And', 'Or'))}({part('bool')}, {part('bool')})"
        if kind == "not":
            return rng.choice(("T.Not({})", "(not {})", "(~{})")).format(part("bool"))
        if kind == "bits":
            return f"({part('bool')} {rng.choice(('&', '|', '^'))} {part('bool')})"
        return f"T.likely({part('bool')})"
