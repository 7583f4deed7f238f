"""Programs with one fault each, one for every refusal of the reader."""

from __future__ import annotations

_SIGNATURE = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8, 4), "float32")'


def body(*lines: str) -> str:
    """A program whose own statements are these lines."""
    inside = "\n".join("    " + line for line in lines)
    return f"@T.prim_func\ndef main({_SIGNATURE}):\n{inside}"


def block(*lines: str) -> str:
    """A program whose block, inside loop `i`, has these lines."""
    head = ["for i in range(8):", '    with T.block("C"):']
    return body(*head, *("        " + line for line in lines))


def value(text: str) -> str:
    """A program that stores this value."""
    return block("vi = T.axis.spatial(8, i)", f"A[vi] = {text}")


def params(text: str) -> str:
    """A program with these parameters."""
    return f"@T.prim_func\ndef main({text}):\n    A[0] = 1.0"


BAD = {
    # values
    "unknown name": value("A[vj]"),
    "unknown name, nothing like it": value("qqq"),
    "buffer without index": value("A + 1.0"),
    "buffer without index alone": value("B"),
    "string as number": value('"x"'),
    "list as number": value("(1, 2) + vi"),
    "none as number": value("None"),
    "conditional expression": value("A[vi] if vi < 4 else 0.0"),
    "lambda": value("lambda: 1"),
    "slice": value("A[0:4]"),
    "unreadable expression": value("[x for x in y]"),
    "power operator": value("A[vi] ** 2"),
    "chained comparison": value("T.if_then_else(0 < vi < 4, 1.0, 0.0)"),
    "is": value("T.if_then_else(vi is 4, 1.0, 0.0)"),
    "invert": value("~A[vi]"),
    "bits of floats": value("A[vi] & 3"),
    "bits of a condition and a number": value("(vi < 3) & 1"),
    "shift of a condition": value("(vi < 3) << (vi < 4)"),
    "mask that the type does not hold": value("T.Cast('uint8', vi) & 256"),
    "shift by all bits": value("T.shift_left(vi, 32)"),
    "shift of numbers by more than there is": value("1 << 100"),
    "type that the value does not have": value('T.exp(A[vi], dtype="float16")'),
    "infinity of integers": value('T.infinity("int32")'),
    "exact division of integers": value("T.Div(vi, 0)"),
    "not of a number": value("not vi"),
    "negated string": value('-"x"'),
    "complex constant": value("1j"),
    "division by zero": value("vi // 0"),
    "division by zero of numbers": value("1 // 0"),
    "float floordiv": value("A[vi] // 2"),
    "integer division": value("vi / 2"),
    "typed constant of a string": value('T.float32("x")'),
    "typed constant too large": value("T.int8(128)"),
    "typed constant not whole": value("T.int32(1.5)"),
    "unsigned constant below zero": value("T.uint8(-1)"),
    "exact operator of two types": value("T.Add(vi, T.int64(1))"),
    "exact operator of a buffer": value("T.Add(A, 1)"),
    "unknown function": value("T.xyz(vi)"),
    "bits of another width": value("T.reinterpret('float64', A[vi])"),
    "refused function": value("T.popcount(vi)"),
    "function of another module": value("np.exp(A[vi])"),
    "plain function": value("abs(A[vi])"),
    "maths of an integer": value("T.exp(vi)"),
    "maths of a buffer": value("T.exp(A)"),
    "too many arguments": value("T.exp(A[vi], A[vi])"),
    "missing argument": value("T.min(vi)"),
    "unknown keyword": value("T.exp(A[vi], fast=True)"),
    "argument twice": value("T.exp(A[vi], x=A[vi])"),
    "starred argument": value("T.exp(*A)"),
    "branches that do not meet": value("T.Select(vi < 4, T.int8(1), T.uint8(1))"),
    "condition that is a number": value("T.Select(vi, 1.0, 0.0)"),
    "cast to an unknown type": value('T.Cast("float31", vi)'),
    "cells of half a byte": block('M = T.alloc_buffer((8,), "int4")', "A[0] = 1.0"),
    "iterator of no kind": block("v = T.axis.opaque(8, i)", "A[v] = 1.0"),
    "another name for a buffer": block("M = T.decl_buffer((8,), data=A.data)", "M[0] = 1.0"),
    "instruction of a GPU": block("A[0] = 1.0", 'T.ptx.mma("m16n8k8", A.data)'),
    "effect that is not known": block("A[0] = 1.0", "T.evaluate(T.atomic_add(A[0], 1.0))"),
    "sum that is lowered already": block("A[0] = T.tvm_warp_shuffle_down(0, A[0], 16, 32, 32)"),
    "call of another language": block("A[0] = 1.0", 'T.evaluate(T.call_extern("int32", "f", 1))'),
    "call for its effect": block("A[0] = 1.0", 'T.call_packed("f", A[0])'),
    "axis of a launch": body('bx = T.launch_thread("blockIdx.x", 8)', "A[bx] = 1.0"),
    "axis of a launch around": body(
        'with T.launch_thread("blockIdx.x", 8) as bx:', "    A[bx] = 1.0"
    ),
    "memory of a thread": body("M = T.alloc_local((8,))", "A[0] = 1.0"),
    "note of lowering": body('with T.attr(0, "pragma", 1):', "    A[0] = 1.0"),
    "assertion": body("assert 1 < 2", "A[0] = 1.0"),
    "barrier": block("A[0] = 1.0", 'T.tvm_storage_sync("shared")'),
    "let of a buffer": block("x: T.let = A", "A[0] = x"),
    "let without a value": block("x = T.int32()", "A[x] = 1.0"),
    "let of another type": block("x: T.let[T.float16] = A[0]", "A[0] = x"),
    "let of an unknown type": block("x: T.handle = A[0]", "A[0] = x"),
    "let of a load that changes": block("x: T.let = A[0]", "A[0] = x * x", "A[1] = x"),
    "let of a load that a loop changes": block(
        "x: T.let = A[0]", "for j in range(8):", "    B[j, 0] = x", "    A[j] = 1.0"
    ),
    "lets of which each loads what the other changes": block(
        "x: T.let = A[0]", "y: T.let = A[1] + B[0, 0]", "A[0] = y", "B[0, 0] = x"
    ),
    "let of a load outside of the block": block(
        "x: T.let = A[0]", 'with T.block("D"):', "    B[0, 0] = x"
    ),
    "let of a loop outside of the block": body(
        "for i in range(8):",
        "    x: T.let = i + 1",
        '    with T.block("C"):',
        "        vi = T.axis.spatial(8, i)",
        "        A[vi] = x",
    ),
    "let that doubles": block(
        "x0: T.let = A[0]", *(f"x{k + 1}: T.let = x{k} + x{k}" for k in range(20)), "A[0] = x20"
    ),
    "let of no name": block("with T.LetStmt(A[0]):", "    A[0] = 1.0"),
    "let of an expression without names": value("T.Let(A[0], where=3)"),
    "ramp": value("T.Ramp(vi, 1, 4)"),
    "attribute": value("vi.name"),
    "index of a number": value("vi[0]"),
    "item out of range": value("B.shape[2]"),
    # elements and stores
    "too few indices": value("B[vi]"),
    "too many indices": value("A[vi, 0]"),
    "float index": value("A[0.5]"),
    "store to a name": block("vi = T.axis.spatial(8, i)", "x = vi + 1"),
    "store to two": block("vi = T.axis.spatial(8, i)", "A[vi] = A[0] = 1.0"),
    "update of a name": block("vi = T.axis.spatial(8, i)", "vi += 1"),
    "store to no buffer": block("vi = T.axis.spatial(8, i)", "vi[0] = 1.0"),
    # statements
    "while": body("while True:", "    A[0] = 1.0"),
    "return": body("A[0] = 1.0", "return A"),
    "function inside": body("def f():", "    pass", "A[0] = 1.0"),
    "unreadable statement": body("import os", "A[0] = 1.0"),
    "print": body("print(A)", "A[0] = 1.0"),
    "nothing done": body("pass"),
    "nothing done in a loop": body("for i in range(8):", "    pass"),
    "nothing done in a block": block("vi = T.axis.spatial(8, i)"),
    # loops
    "else of a loop": body("for i in range(8):", "    A[i] = 1.0", "else:", "    A[0] = 1.0"),
    "two variables of range": body("for i, j in range(8):", "    A[i] = 1.0"),
    "grid of too few names": body("for i in T.grid(8, 4):", "    A[i] = 1.0"),
    "grid into an element": body("for i, A[0] in T.grid(8, 4):", "    A[i] = 1.0"),
    "range with a step": body("for i in range(0, 8, 2):", "    A[i] = 1.0"),
    "loop over a list": body("for i in [1, 2]:", "    A[i] = 1.0"),
    "loop over another function": body("for i in T.reads(8):", "    A[i] = 1.0"),
    "loop without extent": body("for i in T.serial():", "    A[i] = 1.0"),
    "binding without thread": body("for i in T.thread_binding(8):", "    A[i] = 1.0"),
    "unknown thread axis": body(
        'for i in T.thread_binding(8, thread="threadIdx.w"):', "    A[i] = 1.0"
    ),
    "loop that never runs": body("for i in range(0):", "    A[i] = 1.0"),
    "loop that ends before it starts": body("for i in range(4, 2):", "    A[i] = 1.0"),
    "float extent": body("for i in range(8.0):", "    A[i] = 1.0"),
    "name twice": body("for i in range(8):", "    for i in range(8):", "        A[i] = 1.0"),
    "annotations that are none": body("for i in T.serial(8, annotations=3):", "    A[i] = 1.0"),
    "annotation that is no plain value": body(
        'for i in T.serial(8, annotations={"k": A}):', "    A[i] = 1.0"
    ),
    # blocks
    "with of something else": body('with open("x"):', "    A[0] = 1.0"),
    "block with as": body('with T.block("C") as c:', "    A[0] = 1.0"),
    "block without a name": body("with T.block():", "    A[0] = 1.0"),
    "block whose name is no string": body("with T.block(3):", "    A[0] = 1.0"),
    "block named root": body(
        "for i in range(8):", '    with T.block("root"):', "        A[0] = 1.0"
    ),
    "init outside a block": body("for i in range(8):", "    with T.init():", "        A[i] = 1.0"),
    "two inits": block(
        "vi = T.axis.reduce(8, i)",
        "with T.init():",
        "    A[vi] = 0",
        "with T.init():",
        "    A[vi] = 0",
        "A[vi] = 1.0",
    ),
    "loop named in the block": block("vi = T.axis.spatial(8, i)", "A[i] = 1.0"),
    "unbound loop named in the block": body(
        "for i, j in T.grid(8, 4):",
        '    with T.block("C"):',
        "        vi = T.axis.spatial(8, i)",
        "        B[vi, j] = 1.0",
    ),
    "binding to an own iterator": block(
        "vi = T.axis.spatial(8, i)", "vj = T.axis.spatial(8, vi)", "A[vi] = 1.0"
    ),
    "several from one axis": block("vi, vj = T.axis.spatial(8, i)", "A[vi] = 1.0"),
    "axis into an element": block("A[0] = T.axis.spatial(8, i)", "A[0] = 1.0"),
    "axis given no name": block("T.axis.spatial(8, i)", "A[0] = 1.0"),
    "remap of other kinds": block('vi = T.axis.remap("X", [i])', "A[vi] = 1.0"),
    "remap that does not match": block('vi, vj = T.axis.remap("SS", [i])', "A[vi] = 1.0"),
    "remap of no loop": block('vi = T.axis.remap("S", [i + 1])', "A[vi] = 1.0"),
    "alloc into an element": body("A[0] = T.alloc_buffer((8,))", "A[0] = 1.0"),
    "alloc without a shape": body("C = T.alloc_buffer()", "A[0] = 1.0"),
    "alloc given no name": body("T.alloc_buffer((8,))", "A[0] = 1.0"),
    "alloc in a loop": body("for i in range(8):", "    C = T.alloc_buffer((8,))", "    A[i] = 1.0"),
    "shape of a loop": body(
        "for i in range(8):",
        '    with T.block("C"):',
        "        C = T.alloc_buffer((i,))",
        "        A[0] = 1.0",
    ),
    "region of no buffer": block("vi = T.axis.spatial(8, i)", "T.reads(vi)", "A[vi] = 1.0"),
    "region of an element of no buffer": block(
        "vi = T.axis.spatial(8, i)", "T.reads(vi[0])", "A[vi] = 1.0"
    ),
    "region with a step": block("vi = T.axis.spatial(8, i)", "T.reads(A[vi:8:2])", "A[vi] = 1.0"),
    "region with too few ranges": block(
        "vi = T.axis.spatial(8, i)", "T.reads(B[vi])", "A[vi] = 1.0"
    ),
    "view of another type": block(
        "vi = T.axis.spatial(8, i)", "M = T.match_buffer(B[vi, 0:4], (4,), 'int32')", "A[0] = 1.0"
    ),
    "view of another memory": block(
        "vi = T.axis.spatial(8, i)",
        "M = T.match_buffer(B[vi, 0:4], (4,), scope='shared')",
        "A[0] = 1.0",
    ),
    "view of another shape": block(
        "vi = T.axis.spatial(8, i)", "M = T.match_buffer(B[vi, 0:4], (5,))", "A[0] = 1.0"
    ),
    "view of two dimensions as one": block(
        "vi = T.axis.spatial(8, i)", "M = T.match_buffer(B[0:2, 0:4], (8,))", "A[0] = 1.0"
    ),
    "view of other strides": block(
        "vi = T.axis.spatial(8, i)",
        "M = T.match_buffer(B[vi, 0:4], (4,), strides=(2,))",
        "A[0] = 1.0",
    ),
    "view of too many strides": block(
        "vi = T.axis.spatial(8, i)",
        "M = T.match_buffer(B[vi, 0:4], (4,), strides=(4, 1))",
        "A[0] = 1.0",
    ),
    "view of another offset": block(
        "vi = T.axis.spatial(8, i)",
        "M = T.match_buffer(B[vi, 0:4], (4,), elem_offset=3)",
        "A[0] = 1.0",
    ),
    "view that data place": block(
        "vi = T.axis.spatial(8, i)",
        "M = T.match_buffer(B[T.Cast('int32', A[0]), 0:4], (4,))",
        "A[0] = 1.0",
    ),
    "view without a shape": block(
        "vi = T.axis.spatial(8, i)", "M = T.match_buffer(B[vi, 0:4])", "A[0] = 1.0"
    ),
    "view into an element": block("A[0] = T.match_buffer(A[0:4], (4,))", "A[0] = 1.0"),
    "view in a loop": block(
        "for j in range(2):", "    M = T.match_buffer(A[0:4], (4,))", "    M[0] = 1.0"
    ),
    "view of a loop outside of the block": body(
        "for i in range(8):",
        '    with T.block("C"):',
        "        M = T.match_buffer(B[i, 0:4], (4,))",
        "        for j in range(4):",
        '            with T.block("D"):',
        "                vj = T.axis.spatial(4, j)",
        "                M[vj] = 1.0",
    ),
    "reads twice": block("vi = T.axis.spatial(8, i)", "T.reads()", "T.reads(A[vi])", "A[vi] = 1.0"),
    "where of its own iterator": block(
        "vi = T.axis.spatial(8, i)", "T.where(vi < 4)", "A[vi] = 1.0"
    ),
    "where twice": block(
        "vi = T.axis.spatial(8, i)", "T.where(i < 4)", "T.where(i < 3)", "A[vi] = 1.0"
    ),
    "reads by keyword": block("vi = T.axis.spatial(8, i)", "T.reads(x=A[vi])", "A[vi] = 1.0"),
    "reads outside a block": body("for i in range(8):", "    T.reads(A[i])", "    A[i] = 1.0"),
    # functions
    "head of the function": body("T.reads(A[0])", "A[0] = 1.0"),
    "parameter without a type": params("A"),
    "parameter of another type": params("A: int"),
    "parameter of three": params('A: T.Buffer[8, 8, "float32"]'),
    "store to a number": params('A: T.Buffer((8,), "float32"), n: T.int32') + "\n    n = 3",
    "element of a number": params('A: T.Buffer((8,), "float32"), n: T.int32') + "\n    n[0] = 3",
    "default value": params('A: T.Buffer((8,), "float32") = None'),
    "shape of zero": params('A: T.Buffer((0,), "float32")'),
    "shape of a string": params('A: T.Buffer("8", "float32")'),
    "unknown type": params('A: T.Buffer((8,), "float33")'),
    "offset": params('A: T.Buffer((8,), "float32", elem_offset=4)'),
    "cells in one place": body(
        "M = T.alloc_buffer((4, 4), strides=(2, 3))", "M[0, 0] = 1.0", "A[0] = M[0, 0]"
    ),
    "strides of an argument": params('A: T.Buffer((8, 4), "float32", strides=(1, 8))'),
    "strides that do not match": params('A: T.Buffer((8,), "float32", strides=(1, 1))'),
    "unknown scope": params('A: T.Buffer((8,), "float32", scope="sharde")'),
    "scope that is no string": params('A: T.Buffer((8,), "float32", scope=3)'),
    "handle without a buffer": params("A: T.handle"),
    "match_buffer of no handle": params('a: T.handle, C: T.Buffer((8,), "float32")').replace(
        "    A[0]", '    A = T.match_buffer(C, (8,), "float32")\n    A[0]'
    ),
    "match_buffer into an element": params("a: T.handle").replace(
        "    A[0]", '    A[0] = T.match_buffer(a, (8,), "float32")\n    A[0]'
    ),
    # texts
    "syntax": "@T.prim_func\ndef main(A: T.Buffer((8,), 'float32')):\n    A[0] = = 1",
    "no program": "# nothing",
    "two programs": body("A[0] = 1.0") + "\n" + body("A[0] = 1.0"),
    "statement outside a program": "N = 8\n" + body("A[0] = 1.0"),
    "function that is not decorated": body("A[0] = 1.0").removeprefix("@T.prim_func\n"),
    "unknown setting": body("A[0] = 1.0").replace("@T.prim_func", "@T.prim_func(fast=True)"),
    "class that is not decorated": "class M:\n    pass",
    "module of a string": '@ir_module\nclass M:\n    "no program"',
    "attributes in a loop": body(
        "for i in range(8):", '    T.func_attr({"k": 1})', "    A[i] = 1.0"
    ),
    "slip in an axis": block("vi = T.axis.spacial(8, i)", "A[vi] = 1.0"),
    "slip in a namespace": block("vi = T.axes.spatial(8, i)", "A[vi] = 1.0"),
    "slip in a block": block("A[i] = 1.0").replace("T.block", "T.blok"),
    "slip in a loop": body("for i, j in T.grdi(8, 4):", "    B[i, j] = 1.0"),
    "slip in a kind of loop": body("for i in T.serail(8):", "    A[i] = 1.0"),
    "slip in a parameter": params('A: T.Bufer((8,), "float32")'),
    "slip in a type": value("T.flaot32(1)"),
    "slip in a statement": block("vi = T.axis.spatial(8, i)", "T.raeds(A[vi])", "A[vi] = 1.0"),
    "slip in an allocation": body('C = T.aloc_buffer((8,), "float32")', "A[0] = 1.0"),
    "word that is like no other": block("vi = T.axis.xyz(8, i)", "A[vi] = 1.0"),
    "module with a value": "@ir_module\nclass M:\n    N = 8",
    # hostile
    "half a character in the text": value("A[vi]") + "\ud800",
    "half a character in a string": value(r'A["\ud800"]'),
    "null byte": value("A[vi]") + "\0",
    "integer of 400 digits": value("A[vi] * 1" + "0" * 400),
    "integers that multiply": value("A[vi] * (9000000000000000000 * 9000000000000000000)"),
    "sum of 5,000 terms": value(" + ".join(["A[vi]"] * 5000)),
    "another operator": value("A[vi] @ 2"),
    "maths of two integers": value("T.pow(vi, 2)"),
    "dictionary spread": block("vi = T.axis.spatial(8, i)", "T.block_attr({**x})", "A[vi] = 1.0"),
    "dictionary as a name": block(
        "vi = T.axis.spatial(8, i)", "T.block_attr({(1, {}): 1})", "A[vi] = 1.0"
    ),
    "thread axis without its name": body(
        'for i in T.thread_binding(8, "threadIdx.x"):', "    A[i] = 1.0"
    ),
    "variable that is stored to": block("x: T.int32", "x = vi + 1", "A[x] = 1.0"),
    "note of a type": block("vi: T.int32 = T.axis.spatial(8, i)", "A[vi] = 1.0"),
}
