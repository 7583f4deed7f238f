"""The files of the lessons: each key is read, and what is wrong in one is said by file and key."""

from __future__ import annotations

import pytest

from workbench.diag import Fail
from workbench.lesson import questions, quizzes
from workbench.lesson.content import Content, contents

PREDICTION = """
[predictions.one]
asks = "loads"
of = "A"
by = "block"
text = "how many?"
choices = [1, 2]
steps = "apply split"
nests = { C = "i 8" }
why = { 1 = "so it is." }
others = { "before" = "elementwise(8)" }
"""
ITEM = """
[[quiz.one]]
text = "How many blocks?"
start = "elementwise(8)"
program = "bound(start, (None, 4))"
measure = "blocks"
why = "8 / 4."
others = { "with 2 threads in a block" = "bound(start, (None, 2))" }
"""
CALLS = (
    "call one of elementwise, window, product, stages, smoothed, bound, strided, fetched, "
    "one_each, tiled, prefetched, staged, convolution, one_output_each, tiled_convolution, "
    "tile_convolution, on_tensor_cores, layer, half_product, half_tiles, under_way, described, "
    "launch, in_registers, in_shared, tile_layer, share_out, start_apart, "
    "with numbers, texts and start"
)
MEND = "leave it out, or mend its name"


def read(text: str) -> None:
    content = Content("09_new", text)
    for entry in content.predictions.values():
        questions._read(entry)
    for entries in content.quizzes.values():
        quizzes._items(entries)


def test_every_lesson_has_a_file_of_which_all_is_read():
    """What the quizzes of each say is worked out in test_quiz."""
    assert list(contents()) == list(questions.LESSONS) and len(contents()) == 13
    asked = [name for content in contents().values() for name in content.quizzes]
    assert asked == list(quizzes.QUIZZES)
    read(PREDICTION + ITEM)


@pytest.mark.parametrize(
    ("old", "new", "found", "hint"),
    [
        ("[predictions.one]", "[prediction.one]", ": nothing reads prediction", MEND),
        ('of = "A"', 'of = "A"\nslip = 1', ", predictions.one: nothing reads slip", MEND),
        (
            'text = "How',
            "text = How",
            ": Invalid value (at line 14, column 8)",
            "write it as TOML does: https://toml.io",
        ),
        (
            'steps = "apply split"\n',
            "",
            ", predictions.one: there is no steps",
            "write steps = …, which is a text",
        ),
        ('of = "A"', "of = 3", ", predictions.one: of is not a text", "it is 3"),
        (
            "choices = [1, 2]",
            "choices = [1, true]",
            ", predictions.one: a part of choices is no whole number",
            "it is True",
        ),
        ('{ C = "i 8" }', "{ C = 8 }", ", predictions.one: nests.C is no text", "it is 8"),
        (
            '"loads"',
            '"load"',
            ", predictions.one: asks is 'load'",
            "there are: who, count, loads, uses, guess",
        ),
        ("{ 1 = ", "{ one = ", ", predictions.one: a key of why is no number", "such as: 3 = …"),
        (
            '"before" = "elementwise(8)"',
            '"before" = "start"',
            ", predictions.one: others.before is no program: there is no start",
            CALLS,
        ),
        (
            "(None, 2)",
            "(None, 2",
            ", quiz.one 1: others.with 2 threads in a block is no program: '(' was never closed",
            CALLS,
        ),
        (
            'start = "elementwise(8)"',
            'start = "print(8)"',
            ", quiz.one 1: start is no program: there is no print",
            CALLS,
        ),
        (
            "bound(start, (None, 4))",
            "bound(start)",
            ", quiz.one 1: program is no program: missing a required argument: 'factors'",
            CALLS,
        ),
        (
            'why = "8 / 4."\n',
            "",
            ", quiz.one 1: there is no why",
            "write why the answer is what it is",
        ),
        (
            "[[quiz.one]]",
            "[quiz.one]",
            ", quiz: one is not a list",
            "it is {'text': 'How many blocks?', 'start': 'elementwise(8)', 'pro …",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(old: str, new: str, found: str, hint: str):
    text = PREDICTION + ITEM
    assert text.count(old) == 1
    with pytest.raises(Fail) as refused:
        read(text.replace(old, new))
    assert str(refused.value) == f"Can't read 09_new.toml{found}.\ndo:    {hint}"
