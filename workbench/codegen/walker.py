"""Statements and kernels as C-like text, the same walk for every target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import prod

from workbench.arith import Simplifier, SizedEnds, prove
from workbench.codegen.cuda_warps import of_type, registers
from workbench.codegen.expressions import Expressions
from workbench.codegen.language import SHORT, Language
from workbench.codegen.names import Names
from workbench.codegen.restrict import reads_its_own, restricted
from workbench.codegen.variables import declared_by_store, variables
from workbench.diag import Refusal
from workbench.ir import (
    Barrier,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    CommitGroup,
    Const,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Ramp,
    SeqStmt,
    Stmt,
    Var,
    WaitGroup,
    dtypes,
    free_vars,
    is_sized,
    is_warp_call,
    once,
    sizes_in,
    sizes_used,
    stores,
    substitute,
    walk,
    walk_statements,
)
from workbench.lower.async_copies import copied_bytes
from workbench.lower.flatten_buffers import counts
from workbench.lower.known_bounds import known_bounds
from workbench.lower.share_loops import own_arrays
from workbench.lower.shared_memory import dynamic_shared, vector_bytes
from workbench.lower.unroll_registers import turns_written
from workbench.lower.warp_calls import SIMDGROUP, warp_call
from workbench.lower.warp_tiles import WARP, Tile, WarpCall, fragment_of, side
from workbench.script import expr_text

Lines = Iterator[str]
_WIDTH = 100  # columns of a page
_MARK = "\0"  # behind the first line of a statement, with its number
_STACK = 1 << 16  # bytes of arrays: a thread has 128 KiB of stack or more (musl's has)


@once
def _known(kernel: Kernel) -> Simplifier:
    """What is known of the numbers in `kernel`, for its text in each language."""
    return Simplifier(known_bounds(kernel))


class Walker:
    """Writes one kernel; afterwards knows which headers, types and helpers the text needs."""

    def __init__(self, kernel: Kernel, language: Language) -> None:
        self.kernel = kernel
        self.language = language
        structs = (f"{dtype}x{lanes}" for dtype in dtypes.BITS for lanes in range(2, 17))
        reserved = {*language.reserved, *language.words(), *structs, kernel.name}
        self.names = Names(reserved, language.macros)
        known = _known(kernel)
        shapes = (n for b in kernel.allocs for n in b.shape if isinstance(n, Expr))
        told = (*counts(kernel), *shapes) if is_sized(kernel) else ()
        fitting = {part for e in told for part in walk(e)}
        self.expressions = Expressions(language, self.names, known, fitting)
        if not language.part:  # a part of a loop would have to hand them on by their addresses
            self.expressions.variables = variables(kernel)
        self.undeclared = {*declared_by_store(kernel)} & self.expressions.variables
        self.vector_types: dict[str, None] = {}  # definitions that the text needs, in order
        self.views = dict(kernel.views)
        self.written = {store.buffer for store in stores(kernel.body)}
        self.alignment = vector_bytes(kernel)
        self.large = _large(kernel) if language.heap[0] else set()
        self.dynamic, self.dynamic_bytes = dynamic_shared(kernel)
        self.whole = self.names.fresh("shared_memory") if self.dynamic else ""
        self.x = next((v for axis, v in kernel.axes if axis == "threadIdx.x"), None)
        self.functions: list[str] = []  # that the kernel calls
        self.begins: dict[Stmt, int] | None = None  # for who asks: in which line each begins
        self.barrier = language.barrier_global if reads_its_own(kernel) else language.barrier

    # --- a kernel ---------------------------------------------------------------------------

    def kernel_text(self) -> str:
        """The kernel as text, with the launch that it is for in a comment."""
        kernel = self.kernel
        head = self._head()
        body = list(self._with_arrays(self._common(), self._body))
        told = [expr_text(n) if isinstance(n, Expr) else n for n in kernel.grid]
        grid, block = ("({}, {}, {})".format(*size) for size in (told, kernel.block))
        launch = self.language.launch.format(grid=grid, block=block)
        if self.dynamic:
            launch += f", {self.dynamic_bytes} bytes of shared memory"
            bytes_to = max(16, *(self.alignment.get(b, 0) for b in self.dynamic))
            body.insert(0, self.language.dynamic[0].format(whole=self.whole, bytes=bytes_to))
        lines = [*launch.splitlines(), *f"{head} {{".splitlines()]
        marked = [*self.begins] if self.begins is not None else []
        for line in body:
            text, _, number = line.partition(_MARK)
            if number and self.begins is not None:
                self.begins[marked[int(number)]] = len(lines) + 1
            lines += _broken(f"  {text}")
        return "".join(self.functions) + "\n".join([*lines, "}"])

    def _common(self) -> list[Buffer]:
        """The arrays that no loop has one of for each of its iterations."""
        loops = (node for node in walk_statements(self.kernel.body) if isinstance(node, For))
        own = {buffer for loop in loops for buffer in own_arrays(self.kernel, loop)}
        return [buffer for buffer in self.kernel.allocs if buffer not in own]

    def _body(self) -> Lines:
        yield from self._places()
        yield from self.statement(self.kernel.body)

    def _head(self) -> str:
        own = restricted(self.kernel)
        params = [
            self.language.param.format(
                const="" if buffer in self.written else "const ",
                type=self._type_of(buffer),
                restrict=self.language.restrict if buffer in own else "",
                name=self.names.enter(buffer),
                number=number,
            )
            for number, buffer in enumerate(self.kernel.params)
        ]
        params += [
            self.language.size.format(
                type=self.expressions.type(size.type), name=self.names.enter(size), number=number
            )
            for number, size in enumerate(sizes_used(self.kernel), len(params))
        ]
        used = {axis.split(".")[0] for axis, _ in self.kernel.axes}
        params += [text for unit, text in self.language.place_params.items() if unit in used]
        x, y, z = self.kernel.block
        together = ", ".join(params)
        if len(together) > _WIDTH - len(self.kernel.name) - len("(") - len(") {"):
            together = "\n    " + ",\n    ".join(params)
        return self.language.kernel.format(
            name=self.kernel.name, params=together, threads=x * y * z, x=x, y=y, z=z
        )

    def _with_arrays(self, arrays: Sequence[Buffer], inside: Callable[[], Lines]) -> Lines:
        """What makes `arrays`, what is done with them, and what gives large ones back."""
        for buffer in arrays:
            if buffer in self.undeclared:
                self.names.enter(buffer)
            elif buffer in self.expressions.variables:
                yield f"{self._type_of(buffer)} {self.names.enter(buffer)};"
            else:
                yield self._allocation(buffer)
        yield from inside()
        for buffer in arrays:
            if buffer in self.large:
                yield self.language.heap[1].format(name=self.names[buffer])
            self.names.leave(buffer)

    def _allocation(self, buffer: Buffer) -> str:
        if buffer.is_fragment:
            return self._fragments(buffer)
        text, width = self.language.scopes[buffer.scope], self.alignment.get(buffer, 0)
        if buffer in self.dynamic:
            text = self.language.dynamic[1]
        if buffer in self.large:
            text = self.language.heap[0]
            for helper in ("scratch", "give_back"):
                self.expressions.helpers[helper, "void"] = helper
        return text.format(
            align=self.language.aligned.format(bytes=width) if width else "",
            type=self._type_of(buffer),
            name=self.names.enter(buffer),
            cells=self._cells(buffer),
            whole=self.whole,
            place=self.dynamic.get(buffer, 0),
        )

    def _fragments(self, buffer: Buffer) -> str:
        """What a thread holds of each tile of `buffer`."""
        whole = self.views[buffer]
        cells = WARP * whole.shape[-1] if buffer.tag == "warp" else side(buffer) ** 2
        count = prod(buffer.shape) // cells
        if buffer.tag == "metal.simdgroup" and self.language.simdgroup:
            name, ctype = self.names.enter(buffer), self._type_of(buffer)
            return self.language.simdgroup.format(type=ctype, name=name, count=count)
        held = registers(buffer, cells)
        if held is None:
            raise Refusal(
                f"Can't write {self.language.title} code: it has no {buffer.tag} of {buffer.type}",
                whole,
                hint="build it for a GPU that has Tensor Cores, target='cuda', with float16 tiles",
            )
        ctype, each = held
        return f"{ctype} {self.names.enter(buffer)}[{count}][{each}];"

    def _cells(self, buffer: Buffer) -> str:
        (cells,) = buffer.shape
        if isinstance(cells, Expr):
            text = self.expressions.text(cells)
            enough = prove(cells >= 0, {})  # else for some size it is below 0
            return f"(size_t)({text})" if enough else f"({text} > 0 ? (size_t)({text}) : 0)"
        return f"{cells}ull" if buffer in self.large else str(cells)

    def _type_of(self, buffer: Buffer) -> str:
        self.expressions.place = self.views[buffer]
        ctype = self.expressions.type(buffer.type)
        return self.language.stored.get(buffer.type, ctype)

    def _places(self) -> Lines:
        """Where this thread stands, under the names of the loops that it stands for."""
        known = self.expressions.known.dom
        for axis, var in self.kernel.axes:
            ctype = self.expressions.type(var.type)
            place = self.language.places.get(axis, axis)
            ends = known[var]
            last = expr_text(ends.last) if isinstance(ends, SizedEnds) else ends[1]
            yield f"{ctype} {self.names.enter(var)} = {place};  // 0 .. {last}"

    # --- statements -------------------------------------------------------------------------

    def statement(self, stmt: Stmt) -> Lines:
        """The lines of `stmt`, not indented; the first has a mark, where `begins` is asked for."""
        lines = self._statement(stmt)
        if self.begins is not None and not isinstance(stmt, SeqStmt):
            number = len(self.begins)
            self.begins[stmt] = 0
            yield f"{next(lines)}{_MARK}{number}"
        yield from lines

    def _statement(self, stmt: Stmt) -> Lines:
        match stmt:
            case SeqStmt(stmts):
                for inner in stmts:
                    yield from self.statement(inner)
            case For():
                yield from self._loop(stmt)
            case IfThenElse(condition, then_case, else_case):
                yield f"if ({self.expressions.text(condition)}) {{"
                yield from self._indented(then_case)
                if else_case is not None:
                    yield "} else {"
                    yield from self._indented(else_case)
                yield "}"
            case Barrier():
                yield self.barrier
            case CommitGroup():
                yield f"{self._copying('cp_async_commit_group')}();"
            case WaitGroup(count):
                yield f"{self._copying('cp_async_wait_group')}<{count}>();"
            case BufferStore(buffer, Call("ptx_cp_async", (source,)), (place,)):
                self.expressions.place = self.views[buffer]
                yield self._async_copy(buffer, source, place)
            case BufferStore(buffer, value, (Ramp() as place,)):
                self.expressions.place = self.views[buffer]
                yield from self._vector_store(buffer, value, place)
            case BufferStore(buffer, value, (index,)):
                self.expressions.place = self.views[buffer]
                yield f"{self._stored(buffer, index)} = {self.expressions.text(value)};"
            case _:
                raise TypeError(f"{type(stmt).__name__} cannot stand in a kernel")

    def _stored(self, buffer: Buffer, index: Expr) -> str:
        """The cell that a value is stored to, where it is declared if nothing has done that."""
        name = self.names[buffer]
        if buffer in self.undeclared:
            self.undeclared.remove(buffer)
            return f"{self._type_of(buffer)} {name}"
        if buffer in self.expressions.variables:
            return name
        return f"{name}[{self.expressions.text(index)}]"

    def _indented(self, stmt: Stmt) -> Lines:
        return (f"  {line}" for line in self.statement(stmt))

    def _loop(self, loop: For) -> Lines:
        if is_warp_call(loop):
            yield self._warp_call(warp_call(loop))
            return
        own = own_arrays(self.kernel, loop)
        holds = any(isinstance(node, For) for node in walk_statements(loop.body))
        if loop.kind == "parallel" and self.language.part and (own or holds):
            yield from self._shared_out(loop, own)
        else:
            body = self._with_arrays(own, lambda: self.statement(loop.body))
            yield from self._turns(loop, body)

    def _turns(self, loop: For, body: Lines) -> Lines:
        """`loop` around the lines of its `body`."""
        text = self.expressions.text
        first, stop = text(loop.min), text(loop.min + loop.extent)
        ctype = self.expressions.type(loop.loop_var.type)
        name = self.names.enter(loop.loop_var)
        extent = loop.extent.value if isinstance(loop.extent, Const) else ""
        before = self.language.loops.get(loop.kind, "")
        if before and (extent or "{extent}" not in before):
            turns = turns_written(loop)
            yield before.format(extent=extent, turns=f" {turns}" if turns else "")
        yield f"for ({ctype} {name} = {first}; {name} < {stop}; ++{name}) {{"
        yield from (f"  {line}" for line in body)
        yield "}"
        self.names.leave(loop.loop_var)

    def _shared_out(self, loop: For, own: Sequence[Buffer]) -> Lines:
        """`loop`, an iteration of which is a function of its own.

        Its parameters say that arrays do not overlap, which a compiler knows of no other variables
        that threads share.
        """
        name = f"{self.kernel.name}_{len(self.functions)}"
        self.functions.append("")
        var = loop.loop_var
        used = {n.buffer for n in walk(loop.body) if isinstance(n, (BufferLoad, BufferStore))}
        arrays = [b for b in self.names if isinstance(b, Buffer) and b in used]
        made = (
            b
            for n in walk_statements(loop)
            if isinstance(n, For)
            for b in own_arrays(self.kernel, n)
        )
        known = {*free_vars(loop), *sizes_in(tuple(made))}
        outer = [v for v in self.names if isinstance(v, Var) and v in known]
        given = [(self._pointer(b), self.names[b]) for b in arrays]
        given += [(f"{self.expressions.type(v.type)} ", self.names[v]) for v in outer]
        turn = self.names.enter(var)
        params = ", ".join(
            "".join(one) for one in (*given, (f"{self.expressions.type(var.type)} ", turn))
        )
        inside = self._with_arrays(own, lambda: self.statement(loop.body))
        body = [part for line in inside for part in _broken(f"  {line}")]
        self.names.leave(var)
        lines = [self.language.part.format(name=name, params=params) + " {", *body, "}", ""]
        self.functions[-1] = "\n".join([*lines, ""])
        if self.language.pool:
            yield from self._given_to_pool(loop, name, given)
        else:
            call = ", ".join([*(known for _, known in given), turn])
            yield from self._turns(loop, iter([f"{name}({call});"]))

    def _given_to_pool(self, loop: For, name: str, given: Sequence[tuple[str, str]]) -> Lines:
        """A call of the pool, which does some turns of `loop` in each thread; of the `given`."""
        ctype = self.expressions.type(loop.loop_var.type)
        held = ", ".join([*(f"held->{known}" for _, known in given), f"({ctype})turn"])
        self.functions[-1] += f"""struct {name}_given {{
{"".join(f"  {c}{known};" + chr(10) for c, known in given)}}};

