"""The experiments by what they confront: compressors one by one, or several workers."""

from commbounds.verify.confront import claim_alpha
from commbounds.verify.experiment import Experiment
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.sample import sample
from commbounds.verify.study import Study
from commbounds.verify.study_methods import METHODS

__all__ = ["COMPRESSED", "STUDIES", "sampled"]

COMPRESSED = {name: e for name, e in EXPERIMENTS.items() if isinstance(e, Experiment)}
STUDIES = {name: e for name, e in EXPERIMENTS.items() if isinstance(e, Study)}


def sampled(name, budget, seed, implementations):
    """What the sequential test of the claim says."""
    if name in STUDIES:
        return METHODS["sample"](STUDIES[name], budget, seed, claim_alpha(), implementations)[0]
    return sample(COMPRESSED[name], budget, seed, claim_alpha(), implementations)
