"""Who writes programs: a room above them, which says so when it is loaded."""

import subprocess
import sys

import pytest


def test_without_the_room_of_texts_it_is_said_what_to_import():
    call = "from workbench.ir.writer import writer\nwriter()"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "RuntimeError: nothing that writes programs is loaded yet: import workbench.script"
    )


PROGRAMS = {
    "script": """
from workbench.script import parse
print(parse('''
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = T.float32(1)
'''))
""",
    "te": """
from workbench import te
A = te.placeholder((4,))
print(te.create_prim_func([A, te.compute((4,), lambda i: A[i] + 1)]))
""",
}


@pytest.mark.parametrize("room", PROGRAMS)
def test_a_program_that_a_room_makes_prints_itself(room: str):
    done = subprocess.run([sys.executable, "-c", PROGRAMS[room]], capture_output=True, text=True)
    assert done.stdout.startswith("@T.prim_func"), done.stderr
