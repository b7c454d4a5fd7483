"""Low-communication training: the claims."""

from commbounds.theory.implementations import defined
from commbounds.theory.lowcomm.kept import KEPT_CLAIMS
from commbounds.theory.lowcomm.local import LOCAL_CLAIMS
from commbounds.theory.lowcomm.lowbit import LOWBIT_CLAIMS
from commbounds.theory.lowcomm.merging import MERGING_CLAIMS
from commbounds.theory.lowcomm.outer import OUTER_CLAIMS
from commbounds.theory.lowcomm.sparse import SPARSE_CLAIMS

_DEFINITIONS = defined(
    "lowcomm",
    {
        "binned": "Written from one-covenant/templar, src/tplr/compress.py, in exact sums: bins, and means of bins.",
        "chunk_length": "Written from bloc97/DeMo, demo.py: the largest divisor that is small enough, by trying all.",
        "demo_round": "Written from bloc97/DeMo, demo.py, with the cosines by their formula; results agree within the "
        "roundings of the two transforms.",
        "diloco_round": "Written from arXiv:2311.08105 and PyTorch's SGD, fragments from arXiv:2501.18512, one entry "
        "at a time in the dtype of the workers; sums are those of the ring all-reduce's definition.",
        "e3m0": "Written from the documented reading of four bits in arXiv:2501.18512: the nearest of fifteen numbers, "
        "in rational numbers, halves to the even code.",
        "loco_round": "Written from arXiv:2407.04480 and deepspeedai/DeepSpeed, one entry at a time in float64, with "
        "codes and steps as documented here.",
        "noloco_round": "Written from gensyn-ai/noloco, sparse_optimizer_c.py, one pair and one entry at a time.",
        "quantised_reduce_scatter": "Written from arXiv:2306.10209, block by block: the terms that reach an owner and "
        "their quantisations; our documentation says where blocks end without reordering.",
        "quorum_merge": "Written from the documented rule, minimum quorum and weights by tokens of arXiv:2604.21428's "
        "abstract: sums in rank order in float64.",
        "resets": "Written from deepspeedai/DeepSpeed, coalesced_collectives.py, one update after another.",
        "sparse_bits": "Written from the documented coding of positions: bits that identify numbers or sets.",
        "sparseloco_round": "Written from arXiv:2508.15706 and one-covenant/templar, chunk by chunk.",
    },
)

CLAIMS = (*OUTER_CLAIMS, *LOCAL_CLAIMS, *MERGING_CLAIMS, *SPARSE_CLAIMS, *LOWBIT_CLAIMS, *KEPT_CLAIMS, *_DEFINITIONS)
