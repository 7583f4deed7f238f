"""The warps of a block, and one warp at a request, against what each thread does in order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from tests.support.pictured.launches import operations
from tests.support.pictured.log import BARRIER, WARP, KernelLog, ProgramLog, width
from tests.support.pictured.names import forms_of
from tests.support.pictured.requests import SECTOR, Asked, asked_of, check_requests, wavefronts
from tests.support.pictured.tally import Tally, counted
from tests.support.warp_trace import Request
from workbench import script
from workbench.draw import Picture
from workbench.ir import SHUFFLE, BinOp, BufferLoad, BufferStore, Call, Expr, children, dtypes

LINE = 128


def clocks(log: KernelLog) -> list[int] | None:
    """How long each warp of a block is busy: a clock for each wavefront or line of its requests,
    as of the worst of an access, and for each operation; None where loops differ in their turns."""
    warps = -(-prod(log.kernel.block) // WARP)
    total = [0] * warps
    for place in log.places:
        store, node = place
        loops = log.loops[id(node)]
        if not all(hasattr(x.extent, "value") for x in loops):
            return None
        turns = prod(int(x.extent.value) for x in loops)
        requests, wide = log.requests[place], width(node)
        writes = isinstance(node, BufferStore)
        index = node.indices[0]
        each = getattr(index, "lanes", 1) if getattr(index, "stride", 1) != 1 else 1
        for warp in range(warps):
            own = [lanes for key, lanes in requests.items() if key[1] == warp]
            if not own:
                continue
            if node.buffer.scope == "shared":
                worst = max(
                    sum(max(map(len, banks)) for banks in wavefronts(lanes, wide, writes))
                    for lanes in own
                )
                total[warp] += worst * turns * each
            elif node.buffer.scope == "global":
                lines = [_lines(requests, key, wide) for key in requests if key[1] == warp]
                if None in lines:
                    return None
                total[warp] += max(n for n in lines if n is not None) * turns * each
            if writes and store is not None:
                total[warp] += _computed(store) * turns
    return total


def _lines(requests: Mapping[Any, Request], key: Any, wide: int) -> int | None:
    """The lines of a request as the model has them: of the first byte that the block asks for, what
    lies beyond a sector counts; None where that is not the same for all lanes."""
    block, warp, turns, element = key
    origin = (0,) * len(block), (0,) * len(turns)
    there = {key[1]: lanes for key, lanes in requests.items()
             if (key[0], *key[2:]) == (origin[0], origin[1], element)}  # fmt: skip
    first = there.get(warp, {})
    moved = {address - first.get(lane, -1) for lane, address in requests[key].items()}
    if 0 not in there.get(0, {}) or len(moved) != 1 or not requests[key].keys() <= first.keys():
        return None
    least = min(address for lanes in there.values() for address in lanes.values())
    shift = (least + moved.pop()) % SECTOR - least
    ends = ((first[lane] + shift + k) // LINE for lane in requests[key] for k in (0, wide - 1))
    return len({*ends})


def _computed(store: BufferStore) -> int:
    """The clocks of what is computed for a store, one where it only moves a thread's own values."""
    done = instructions(store.value) * getattr(store.indices[0], "lanes", 1)
    loads = [n for n in _loads(store) if n.buffer.scope != "local"]
    only_own = store.buffer.scope == "local" and not loads
    return max(done, 1) if done or only_own else 0


def _loads(node: object) -> list[BufferLoad]:
    found = [node] if isinstance(node, BufferLoad) else []
    return found + [x for child in children(node) for x in _loads(child)]


def instructions(expr: Expr) -> int:
    """Operations on values, a product and what it is added to as one of them."""
    if isinstance(expr, BufferLoad) or expr.dtype == "bool":
        return 0
    inside = sum(instructions(child) for child in children(expr) if isinstance(child, Expr))
    if isinstance(expr, BinOp) and expr.op in ("+", "-") and dtypes.is_float(expr.dtype):
        products = [s for s in (expr.a, expr.b) if isinstance(s, BinOp) and s.op == "*"]
        return inside + (not products)
    alone = _alone(expr)
    return inside + alone


def _alone(expr: Expr) -> int:
    """Whether it is an operation by itself."""
    both = sum(operations(expr, floats) for floats in (True, False))
    below = (child for child in children(expr) if isinstance(child, Expr))
    inner = sum(operations(child, floats) for child in below for floats in (True, False))
    shuffles = isinstance(expr, Call) and expr.op == SHUFFLE
    return both - inner + shuffles


