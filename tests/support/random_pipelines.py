"""Random pipelines: statements that share buffers, whole or in part, with stages and an order."""

from __future__ import annotations

import random
from textwrap import indent

from tests.support.gpu_programs import parsed
from workbench.ir import PrimFunc

HOMES = ("inside", "inside", "outside", "argument")  # where a buffer lives
CELLS = ("0", "1", "i % 2", "(i + 1) % 2", "i % 3", "i", "i + 1", "i // 2", "2 - i % 3")
GUARDS = ("i % 2 == 0", "i < 4", "i > 3", "A[i] > 0")
WHENS = ("A[i] > 0", "A[i + 1] < A[i]", "A[0] > 1", "i % 3 > 0")


def random_pipeline(rng: random.Random, odd: bool = False) -> PrimFunc:
    """A loop of 0 to 9 turns over two to five statements, of which each notes all that it reads.

    What a statement reads goes into its row of O, for its iteration. So where two orders make the
    same O, each statement has read the same. An `odd` one may run again, for another number of
    turns or none, which data may tell, and statements under conditions; what it does ahead is told
    by stages, by double buffers, or by both.
    """
    count, buffers = rng.randint(2, 5), "XYZ"[: rng.randint(1, 3)]
    homes = {b: rng.choice(HOMES) for b in buffers}
    low, turns = rng.choice((0, 0, 1, 3)), rng.randint(0, 9)
    size = low + turns + 4
    stages = [rng.randint(0, 3) for _ in range(count)]
    order = rng.sample(range(count), count) if rng.random() < 0.6 else list(range(count))
    notes = f'"software_pipeline_stage": {stages}, "software_pipeline_order": {order}'
    last, again, twice = str(low + turns), False, ""
    if odd:
        again = rng.random() < 0.4
        if again:
            last = rng.choice((last, f"{low} + again * {turns}", f"{last} - again"))
        if rng.random() < 0.2:
            last = f"T.max({low}, T.min({last}, A[{rng.randrange(2)}] + {low}))"
        twice = "".join(b for b in buffers if rng.random() < 0.5 and homes[b] != "argument")
        notes = "" if twice and rng.random() < 0.8 else notes
    statements = (_statement(rng, k, buffers, size, twice, odd) for k in range(count))

    def of(home: str, line: str) -> str:
        return "".join(line.format(b=b, size=size) for b in buffers if homes[b] == home)

    loop = f"for i in T.serial({low}, {last}, annotations={{{notes}}}):\n{''.join(statements)}"
    if again:  # for another number of turns, maybe for none
        loop = f"for again in range(2):\n{indent(loop, '    ')}    O[0, 1] = again\n"
    made = '{b} = T.alloc_buffer(({size},), "int32", scope="local")'
    return parsed(f"""
@T.prim_func
def main(A: T.Buffer(({size},), "int32"), O: T.Buffer(({count}, {size}), "int32"){
        of("argument", ', {b}: T.Buffer(({size},), "int32")')
    }):
    {of("inside", made + chr(10) + "    ")}{of("outside", made + chr(10) + "    ")}{
        of("outside", "for j in range({size}): {b}[j] = A[j] + 1" + chr(10) + "    ")
    }
{indent(loop, "    ")}    O[0, 0] = O[0, 0] + 1
{of("outside", "    for j in range({size}): O[0, j] = O[0, j] + {b}[j]" + chr(10))}
""")


def _statement(rng: random.Random, k: int, buffers: str, size: int, twice: str, odd: bool) -> str:
    """One that reads some of `buffers`, notes what it finds, and writes some."""
    reads = [_read(rng, b) for b in buffers if rng.random() < (0.8 if k and b in twice else 0.4)]
    lines = [f"O[{k}, i] = {' + '.join([f'A[i] * {k + 2}', *reads])}"]
    for b in buffers:
        if rng.random() < 0.35 or (k == 0 and b in twice):
            lines += _write(rng, k, b, size, b in twice)
    when = f"if {rng.choice(WHENS)}:" if odd and rng.random() < 0.2 else "for u in range(1):"
    return f"    {when}\n" + "".join(f"        {line}\n" for line in lines)


def _read(rng: random.Random, buffer: str) -> str:
    factor = rng.choice((2, 3, 5))
    cells = [rng.choice(CELLS)] if rng.random() < 0.7 else ["0", "1"]
    return f"({' - '.join(f'{buffer}[{cell}]' for cell in cells)}) * {factor}"


