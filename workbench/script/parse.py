"""Programs from text, and from decorated functions and classes."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping
from pathlib import PurePath
from types import CellType, FrameType, FunctionType
from typing import Any, TypeVar, overload

from workbench.diag import Span
from workbench.ir import (
    DEEPEST,
    IRModule,
    PrimFunc,
    Sized,
    SymbolicFunc,
    VerifyError,
    const,
    dtypes,
    is_text,
    plain_number,
    verify,
)
from workbench.script.functions import read_function
from workbench.script.namespace import Namespace
from workbench.script.reader import ParseError, Reader, Source
from workbench.script.symbolic import check_values, find_symbols
from workbench.script.trees import children

_SETTINGS = ("private", "s_tir", "check_well_formed")  # TVM's


def parse(text: str, env: Mapping[str, object] | None = None) -> PrimFunc | IRModule | SymbolicFunc:
    """The program or module that `text` holds; `env` gives values to names that it does not define.

    Nothing in `text` is run. Raises ParseError.

    >>> program = script.parse('''
    ... @T.prim_func
    ... def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    ...     for i in range(8):
    ...         with T.block("B"):
    ...             vi = T.axis.spatial(8, i)
    ...             B[vi] = A[vi] * 2.0
    ... ''')
    >>> program.name
    'main'
    """
    source = Source(text)
    programs: list[PrimFunc | IRModule | SymbolicFunc] = []
    known = dict(env or {})
    for tree in _parsed(source):
        if isinstance(tree, (ast.Import, ast.ImportFrom)) or _is_comment(tree):
            continue
        symbol = _read_symbol(tree)
        if symbol:
            known[symbol] = TypeVar(symbol)
        else:
            programs.append(_read_top(source, tree, known))
    if len(programs) != 1:
        hint = "give one @T.prim_func function or one @ir_module class"
        raise source.error(None, f"The text holds {len(programs)} programs", hint=hint)
    return programs[0]


def _read_symbol(tree: ast.stmt) -> str:
    """The name that ``n = TypeVar("n")`` defines, as TVM prints a number that callers bring.

    TVM reads ``n = T.int64()`` there.
    """
    match tree:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="TypeVar"))):
            return name
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id="T"), attr="int64")),
        ):
            return name
    return ""


def specialize(func: SymbolicFunc | PrimFunc, values: Mapping[str, int]) -> PrimFunc:
    """See `PrimFunc.specialize` and `SymbolicFunc.specialize`."""
    check_values(func, values)
    numbers = {name: int(plain_number(value)) for name, value in values.items()}
    if isinstance(func, PrimFunc):
        return _with_numbers(func, numbers)
    source = Source(func.text)
    *before, tree = _parsed(source)
    assert isinstance(tree, ast.FunctionDef)
    symbols = {name: TypeVar(name) for name in map(_read_symbol, before)}
    env = {**dict(func.env), **symbols}
    types = find_symbols(Reader(source, env), tree)
    consts = {name: const(value, types[name]) for name, value in numbers.items()}
    made = read_function(Reader(source, env, symbols=consts), tree)
    assert isinstance(made, PrimFunc)
    return made


def _with_numbers(func: PrimFunc, numbers: Mapping[str, int]) -> PrimFunc:
    """`func` with these numbers for its sizes, refused where it is no program then."""
    asked = f"{func.name}.specialize({dict(numbers)!r})"
    headline = f"Can't specialize {func.name}: it is no program of this size"
    for size in func.sizes:
        if not dtypes.fits(numbers[size.name], size.type):
            hint = f"`{size.name}` is of type {size.type}"
            raise ParseError(f"{headline}", asked=asked, hint=hint)
    try:
        made = Sized({size: numbers[size.name] for size in func.sizes}).of(func)
        verify(made)
    except (VerifyError, ZeroDivisionError, TypeError) as error:
        fault = error.problem if isinstance(error, VerifyError) else str(error)
        raise ParseError(headline, asked=asked, detail=fault, hint="give other numbers") from None
    return made


# What has symbolic shapes becomes a SymbolicFunc; a type checker, which can't tell, is told the
# other, which most are.
@overload
def prim_func(func: Callable[..., Any], /) -> PrimFunc: ...
@overload
def prim_func(
    *, private: bool = False, s_tir: bool = False, check_well_formed: bool = True
) -> Callable[[Callable[..., Any]], PrimFunc]: ...
def prim_func(
    func: Any = None,
    *,
    private: bool = False,
    s_tir: bool = False,
    check_well_formed: bool = True,
) -> Any:
    """Read the decorated function as a program; it is never run as Python.

    Numbers, strings, and lists and tuples of them may come from the scope around it. The keyword
    arguments are TVM's: `private` stays with the program, the others change nothing here. Raises
    ParseError.

    A program's annotations are calls, which type checkers refuse: with `@typing.no_type_check`
    between this decorator and `def`, they leave the program alone.

    >>> @T.prim_func
    ... def twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    ...     for i in range(8):
    ...         with T.block("B"):
    ...             vi = T.axis.spatial(8, i)
    ...             B[vi] = A[vi] * T.float32(2)
    >>> twice.name
    'twice'
    """
    frame = sys._getframe(1)
    if func is not None:
        return _read_decorated(func, frame)
    return lambda decorated: _read_decorated(decorated, frame)


def ir_module(cls: type) -> IRModule:
    """Gather the programs of the decorated class into a module. Raises ParseError.

    >>> @wb.ir_module
    ... class Module:
    ...     main = add
    >>> [func.name for func in Module.functions]
    ['add']
    """
    if not isinstance(cls, type):
        raise ParseError(
            f"Can't make a module of a value of type {type(cls).__name__}: it is no class",
            hint="write @ir_module above a class that holds programs",
        )
    members = {name: value for name, value in vars(cls).items() if not name.startswith("__")}
    for name, value in members.items():
        if isinstance(value, SymbolicFunc):
            headline, hint = value.refusal("put into a module")
            raise ParseError(headline, hint=hint)
        if not isinstance(value, PrimFunc):
            raise ParseError(
                f"Can't put `{name}` into module `{cls.__name__}`: it is no program",
                hint=f"decorate it with @T.prim_func, or move `{name}` out of the class",
            )
    if not members:
        raise ParseError(
            f"Module `{cls.__name__}` holds no program",
            hint="define a function under @T.prim_func in it",
        )
    return IRModule(tuple(members.values()))


class Words(Namespace):
    """T: what a program is written with. ``T.prim_func`` reads a function as a program.

    >>> T.Buffer
    T.Buffer
    """

    prim_func = staticmethod(prim_func)


T = Words()


def _parsed(source: Source) -> list[ast.stmt]:
    """The statements of a source, which may be indented as a whole."""
    text = source.text
    if not isinstance(text, str):
        hint = "pass the text of a @T.prim_func function"
        raise ParseError(f"Can't read a program from {type(text).__name__}", hint=hint)
    if not is_text(text):
        raise ParseError("This text holds half a character", hint="read its file as UTF-8")
    first = next((line for line in text.splitlines() if line.strip()), "")
    indented = first[:1] in (" ", "\t")
    try:
        module = ast.parse("if True:\n" + text if indented else text)
    except (RecursionError, MemoryError):  # Python's own parser gave up
        raise source.error(None, _TOO_DEEP, hint=_SHALLOWER) from None
    except SyntaxError as error:
        line = min((error.lineno or 1) - indented, len(text.splitlines()))
        col = max((error.offset or 1) - 1, 0)
        raise source.error(
            Span(line, col, line, col + 1),
            f"Python can't read this: {error.msg}",
            hint="a program is written in Python's syntax: mend the line marked above",
        ) from None
    _check_depth(source, module)
    if not indented:
        return module.body
    ast.increment_lineno(module, -1)
    assert isinstance(module.body[0], ast.If)
    return module.body[0].body


_TOO_DEEP = f"This is nested too deeply: at most {DEEPEST} levels can be read"
_SHALLOWER = "store a part of it in a buffer first, or write it as a loop"


def _check_depth(source: Source, module: ast.Module) -> None:
    """Refuse a statement that the walks of a program would be too deep for."""
    if not _too_deep(module):
        return
    statements = [tree for tree in ast.walk(module) if isinstance(tree, ast.stmt)]
    innermost = [tree for tree in statements if _too_deep(tree)][-1]
    first = Span(innermost.lineno, innermost.col_offset, innermost.lineno, innermost.col_offset + 1)
    raise source.error(first, _TOO_DEEP, hint=_SHALLOWER)


def _too_deep(tree: ast.AST) -> bool:
    level = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in children(node)]
        if not level:
            return False
    return True


def _is_comment(tree: ast.stmt) -> bool:
    return isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant)


def _read_top(
    source: Source, tree: ast.stmt, env: Mapping[str, object]
) -> PrimFunc | IRModule | SymbolicFunc:
    if isinstance(tree, ast.FunctionDef):
        return _read_def(source, tree, env)
    if isinstance(tree, ast.ClassDef):
        _check_decorator(source, tree, "ir_module", "@ir_module")
        functions = []
        for member in tree.body:
            if _is_comment(member) or isinstance(member, ast.Pass):
                continue
            if not isinstance(member, ast.FunctionDef):
                hint = "a module holds functions under @T.prim_func"
                raise source.error(member, "Can't read this in a module", hint=hint)
            func = _read_def(source, member, env)
            if isinstance(func, SymbolicFunc):
                hint = "read it on its own, and put what func.specialize makes into the module"
                headline = f"The shapes of `{func.name}` are not known yet"
                raise source.error(member, headline, hint=hint)
            functions.append(func)
        if not functions and not any(isinstance(member, ast.Pass) for member in tree.body):
            hint = "define a function under @T.prim_func in it"
            raise source.error(tree, f"Module `{tree.name}` holds no program", hint=hint)
        return IRModule(tuple(functions))
    hint = "a text holds one @T.prim_func function or one @ir_module class; pass values by env="
    raise source.error(tree, "Can't read this outside a program", hint=hint)


def _read_def(
    source: Source, tree: ast.FunctionDef, env: Mapping[str, object]
) -> PrimFunc | SymbolicFunc:
    _check_decorator(source, tree, "prim_func", "@T.prim_func")
    return read_function(Reader(source, env), tree)


def _check_decorator(
    source: Source, tree: ast.FunctionDef | ast.ClassDef, name: str, usage: str
) -> None:
    """Refuse a definition that is not decorated with `name`, or with settings that nobody knows."""
    for decorator in tree.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if name not in (getattr(call, "attr", None), getattr(call, "id", None)):
            continue
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg not in _SETTINGS:
                hint = "accepted: " + ", ".join(_SETTINGS)
                raise source.error(keyword, f"{usage} has no setting `{keyword.arg}`", hint=hint)
        return
    raise source.error(
        Span(tree.lineno, tree.col_offset, tree.lineno, tree.col_offset + 3),
        f"`{tree.name}` is not decorated with {usage}",
        hint=f"write {usage} on the line above it",
    )


# --- decorated functions -------------------------------------------------------------------------


def _read_decorated(func: Any, frame: FrameType) -> PrimFunc | SymbolicFunc:
    if not isinstance(func, FunctionType):
        raise ParseError(
            f"@T.prim_func takes a function, not a {type(func).__name__}",
            hint="write @T.prim_func directly above `def`; @ir_module goes above a class",
        )
    try:
        lines, first = inspect.getsourcelines(func)
    except OSError:
        raise _no_source(func) from None
    path = func.__code__.co_filename
    in_cell = "ipykernel" in path or path.startswith("<")
    source = Source("".join(lines), first, "this cell" if in_cell else PurePath(path).name)
    for tree in _parsed(source):
        if isinstance(tree, ast.FunctionDef) and tree.name == func.__name__:
            return read_function(Reader(source, _environment(func, frame)), tree)
    raise _no_source(func)  # another text has the same name, as `python -c` and `exec` share one


def _no_source(func: FunctionType) -> ParseError:
    where = "it is in no file and no notebook cell"
    if func.__code__.co_filename == "<stdin>":
        where = "Python's own prompt keeps none before 3.13, and never of what is piped into it"
    return ParseError(
        f"Can't see the source of `{func.__name__}`: {where}",
        hint="define it in a file or a cell, or give its text to workbench.script.parse",
    )


def _environment(func: FunctionType, frame: FrameType | None) -> Mapping[str, object]:
    """What names mean around `func`, innermost first.

    Closures hold only what the body uses; a name used in an annotation alone is found in the
    frames that are running the definition, those whose code encloses the function's.
    """
    cells = zip(func.__code__.co_freevars, func.__closure__ or (), strict=True)
    # A cell is empty while what it is for has not been given a value yet.
    scopes = [{name: cell.cell_contents for name, cell in cells if cell != CellType()}]
    while frame is not None and func.__qualname__.startswith(frame.f_code.co_qualname + "."):
        scopes.append(dict(frame.f_locals))
        frame = frame.f_back
    return ChainMap(*scopes, func.__globals__)
