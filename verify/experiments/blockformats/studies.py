"""The studies of the column."""

from commbounds.verify.experiments.blockformats.adaptive import FOUR_OVER_SIX, MICROEXPONENTS, STOCHASTIC_FOUR
from commbounds.verify.experiments.blockformats.hops import MULTIHOP, TABLE
from commbounds.verify.experiments.blockformats.microscaling import MICROSCALING
from commbounds.verify.experiments.blockformats.microscaling import STOCHASTIC as STOCHASTIC_MICROSCALING
from commbounds.verify.experiments.blockformats.nvfp4 import MSEDEN, NVFP4
from commbounds.verify.experiments.blockformats.nvfp4 import STOCHASTIC as STOCHASTIC_NVFP4
from commbounds.verify.experiments.blockformats.sums import CORRELATED, HOMOMORPHIC, REQUANTISED
from commbounds.verify.study import studies

EXPERIMENTS = studies(
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
