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

Spot = tuple[int, int]


def held(part: str, lane: int) -> list[Spot]:
    """The cells of a lane in the order of its registers, of halves; of C in 32 bits."""
    g, t = lane // 4, lane % 4
    if part == "A":
        return [(g + 8 * (i // 2 % 2), 2 * t + i % 2 + 8 * (i // 4)) for i in range(8)]
    if part == "B":
        return [
            (2 * t + i % 2 + 8 * (i // 2), g + 8 * half) for half in range(2) for i in range(4)
        ]
    return [(g + 8 * (i // 2), 2 * t + i % 2 + 8 * half) for half in range(2) for i in range(4)]


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
        elif of.title.startswith("lane "):
            given = re.fullmatch(r"lane (\d+) gives the row at \[(\d+), (\d+)\] of ([\w.]+)",
                                 of.title)  # fmt: skip
            tally.same("rows that lanes give", bool(given and given[4] == of.buffer), True)
    for name, cells in boxes.items():
        rows, columns = (max(side) + 1 for side in zip(*cells, strict=True))
        tally.same("cells of fragments", {*cells}, {*product(range(rows), range(columns))}, name)
    for shape in shapes_of(picture):
        if isinstance(shape, Words):
            tally.whole(shape.label)
            if shape.of.lanes and shape.label.isdigit():
                tally.same("lanes on boxes of fragments", int(shape.label), shape.of.lanes[0])
    heads = picture.table.columns
    for row in picture.table.rows:
        if heads[0] != "lane" or len(heads) != 4 or "gives" in heads[1]:
            continue
        for part, text in zip("ABC", row[1:], strict=True):
            _of_product(tally, part, int(row[0]), _cells(str(text)))


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
