"""Precision and the order of sums: figures about more than one claim."""

from commbounds.verify.exhibit import Maker
from commbounds.verify.experiments.precision import growth

EXHIBITS: dict[str, Maker] = {
    "precision.growth": growth.growth,
    "precision.stagnation": growth.stagnation,
    "precision.buckets": growth.buckets,
}
