"""NotCarried: a name of TVM's that is not here says so, and what to use instead."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from workbench.diag import Fail


class NotCarried(Fail, AttributeError):
    """A name that `workbench.tvm` does not have: to Python, an attribute that is not there."""


_MODELS = (
    "it is for whole models; here the program of one operator is made fast",
    "write the operator with T.prim_func, te or topi, and schedule it, as lesson 1 does",
)
_SEARCH = (
    "it is a tuner of TVM's own, with templates and files of its own",
    "wb.tune(program) searches, and tvm.meta_schedule.tune_tir does so by TVM's name",
)
_PASSES = (
    "it holds the passes of TVM's compiler",
    "wb.lower.lower(func, wb.target.get('cuda')).history has those here, each with its kernels",
)
_DEVICES = (
    "it reaches devices, libraries and files other than the GPU of this machine",
    "tvm.build(…, target='cuda') runs on this machine's GPU, or on the emulator",
)
_HOST = (
    "the code of the host is TVM's own; here Python launches the kernels",
    "the kernels' text is rt_mod.imported_modules[0].get_source()",
)
_TENSORIZE = (
    "it makes what runs by code whose meaning is taken on trust",
    "write what it means and what runs as T.prim_func: tir.TensorIntrin.register(name, desc, "
    "impl), then sch.tensorize(loop, name)",
)
_STAGES = (
    "it has no verb of ours that it could become",
    "schedule the program's loops: sch = wb.Schedule(te.create_prim_func([A, B])), sch.show()",
)
_BUILDER = (
    "programs are written as text here, with buffers as parameters or T.alloc_buffer",
    "write it with T.prim_func; T.match_buffer and T.let are read",
)

_READY = (
    "it holds schedules that are made already, which is what one learns to make here",
    "schedule the operator step by step, as lesson 1 does; topi.nn has its computation",
)
_CODE = (
    "what it calls is code that is not in the program, and its meaning is taken on trust",
    "write the expression: te.exp and its kind are in every language that code is written in",
)
_EXTERN = (
    _CODE[0],
    "register what it does as a program: tvm.tir.TensorIntrin.register(name, desc, impl)",
)
_BITS = (
    "no function here counts bits",
    "write it with shifts and &, one bit after the other",
)
_NODES = (
    "it is a part of programs as TVM's compiler sees them",
    "programs are written with T.prim_func or te; te.const makes a number of a type",
)

# By name, why it is not here and what to do instead; what a name holds goes with it.
LEFT_OUT = {
    "tvm.arith": (
        "it is for those who write passes of TVM's compiler",
        "wb.arith has simplify and the proofs of the verbs",
    ),
    "tvm.autotvm": _SEARCH,
    "tvm.contrib.cblas": _DEVICES,
    "tvm.contrib.cc": _DEVICES,
    "tvm.contrib.clang": _DEVICES,
    "tvm.contrib.cublas": _DEVICES,
    "tvm.contrib.cudnn": _DEVICES,
    "tvm.contrib.debugger": _MODELS,
    "tvm.contrib.download": _DEVICES,
    "tvm.contrib.graph_executor": _MODELS,
    "tvm.contrib.graph_runtime": _MODELS,
    "tvm.contrib.mkl": _DEVICES,
    "tvm.contrib.ndk": _DEVICES,
    "tvm.contrib.random": _DEVICES,
    "tvm.contrib.rocm": _DEVICES,
    "tvm.contrib.sparse": _DEVICES,
    "tvm.contrib.tar": _DEVICES,
    "tvm.contrib.tedd": (
        "it draws TVM's stages",
        "wb.lab(s.applied([A, B])) draws the program that they make, and its steps",
    ),
    "tvm.contrib.util": _DEVICES,
    "tvm.contrib.utils": _DEVICES,
    "tvm.contrib.xcode": _DEVICES,
    "tvm.dlight": _READY,
    "tvm.driver.tvmc": _MODELS,
    "tvm.get_global_func": _MODELS,
    "tvm.instrument": _PASSES,
    "tvm.ir.Op": _NODES,
    "tvm.ir.instrument": _PASSES,
    "tvm.ir.register_intrin_lowering": _CODE,
    "tvm.ir.register_op_attr": _CODE,
    "tvm.ir.transform.Sequential": _PASSES,
    "tvm.ir.transform.module_pass": _PASSES,
    "tvm.micro": _DEVICES,
    "tvm.module": _DEVICES,
    "tvm.register_func": _MODELS,
    "tvm.register_global_func": _MODELS,
    "tvm.relax": _MODELS,
    "tvm.relay": _MODELS,
    "tvm.rpc": _DEVICES,
    "tvm.runtime.load_module": _DEVICES,
    "tvm.runtime.Module.export_library": _DEVICES,
    "tvm.runtime.Module.get_source": _HOST,
    "tvm.runtime.Module.inspect_source": _HOST,
    "tvm.runtime.Module.save": _DEVICES,
    "tvm.s_tir.dlight": _READY,
    "tvm.s_tir.transform": _PASSES,
    "tvm.script.relax": _MODELS,
    "tvm.support": (
        "it says how TVM was built",
        "wb.device() says what runs kernels on this machine",
    ),
    "tvm.te.Schedule.create_group": _STAGES,
    "tvm.te.Schedule.normalize": (
        "it makes TVM's stages ready for its passes",
        "leave it out: s.applied([A, B]) is the schedule in steps",
    ),
    "tvm.te.Stage.env_threads": _STAGES,
    "tvm.te.Stage.prefetch": _STAGES,
    "tvm.te.Stage.rolling_buffer": _STAGES,
    "tvm.te.gradient": (
        "it derives what computes gradients",
        "write the gradient's expression with te.compute",
    ),
    "tvm.te.hybrid": _STAGES,
    "tvm.te.popcount": _BITS,
    "tvm.te.schedule.InferBound": _PASSES,
    "tvm.te.schedule.SchedulePostProcRewriteForTensorCore": _TENSORIZE,
    "tvm.te.schedule.ScheduleOps": _PASSES,
    "tvm.te.extern": _CODE,
    "tvm.tir.Call": _NODES,
    "tvm.tir.CallEffectKind": _CODE,
    "tvm.tir.Cast": _NODES,
    "tvm.tir.FloatImm": _NODES,
    "tvm.tir.IntImm": _NODES,
    "tvm.tir.IterVar": _NODES,
    "tvm.tir.analysis": _PASSES,
    "tvm.tir.call_extern": _EXTERN,
    "tvm.tir.call_packed": _CODE,
    "tvm.tir.call_pure_extern": _CODE,
    "tvm.tir.expr": _NODES,
    "tvm.tir.function": _NODES,
    "tvm.tir.popcount": _BITS,
    "tvm.tir.ir_builder.BufferVar": _BUILDER,
    "tvm.tir.ir_builder.IRBuilder.allocate": _BUILDER,
    "tvm.tir.ir_builder.IRBuilder.buffer_ptr": _BUILDER,
    "tvm.tir.ir_builder.IRBuilder.else_scope": _BUILDER,
    "tvm.tir.ir_builder.IRBuilder.for_range": _BUILDER,
    "tvm.tir.ir_builder.IRBuilder.if_scope": _BUILDER,
    "tvm.tir.ir_builder.IRBuilder.let": _BUILDER,
    "tvm.tir.ir_builder.IRBuilder.pointer": _BUILDER,
    "tvm.tir.ir_builder.IRBuilder.scope_attr": _BUILDER,
    "tvm.tir.ir_builder.IRBuilder.while_loop": _BUILDER,
    "tvm.tir.stmt_functor": _PASSES,
    "tvm.tir.tensor_intrin": _TENSORIZE,
    "tvm.tir.transform": _PASSES,
    "tvm.topi.cuda": _READY,
    "tvm.topi.generic": _READY,
    "tvm.topi.x86": _READY,
    "tvm.transform.PassInstrument": _PASSES,
    "tvm.transform.Sequential": _PASSES,
    "tvm.transform.module_pass": _PASSES,
}
LEFT_OUT |= {  # by today's name, too
    name.replace("tvm.tir.", "tvm.tirx."): why
    for name, why in LEFT_OUT.items()
    if name.startswith("tvm.tir.")
}


class Missing(ModuleType):
    """A name of TVM's that can be imported and not used: so that a lesson's imports run.

    What it holds can be imported, too, at any depth.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):  # Python and IPython ask for many of these
            raise AttributeError(name)
        raise not_carried(f"{_called(self)}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> object:
        raise not_carried(_called(self))

    def __getitem__(self, item: object) -> object:
        raise not_carried(_called(self))

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        raise not_carried(_called(self))

    def __repr__(self) -> str:
        return f"<{_called(self)}, which is not in the workbench>"


def _called(missing: Missing) -> str:
    """TVM's name for it."""
    return missing.__name__.removeprefix("workbench.")


class _Inside(MetaPathFinder, Loader):
    """Finds what names that are left out hold: ``from workbench.tvm.relax.frontend import nn``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parent = sys.modules.get(fullname.rpartition(".")[0])
        return ModuleSpec(fullname, self) if isinstance(parent, Missing) else None

    def create_module(self, spec: ModuleSpec) -> Missing:
        return Missing(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in it."""


for _name in LEFT_OUT:  # so that `import workbench.tvm.relax` finds it, too
    sys.modules[f"workbench.{_name}"] = Missing(f"workbench.{_name}")
sys.meta_path.append(_Inside())


def not_carried(name: str) -> NotCarried:
    """The refusal of `name`, one of TVM's, or a part of one, that `LEFT_OUT` tells."""
    known = max((key for key in LEFT_OUT if f"{name}.".startswith(f"{key}.")), key=len)
    why, instead = LEFT_OUT[known]
    return NotCarried(
        f"Can't use {name}: {known} is TVM's, and is not in the workbench",
        asked=name,
        detail=why,
        hint=instead,
    )


def refusing(module: str) -> Callable[[str], object]:
    """The ``__getattr__`` of `module`, "workbench.tvm…": for names that it does not have."""
    called = module.removeprefix("workbench.")

    def __getattr__(name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if f"{called}.{name}" in LEFT_OUT:
            return sys.modules[f"{module}.{name}"]
        raise unknown(f"{called}.{name}", sys.modules[module].__all__)

    return __getattr__


def unknown(name: str, there: list[str]) -> NotCarried:
    """The refusal of `name`, which is in no table; `there` is what stands in its place."""
    place, _, last = name.rpartition(".")
    close = get_close_matches(last, there, n=1)
    names = ", ".join(there)
    return NotCarried(
        f"Can't use {name}: {place} has nothing of that name in the workbench",
        asked=name,
        hint=f"is it {place}.{close[0]}?" if close else f"it has {names}",
    )
