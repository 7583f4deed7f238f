"""The warps of a block: against a trace of every thread, and their times by hand."""

from __future__ import annotations

import pytest

from tests.insight.test_issued import wide_kernel
from tests.support.block_trace import check_block_time
from tests.support.cases import seeds
from tests.support.random_kernels import random_kernel


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds())
def test_random_kernels(seed: int):
    check_block_time(random_kernel(seed))
    check_block_time(wide_kernel(seed))
