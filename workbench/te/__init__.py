"""Compute expressions: say what each element of a tensor is, get a program of loops and blocks."""

from workbench.te.create_prim_func import create_prim_func
from workbench.te.functions import erf, exp, if_then_else, log, sigmoid, sqrt, tanh
from workbench.te.reduce import max, min, sum
from workbench.te.tensor import Axis, Tensor, compute, placeholder, reduce_axis

__all__ = [
    "Axis",
    "Tensor",
    "compute",
    "create_prim_func",
    "erf",
    "exp",
    "if_then_else",
    "log",
    "max",
    "min",
    "placeholder",
    "reduce_axis",
    "sigmoid",
    "sqrt",
    "sum",
    "tanh",
]
