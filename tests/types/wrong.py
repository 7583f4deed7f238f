"""What a type checker finds: each line that is marked, by mypy and by pyright."""

import workbench as wb
from workbench import T, te

sch = wb.load("steps.json")
sch.splitt("i", factors=[2, 4])  # wrong
sch.split("i", factor=4)  # wrong
sch.split("i", factors=4)  # wrong
sch.bind(3, "threadIdx.x")  # wrong
sch.bind("i", "threadIdx.x")
sch.compute_at("B")  # wrong
sch.compute_at(sch.get_loops("B")[0], "i")  # wrong
fused: wb.schedule.BlockHandle = sch.fuse("i", "j")  # wrong
sch.split("i", factors=[2, None])[0].nam  # wrong
wb.build(sch, traget="cuda")  # wrong
wb.build(sch).sauce  # wrong
wb.shedule  # wrong
wb.te.comput  # wrong
te.placeholder((4,), naem="A")  # wrong
T.blok  # wrong
