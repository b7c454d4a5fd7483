"""All claims of the column blockformats, in the book's order."""

from commbounds.theory.blockformats.adaptive import FOUR_OVER_SIX, MICROEXPONENTS, STOCHASTIC_FOUR
from commbounds.theory.blockformats.hops import MULTIHOP, TABLE
from commbounds.theory.blockformats.microscaling import MICROSCALING
from commbounds.theory.blockformats.microscaling import STOCHASTIC as STOCHASTIC_MICROSCALING
from commbounds.theory.blockformats.nvfp4 import MSEDEN, NVFP4
from commbounds.theory.blockformats.nvfp4 import STOCHASTIC as STOCHASTIC_NVFP4
from commbounds.theory.blockformats.sums import CORRELATED, HOMOMORPHIC, REQUANTISED

CLAIMS = (
    *MICROSCALING,
    *STOCHASTIC_MICROSCALING,
    *NVFP4,
    *STOCHASTIC_NVFP4,
    *MSEDEN,
    *FOUR_OVER_SIX,
    *STOCHASTIC_FOUR,
    *MICROEXPONENTS,
    *REQUANTISED,
    *HOMOMORPHIC,
    *CORRELATED,
    *TABLE,
    *MULTIHOP,
)
