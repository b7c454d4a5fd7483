"""Test vectors: stars."""

from commbounds.collectives.stars import star_allreduce
from commbounds.compressors.stars import Parity
from commbounds.verify.definition import vectors_of
from commbounds.verify.experiments.stars.definitions import DEFINITIONS
from commbounds.verify.vectors.collectives import collective, full_sizes
from commbounds.verify.vectors.compressor_cases import BAD, MOST, WIDE, compressor, vector_cases


def _coin(_compressor, _name, x, seed):
    return {"coin": seed % 2}


def subjects():
    """What has vectors here."""
    settings = ((Parity(), "float32", (*MOST, "one entry"), BAD), (Parity(), "float64", WIDE, ()))
    return [
        compressor("Parity", lambda: vector_cases("Parity", settings, randomness=_coin)),
        collective("star_allreduce", full_sizes, vectors_of(DEFINITIONS["star_allreduce"], star_allreduce)),
    ]
