"""Kernels: lowered kernels run in lockstep lanes, and what a GPU would punish refused.

From the ground up: `affine` (an index as a sum over digits), `loops` (which loops may be lanes),
`plan` (the axes of a kernel, and how each statement sees them), `maps` (which address each lane
touches), `shadow` and `races` (who touched what), `lanes` (values, loads and stores), `machine`
(loops, branches, barriers), `run`.
"""
