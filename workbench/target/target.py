"""What is known of one GPU, of every GPU of a kind, or of a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A GPU, or what all of a kind have in common, or a CPU; what is not known is None.

    Sizes are bytes, rates are per second, clocks hertz. "Block", "thread" and "warp" are CUDA's
    words: Metal's are threadgroup, thread and SIMD group, OpenCL's work-group, work-item and
    sub-group.
    """

    name: str
    title: str
    kind: str  # which language its kernels are written in, a name of codegen.LANGUAGES
    arch: str
    max_threads_per_block: int
    max_block: tuple[int, int, int]
    max_grid: tuple[int, int, int]
    max_shared_bytes: int  # a block's, without asking for more at the launch
    warp_size: int
    max_vector_bytes: int  # the widest aligned access of one thread
    max_shuffle_bytes: int  # the widest value that threads of a warp read from each other; or 0
    max_dynamic_shared_bytes: int | None = None  # a block's, where the launch asks for it
    async_copy_bytes: tuple[int, ...] | None = None  # of a thread, from global to shared memory
    wmma: bool | None = None  # whether a warp multiplies tiles of 16 x 16 halves, on Tensor Cores
    mma: bool | None = None  # whether it does so by mma.sync of 16 x 8 x 16
    simdgroup: bool | None = None  # whether it has matrices of 8 x 8, held by a SIMD group
    max_threads_per_sm: int | None = None
    max_blocks_per_sm: int | None = None
    shared_bytes_per_sm: int | None = None
    shared_bytes_reserved: int | None = None  # of a multiprocessor, for each block there
    shared_bytes_unit: int | None = None  # a block's are a multiple
    l1_bytes: int | None = None  # a multiprocessor's memory for the L1 cache and shared memory
    registers_per_sm: int | None = None
    registers_unit: int | None = None  # a warp's are a multiple
    registers_parts: int | None = None  # of a multiprocessor's, each for the warps that it runs
    max_registers_per_thread: int | None = None
    sm_count: int | None = None
    clock_hz: float | None = None
    l2_bytes: int | None = None
    memory_bytes: int | None = None
    bandwidth: float | None = None  # bytes a second, device memory
    peak_flops: float | None = None  # float32, a multiply-add counted as two, no matrix units
    tensor_flops: float | None = None  # the same of float16 on matrix units, by `mma.sync`
    l2_bandwidth: float | None = None  # bytes a second, from its L2 cache to all multiprocessors
    launch_seconds: float | None = None  # of a kernel that does nothing, one of many in a row
    block_seconds: float | None = None  # that each block of a launch adds
    shared_latency: float | None = None  # clocks from a load of shared memory to its value
    l1_latency: float | None = None  # clocks, where the L1 cache has it
    l2_latency: float | None = None  # clocks, where the L2 cache has it
    device_latency: float | None = None  # clocks, where neither has it
    sources: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    @property
    def is_cpu(self) -> bool:
        """Whether its programs run as loops of a CPU, not as threads of a GPU."""
        return self.kind == "c"

    @property
    def most_shared_bytes(self) -> int:
        """The most shared memory of a block, whether or not the launch has to ask for it."""
        return self.max_dynamic_shared_bytes or self.max_shared_bytes

    def source_of(self, fact: str) -> str:
        """Where the number named `fact` comes from; "" where it is not known.

        >>> from workbench import target
        >>> target.get("nvidia/tesla-t4").source_of("sm_count")
        'NVIDIA Turing GPU Architecture whitepaper'
        """
        return self.sources.get(fact, "")

    @property
    def max_warps_per_sm(self) -> int | None:
        """The most warps that one multiprocessor holds at once."""
        if self.max_threads_per_sm is None:
            return None
        return self.max_threads_per_sm // self.warp_size

    def __str__(self) -> str:
        return self.name
