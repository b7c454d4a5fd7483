"""Low-communication training: outer rounds, fragments, random pairs, quorums, sparse and low-bit rounds."""

from commbounds.collectives.lowcomm.lowbit import e3m0, loco_round, quantised_reduce_scatter
from commbounds.collectives.lowcomm.outer import OuterState, diloco_round
from commbounds.collectives.lowcomm.pairs import noloco_round
from commbounds.collectives.lowcomm.quorum import quorum_merge
from commbounds.collectives.lowcomm.sparse_rounds import binned, demo_round, sparseloco_round
from commbounds.collectives.lowcomm.transform import chunk_length, dct_matrix, resets, sparse_bits

__all__ = [
    "COLLECTIVES",
    "OuterState",
    "binned",
    "chunk_length",
    "dct_matrix",
    "demo_round",
    "diloco_round",
    "e3m0",
    "loco_round",
    "noloco_round",
    "quantised_reduce_scatter",
    "quorum_merge",
    "resets",
    "sparse_bits",
    "sparseloco_round",
]

COLLECTIVES = {
    "binned": binned,
    "chunk_length": chunk_length,
    "demo_round": demo_round,
    "diloco_round": diloco_round,
    "e3m0": e3m0,
    "loco_round": loco_round,
    "noloco_round": noloco_round,
    "quantised_reduce_scatter": quantised_reduce_scatter,
    "quorum_merge": quorum_merge,
    "resets": resets,
    "sparse_bits": sparse_bits,
    "sparseloco_round": sparseloco_round,
}
"""What is run and counted here, by name."""
