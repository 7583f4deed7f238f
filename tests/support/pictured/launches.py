"""What a launch takes of a GPU: places, waves, roofs, costs and the bar of times, by counting."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import ceil, prod
from typing import Any

from tests.support.list_scheduler import Grid, places
from tests.support.pictured.log import BARRIER, KernelLog, in_order
from tests.support.pictured.names import shapes_of, words_of
from tests.support.pictured.requests import Asked, asked_of
from tests.support.pictured.tally import Tally, bytes_text, counted, fixed, micro
from workbench.draw import Picture
from workbench.insight import Modelled
from workbench.ir import BinOp, BufferLoad, BufferStore, Call, Expr, Node, children, dtypes
from workbench.target import Target

Span = tuple[int, int]
COMPUTES = {"+", "-", "*", "/", "//", "%", "min", "max", "&", "|", "^", "<<", ">>"}
MATHS = {
    "exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "rsqrt", "tanh", "sigmoid", "sin",
    "cos", "tan", "erf", "pow", "abs", "fabs", "floor", "ceil", "round", "trunc", "fma",
    "power", "clz", "popcount",
}  # fmt: skip
NAMES = {"blocks": "block slots", "bytes of shared memory": "shared memory"}


def work(kernel_log: KernelLog) -> int:
    """The operations on values that all threads do: floats where there are any, else integers."""
    found = {True: 0, False: 0}
    for noted in kernel_log.threads.values():
        for place, *_ in noted:
            if place is BARRIER or not isinstance(place[1], BufferStore):
                continue
            lanes = getattr(place[1].indices[0], "lanes", 1)
            for floats in found:
                found[floats] += operations(place[1].value, floats) * lanes
    return found[True] or found[False]


def operations(expr: Expr, floats: bool) -> int:
    """Additions, products and the like on values; not those of indices."""
    if isinstance(expr, BufferLoad):
        return 0
    own = 0
    computes = isinstance(expr, BinOp) and expr.op in COMPUTES
    maths = isinstance(expr, Call) and expr.op in MATHS
    if computes or maths:
        own = int((dtypes.is_float(expr.dtype)) == floats)
    below: Sequence[Node] = children(expr)
    return own + sum(operations(x, floats) for x in below if isinstance(x, Expr))


# --- occupancy ------------------------------------------------------------------------------------


def room(gpu: Target, log: KernelLog, registers: int) -> dict[str, int]:
    """For how many blocks each resource has room, block after block until one is too many."""
    threads, shared = prod(log.kernel.block), shared_of(log)
    warps = -(-threads // gpu.warp_size)
    unit = gpu.registers_unit or 1
    each = -(-registers * gpu.warp_size // unit) * unit
    parts = gpu.registers_parts or 1
    in_parts = (gpu.registers_per_sm or 0) // parts // each * parts
    found = {"warps": (gpu.max_warps_per_sm or 0) // warps, "blocks": gpu.max_blocks_per_sm or 0}
    if shared:
        found["bytes of shared memory"] = (gpu.shared_bytes_per_sm or 0) // rounded(gpu, shared)
    found["registers"] = in_parts // warps
    return found


def rounded(gpu: Target, shared: int) -> int:
    """What a block takes of shared memory, with what is reserved."""
    unit = gpu.shared_bytes_unit or 1
    return -(-(shared + (gpu.shared_bytes_reserved or 0)) // unit) * unit


def shared_of(log: KernelLog) -> int:
    """The bytes of its shared arrays, each from a multiple of its alignment on."""
    widest: dict[str, int] = {}
    for node in in_order(log.kernel.body):
        widest[node.buffer.name] = max(widest.get(node.buffer.name, 1), _bytes(node))
    total = 0
    for buffer in log.kernel.allocs:
        if buffer.scope.startswith("shared"):
            each = widest.get(buffer.name, int(dtypes.itemsize(buffer.type)))
            total = -(-total // each) * each
            total += int(prod(buffer.shape)) * int(dtypes.itemsize(buffer.type))
    return total


def check_occupancy(tally: Tally, logs: Sequence[KernelLog], gpu: Target, picture: Picture) -> None:
    """The bars, the waves and the table of what blocks take of a multiprocessor."""
    rows: dict[str, list[Any]] = {log.kernel.name: [] for log in logs}
    for name, *row in picture.table.rows:
        rows[str(name)].append(row)
    for log, strip in zip(logs, picture.strips, strict=True):
        one = _Occupancy(tally, log, gpu, rows[log.kernel.name])
        one.table()
        for shape in strip.shapes:
            if hasattr(shape, "label"):
                tally.whole(shape.label)
                one.words(shape.label)
            if shape.of.title:
                one.title(shape.of.title)
    used = [100 * one.fraction() for one in
            (_Occupancy(tally, log, gpu, rows[log.kernel.name]) for log in logs)]  # fmt: skip
    found = re.search(r"([\d.e-]+)%(?: to ([\d.]+)%)? of its warps are there", picture.caption)
    assert found is not None, picture.caption
    most = min(used)
    told = float(found[2] or found[1])
    tally.same("percent of warps", abs(told - most) <= max(0.5, 0.05 * most) + 1e-9, True,
               f"{picture.caption} {most}")  # fmt: skip
    blocks = re.search(r"([\d,]+) blocks? for (\d+) multiprocessors", picture.caption)
    if blocks:
        known = {(f"{prod(log.kernel.grid):,}", str(gpu.sm_count)) for log in logs}
        tally.among("blocks in captions", blocks.groups(), known)
    idle = re.search(r"(\d+) of (\d+) lanes have no thread", picture.caption)
    if idle:
        lanes = [(-(-prod(log.kernel.block) // 32) * 32, prod(log.kernel.block)) for log in logs]
        known = {(str(every - used), str(every)) for every, used in lanes}
        tally.among("lanes without a thread", idle.groups(), known)


class _Occupancy:
    def __init__(self, tally: Tally, log: KernelLog, gpu: Target, rows: list[Any]) -> None:
        self.tally, self.log, self.gpu, self.rows = tally, log, gpu, rows
        self.threads, self.blocks = prod(log.kernel.block), prod(log.kernel.grid)
        self.warps = -(-self.threads // 32)
        most = next(n for n in range(gpu.max_registers_per_thread or 1, 0, -1)
                    if room(gpu, log, n)["registers"] or n == 1)  # fmt: skip
        told = next((row[1] for row in rows if row[0] == "registers"), "")
        few = int(str(told).split(" to ")[0].replace(",", "")) // self.warps if told else 1
        # a compiler's are recorded, or estimated to be the most; else they are from 1 on
        least = next((n for n in range(1, most + 1) if self.of_warp(n) == few), 1)
        all_of_them = few == self.of_warp(most)
        known = (least, most if all_of_them else least)
        self.span = (1, most) if " to " in str(told) else known
        self.few = room(gpu, log, self.span[0])
        self.many = room(gpu, log, self.span[1])
        self.most = min(self.few.values()), min(self.many.values())  # most room, least room

    def of_warp(self, registers: int) -> int:
        unit = self.gpu.registers_unit or 1
        return -(-registers * 32 // unit) * unit

    def fraction(self) -> float:
        """The share of a multiprocessor's warps that are there with the fewest registers."""
        there = min(self.most[0], self.blocks / (self.gpu.sm_count or 1))
        return there * self.warps / (self.gpu.max_warps_per_sm or 1)

    def needed(self) -> dict[str, tuple[Span, int]]:
        gpu = self.gpu
        found: dict[str, tuple[Span, int]] = {
            "warps": ((self.warps,) * 2, gpu.max_warps_per_sm or 0),
            "blocks": ((1, 1), gpu.max_blocks_per_sm or 0),
            "registers": (
                (self.of_warp(self.span[0]) * self.warps, self.of_warp(self.span[1]) * self.warps),
                gpu.registers_per_sm or 0,
            ),
        }  # fmt: skip
        if shared := shared_of(self.log):
            size = rounded(gpu, shared)
            found["bytes of shared memory"] = ((size, size), gpu.shared_bytes_per_sm or 0)
        return found

    def table(self) -> None:
        needed = self.needed()
        for name, takes, there, blocks in self.rows:
            if name == "blocks of the launch":
                each = self.blocks / (self.gpu.sm_count or 1)
                wanted = ("1", self.blocks, f"{each:.3g}")
                self.tally.same("blocks of launches", (takes, there, blocks), wanted)
                continue
            (low, high), available = needed[name]
            text = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            self.tally.same("what a block takes", takes, text, name)
            self.tally.same("what a multiprocessor has", there, available, name)
            few, many = sorted((self.few[name], self.many[name]))
            room_text = f"{few:,}" if few == many else f"{few:,} to {many:,}"
            self.tally.same("blocks that have room", blocks, room_text, name)

    def words(self, label: str) -> None:
        names = "warps|block slots|shared memory|registers"
        self.tally.read(label, [
            (rf"(?:{names})(?:: the limit)?", lambda _: None),
            (r"filled: blocks that are there; hollow: room for more", lambda _: None),
            (r"(?:(\d+) of (\d+) lanes; )?(?:a block takes )?(.*) of ([\d.,]+(?: \w+)?)",
             self.bar),
            (r"([\d,]+ blocks?)(?: on (\d+) multiprocessors)?: (.*)", self.waves),
            (r"([\d,]+)", lambda m: self.tally.among(
                "numbers of waves", int(m[1].replace(",", "")), range(1, self.blocks + 1))),
            *([(rf"({re.escape(self.log.kernel.name)})", lambda m: self.tally.same(
                "names of kernels", m[1], self.log.kernel.name))]),
        ])  # fmt: skip

    def bar(self, match: re.Match[str]) -> None:
        if match[1]:
            lanes = (int(match[1]), int(match[2]))
            self.tally.same("lanes with a thread", lanes, (self.threads, self.warps * 32))
        known = set()
        for name, ((low, high), available) in self.needed().items():
            told = bytes_text if "bytes" in name else "{:,}".format
            text = told(low) if low == high else f"{told(low)} to {told(high)}"
            forms = {text}
            if name == "registers":
                first, last = self.span
                each = str(first) if first == last else f"{first} to {last}"
                forms.add(f"{text} ({each} a thread)")
            if "bytes" in name and self.gpu.shared_bytes_reserved:
                reserved = self.gpu.shared_bytes_reserved
                forms.add(f"{told(low - reserved)} + {told(reserved)} reserved")
            known |= {(form, told(available)) for form in forms}
        self.tally.among("what is on bars", (match[3], match[4]), known)

    def waves(self, match: re.Match[str]) -> None:
        self.tally.same("blocks over waves", match[1], counted(self.blocks, "block"))
        if match[2]:
            self.tally.same("multiprocessors", int(match[2]), self.gpu.sm_count)
        low, high = (
            max(ceil(round(self.blocks / ((self.gpu.sm_count or 1) * max(n, 1)), 9)), 1)
            for n in self.most
        )
        text = counted(low, "wave") if low == high else f"{low:,} to {high:,} waves"
        self.tally.same("waves", match[3], text)

    def title(self, title: str) -> None:
        each = self.blocks / (self.gpu.sm_count or 1)
        least, most = (min(n, ceil(min(n, each))) for n in self.most[::-1])
        number = str(least) if least == most else f"{least} to {most}"
        there = f"{number} {'is' if most == 1 else 'are'}"

        def has_room(match: re.Match[str]) -> None:
            name = next((n for n, s in NAMES.items() if s == match[1]), match[1])
            few, many = sorted((self.few[name], self.many[name]))
            text = counted(few, "block") if few == many else f"{few:,} to {many:,} blocks"
            self.tally.same("room in titles", match[2], text, title)
            self.tally.same("blocks that are there", match[3], there, title)

        def wave(match: re.Match[str]) -> None:
            number, sms = int(match[1]) - 1, self.gpu.sm_count or 1
            # as many places as there surely are
            left = self.blocks - number * sms * self.most[1]
            self.tally.same("multiprocessors that work", int(match[2]), min(left, sms), title)
            self.tally.same("multiprocessors", int(match[3]), sms, title)

        self.tally.read(title, [
            (r"(.*): room for (.* blocks?), (.*) there", has_room),
            (r"wave (\d+): (\d+) of (\d+) multiprocessors work", wave),
        ])  # fmt: skip


