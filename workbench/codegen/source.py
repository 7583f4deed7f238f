"""source: the text of kernels in the language of a target."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.codegen.cuda import CUDA
from workbench.codegen.language import Language
from workbench.codegen.metal import METAL
from workbench.codegen.opencl import OPENCL
from workbench.codegen.walker import Walker
from workbench.ir import Kernel
from workbench.target import Target

LANGUAGES = {"cuda": CUDA, "metal": METAL, "opencl": OPENCL}


def source(kernels: Sequence[Kernel], target: Target) -> str:
    """All `kernels` as one text that the target's compiler takes.

    Raises Refusal where a kernel needs a type or a function that the target does not have.
    """
    language = LANGUAGES[target.kind]
    walkers = [Walker(kernel, language) for kernel in kernels]
    texts = [walker.kernel_text() for walker in walkers]
    return "\n\n".join([*_preamble(language, walkers), *texts]) + "\n"


def _preamble(language: Language, walkers: Sequence[Walker]) -> list[str]:
    """Headers, vector types and helper functions, each once."""
    types = {"", *(dtype for walker in walkers for dtype in walker.expressions.types)}
    parts = ["\n".join(text for dtype, text in language.headers.items() if dtype in types)]
    parts += dict.fromkeys(text for walker in walkers for text in walker.vector_types)
    helpers = {key: name for walker in walkers for key, name in walker.expressions.helpers.items()}
    parts += [
        language.helpers[helper].format(function=language.function, type=ctype, name=name)
        for (helper, ctype), name in helpers.items()
    ]
    return [part for part in parts if part]
