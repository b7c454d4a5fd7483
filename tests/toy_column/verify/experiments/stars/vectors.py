"""Test vectors: stars."""

from commbounds.collectives.stars import star_allreduce
from commbounds.compressors.stars import Parity
from commbounds.verify.vectors.collectives import called, collective, full_sizes
from commbounds.verify.vectors.compressor_cases import BAD, MOST, WIDE, compressor, vector_cases


def _coin(_compressor, _name, x, seed):
    return {"coin": seed % 2}


def subjects():
    """What has vectors here."""
    settings = ((Parity(), "float32", (*MOST, "one entry"), BAD), (Parity(), "float64", WIDE, ()))
    return [
        compressor("Parity", lambda: vector_cases("Parity", settings, randomness=_coin)),
        collective("star_allreduce", full_sizes, called(star_allreduce, "result", "traffic")),
    ]