# --- the roofline ---------------------------------------------------------------------------------


def check_roofline(
    tally: Tally, steps: Mapping[int, Sequence[KernelLog]], gpu: Target, picture: Picture
) -> None:
    """Operations and bytes of each step, and under which roof these put it."""
    known: dict[int, tuple[int, int, float, str]] = {}
    for number, logs in steps.items():
        done = sum(map(work, logs))
        moved = 0
        for log in logs:
            for (_, _), noted in log.threads.items():
                moved += sum(
                    _bytes(place[1])
                    for place, *_ in noted
                    if place is not BARRIER and place[1].buffer.scope == "global"
                )
        each = done / moved if moved else 0.0
        ridge = (gpu.peak_flops or 1) / (gpu.bandwidth or 1)
        known[number] = done, moved, each, "memory" if each < ridge else "compute"
    for number, done, moved, each, bound in picture.table.rows:
        wanted = known.get(int(number))
        if wanted is None:
            continue
        tally.same("operations", done, wanted[0], f"step {number}")
        tally.same("bytes asked of global memory", moved, wanted[1], f"step {number}")
        tally.same("operations a byte", each, round(wanted[2], 4), f"step {number}")
        tally.same("which roof is the limit", bound, wanted[3], f"step {number}")
    by_step = {int(row[0]): row for row in picture.table.rows}
    for shape in shapes_of(picture):
        for line in shape.of.title.splitlines():
            found = re.fullmatch(r"step ([\d– ]+): ([\d.e+-]+) operations a byte, (.*)", line)
            if found is None:
                tally.add(f"unknown title {line!r}")
                continue
            for number in _numbers(found[1]):
                told = float(by_step[number][3])
                tally.same("steps in titles", abs(float(found[2]) - told) <= 0.006 * told + 1e-4,
                           True, line)  # fmt: skip
    for words in words_of(picture):
        tally.whole(words.label)
        tally.read(words.label, [
            *fixed("operations a byte that is asked for", "operations a second", "each byte once",
                   gpu.title),
            (r"(1/16|1|16|256|4,096)", lambda _: None),  # the axis is always the same
            (r"([\d.]+) ([TGM])", lambda m: _rate(tally, gpu, float(m[1]), m[2])),
            (r"(?:steps? )?([\d– ]+)", lambda m: tally.same(
                "steps on drawings", _numbers(m[1]) <= by_step.keys(), True)),
        ])  # fmt: skip


