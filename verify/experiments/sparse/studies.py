"""Sparse all-reduces before Ok-Topk, and SparDL: the claims bound to their implementations."""

from commbounds.verify.experiments.sparse.gaussiank import GAUSSIANK
from commbounds.verify.experiments.sparse.regions import REGIONS
from commbounds.verify.experiments.sparse.results import RESULTS
from commbounds.verify.experiments.sparse.words import WORDS
from commbounds.verify.study import studies

EXPERIMENTS = studies(*WORDS, *REGIONS, *GAUSSIANK, *RESULTS)
