"""Programs of TVM's, printed here and read by TVM again: ``python -m benchmarks.tvm_equal``.

    python3 topi_make.py FOLDER         # with TVM's Python: the programs of topi, a text each
    python -m benchmarks.tvm_equal [FOLDER] [--programs dlight.json]

Says how many are the same program to TVM's own ``assert_structural_equal``, and where the others
differ: docs/differences-from-tvm.md has the reasons. Needs the development extra.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import dlight  # noqa: E402
from workbench.diag import Fail  # noqa: E402
from workbench.script import parse, show  # noqa: E402


def texts(topi: Path | None, programs: Path) -> Iterator[tuple[str, str]]:
    """Each program's name and text: those of topi, then dlight's."""
    if topi is not None:
        for entry in json.loads((topi / "index.json").read_text()).values():
            if entry["step"] == "ok":
                held = json.loads((topi / f"{entry['name']}.json").read_text())
                yield f"topi {entry['name']}", held["text"]
    for one in dlight.programs(programs):
        yield f"dlight {one.number} {one.short}", one.text


def outcome(text: str) -> tuple[str, str]:
    """What TVM says of our text of a program, in a word, and why."""
    import tvm
    from tvm.script import from_source

    try:
        ours = show(parse(text), "tvm")
    except Fail as refusal:
        return "not read", refusal.headline
    theirs = from_source(text)
    try:
        tvm.ir.assert_structural_equal(from_source(ours), theirs)
    except Exception as error:
        return "other", str(error).strip().splitlines()[0]
    return "equal", ""


def main() -> None:
    """Print a line for each program that is not equal, and the sums."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("topi", type=Path, nargs="?", help="the folder that topi_make.py wrote")
    parser.add_argument("--programs", type=Path, default=dlight.PROGRAMS)
    options = parser.parse_args()
    told: Counter[str] = Counter()
    for name, text in texts(options.topi, options.programs):
        word, why = outcome(text)
        told[word] += 1
        if why:
            print(f"{name}: {word}: {why}")
    print(", ".join(f"{count} {word}" for word, count in told.most_common()))


if __name__ == "__main__":
    main()
