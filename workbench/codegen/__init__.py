"""The text of kernels in the language of a target."""

from workbench.codegen.source import LANGUAGES, source

__all__ = ["LANGUAGES", "source"]