def _numbers(text: str) -> set[int]:
    found: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("–")
        found |= {*range(int(first), int(last or first) + 1)}
    return found


def _rate(tally: Tally, gpu: Target, number: float, unit: str) -> None:
    rate = number * {"T": 1e12, "G": 1e9, "M": 1e6}[unit]
    peaks = [(gpu.peak_flops or 0) / 2**down for down in range(0, 13, 4)]
    near = any(abs(rate - peak) <= 0.06 * peak for peak in peaks)
    tally.same("rates on axes", near, True, f"{number} {unit}")


def _bytes(node: BufferLoad | BufferStore) -> int:
    index = node.indices[0]
    lanes = getattr(index, "lanes", 1) if getattr(index, "stride", 1) == 1 else 1
    return int(lanes * dtypes.itemsize(node.buffer.type))


# --- the timeline ---------------------------------------------------------------------------------


def check_timeline(tally: Tally, logs: Sequence[KernelLog], gpu: Target, picture: Picture) -> None:
    """Each block runs once, where and when a list scheduler puts it; and the words say so."""
    track, sms = picture.track, gpu.sm_count or 1
    assert track is not None
    spans = [track.span(one, k) for one in track.spans for k in range(one.count)]
    total = sum(prod(log.kernel.grid) for log in logs)
    tally.same("blocks on timelines", len(spans), total)
    tally.same("multiprocessors on timelines", track.rows, sms)
    begun = 0
    for log, row in zip(logs, picture.table.rows, strict=True):
        blocks = prod(log.kernel.grid)
        name, told, there, waves, last, _ = row
        tally.same("names of kernels", name, log.kernel.name)
        tally.same("blocks in tables of launches", told, blocks)
        each = int(there) // sms
        tally.among("places of a multiprocessor", each, range(1, (gpu.max_blocks_per_sm or 1) + 1))
        known = min(v for k, v in room(gpu, log, 1).items() if k != "registers")
        tally.same("places of a multiprocessor at most", each <= known, True, f"{each} {known}")
        tally.same("waves in tables", waves, -(-blocks // int(there)))
        tally.same("blocks in the last wave", last, blocks - (int(waves) - 1) * int(there))
        own = spans[begun : begun + blocks]
        begun += blocks
        starts = min(span.start for span in own)
        length = {span.end - span.start for span in own}
        if len(length) == 1:
            grid = Grid(sms, each, (length.pop(),), (0,) * blocks, starts)
            wanted = [(sm, place, start, end) for sm, place, start, end in places(grid)]
            got = [(s.row, s.place, s.start, s.end) for s in own]
            tally.same("places of blocks", got, wanted)
    words = picture.full.splitlines()
    tally.read(words[0], [(
        r"([\d,]+) of (about )?([\d,]+) places · tail (none|[\d,]+ blocks?) · "
        r"(up to )?([\d.e-]+)% of warps",
        lambda m: _places(tally, m, picture, logs, gpu))])  # fmt: skip
    running = sum(s.start <= track.opens < s.end for s in spans)
    found = re.search(r"([\d,]+) of ([\d,]+) blocks? runs?", words[-1])
    if found:
        tally.same("blocks that run", found[1], f"{running:,}", words[-1])
        sizes = {f"{prod(log.kernel.grid):,}" for log in logs} | {f"{total:,}"}
        tally.among("blocks of a launch", found[2], sizes, words[-1])
    for label in (w.label for w in words_of(picture)):
        tally.whole(label)
        tally.read(label, [
            (r"(\w+) (\d+): (\d+) places", lambda m: tally.same(
                "places on drawings", int(m[3]), track.places)),
            (r"all (\d+) \w+s", lambda m: tally.same("rows on drawings", int(m[1]), sms)),
            (r"([\d.,e+-]+)(?: \D+)?", lambda m: tally.same(
                "times or rows on axes", float(m[1].replace(",", "")) <=
                max(track.length * 1.01, sms), True)),
            (r"[a-z ]+", lambda _: None),
        ])  # fmt: skip


def _places(
    tally: Tally, match: re.Match[str], picture: Picture, logs: Sequence[KernelLog], gpu: Target
) -> None:
    rows = picture.table.rows
    forms = set()
    for _, blocks, there, waves, last, _ in rows:
        tail = int(last) if int(waves) > 1 and int(last) != int(there) else 0
        forms.add((f"{min(int(blocks), int(there)):,}", f"{int(there):,}",
                   counted(tail, "block") if tail else "none"))  # fmt: skip
    tally.among("places in captions", (match[1], match[3], match[4]), forms)
    shares = []
    for log, (_, blocks, there, *_) in zip(logs, rows, strict=True):
        warps = -(-prod(log.kernel.block) // 32)
        sms = gpu.sm_count or 1
        resident = min(int(there) / sms, int(blocks) / sms)
        shares.append(100 * resident * warps / (gpu.max_warps_per_sm or 1))
    if match[5]:
        tally.same("shares of warps that are a most", bool(match[2]), True, match[0])
    told = float(match[6])
    near = any(
        abs(told - share) <= (0.5 if share >= 1 else 0.06 * share) + 1e-9 for share in shares
    )
    tally.same("percent of warps", near, True, f"{match[0]} {shares}")


# --- costs ----------------------------------------------------------------------------------------


def wanted_costs(logs: Sequence[KernelLog]) -> dict[str, str]:
    """The strip of costs, by counting."""
    blocks = sum(prod(log.kernel.grid) for log in logs)
    outputs = sum(len(log.cells("global", True)) for log in logs)
    loads = [sum(sum(log.touched(s, False).values()) for log in logs) for s in ("global", "shared")]
    sizes = list(dict.fromkeys(prod(log.kernel.block) for log in logs))
    shared: list[Asked] = asked_of(logs, "shared")
    glob: list[Asked] = asked_of(logs, "global")
    reads = [a for a in shared if a.kind == "read"]
    idle = sum(_idle(log) for log in logs)
    worst = max((c for a in reads for c, _ in a.costs.values()), default=0)
    return {
        "blocks": f"{blocks:,}",
        "threads in each": " and ".join(f"{n:,}" for n in sizes),
        "global loads an output": f"{loads[0] / outputs if outputs else 0:,.4g}",
        "shared loads an output": f"{loads[1] / (outputs or 1):,.4g}",
        "barriers a block": f"{sum(log.barriers for log in logs) / max(blocks, 1):,.4g}",
        "idle threads": f"{idle:,}",
        "wavefronts a shared read": f"{worst:,}",
        "global sectors": f"{sum(c for a in glob for c, _ in a.costs.values()):,}",
        "shared wavefronts": f"{sum(c for a in shared for c, _ in a.costs.values()):,}",
    }


def _idle(log: KernelLog) -> int:
    """How many threads store nothing to global memory."""
    return sum(
        not any(
            place is not BARRIER
            and isinstance(place[1], BufferStore)
            and place[1].buffer.scope == "global"
            for place, *_ in noted
        )
        for noted in log.threads.values()
    )


def check_costs(tally: Tally, logs: Sequence[KernelLog], told: Mapping[str, str]) -> None:
    """The strip of costs says what the log counts."""
    wanted = wanted_costs(logs)
    for name, text in told.items():
        if name in wanted:
            tally.same(f"cost: {name}", text, wanted[name])
        else:
            tally.among("names of costs", name, ("shared bytes a block", "shuffles a thread"))
    held = f"{max(map(shared_of, logs)):,}"
    tally.same("cost: shared bytes a block", told["shared bytes a block"], held)


def check_bar(
    tally: Tally, logs: Sequence[KernelLog], gpu: Target, bar: Mapping[str, Any], time: Modelled
) -> None:
    """The bar of times: each by its formula, of what the log counts where that is all of it."""
    tally.same("modelled times", bar["us"], micro(time.us or 0.0))
    for row, term in zip(bar["rows"], time.terms, strict=True):
        tally.same("rows of the bar", row["name"], term.resource)
        tally.same("times of rows", row["us"], micro(term.us))
        share = term.us / time.terms[0].us if time.terms[0].us else 0.0
        tally.same("lengths of rows", abs(row["at"] - share) < 1e-9, True, row["name"])
        tally.same("rows in order", term.us <= time.terms[0].us, True)
        for part in row["parts"]:
            names = {n.buffer.name for log in logs for n in in_order(log.kernel.body)}
            names |= {name for name in re.findall(r"(\w+_kept\w*)\[", part["text"])
                      if name.partition("_kept")[0] in names}  # fmt: skip
            cell = re.findall(r"(\w+)\[", part["text"])
            tally.same("names in statements", {*cell} <= names, True, part["text"])
    launches = {log.kernel.name: log for log in logs}
    blocks = [prod(log.kernel.grid) for log in launches.values()]
    start = sum((gpu.launch_seconds or 0) + n * (gpu.block_seconds or 0) for n in blocks) * 1e6
    terms = {term.resource: term for term in time.terms}
    if "launch" in terms:
        near = abs(terms["launch"].us - start) < 1e-6 * max(start, 1)
        tally.same("time of launches", near, True, f"{terms['launch'].us} {start}")
    if len(logs) == 1:
        each = {name: term.us for name, term in terms.items()}
        first = (gpu.launch_seconds or 0) * 1e6
        each["launch"] -= first
        each["shared"] = each.get("shared", 0.0) + each.pop("L1", 0.0)
        longest = max(each.values())
        wanted = first + longest + 0.2 * (sum(each.values()) - longest)
        near = abs((time.us or 0) - wanted) <= 1e-6 * wanted
        tally.same("time by its formula", near, True, f"{time.us} {wanted}")
    if "device" in terms:
        sizes = {b.name: int(prod(b.shape)) * int(dtypes.itemsize(b.type))
                 for log in logs for b in log.kernel.params}  # fmt: skip
        if all(sum(sizes.values()) <= (gpu.l2_bytes or 0) for _ in sizes):
            tally.same("time of the device", terms["device"].us, 0.0)
