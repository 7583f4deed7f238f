"""Program texts with a few things changed at random, and what may come of reading one."""

from __future__ import annotations

import io
import random
import re
import time
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

import workbench as wb
from workbench.diag import Fail
from workbench.ir import IRModule, verify

LISTINGS = Path(__file__).parents[1] / "script" / "listings"

# What stands in programs, and what does not: huge and odd numbers, other statements, half words.
WORDS = """
    0 1 -1 2 3 7 8 1024 4294967296 9223372036854775807 1000000000000000000000 1e400 1j 0x7f 0.5
    + - * / // % ** << >> & | ~ @ == != < <= > >= = += := -> ( ) [ ] { } , : . ; ... # \\ ' " ``
    and or not in is if else for while with as def class return lambda yield await import None True
    A B C i j vi vj T T.axis T.axis.spatial T.axis.reduce T.axis.remap T.reads T.writes T.where
    T.init T.block T.grid T.serial T.thread_binding T.vectorized T.unroll T.parallel T.alloc_buffer
    T.block_attr T.func_attr T.match_buffer T.Buffer T.float32 T.int64 T.uint8 T.bool T.Cast T.exp
    T.min T.max T.Select T.if_then_else T.floordiv T.evaluate T.prim_func "float32" "shared" "local"
    "threadIdx.x" "blockIdx.x" "vthread" "root" "" "\\x00" "é" "__import__('os')" __class__
""".split()  # noqa: SIM905


def starts() -> list[str]:
    """The programs to begin from: the course's listings."""
    return [path.read_text() for path in sorted(LISTINGS.iterdir())]


def mutated(text: str, rng: random.Random) -> str:
    """`text` with one to four things changed: most often by what still reads as a program."""
    changes = [_numbers, _numbers, _numbers, _words, _words, _lines, _lines]
    if rng.random() < 0.3:
        changes += [_spaces, _characters, _cut]
    for _ in range(rng.randint(1, 4)):
        text = rng.choice(changes)(text, rng)
    return text


def _numbers(text: str, rng: random.Random) -> str:
    """One number becomes another, or a name that stands in the text."""
    found = list(re.finditer(r"\b\d+\b", text))
    if not found:
        return text
    name = rng.choice(re.findall(r"\b[a-zA-Z_]\w*\b", text) or ["i"])
    number = rng.choice(["0", "1", "2", "3", "7", "64", "1000", "5000000000", "-4", "2.5", name])
    match = rng.choice(found)
    return text[: match.start()] + number + text[match.end() :]


def _words(text: str, rng: random.Random) -> str:
    """One token goes, comes twice, or becomes another word."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return _characters(text, rng)
    tokens = [t for t in tokens if t.string.strip()]
    if not tokens:
        return text
    token = rng.choice(tokens)
    lines = text.splitlines(keepends=True)
    row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
    if token.end[0] - 1 != row or row >= len(lines):
        return text
    other = rng.choice([token.string for token in tokens] if rng.random() < 0.5 else WORDS)
    word = rng.choice(["", f"{token.string} {token.string}", other, other, other])
    lines[row] = lines[row][:start] + word + lines[row][end:]
    return "".join(lines)


def _lines(text: str, rng: random.Random) -> str:
    """One line goes, comes twice, or stands elsewhere."""
    lines = text.splitlines(keepends=True) or [""]
    k, there = rng.randrange(len(lines)), rng.randrange(len(lines))
    line = lines[k]
    if rng.random() < 0.6:
        del lines[k]
    if rng.random() < 0.6:
        lines.insert(there, line)
    return "".join(lines)


def _spaces(text: str, rng: random.Random) -> str:
    """One line is indented otherwise."""
    lines = text.splitlines(keepends=True) or [""]
    k = rng.randrange(len(lines))
    lines[k] = " " * rng.choice([0, 1, 4, 8, 400]) + lines[k].lstrip(" ")
    return "".join(lines)


def _characters(text: str, rng: random.Random) -> str:
    """One character becomes another, or many of it."""
    if not text:
        return text
    k = rng.randrange(len(text))
    character = rng.choice([chr(rng.randrange(0x3000)), text[k], "(", "-", "9", "\0", "\ud800"])
    return text[:k] + character * rng.choice([1, 1, 2, 50, 3000]) + text[k + 1 :]


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


def use(text: str) -> tuple[str, float]:
    """Read `text` and do with it what a lab would: what came of it, the slowest call's seconds.

    Anything but a `Fail` that is raised on the way is a fault of ours.
    """
    end, slowest = "built", 0.0
    calls = _calls(text)
    while True:
        start = time.perf_counter()
        try:
            done = next(calls, None) is None
        except Fail as fail:
            assert len(str(fail).splitlines()[0]) <= 120
            end, done = type(fail).__name__, True
        slowest = max(slowest, time.perf_counter() - start)
        if done:
            return end, slowest


def _calls(text: str) -> Iterator[str]:
    """One call after the other, each named when it is done."""
    program = wb.script.parse(text)
    yield "parse"
    verify(program)
    shown = wb.script.show(program)
    assert wb.structural_equal(wb.script.parse(shown), program), shown
    yield "show"
    for func in program.functions if isinstance(program, IRModule) else (program,):
        sch = wb.Schedule(func)
        for block in sch.get_blocks():
            for place in (block, *sch.get_loops(block)):
                sch.actions(place)
                yield "actions"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wb.ScheduleWarning)
            wb.build(func, target="cuda")
        yield "build"
