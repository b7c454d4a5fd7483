"""Whether calls leave memory behind."""

import contextlib
import gc
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import COLLECTIVES, SubjectClaim
from commbounds.verify.conformance.inputs import generic
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict

_ENTRIES = 1 << 16
_CALLS = 64
_IN_USE = ("RssAnon:", "RssShmem:", "VmSwap:")
_SHARED_OUT = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
_LEAST_BYTES = 1 << 23
"""Of the inputs of a run: a process grows and shrinks by a megabyte or two for reasons of its own."""


def resident_bytes(process: int | str = "self") -> int:
    """Memory that the process of this number has in use, in bytes; 0 where the system does not tell, or it is gone.

    Pages of files are none of it: the system takes them back, and gives them again, when others need memory.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text(errors="replace").splitlines()
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(_IN_USE))
    except OSError:
        return 0


def shared_out_bytes(process: int) -> int:
    """Memory in use by a process, in bytes, each page by the part 1/m if m processes share it, as forked ones do."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        parts = [int(line.split()[1]) for line in lines if line.startswith(_SHARED_OUT)]
    except OSError:
        parts = []
    return 1024 * sum(parts) if len(parts) == len(_SHARED_OUT) else resident_bytes(process)


def available_bytes() -> int:
    """Memory that could be taken into use, in bytes; 0 where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return 0


@contextlib.contextmanager
def _measures(outside: Any) -> Iterator[tuple[Callable[[], int], ...]]:
    """What tells how much memory is in use: of the process; and, if it is this one, of what Python and numpy hold.

    A process that has freed much takes from that first, and does not grow.
    """
    if outside is not None:
        yield (outside.process.resident_bytes,)
        return
    ours = not tracemalloc.is_tracing()
    if ours:
        tracemalloc.start()
    try:
        yield resident_bytes, lambda: tracemalloc.get_traced_memory()[0]
    finally:
        if ours:
            tracemalloc.stop()


@contextlib.contextmanager
def _quick_collections() -> Iterator[None]:
    """While it is open, collections pass over what is there already: it need not be looked through again and again."""
    gc.collect()
    ours = gc.get_freeze_count() == 0  # somebody else's must stay
    if ours:
        gc.freeze()
    try:
        yield
    finally:
        if ours:
            gc.unfreeze()


@dataclass(frozen=True)
class MemorySteady(SubjectClaim):
    """Calls leave no memory behind: a run of calls does not cost half of what their inputs would."""

    about: ClassVar[tuple[str, ...]] = ("compressor", "stateful compressor", *COLLECTIVES)
    universal: ClassVar[bool] = True

    def __str__(self) -> str:
        return "memory steady"

    def judge(self, bench: Bench) -> CheckFinding:
        """Runs of 64 calls on 2^16 entries: a leak of one input a call grows the process by 64 inputs every run.

        A run's growth has to reach half of that in all of the last three of four runs: a cache that fills up, or an
        allocator that holds something back, does so once. The first run that does not is the last one. Of inputs with
        several rows, steps or ranks, so many fewer; but as many as bring 8 MiB of inputs.
        """
        subject = bench.subject
        rows = min((P for P in getattr(subject, "ranks", (4,)) if P > 1), default=1)  # one rank sends nothing
        multiple = subject.multiple(rows)
        x = generic(subject, bench.rng("memory"), -(-_ENTRIES // multiple) * multiple)
        if x is None:
            return self.unjudged("the subject takes no input of the size that is used")
        if subject.leading:
            x = np.repeat(x[None], rows, 0)
        calls = int(_CALLS * subject.effort) // (len(x) if subject.leading else 1)
        calls = max(calls, -(-_LEAST_BYTES // x.nbytes))
        limit = calls * x.nbytes // 2
        try:
            bench.raw(CheckCase(x, 0))  # a process that was not started has no memory yet
        except Unanswered as error:
            return self.unjudged(f"no answer for {x.shape}: {error}")
        in_use = resident_bytes if subject.outside is None else subject.outside.process.resident_bytes
        if x.nbytes < 1 << 17 or not in_use():
            return self.unjudged("inputs are too small for a leak to show")
        growths = []
        try:
            with _quick_collections(), _measures(subject.outside) as measures:
                for _ in range(4):
                    gc.collect()
                    before = [measure() for measure in measures]
                    for seed in range(calls):
                        bench.raw(CheckCase(x, seed))
                    gc.collect()
                    growths.append(max(m() - b for m, b in zip(measures, before, strict=True)))
                    if len(growths) > 1 and growths[-1] < limit:
                        break
        except Unanswered as error:
            return self.unjudged(f"no answer for {x.shape}: {error}")
        evidence = f"{len(growths)} x {calls} calls on {x.size} entries"
        if min(growths[1:]) >= limit:
            each = min(growths[1:]) // calls
            message = f"every call leaves about {each} bytes behind ({each / x.nbytes:.2g} of its input)"
            return CheckFinding(
                str(self), CheckVerdict.FAIL, evidence, message, reproduce=bench.reproduction(self, None)
            )
        return CheckFinding(str(self), CheckVerdict.PASS, evidence)