def check_block(tally: Tally, program: ProgramLog, log: KernelLog, picture: Picture) -> None:
    """The rows of warps, their barriers and clocks, in words and in the table."""
    track = picture.track
    assert track is not None
    barriers = {
        sum(place is BARRIER for place, *_ in noted) for (_, _), noted in log.threads.items()
    }
    waits = {k for k, sort in enumerate(track.sorts) if "idle" in sort.roles}
    busy, wanted = [0.0] * track.rows, clocks(log)
    for one in track.spans:
        for k in range(one.count):
            span = track.span(one, k)
            busy[span.row] += span.end - span.start if one.sort not in waits else 0
    if wanted is not None:
        tally.same("clocks of warps", busy, wanted)
    line = picture.caption
    found = re.match(r"(No barrier|[\d,]+ barriers?)", line)
    assert found is not None, line
    most = max(barriers)
    tally.same("barriers in captions", found[1], counted(most, "barrier") if most else "No barrier")
    rows = {str(name): int(many) for name, many, _ in picture.table.rows}
    for name, many, share in picture.table.rows:
        known = _named(program, log)
        tally.among("statements in tables of clocks", name, known)
        tally.same("shares of clocks", share, f"{int(many) / track.length:.1%}", str(name))
    if wanted is not None and len(wanted) == 1:
        tally.same("clocks in tables", sum(rows.values()), wanted[0])
    said = re.search(r"; (\d+)% of the clocks in (\w+)", line)
    if said:
        longest = max(rows.values())
        tally.same("the longest statement", rows.get(said[2]), longest, line)
        tally.same("percent of the longest", f"{int(said[1])}%", f"{longest / track.length:.0%}")
    first = re.match(r"Block ([\d,]+): ", picture.full)
    assert first is not None
    _rows(tally, picture, _named(program, log), track.length)


def _named(program: ProgramLog, log: KernelLog) -> list[str]:
    """The blocks and buffers of a program, and what its kernel keeps beside these."""
    return [*program.around, *program.buffers, *(buffer.name for buffer in log.kernel.allocs)]


def _rows(tally: Tally, picture: Picture, names: Sequence[str], length: float) -> None:
    track = picture.track
    assert track is not None
    strip = picture.strips[0]
    for shape in strip.shapes:
        if shape.of.title:
            found = re.fullmatch(r"(.*), from ([\d,]+) to ([\d,]+)", shape.of.title)
            if found is None:
                tally.add(f"unknown title {shape.of.title!r}")
                continue
            starts = {(f"{s.start:,.0f}", f"{s.end:,.0f}") for one in track.spans
                      for s in (track.span(one, k) for k in range(one.count))}  # fmt: skip
            tally.among("times of spans", (found[2], found[3]), starts)
            tally.among("names of spans", found[1], [*names, *track.names, "", "computes", "waits"])
        if hasattr(shape, "label"):
            tally.whole(shape.label)
            tally.read(shape.label, [
                (r"warp (\d+)", lambda m: tally.same(
                    "numbers of warps", int(m[1]) < track.rows, True)),
                (r"(?:barrier )?([\d,]+)", lambda m: tally.same(
                    "barriers or times on rows", int(m[1].replace(",", "")) <=
                    max(length, 1e9), True)),
                (r"([\d.,]+)(?: clocks?)?", lambda m: tally.same(
                    "times on axes of rows", float(m[1].replace(",", "")) <= length + 1, True)),
                (r"([\w.]+)", lambda m: tally.among(
                    "names on rows", m[1], [*names, *track.names, "computes", "waits"])),
            ])  # fmt: skip


def check_warp(tally: Tally, program: ProgramLog, log: KernelLog, picture: Picture) -> None:
    """The rows of a warp, and the request that is made at the time that is shown."""
    track = picture.track
    assert track is not None
    _rows(tally, picture, _named(program, log), track.length)
    lines = picture.full.splitlines()
    found = re.fullmatch(r"Warp ([\d,]+) of block ([\d,]+)\.", lines[0])
    assert found is not None, lines[0]
    if len(lines) < 6:
        tally.counts["left out: warps that ask for nothing"] += 1
        return
    request = replace(picture, strips=picture.strips[1:], full="\n".join(lines[1:-1]))
    text = lines[3].removesuffix(".")
    every: list[Asked] = [*asked_of([log], "shared"), *asked_of([log], "global")]
    alike = [one for one in every if _text(one) == text and f" of {one.buffer}" in lines[1]]
    tally.same("requests of warps", bool(alike), True, text)
    tries = []
    for one in alike:  # a text may stand in several places: one of them is shown
        part = Tally(where=tally.where)
        for form in forms_of(request):
            check_requests(part, form, one)
        tries.append(part)
    best = min(tries, key=lambda part: len(part.wrong), default=None)
    if best is not None:
        tally.counts += best.counts
        tally.wrong += best.wrong
    rows = {name for name in track.names if name not in ("computes", "waits", "nothing")}
    warp = int(found[1].replace(",", ""))
    idle = not any(noted for (_, n), noted in log.threads.items() if n // WARP == warp)
    tally.same("warps that do nothing", track.names == ("nothing",), idle)
    mine = {place[1].buffer.name for place in log.places if place[1].buffer.scope != "local"}
    tally.same("buffers of a warp", rows <= mine, True)


def _text(one: Asked) -> str:
    node = one.place[1]
    return script.expr_text(BufferLoad(node.buffer, node.indices))
