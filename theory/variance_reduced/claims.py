"""Compression with memory: the claims."""

from commbounds.theory.variance_reduced.estimates import ESTIMATE_CLAIMS
from commbounds.theory.variance_reduced.lamb import LAMB_CLAIMS
from commbounds.theory.variance_reduced.lazy import LAZY_CLAIMS
from commbounds.theory.variance_reduced.onebit import ONEBIT_CLAIMS
from commbounds.theory.variance_reduced.shifts import DIANA_CLAIMS
from commbounds.theory.variance_reduced.zeroone import ZEROONE_CLAIMS

CLAIMS = (*DIANA_CLAIMS, *ESTIMATE_CLAIMS, *LAZY_CLAIMS, *ONEBIT_CLAIMS, *ZEROONE_CLAIMS, *LAMB_CLAIMS)
