"""The studies of the column."""

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
    *REQUANTISED,
    *HOMOMORPHIC,
    *CORRELATED,
)
