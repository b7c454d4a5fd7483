"""zfp's error-bounded mode: every entry is off by no more than the tolerance."""

import zfpy

from commbounds.verify import conformance as cf


def tolerance(bound):
    """Compressed with this absolute tolerance, and decompressed."""

    def roundtrip(x, seed):
        return zfpy.decompress_numpy(zfpy.compress_numpy(x, tolerance=bound))

    return roundtrip


def same(x):
    """What goes in."""
    return x


def reversible(x, seed):
    """Compressed without loss."""
    return zfpy.decompress_numpy(zfpy.compress_numpy(x))


subjects = [
    cf.Codec(tolerance(0.01), [cf.AbsoluteError(0.01)], name="tolerance 0.01", magnitudes=(1e-6, 1e3), effort=0.2),
    cf.Codec(
        tolerance(0.01),
        [cf.AbsoluteError(0.01)],
        name="tolerance 0.01, matrices",
        shape="matrix",
        magnitudes=(1e-6, 1e3),
        effort=0.2,
    ),
    cf.Codec(tolerance(0.01), [cf.AbsoluteError(0.01)], name="tolerance 0.01, all of float32", effort=0.2),
    cf.Codec(reversible, [cf.Matches(same, operations=0)], name="reversible", effort=0.2),
]
