"""Precision and the order of sums: the claims bound to their implementations."""

from __future__ import annotations

from commbounds.verify.experiments.precision.ordering import ORDERING
from commbounds.verify.experiments.precision.quantised import QUANTISED
from commbounds.verify.study import studies

EXPERIMENTS = studies(*ORDERING, *QUANTISED)
