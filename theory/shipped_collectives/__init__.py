"""Shipped collectives: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "shipped_collectives",
    "Shipped collectives: quantised all-reduces of serving and training stacks",
    "QuickReduce (vLLM, with sglang's repair), FlashInfer, torchft, the hooks of torch and of LoongForge, NCCL's sums "
    "of float8 and torchcomms' reduce-scatter, each from its source at a named commit: the error of an entry, the "
    "inputs for which it holds, the ranks that agree, and the bytes. If a source computes on a GPU, its arithmetic "
    "was emulated here, not run on the device.",
    synopsis=Synopsis(
        practice=True,
        found=(
            "QuickReduce shrinks blocks below 128/65504 = 0.00195 at 8 bits, and float16 lacks bfloat16's range; "
            "torchft's coded vectors are twice as long as plain ones; FlashInfer's ranks end with different numbers; "
            "NCCL's sum of ones in float8 ends at 16 or at 8."
        ),
        promise="They take half to a quarter of the bytes, with an error of about one step of the codes.",
        holds=(
            "Errors are bounded by the largest magnitudes of blocks, within stated ranges "
            "(`shipped_collectives.quickreduce.error`, `shipped_collectives.flashinfer.error`, "
            "`shipped_collectives.torchft.error`, `shipped_collectives.hook.error`, `shipped_collectives.nccl.error`, "
            "`shipped_collectives.torchcomms.error`, `shipped_collectives.loongforge.error`), and the bytes of all "
            "seven are exact. Error feedback bounds the sum over all rounds (`shipped_collectives.loongforge.kept`), "
            "and 16 random bits are unbiased (`shipped_collectives.torchcomms.unbiased`)."
        ),
        fails=(
            "The sources state no range of inputs: `shipped_collectives.quickreduce.error_of_any`, "
            "`shipped_collectives.quickreduce.finite`, `shipped_collectives.hook.error_of_any`. Integers of torchft "
            "are truncated, not rounded (`shipped_collectives.torchft.half_a_step`)."
        ),
        tight="QuickReduce's error reaches a step, as its positive end is one code short; float8's reaches 1/28 of the "
        "largest magnitude.",
        lesson="The contract of a lossy sum should name the range of its scales, the readers of the codes, and the "
        "bytes of a row.",
    ),
)
