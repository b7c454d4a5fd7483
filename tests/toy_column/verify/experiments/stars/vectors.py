"""Test vectors: stars."""

from commbounds.collectives.stars import star_allreduce
from commbounds.compressors.stars import Evens
from commbounds.verify.vectors.collectives import called, collective, full_sizes
from commbounds.verify.vectors.compressor_cases import WIDE, compressor, vector_cases


def subjects():
    """What has vectors here."""
    settings = ((Evens(), "float32", WIDE, ()),)
    return [
        compressor("Evens", lambda: vector_cases("Evens", settings, laws=[Evens()])),
        collective("star_allreduce", full_sizes, called(star_allreduce, "result", "traffic")),
    ]
