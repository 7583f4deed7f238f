"""Functions that CUDA text calls: masks of neighbours, asynchronous copies, calls of a warp."""

from workbench.codegen.cuda_mma import CUDA_MMA
from workbench.codegen.cuda_warps import CUDA_WARPS

_LANE_MASK = """{function}{type} {name}({type} width) {{
  {type} thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  return ((1u << width) - 1u) << (thread % 32u / width * width);
}}"""
# By PTX ISA, cp.async: 16 bytes past L1 (cg), which is no place for what is used once; less by it.
_COPY = """{{function}}void {{name}}(void* to, const void* from{more}) {{{{
  asm volatile("cp.async.{how}.shared.global [%0], [%1], {bytes}{size};"
               :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from){given} : "memory");
}}}}"""
_COPIES = {
    f"cp_async_{bytes}{name}": _COPY.format(how=how, bytes=bytes, more=more, size=size, given=given)
    for bytes, how in ((4, "ca"), (8, "ca"), (16, "cg"))
    for name, more, size, given in (
        ("", "", "", ""),
        ("_or_0", ", bool read", ", %2", f', "r"(read ? {bytes} : 0)'),  # the rest is zeros
    )
}
_COMMIT = """{function}void {name}() {{
  asm volatile("cp.async.commit_group;" ::: "memory");
}}"""
_WAIT = """template <int count> {function}void {name}() {{
  asm volatile("cp.async.wait_group %0;" :: "n"(count) : "memory");
}}"""
CUDA_HELPERS = {
    "lane_mask": _LANE_MASK,
    **_COPIES,
    "cp_async_commit_group": _COMMIT,
    "cp_async_wait_group": _WAIT,
    **CUDA_WARPS,
    **CUDA_MMA,
}
