"""Which lane of a warp holds which cell, against PTX ISA's fragments, worked out by their rule.

PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type": with g = lane // 4 and t =
lane % 4, cell i of a lane is, of A, in row g, + 8 for i = 2, 3, 6, 7, and column 2 t + i % 2, + 8
for i >= 4; of B in row 2 t + i % 2, + 8 for i >= 2, and column g; of C in row g, + 8 for i >= 2,
and column 2 t + i % 2. A tile of ours is two such instructions: columns 8 to 15 of B and C follow.
"""

from __future__ import annotations

import re
from itertools import product

from tests.support.pictured.log import ProgramLog
from tests.support.pictured.names import check_stands, shapes_of
from tests.support.pictured.tally import Tally
from workbench.draw import Picture, Words
from workbench.ir import dtypes

Spot = tuple[int, int]


def held(part: str, lane: int) -> list[Spot]:
    """The cells of a lane in the order of its registers, of halves; of C in 32 bits."""
    g, t = lane // 4, lane % 4
    if part == "A":
        return [(g + 8 * (i // 2 % 2), 2 * t + i % 2 + 8 * (i // 4)) for i in range(8)]
    if part == "B":
        return [(2 * t + i % 2 + 8 * (i // 2), g + 8 * half) for half in range(2) for i in range(4)]
    return [(g + 8 * (i // 2), 2 * t + i % 2 + 8 * half) for half in range(2) for i in range(4)]


WMMA = (
    r"fragment (\d+) of ([\w.]+): (16 x 16) (\w+), (\d+) registers in each of (32) "
    r"threads; which cells a thread holds is not told"
)


def _of_wmma(tally: Tally, log: ProgramLog, match: re.Match[str], buffer: str) -> None:
    """A warp holds factors twice: 16 halves of each in a thread, CUDA's `num_elements` says."""
    kept = log.buffers[buffer]
    twice = 1 if "accumulator" in kept.scope + kept.tag else 2
    registers = twice * 16 * 16 // 32 * int(dtypes.itemsize(match[4])) // 4
    told = (match[2], int(match[5]))
    tally.same("registers of fragments", told, (buffer, registers), match[0])


def check_fragments(tally: Tally, log: ProgramLog, picture: Picture) -> None:
    """The cells and registers of each lane, in words on boxes, titles and the table."""
    boxes: dict[str, dict[Spot, int]] = {}
    for of in dict.fromkeys(shape.of for shape in shapes_of(picture)):
        if of.buffer or of.statement:
            check_stands(tally, log, of)
        found = re.fullmatch(r"lane (\d+)(?: of ([ABC]))?: (registers? .*)", of.title)
        if found:
            lane, cells = int(found[1]), _cells(found[3])
            tally.same("lanes of fragments", of.lanes, (lane,), of.title)
            if found[2]:
                _of_product(tally, found[2], lane, cells)
            for cell in cells:
                tally.same("cells that one lane holds", boxes.setdefault(
                    found[2] or of.buffer, {}).setdefault(cell, lane), lane)  # fmt: skip
        elif of.title.startswith("fragment "):
            tally.read(of.title, [(WMMA, lambda m, of=of: _of_wmma(tally, log, m, of.buffer))])
        elif of.title and of.title != of.buffer:
            given = re.fullmatch(r"lane (\d+) gives the row at \[(\d+), (\d+)\] of ([\w.]+)",
                                 of.title)  # fmt: skip
            tally.same("rows that lanes give", bool(given and given[4] == of.buffer), True)
    for name, cells in boxes.items():
        rows, columns = (max(side) + 1 for side in zip(*cells, strict=True))
        tally.same("cells of fragments", {*cells}, {*product(range(rows), range(columns))}, name)
    for shape in shapes_of(picture):
        if isinstance(shape, Words):
            tally.whole(shape.label)
            _words(tally, log, shape)
            if shape.of.lanes and shape.label.isdigit():
                tally.same("lanes on boxes of fragments", int(shape.label), shape.of.lanes[0])
    for line in picture.caption.splitlines():
        _caption(tally, line)
    heads = picture.table.columns
    for row in picture.table.rows:
        if heads[0] != "lane" or len(heads) != 4 or "gives" in heads[1]:
            continue
        for part, text in zip("ABC", row[1:], strict=True):
            _of_product(tally, part, int(row[0]), _cells(str(text)))


def _words(tally: Tally, log: ProgramLog, words: Words) -> None:
    """Registers over boxes, numbers of rows, columns and lanes, and whole names."""

    def registers(match: re.Match[str]) -> None:
        numbers = [int(n) for n in match[2].split(", ")]
        tally.same("registers over boxes", max(numbers) < 8, True, match[0])
        if match[1]:
            tally.same("matrices over boxes", [int(match[1])], numbers, match[0])

    def names(match: re.Match[str]) -> None:
        for name in re.findall(r"[\w.]+", match[1]):
            tally.among("names of fragments", name, log.buffers, match[0])

    tally.read(words.label, [
        (r"(?:matrix (\d), )?reg(?:ister)?s? (\d(?:, \d)*)", registers),
        (r"(\d+)", lambda m: tally.same("numbers of fragments", int(m[1]) < 64, True)),
        (r"(m16n8k16|mma\.sync|\?|none)", lambda _: None),
        (r"(?:[ABC]: )?([\w.]+(?: → [\w.]+)?(?: →)?)", names),
    ])  # fmt: skip


def _caption(tally: Tally, line: str) -> None:
    """How many cells a lane holds in how many registers."""

    def holds(match: re.Match[str]) -> None:
        for cells, part, registers in re.findall(r"(\d+) of (\w+) in (\d+)", match[2]):
            packed = 1 if part == "C" else 2
            if part in "ABC":
                wanted = (len(held(part, 0)), len(held(part, 0)) // packed)
                tally.same("cells and registers in captions", (int(cells), int(registers)), wanted)

    tally.read(line, [
        (r"(?:Each lane|(Lane \d+)) holds cells: ((?:\d+ of \w+ in \d+(?: registers)?(?:, )?)+)\.",
         holds),
        (r"(Each lane|Lane \d+) ((?:loads|stores) cells: \d+ of \w+ in \d+ registers"
         r"(?:, two neighbours at a time)?)\.", holds),
        (r"(Lane \d+) gives the row at (\[\d+, \d+\]), and gets its boxes\.", lambda _: None),
        (r"(\d+) fragments? a warp; wmma does not tell who holds which cell\.", lambda _: None),
        (r"[^\d]*", lambda _: None),
    ])  # fmt: skip


def _of_product(tally: Tally, part: str, lane: int, cells: dict[Spot, tuple[int, ...]]) -> None:
    packed = 1 if part == "C" else 2
    wanted = {cell: k // packed for k, cell in enumerate(held(part, lane))}
    tally.same("cells of a lane", {*cells}, {*wanted}, f"{part} {lane}")
    for cell, registers in cells.items():
        tally.same("registers of cells", wanted.get(cell) in registers, True, f"{part}{cell}")


def _cells(text: str) -> dict[Spot, tuple[int, ...]]:
    """The cells of "registers 0 [3, 2:4], 1 [11, 2:4]", with their registers."""
    found: dict[Spot, tuple[int, ...]] = {}
    for numbers, rows, columns in re.findall(r"([\d ]+) \[([\d:]+), ([\d:]+)\]", text):
        registers = tuple(map(int, numbers.split()))
        for spot in product(_side(rows), _side(columns)):
            found[spot] = registers
    return found


def _side(text: str) -> range:
    first, _, last = text.partition(":")
    return range(int(first), int(last) if last else int(first) + 1)
