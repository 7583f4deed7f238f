"""Names in pictures: of buffers, blocks and loops, each against the lines that it points at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.support.pictured.log import ProgramLog
from tests.support.pictured.tally import Tally
from workbench.draw import Picture, Stands, Words
from workbench.draw.scene import Shape


def forms_of(picture: Picture) -> list[Picture]:
    """The picture, and the same with ever fewer words."""
    return [replace(picture, strips=tuple(strips), low=()) for strips in picture.forms]


def shapes_of(picture: Picture) -> Iterator[Shape]:
    """All shapes of all strips."""
    for strip in picture.strips:
        yield from strip.shapes


def words_of(picture: Picture) -> Iterator[Words]:
    """All words on shapes."""
    return (shape for shape in shapes_of(picture) if isinstance(shape, Words))


def check_names(tally: Tally, log: ProgramLog, picture: Picture) -> None:
    """What shapes stand for is there, goes together, and no word is cut."""
    for shape in words_of(picture):
        tally.whole(shape.label)
        if shape.short and shape.of.buffer:
            said = shape.label.partition(" ")[2] if shape.role == "on-strong" else shape.of.buffer
            tally.same("short names of sheets", shape.short, said)
    for of in dict.fromkeys(shape.of for shape in shapes_of(picture)):
        check_stands(tally, log, of)
    for field in (field for strip in picture.strips for field in strip.fields):
        check_stands(tally, log, field.of)


def check_stands(tally: Tally, log: ProgramLog, of: Stands) -> None:
    """The buffer, the blocks and the loops of a shape, as the program's lines have them."""
    known = log.around
    blocks = [name for name in of.statement.split(", ") if name]
    if of.buffer:
        tally.among("names of buffers", of.buffer, log.buffers)
        tally.same("lines of buffers", log.stands(of.buffer), True, of.buffer)
    for block in blocks:
        bare = block in log.buffers  # a store without a block has its buffer's name
        tally.same("names of blocks", block in known or bare, True, block)
    loops = [*dict.fromkeys(of.loops)]
    for loop in loops:
        tally.same("lines of loops", bool(log.line_of(loop)), True, loop)
    there = {x.loop_var.name for block in blocks for nest in known.get(block, []) for x in nest}
    if blocks and all(block in known for block in blocks):
        for loop in loops:
            tally.same("loops around blocks", loop in there, True, f"{loop} of {of.statement}")
    if of.buffer and blocks and all(block in known for block in blocks):
        touching = log.touching.get(of.buffer, set())
        if touching:
            tally.same(
                "blocks that touch buffers", bool(touching & {*blocks}), True,
                f"{of.statement} touches {of.buffer}",
            )  # fmt: skip
