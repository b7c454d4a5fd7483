"""The ranks of the collectives beside them in one process, in rows that are not refused."""

from commbounds.verify.experiments.rotations.definitions import DEFINITIONS
from commbounds.verify.pairing import on_definition
from commbounds.verify.space import LeftOut

_REFUSED = LeftOut(
    "What overflows is refused.", lambda data, dtype: data == "over" or (data == "huge" and dtype == "float32")
)
PAIRINGS = tuple(on_definition(name, DEFINITIONS[name], _REFUSED) for name in ("rotated_mean", "rotated_sum"))
