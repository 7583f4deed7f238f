"""The places of a program; see `workbench.ir.places`."""

from workbench.ir.places import Places, inner, places, with_child

__all__ = ["Places", "inner", "places", "with_child"]
