"""A learner's script, with the verbs of the lessons."""

from typing import no_type_check

import numpy as np

import workbench as wb
from workbench import T, lesson, te


@T.prim_func
@no_type_check
def window(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("B"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]


def tiles(sch: wb.Schedule, threads: int) -> wb.schedule.LoopHandle:
    (i,) = sch.get_loops("B")
    i_0, i_1 = sch.split(i, factors=[None, threads])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return i_0


sch = wb.Schedule(window)
outer = tiles(sch, threads=128)
copy = sch.cache_read("B", 0, "shared")
sch.compute_at(copy, outer)
ax = sch.get_loops(copy)[-1]
_, ax_1 = sch.split(ax, factors=[None, 128])
sch.bind(ax_1, "threadIdx.x")
sch.mark("tiled")
kernel = wb.build(sch, target="cuda")
print(kernel.source, kernel.grid, kernel.device.is_gpu)
A, B = np.arange(1027, dtype="float32"), np.zeros(1024, "float32")
kernel(A, B)
run = kernel.emulate(A, B, blocks=[0])
print(lesson.loads_of(sch.func, "A"), run, lesson.traffic(sch.func))

X = te.placeholder((64, 64), name="X")
k = te.reduce_axis((0, 64), name="k")
Y = te.compute((64,), lambda i: te.sum(X[i, k] * 2.0, axis=k), name="Y")
made = wb.Schedule(te.create_prim_func([X, Y]))
made.rfactor(made.split(made.get_loops("Y")[1], factors=[4, 16])[0], factor_axis=0)
made.reorder(*made.get_loops("Y"))
made.fuse(*made.get_loops("Y_rf")[:1])
try:
    made.bind("k", "threadIdx.x")
except wb.ScheduleError as error:
    print(error.hint)
view = wb.lab(sch, actions=["split"], panes=["who"], question=lesson.question("vector_2_4"))
view.to_html("page.html")
exercise = lesson.exercise("odd_vector")
exercise.check(exercise.schedule())
made.save("steps.json")
wb.load("steps.json").show()
