"""Shipped collectives: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "shipped_collectives",
    "Shipped collectives: what quantised all-reduces of serving and training stacks promise",
    "QuickReduce (vLLM, with sglang's repair), FlashInfer, torchft, the hooks of torch and NCCL's sums of float8, each "
    "from its source at a named commit: the error of an entry, the inputs for which it holds, who agrees, and what it "
    "costs in bytes. Where the sources compute on a GPU, their arithmetic was carried out here as they write it, not "
    "on the device.",
    synopsis=Synopsis(
        practice=True,
        found=(
            "QuickReduce shrinks blocks below 128/65504 = 0.00195 at 8 bits, and float16 has not bfloat16's range; "
            "torchft's coded vectors are twice as long as plain ones; FlashInfer's ranks end with different numbers; "
            "NCCL's sum of ones in float8 ends at 16 or at 8."
        ),
        promise="Half to a quarter of the bytes, for an error of about a step of the codes.",
        holds=(
            "Errors by the largest magnitudes of blocks, with the ranges where they hold "
            "(`shipped_collectives.quickreduce.error`, `shipped_collectives.flashinfer.error`, "
            "`shipped_collectives.torchft.error`, `shipped_collectives.hook.error`, `shipped_collectives.nccl.error`), "
            "and the bytes of all five."
        ),
        fails=(
            "No range of inputs is said: `shipped_collectives.quickreduce.error_of_any`, "
            "`shipped_collectives.quickreduce.finite`, `shipped_collectives.hook.error_of_any`. Integers of torchft "
            "are cut, not rounded (`shipped_collectives.torchft.half_a_step`)."
        ),
        tight="A step for QuickReduce, whose positive end is one code short; 1/28 of the largest magnitude for float8.",
        lesson="A contract of a lossy sum names the range of its scales, who reads the codes, and the bytes of a row.",
    ),
)
