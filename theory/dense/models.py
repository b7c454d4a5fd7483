"""What certificates about dense all-reduces, all-gathers and reduce-scatters prove."""

from commbounds.theory.dense.models_gather import GATHERED
from commbounds.theory.dense.models_sums import SUMS
from commbounds.theory.dense.models_words import WORDS
from commbounds.theory.model import by_claim, extents

MODELS = by_claim(*WORDS, *SUMS, *GATHERED)

EXTENTS = extents(
    "dense",
    {
        (): "butterfly.sent butterfly.received allgather.bruck_steps ring.sum recursive_doubling.sum rabenseifner.sum "
        "butterfly.sum reduce_scatter.sum allgather.contents ring.rounding recursive_doubling.rounding "
        "rabenseifner.rounding butterfly.rounding recursive_doubling.sent recursive_doubling.received "
        "rabenseifner.critical_path rabenseifner.sent rabenseifner.received rabenseifner.mean_received "
        "allgather.bruck_words reduce_scatter.bruck_words allgather.doubling_words reduce_scatter.doubling_words "
        "allgather.even_words recursive_doubling.lower_bound"
    },
    by_definition="ring.critical_path ring.mean_received recursive_doubling.critical_path "
    "butterfly.critical_path butterfly.mean_received allgather.ring_words reduce_scatter.ring_words",
)
