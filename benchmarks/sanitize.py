"""Kernels under NVIDIA's compute-sanitizer: one program that launches them all, and four tools."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from workbench.codegen import source
from workbench.codegen.cuda import CUDA
from workbench.ir import Buffer, dtypes
from workbench.lower.shared_memory import dynamic_shared
from workbench.runtime import Built
from workbench.runtime.arguments import written_params

_FUNCTION = re.compile(r"static __device__ __forceinline__ \w+ (\w+)\(")
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
_MAIN = """
#include <cstdio>
#include <cstdlib>
#include <vector>
#define OK(call) do {{ cudaError_t e = (call); if (e != cudaSuccess) {{ \\
    printf("%s: %s\\n", #call, cudaGetErrorString(e)); exit(1); }} }} while (0)
{kernels}
static void* array(size_t bytes, bool filled) {{
  void* p; OK(cudaMalloc(&p, bytes));
  if (!filled) return p;  // an output stays unset, so that initcheck sees it read
  std::vector<float> host(bytes / 4 + 1, 1.0f);
  OK(cudaMemcpy(p, host.data(), bytes, cudaMemcpyHostToDevice));
  return p;
}}
int main() {{
{launches}
  printf("launched {count}\\n");
}}
"""


def sanitize(kernels: Sequence[Built], arch: str) -> dict[str, str]:
    """What each tool says of `kernels`: "0 errors, launched <n>", or its last lines."""
    with tempfile.TemporaryDirectory() as folder:
        text, program = Path(folder, "all.cu"), Path(folder, "all")
        text.write_text(host_program(kernels))
        names = ["-o", str(program), str(text)]
        command = [cuda_tool("nvcc"), f"-arch={arch}", "-lineinfo", *names]
        subprocess.run(command, check=True, timeout=200)
        return {tool: _checked(tool, program) for tool in TOOLS}


def cuda_tool(name: str) -> str:
    """The path of a program of the CUDA toolkit, which is often not on the search path."""
    return shutil.which(name) or f"/usr/local/cuda/bin/{name}"


def host_program(programs: Sequence[Built]) -> str:
    """A CUDA program that launches the kernels of `programs`, on arrays of exactly their sizes."""
    texts, launches = [], []
    for number, built in enumerate(programs):
        text = source(built.kernels, built.target)
        for name in [*(kernel.name for kernel in built.kernels), *_FUNCTION.findall(text)]:
            text = re.sub(rf"\b{name}\b", f"p{number}_{name}", text)
        texts.append(text)
        launches.append(_launch(built, f"p{number}"))
    return _MAIN.format(kernels="\n".join(texts), launches="\n".join(launches), count=len(programs))


def _launch(built: Built, name: str) -> str:
    given = {buffer for buffer in built.func.params if buffer not in written_params(built.func)}
    arrays: dict[Buffer, str] = {}
    before, lines = [], []
    for kernel in built.kernels:
        views = dict(kernel.views)
        for flat in kernel.params:
            if views[flat] in arrays:
                continue
            size = flat.shape[0] * dtypes.itemsize(flat.dtype)
            filled = "true" if views[flat] in given else "false"
            variable = arrays[views[flat]] = f"{name}_{flat.name}"
            ctype = CUDA.types[flat.dtype]
            before.append(f"  {ctype}* {variable} = ({ctype}*)array({size}, {filled});")
        grid, block = (f"dim3({', '.join(map(str, size))})" for size in (kernel.grid, kernel.block))
        arguments = ", ".join(arrays[views[flat]] for flat in kernel.params)
        function, shared = f"{name}_{kernel.name}", dynamic_shared(kernel)[1]
        if shared:
            most = "cudaFuncAttributeMaxDynamicSharedMemorySize"
            lines.append(f"  OK(cudaFuncSetAttribute({function}, {most}, {shared}));")
        lines.append(f"  {function}<<<{grid}, {block}, {shared}>>>({arguments});")
    lines.append("  OK(cudaDeviceSynchronize());")
    lines += [f"  OK(cudaFree({variable}));" for variable in arrays.values()]
    return "\n".join(before + lines)


def _checked(tool: str, program: Path) -> str:
    command = [cuda_tool("compute-sanitizer"), "--tool", tool, "--error-exitcode", "9"]
    done = subprocess.run(
        [*command, program], capture_output=True, text=True, timeout=200, check=False
    )
    lines = (done.stdout + done.stderr).strip().splitlines()
    launched = next((line for line in lines if line.startswith("launched")), "NOT LAUNCHED")
    if done.returncode == 0:
        return f"0 errors, {launched}"
    return "\n".join(lines[-12:])
