"""What a warp calls to multiply tiles: the names of tensor intrinsics, by types and by layouts."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.intrin import mma, wmma
from workbench.intrin.tensor_intrin import names
from workbench.ir import dtypes
from workbench.lower.warp_calls import WMMA_PRODUCTS
from workbench.target import Target
from workbench.target.catalogue import number_of
from workbench.tuning.product import Product

N = 16  # rows and columns of a tile


@dataclass(frozen=True, slots=True)
class WarpCalls:
    """The intrinsics for a product: `scopes` of A, B and the sums in a warp, and what is called.

    `turned` says of A and B whether a row in shared memory has other rows' or columns' values side
    by side, not terms. `packed` is how many values of A share a register, where the program says
    which thread holds which, by mma.sync; 0 for wmma.
    """

    scopes: tuple[str, str, str]
    loads: tuple[str, str]
    fill: str
    multiply: str
    stores: tuple[str, str]  # to global memory, and to shared.dyn
    turned: tuple[bool, bool]
    terms: int  # of a tile
    packed: int

    @property
    def tile(self) -> tuple[int, int, int]:
        """How many rows, columns and terms a call multiplies."""
        return N, N, self.terms

    def shape(self, operand: int) -> tuple[int, int]:
        """How many cells a tile of A, B or the sums has in memory, down and across."""
        if operand == 2:
            return N, N
        return (self.terms, N) if self.turned[operand] else (N, self.terms)

    def in_columns(self, operand: int) -> bool:
        """Whether A or B is loaded in columns of 16 bytes, by ldmatrix, wherever they are."""
        return "ldmatrix" in self.loads[operand] and (self.packed == 2 or not self.turned[operand])

    def layout(self, operand: int, apart: int) -> str:
        """Where a warp holds a cell of A, B or the sums: its tile, the thread, the register."""
        down, across = self.shape(operand)
        cell = f"i % {down}", f"j % {across}"
        if operand < 2 and self.turned[operand]:
            cell = cell[1], cell[0]
        held = mma.held_at(*cell, self.packed if operand < 2 else 2, b=operand == 1)
        axes = [f"b{k}" for k in range(apart)]
        place = ", ".join([*axes, f"i // {down}", f"j // {across}", held])
        return f"lambda {', '.join([*axes, 'i', 'j'])}: ({place})"


def warp_calls(product: Product, target: Target) -> WarpCalls | None:
    """What `target` multiplies tiles of `product` by: mma.sync if it can, else wmma; or None."""
    least = WMMA_PRODUCTS.get((product.multiplied, product.summed))
    if not target.wmma or least is None or number_of(target.arch) < least:
        return None
    if not target.mma and dtypes.itemsize(product.multiplied) == 1:
        return None  # wmma takes tiles at multiples of 32 bytes, and theirs have rows of 16
    known = names()
    turned = not product.terms_last(0), not product.terms_last(1)
    for way in (turned, (False, turned[1])):  # where A cannot be turned it is fetched by terms
        found = _mma(product, way) if target.mma else _wmma(product, way)
        if all(name in known for name in (*found.loads, found.multiply)):
            return found
    return None


def _mma(product: Product, turned: tuple[bool, bool]) -> WarpCalls:
    packed = 4 // dtypes.itemsize(product.multiplied)
    one, out = mma.SHORT[product.multiplied], mma.SHORT[product.summed]
    a = f"mma_ldmatrix_{one}_a{'_trans' if turned[0] else ''}"
    b = f"mma_ldmatrix_{one}_b{'' if turned[1] else '_trans'}"
    store = f"mma_store_16x16_{out}_"
    return WarpCalls(
        scopes=("warp", "warp", "warp"),
        loads=(a, b),
        fill=f"mma_fill_16x16_{out}",
        multiply=f"mma_{one}{one}{out}",
        stores=(f"{store}global_", f"{store}shared_dyn_"),
        turned=turned,
        terms=8 * packed,
        packed=packed,
    )


def _wmma(product: Product, turned: tuple[bool, bool]) -> WarpCalls:
    one, out = wmma.SHORT[product.multiplied], wmma.SHORT[product.summed]
    by_columns = "" if turned[1] else "_trans"
    a = "a_trans" if turned[0] else "a"  # which there is none of
    call = "wmma_{}_16x16x16_{}".format
    store = call("store", out)
    return WarpCalls(
        scopes=("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"),
        loads=(f"{call('load', one)}_{a}_shared", f"{call('load', one)}_b{by_columns}_shared"),
        fill=call("fill", out),
        multiply=f"{call('sync', one + one + out)}{by_columns}",
        stores=(f"{store}_global", f"{store}_shared_dyn"),
        turned=turned,
        terms=N,
        packed=0,
    )
