"""What TVM does otherwise, as ``docs/differences-from-tvm.md`` tells: which steps, which words."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """A difference that is meant: which steps, what our refusal says, what the docs call it."""

    name: str
    verb: str
    ours: str  # a pattern that our refusal's text fits; "" where we take the step
    theirs: str = ""  # a pattern that TVM's error fits; "" where it takes the step


# The names are those of the sections of docs/differences-from-tvm.md.
EXPLAINED: tuple[Explanation, ...] = (
    Explanation(
        "Reductions across threads",
        "*",
        r"would both (update|write)|may (update|write) the same|share the sum of .* out"
        r"|which come in any order, would share cells",
    ),
    Explanation("A bound loop stays bound", "*", r"it is bound to"),
    Explanation("One axis, one extent", "bind", r"it runs .* times, but"),
    Explanation("One axis, one loop", "bind", r"is bound to it too, and .* uses both"),
    Explanation("Proofs instead of forms", "reorder", "", r"required to have an affine binding"),
    Explanation("Proofs instead of forms", "*", "", r"compact dataflow|cannot be fulfilled"),
    Explanation("Proofs instead of forms", "blockize", "", r"can not be blockized"),
    Explanation("Proofs instead of forms", "compute_at", "", r"TensorRegion pattern match failed"),
    Explanation("Proofs instead of forms", "compute_at", "", r"Not a complete or reduction block"),
    Explanation("Proofs instead of forms", "decompose_reduction", "", r"Not a reduction block"),
    Explanation("Proofs instead of forms", "reindex", "", r"not a leaf block"),
    Explanation("Proofs instead of forms", "rfactor", "", r"block_realize == old_block_realize"),
    Explanation("Proofs instead of forms", "rfactor", "", r"Not a reduction block"),
    Explanation(
        "Proofs instead of forms", "decompose_padding", "", r"wrt padding|constrained by a padding"
    ),
    Explanation("Loops in T.init()", "*", "", r"it != self_->stmt2ref.end\(\)"),
    Explanation("Loops in T.init()", "cache_write", r"its T\.init\(\) starts cells of"),
    Explanation(
        "Parts without blocks around them",
        "loop_partition",
        "",
        r"TVM crashes|key is not in Map|out of bounds",
    ),
    Explanation("Reindexing in shared loops", "reindex", "", r"outer->body.get\(\) == inner"),
    Explanation("Nothing to round up", "pad_einsum", "", r"not a computation of Einsum pattern"),
    Explanation("Proofs instead of forms", "reverse_compute_at", "", r"Check failed|pattern match"),
    Explanation(
        "Proofs instead of forms",
        "reverse_compute_inline",
        "",
        r"Invalid|affine|bijective|body pattern|Check failed",
    ),
    Explanation("Moves that do nothing", "*", r"no block (ahead of it makes|after it reads)"),
    Explanation(
        "Values that are not made yet",
        "reverse_compute_at",
        r"not made yet|made in different|too early|unfinished sums",
    ),
    Explanation("Values that are not made yet", "compute_at", r"not made yet|makes? all"),
    Explanation(
        "Values that are not made yet",
        "reverse_compute_at",
        r"would leave `\w+`, in which \w+ is not proved to stay",
    ),
    Explanation("Values that are not made yet", "merge", r"would read \w+ too early"),
    Explanation("Results that move", "compute_at", "", r"an output block"),
    Explanation("Pipelines", "pipeline", "", r"no attribute 'pipeline'"),
    Explanation(
        "Sums that could start again", "*", r"added twice|before its init|out of order|runs twice"
    ),
    Explanation(
        "Blocks that may skip iterations",
        "*",
        r"may not run all|only where its T.where|without its T.where|may leave out",
    ),
    Explanation(
        "Copies that would overwrite", "cache_write", r"leave out cells|leave cells between"
    ),
    *(
        known
        for verb in ("reindex_cache_read", "reindex_cache_write")
        for known in (
            Explanation("Copies beside their block", verb, r"shares its loops and uses"),
            Explanation(
                "program: Copies beside their block",
                verb,
                r"^(loop: |iterators of |values of |block: |kind of |where |T.where |bindings )",
            ),
            Explanation(
                "Proofs instead of forms",
                verb,
                "",
                r"is_zero\(range->min|itervars app|written by single",
            ),
        )
    ),
    Explanation(
        "Gaps are filled by plain writers",
        "transform_layout",
        r"fill the gaps|does not run over all of|are not each bound|more than the block is in",
    ),
    Explanation("Gaps are filled by plain writers", "transform_layout", "", r"CanProveEqual"),
    Explanation("Numbers take the type of the buffer", "transform_layout", "", r"Type mismatch"),
    Explanation(
        "program: Layouts hold what there is",
        "transform_layout",
        r"^buffers of \w+: |^number of statements: |^values of ",
    ),
    Explanation(
        "Blocks of one row",
        "blockize",
        r"stands between them|do not count the same turns|has a T\.where|sums up|fewer than two"
        r"|in different blocks|holds \d+ blocks",
    ),
    Explanation("program: One block around several", "blockize", r"^(reads|writes) of outer_"),
    Explanation("Proofs instead of forms", "blockize", "", r"Check failed"),
    Explanation("What loops are marked as stays", "transform_block_layout", r"would lose what"),
    Explanation("What loops are marked as stays", "transform_layout", r"would lose what"),
    Explanation("Conditions by iterators", "decompose_padding", r"is no range of each iterator"),
    Explanation(
        "Proofs instead of forms",
        "transform_block_layout",
        "",
        r"binding values|is_zero\(range->min|index map is n|more than one type of",
    ),
    Explanation(
        "program: One turn of a sum", "transform_block_layout", r"^iterators of .*'reduce'"
    ),
    Explanation("Alignment of the last axis", "storage_align", r"is the last, whose elements"),
    Explanation("Padding that would be summed", "pad_einsum", r"has no loop of its own"),
    Explanation("Padding that would be summed", "pad_einsum", r"more terms along \w+ would change"),
    Explanation(
        "Padding in shared loops", "pad_einsum", r"^Can't \S+ `\w+`: `\w+` is in `\w+` too"
    ),
    Explanation(
        "Padding in shared loops",
        "decompose_padding",
        r"^Can't .* `\w+`: `\w+` is in that loop too",
    ),
    Explanation("Padding in blocks in blocks", "pad_einsum", r"at other cells than iterators name"),
    Explanation(
        "Padding in blocks in blocks", "decompose_padding", r"an iterator of a block around"
    ),
    Explanation(
        "Inlining into blocks in blocks", "reverse_compute_inline", r"into `\w+_o`: it does more"
    ),
    Explanation("Merging plain loops side by side", "merge", r"is no plain loop any more"),
    Explanation("Merging plain loops side by side", "merge", r"something stands between them"),
    Explanation("Merging plain loops side by side", "merge", r"and `\w+` both write \w+\."),
    Explanation("Arguments stay as they are", "transform_layout", r"it is an argument, which"),
    Explanation("Any combiner that forgets its start", "rfactor", "", r"No matched reducer"),
    Explanation(
        "program: Extents are numbers", "compute_at", r"^values of ax|^T.where of|^bindings of"
    ),
    Explanation("program: Extents are numbers", "reverse_compute_at", r"^values of ax|^T.where of"),
    Explanation(
        "program: One iteration where one is enough",
        "compute_at",
        r"^kind of statement: ours BlockRealize",
    ),
    Explanation(
        "program: Iterations told axis by axis", "compute_at", r"^kind of statement: ours For"
    ),
    Explanation(
        "program: One iteration where one is enough", "reverse_compute_at", r"^kind of stat"
    ),
    Explanation(
        "program: Indices where the block runs",
        "reverse_compute_inline",
        r"^(writes|where|T.where|reads)",
    ),
    Explanation("program: Conditions stay with the block", "cache_write", r"^T.where of"),
    Explanation("program: Conditions stay with the block", "rfactor", r"^T.where of"),
    Explanation("program: Conditions stay with the block", "blockize", r"^T.where of"),
    Explanation("Proofs instead of forms", "rfactor", "", r"kSerial"),
    Explanation("program: Extents are numbers", "cache_read", r"^values of ax"),
    Explanation("program: Extents are numbers", "cache_write", r"^values of ax"),
    Explanation("program: Names are identifiers", "*", r"\.rf"),
    Explanation(
        "program: Padding that would be summed",
        "pad_einsum",
        r"^what \w+_pad is set to: ours \[(0|0\.0)\]|^values of i\d: ",
    ),
    # in both, the values have been found equal before
    Explanation("program: Values as they are written", "blockize", r"^(loads|where \w+ is read): "),
    Explanation("program: Values as they are written", "start", r"^(loads|where \w+ is read): "),
    Explanation("program: Values as they are written", "transform_layout", r"^reads of "),
    Explanation("program: Copies that keep their indices", "cache_read", r"^buffers of \w+_o: "),
    Explanation("program: Copies that keep their indices", "cache_write", r"^buffers of \w+_o: "),
    Explanation(
        "program: Threads pad what they copy",
        "decompose_padding",
        r"^loop: ours \('(\w+)', '\w+', .*\), theirs \('\1', 'serial', None\)"
        r"|^notes of \w+: ours .*, theirs \{\}$",
    ),
    Explanation(
        "program: What is inside, by domains",
        "decompose_padding",
        r"^(values|bindings|domains) of \w+: ",
    ),
    Explanation(
        "program: Parts without blocks around them",
        "loop_partition",
        r"^$|^(domains|reads|writes|init) of \w+\d\b",  # never the same: TVM's blocks are left out
    ),
    Explanation("program: A note is replaced", "annotate", r"^notes of \w+: "),
    Explanation("program: Copies no larger than the buffer", "cache_read", r"^buffers of root"),
)


def explained_refusal(verb: str, ours: str, theirs: str) -> str:
    """The name of the known difference where one refuses a step, or nothing.

    `ours` and `theirs` are what was said; the one that took the step said nothing.
    """
    for known in EXPLAINED:
        fits = known.verb in (verb, "*") and (not ours) == (not known.ours)
        if fits and re.search(known.ours, ours) and re.search(known.theirs, theirs):
            return known.name
    return ""


def explained_program(verb: str, text: str) -> str:
    """The name of the known difference between the two programs, or nothing."""
    for known in EXPLAINED:
        is_program = known.name.startswith("program: ") and known.verb in (verb, "*")
        if is_program and re.search(known.ours, text):
            return known.name
    return ""


# Of the steps that TVM takes and that terms call right, those that are refused for a reason that
# terms do not see; most have a section of docs/differences-from-tvm.md. "threads": what a kernel
# would do otherwise. "chosen": nothing that the step would change for the better, or that our
# buffers and loops have no form for.
THREADS: tuple[Explanation, ...] = (
    # a second bind, or another kind of loop, would undo the first in silence
    Explanation("A bound loop stays bound", "*", r"it is bound to"),
    # TVM takes these and refuses them when it lowers: a non-constant loop, lanes that vary
    Explanation("TVM refuses it later", "unroll", r"number of its iterations varies"),
    Explanation("TVM refuses it later", "vectorize", r"number of its iterations varies"),
    # a kernel has one extent for an axis
    Explanation("One axis, one extent", "bind", r"it runs .* times, but"),
    # two loops on one axis have one value: iterations would be left out
    Explanation("One axis, one loop", "bind", r"is bound to it too, and .* uses both"),
    # TVM writes a reduction across threads when it lowers
    Explanation("Reductions across threads", "bind", r"would both update"),
)
CHOSEN: tuple[Explanation, ...] = (
    # the block goes on reading the buffer, and the copy behind it has no reader
    Explanation("Moves that do nothing", "cache_read", r"` itself writes \w+\.$"),
    # the iterator gets wider, and nothing runs what comes in addition
    Explanation("Padding that would be summed", "pad_einsum", r"has no loop of its own"),
    # elements of a row stay side by side in our memory
    Explanation("Alignment of the last axis", "storage_align", r"is the last, whose elements"),
    # the step moves a block to where nobody needs it
    Explanation("Moves that do nothing", "*", r"no block (ahead of it makes|after it reads)"),
    # the kind and the notes of merged loops would be forgotten
    Explanation("Merging plain loops side by side", "merge", r"is no plain loop any more"),
    # the shape that the caller passes is another one, or the map changes nothing
    Explanation("Arguments stay as they are", "transform_layout", r"it is an argument, which"),
)


def explained_share(verb: str, ours: str) -> tuple[str, str]:
    """The kind and the name of the known difference that our refusal of a right step is."""
    for kind, rules in (("threads", THREADS), ("chosen", CHOSEN)):
        for known in rules:
            if known.verb in (verb, "*") and re.search(known.ours, ours.splitlines()[0]):
                return kind, known.name
    return "", ""