static void {name}_turns(void* given, int64_t first, int64_t stop) {{
  struct {name}_given* held = given;
  for (int64_t turn = first; turn < stop; ++turn) {name}({held});
}}

"""
        text = self.expressions.text
        ends = f"{text(loop.min)}, {text(loop.min + loop.extent)}"
        values = ", ".join(known for _, known in given)
        yield f"struct {name}_given {name}_held = {{{values}}};"
        yield f"share_out({name}_turns, &{name}_held, {ends});"

    def _pointer(self, buffer: Buffer) -> str:
        const = "" if buffer in self.written else "const "
        return f"{const}{self._type_of(buffer)}* restrict "

    # --- asynchronous copies -----------------------------------------------------------------

    def _async_copy(self, buffer: Buffer, source: Expr, place: Expr) -> str:
        """A copy of the cells of `source` to those of `buffer` at `place`, or of zeros."""
        name, given = f"cp_async_{copied_bytes(buffer, place)}", ""
        if isinstance(source, Call):
            condition, source, _ = source.args
            name, given = f"{name}_or_0", f", {self.expressions.text(condition)}"
        assert isinstance(source, BufferLoad)
        cells = ((buffer, place), (source.buffer, source.indices[0]))
        texts = (
            f"&{self.names[array]}[{self.expressions.text(i.base if isinstance(i, Ramp) else i)}]"
            for array, i in cells
        )
        return f"{self._copying(name)}({', '.join(texts)}{given});"

    def _copying(self, helper: str) -> str:
        """The name of a function about asynchronous copies, which the text then has to contain."""
        if helper not in self.language.helpers:
            raise Refusal(
                f"Can't write {self.language.title} code: it has no asynchronous copies",
                hint="lower the program for this target",
            )
        self.expressions.helpers[helper, "void"] = helper
        return helper

    # --- calls of a warp ---------------------------------------------------------------------

    def _warp_call(self, call: WarpCall) -> str:
        """The call that does what a loop with its note does."""
        to, sources = call.to, call.sources
        if call.name in SIMDGROUP:
            return self._of_simdgroup(call)
        short = SHORT.get(to.buffer.type, "")
        order = call.orders[-1].partition("_")[0] if call.orders else ""
        match call.name:
            case "tvm_load_matrix_sync":
                helper = of_type(f"wmma_load_{to.buffer.tag[-1]}_{order}", to.buffer.type)
                if to.buffer.tag == "wmma.accumulator":
                    helper = f"wmma_load_c_{short}_{sources[0].buffer.scope}"
                given = [*map(self._tile, (to, *sources)), str(sources[0].stride)]
            case "tvm_store_matrix_sync":
                helper = f"wmma_store_{short}_{to.buffer.scope}"
                given = [*map(self._tile, (to, *sources)), str(to.stride)]
            case "tvm_mma_sync":
                helper = of_type(f"wmma_mma_{short}_{order}", sources[0].buffer.type)
                given = [*map(self._tile, (to, *sources))]
            case "ptx_ldmatrix":
                helper = "_".join(("ldmatrix_x4", *call.orders))
                given = [*map(self._tile, (to, self._of_thread(call, sources[0])))]
            case "ptx_mma":
                kind = sources[0].buffer.type
                helper = f"mma_{SHORT['tf32' if kind == 'float32' else kind] * 2}{short}"
                given = [*map(self._tile, (to, *sources))]
            case "mma_load":
                helper = f"mma_load_{short}"
                given = [*map(self._tile, (to, *sources)), str(sources[0].stride)]
            case "mma_store":
                helper = f"mma_store_{short}"
                given = [*map(self._tile, (to, *sources)), str(to.stride)]
            case _:
                assert call.value is not None
                helper = f"{'wmma' if call.lane is None else 'mma'}_fill_{short}"
                given = [self._tile(to), self.expressions.text(call.value)]
        self.expressions.helpers[helper, "void"] = helper
        return f"{helper}({', '.join(given)});"

    def _of_simdgroup(self, call: WarpCall) -> str:
        """The call of Metal's that does what a loop with its note does."""
        tiles = [*map(self._tile, (call.to, *call.sources))]
        match call.name:
            case "simdgroup_load":
                turned = ", ulong2(0, 0), true" if call.orders == ("col_major",) else ""
                return f"simdgroup_load({', '.join(tiles)}, {call.sources[0].stride}{turned});"
            case "simdgroup_store":
                return f"simdgroup_store({', '.join(tiles[::-1])}, {call.to.stride});"
            case "simdgroup_multiply_accumulate":
                return f"simdgroup_multiply_accumulate({', '.join(tiles)}, {tiles[0]});"
        assert call.value is not None
        kind, value = self._type_of(call.to.buffer), self.expressions.text(call.value)
        return f"{tiles[0]} = make_filled_simdgroup_matrix<{kind}, 8, 8>({value});"

    def _of_thread(self, call: WarpCall, tile: Tile) -> Tile:
        """What is told in the number of a thread in its warp, told in threadIdx.x."""
        assert call.lane is not None and self.x is not None
        return replace(tile, offset=substitute(tile.offset, {call.lane: self.x}))

    def _tile(self, tile: Tile) -> str:
        """Where a tile begins: its fragment, or the address of its first cell."""
        self.expressions.place = self.views[tile.buffer]
        name, offset = self.names[tile.buffer], tile.offset
        if tile.buffer.is_fragment:
            number = self.expressions.known.simplify(fragment_of(tile))
            return f"{name}[{self.expressions.text(number)}]"
        return f"&{name}[{self.expressions.text(offset)}]"

    # --- vectors ----------------------------------------------------------------------------

    def _vector_store(self, buffer: Buffer, value: Expr, place: Ramp) -> Lines:
        if isinstance(value, BufferLoad) and _contiguous(value):
            yield f"{self._vector(buffer, place)} = {self._vector_load(value)};"
            return
        loads = [n for n in walk(value) if isinstance(n, BufferLoad) and _contiguous(n)]
        names: dict[str, str] = {}  # the text of a vector load -> the variable that holds it
        for load in loads:
            text = self._vector_load(load)
            if text not in names:
                names[text] = self.names.fresh(f"{self.names[load.buffer]}_{place.lanes}")
                yield f"{self._vector_type(load.buffer.type, place.lanes)} {names[text]} = {text};"
            self.expressions.vectors[load] = partial(
                self._member, names[text], load.buffer.type, place.lanes
            )
        result = self.names.fresh(f"{self.names[buffer]}_{place.lanes}")
        yield f"{self._vector_type(buffer.type, place.lanes)} {result};"
        for lane in range(place.lanes):
            self.expressions.lane = lane
            member = self._member(result, buffer.type, place.lanes, lane)
            yield f"{member} = {self.expressions.text(value)};"
        self.expressions.lane = None
        yield f"{self._vector(buffer, place)} = {result};"

    def _vector_load(self, load: BufferLoad) -> str:
        (place,) = load.indices
        assert isinstance(place, Ramp)
        return self._vector(load.buffer, place)

    def _vector(self, buffer: Buffer, place: Ramp) -> str:
        """The cells of `buffer` at `place` as one aligned vector."""
        ctype = self._vector_type(buffer.type, place.lanes)
        const = "" if buffer in self.written else "const "
        space = self.language.pointers[buffer.scope]
        base = self.expressions.text(place.base)
        return f"*({space}{const}{ctype}*)&{self.names[buffer]}[{base}]"

    def _vector_type(self, dtype: str, lanes: int) -> str:
        ctype = self.expressions.type(dtype)
        if (dtype, lanes) in self.language.vectors:
            return self.language.vectors[dtype, lanes]
        name = f"{dtype}x{lanes}"
        width = self.language.aligned.format(bytes=lanes * dtypes.itemsize(dtype))
        text = self.language.struct.format(align=width, name=name, type=ctype, lanes=lanes)
        self.vector_types[text] = None
        return name

    def _member(self, name: str, dtype: str, lanes: int, lane: int) -> str:
        if (dtype, lanes) in self.language.vectors:
            return f"{name}.{self.language.members[lane]}"
        return f"{name}.lane[{lane}]"