def _write(rng: random.Random, k: int, buffer: str, size: int, twice: bool) -> list[str]:
    kind = rng.random()
    cell, value, guard = rng.choice(CELLS), f"O[{k}, i]", ""
    if kind < (0.7 if twice else 0.35):
        cell = f"j{k}{buffer}"
        guard = f"for {cell} in range({size}): "
    elif kind < (0.8 if twice else 0.5):
        value = f"{buffer}[{cell}] + A[i]"
    elif rng.random() < 0.2:
        guard = f"if {rng.choice(GUARDS)}: "
    store = f"{guard}{buffer}[{cell}] = {value}"
    if not twice or rng.random() < 0.2:
        return [store]
    reads = f"A[0:{size}], O[{k}, 0:{size}], {buffer}[0:{size}]"  # A may tell the iteration
    note = 'T.block_attr({"double_buffer_scope": 0})'
    return [
        f'with T.block("{buffer}{k}"):',
        *(f"    {line}" for line in (f"T.reads({reads})", note, store)),
    ]


LANES = ("t", "7 - t", "(t + 1) % 8", "(t * 3 + 2) % 8")
TAILS = ("t < 5", "i % 2 == 0", "i < 3", "t + i < 9")


def random_async_pipeline(rng: random.Random) -> PrimFunc:
    """A loop of 0 to 9 turns over copies to shared memory, some of them in asynchronous stages.

    Each of 8 threads copies what others read. A buffer is filled by one copy or by two, in part
    with zeros, or by what is computed; what is read of it goes into O.
    """
    buffers = "XYZ"[: rng.randint(1, 3)]
    turns, low, again = rng.randint(1, 9), rng.choice((0, 0, 2)), rng.random() < 0.4
    end = f"{low} + j * {turns}" if again and rng.random() < 0.4 else low + turns
    lines = [line for b in buffers for line in _fetch(rng, b)]
    works = [_use(rng, k, buffers) for k in range(rng.randint(1, 2))]
    lines = lines + works if rng.random() < 0.8 else [*works, *lines]
    copies = [line.split("= ")[-1].startswith(("A[", "T.if")) for line in lines]
    last = rng.randint(1, 3)
    stages = [
        rng.choice((0, 0, 1)) if ("O[" not in line) else rng.choice((last, last, 3))
        for line in lines
    ]
    apart = {stage for stage in stages if rng.random() < 0.8}
    apart -= {stage for stage, copy in zip(stages, copies, strict=True) if not copy}
    count = len(lines)
    order = rng.sample(range(count), count) if rng.random() < 0.5 else list(range(count))
    notes = {"software_pipeline_stage": stages, "software_pipeline_order": order}
    notes["software_pipeline_async_stages"] = sorted(apart)
    if rng.random() < 0.4:
        notes["software_pipeline_copies"] = {b: rng.randint(2, 4) for b in buffers}
    body = "".join(
        f"""            for t in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("{k}"):
                    {line}
"""
        for k, line in enumerate(lines)
    )
    made = "".join(f'    {b} = T.alloc_buffer((8,), "int32", scope="shared")\n' for b in buffers)
    return parsed(f"""
@T.prim_func
def main(A: T.Buffer((13, 8), "int32"), O: T.Buffer((2, 2, 13, 8), "int32")):
{made}    for j in range({1 + again}):
        for i in T.serial({low}, {end}, annotations={notes}):
{body}""")


def _fetch(rng: random.Random, buffer: str) -> list[str]:
    """What fills `buffer` from a row of A, in one statement or in two."""
    to, kind = rng.choice(LANES), rng.random()
    guard = f"T.where({rng.choice(TAILS)})\n                    " if rng.random() < 0.2 else ""
    if kind < 0.5:
        return [f"{guard}{buffer}[{to}] = A[i, {rng.choice(LANES)}]"]
    if kind < 0.7:
        zeros = f"T.if_then_else({rng.choice(TAILS)}, A[i, {rng.choice(LANES)}], 0)"
        return [f"{guard}{buffer}[{to}] = {zeros}"]
    if kind < 0.85:
        halves = ("t < 4", "t >= 4")
        return [f"T.where({half})\n                    {buffer}[{to}] = A[i, t]" for half in halves]
    return [f"{guard}{buffer}[{to}] = 2 * A[i, t]"]


def _use(rng: random.Random, k: int, buffers: str) -> str:
    read = rng.sample(buffers, rng.randint(1, len(buffers)))
    return f"O[{k}, j, i, t] = " + " + ".join(f"{b}[{rng.choice(LANES)}]" for b in read)
