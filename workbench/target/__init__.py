"""The catalogue of GPUs: what each can hold and do, with the source of every number."""

from workbench.target.catalogue import (
    CATALOGUE,
    TargetError,
    get,
    names,
    number_of,
    of_device,
)
from workbench.target.target import Target

__all__ = ["CATALOGUE", "Target", "TargetError", "get", "names", "number_of", "of_device"]