def _broken(line: str) -> list[str]:
    """`line`; an assignment or a copy that is too long for a page goes on further in."""
    if len(line) > _WIDTH and line.lstrip().startswith(("cp_async_", "ldmatrix_")):
        target, _, source = line.partition(", ")
        return [f"{target},", " " * (len(line) - len(line.lstrip()) + 4) + source]
    target, sign, value = line.partition(" = ")
    if len(line) <= _WIDTH or not sign or line.lstrip().startswith(("for ", "if ")):
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    lines = [target + " ="]
    for term in _terms(value):
        if len(lines) > 1 and len(lines[-1]) + len(term) < _WIDTH:
            lines[-1] += " " + term
        else:
            lines.append(indent + term)
    return lines


def _terms(value: str) -> Iterator[str]:
    """`value`, if it is a sum, cut before each ``+`` and ``-`` that stands in no brackets."""
    if any(sign in value for sign in (" ? ", " && ", " || ")):
        yield value
        return
    depth = start = 0
    for at, char in enumerate(value):
        depth += (char in "([") - (char in ")]")
        if depth == 0 and value[at : at + 3] in (" + ", " - "):
            yield value[start:at]
            start = at + 1
    yield value[start:]


def _contiguous(load: BufferLoad) -> bool:
    return isinstance(load.indices[0], Ramp) and load.indices[0].stride == 1


def _large(kernel: Kernel) -> set[Buffer]:
    """The arrays that a thread's stack may have no room for; small ones stay there."""
    room, large = _STACK, set[Buffer]()
    sized = {buffer for buffer in kernel.allocs if any(isinstance(n, Expr) for n in buffer.shape)}
    for buffer in sorted((b for b in kernel.allocs if b not in sized), key=_bytes_of):
        room -= _bytes_of(buffer)
        if room < 0:
            large.add(buffer)
    return large | sized


def _bytes_of(buffer: Buffer) -> int:
    return prod(buffer.shape) * dtypes.itemsize(buffer.type)
