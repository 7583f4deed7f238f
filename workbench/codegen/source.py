"""source: the text of kernels in the language of a target."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.codegen.c import C
from workbench.codegen.c_threads import C_BY
from workbench.codegen.cuda import CUDA
from workbench.codegen.language import Language
from workbench.codegen.metal import METAL
from workbench.codegen.opencl import OPENCL
from workbench.codegen.walker import Walker
from workbench.ir import Kernel
from workbench.lower.join_neighbours import join_neighbours
from workbench.lower.keep_values import keep_values
from workbench.target import Target

LANGUAGES = {"cuda": CUDA, "metal": METAL, "opencl": OPENCL, "c": C}


def source(kernels: Sequence[Kernel], target: Target, cores_by: str = "openmp") -> str:
    """All `kernels` as one text that the target's compiler takes.

    On a CPU its cores share parallel loops out by OpenMP, by "threads" in the text, or "nothing"
    does it. Raises Refusal where a kernel needs a type or a function that the target does not have.
    """
    language = C_BY[cores_by] if target.is_cpu else LANGUAGES[target.kind]
    if not target.is_cpu:  # a CPU's compiler keeps values, in vectors that it makes itself
        kernels = [keep_values(kernel) for kernel in kernels]
    if language is CUDA:
        kernels = [join_neighbours(kernel) for kernel in kernels]
    walkers = [Walker(kernel, language) for kernel in kernels]
    texts = [walker.kernel_text() for walker in walkers]
    return "\n\n".join([*_preamble(language, walkers), *texts]) + "\n"


def _preamble(language: Language, walkers: Sequence[Walker]) -> list[str]:
    """Headers, vector types and helper functions, each once."""
    types = {"", *(dtype for walker in walkers for dtype in walker.expressions.types)}
    parts = ["\n".join(text for dtype, text in language.headers.items() if dtype in types)]
    if language.pool and any(walker.functions for walker in walkers):
        parts.append(language.pool)
    parts += dict.fromkeys(text for walker in walkers for text in walker.vector_types)
    helpers = {key: name for walker in walkers for key, name in walker.expressions.helpers.items()}
    parts += [
        language.helpers[helper].format(function=language.function, type=ctype, name=name)
        for (helper, ctype), name in helpers.items()
    ]
    return [part for part in parts if part]
