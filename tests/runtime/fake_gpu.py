"""A worker without a GPU that does as its source says: answers, fails, crashes or never ends."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext

from workbench.runtime.device_queue import alone_on
from workbench.runtime.job import Failed, Gpu, Ran, Run, Time, Timed, TimeLibrary
from workbench.runtime.serve import Tell, serve


class FakeGpu:
    """Computes ``2 * x`` of the first array into every output."""

    def hello(self) -> Gpu:
        print("a library greets on standard output")
        return Gpu("Fake GPU", "sm_75", 16_000_000_000, 15_000_000_000, "CUDA 12.8", "0.0")

    def run(self, job: Run, tell: Tell) -> Ran | Failed:
        match job.source:
            case "abort":
                os.write(2, b"terminate called\n")
                os.abort()
            case "exit":
                os._exit(3)
            case "hang":
                time.sleep(600)
            case "slow":
                time.sleep(0.3)
            case "slower":
                time.sleep(2)
            case queue if queue.startswith("alone "):
                with alone_on(queue.removeprefix("alone "), tell):
                    time.sleep(0.1)
            case queue if queue.startswith("stay "):
                with alone_on(queue.removeprefix("stay "), tell):
                    time.sleep(600)
            case "no pickle":
                return Ran((lambda: 0,))  # type: ignore[arg-type]
            case "raise":
                raise ZeroDivisionError("division by zero")
            case "full":
                return Failed(
                    "full", "out of memory", facts={"free": 3_000_000_000, "total": 16_000_000_000}
                )
            case "source":
                return Failed("source", "k.cu(3): error: expected a ;")
            case fault if fault.startswith("fatal "):
                return Failed(fault.removeprefix("fatal "), "CUDA_ERROR_X: told", fatal=True)
        return Ran(tuple(2 * job.arrays[0] for _ in job.outputs), (16,) * len(job.launches))

    def time(self, job: Time, tell: Tell) -> Timed:
        card = os.environ.get("FAKE_CARD")  # which a test has with others
        with alone_on(card, tell) if card else nullcontext():
            registers = (24,) * len(job.run.launches)
            return Timed(
                (1e-6,) * 20, 100, "by the fake clock", "clocks not known", True, registers
            )

    def time_library(self, job: TimeLibrary, tell: Tell) -> Timed | Failed:
        if job.arrays[0].shape == (1, 1):
            return Failed("no cublas", "libcublas.so.12: cannot open shared object file")
        if job.routine == "convolve":
            return Failed("no cudnn", "ModuleNotFoundError: No module named 'torch'")
        notes = ("The card slowed itself for its heat: compare with care.",) if job.flush else ()
        return Timed((5e-6,) * 20, 40, "by the fake clock", "clocks not known", True, notes=notes)


if __name__ == "__main__":
    serve(FakeGpu())
