"""lilcom: integer multiples of a power of two, coded by linear prediction."""

import lilcom

from commbounds.verify import conformance as cf


def ticks(x, seed):
    """With the default of 2^-8."""
    return lilcom.decompress(lilcom.compress(x, tick_power=-8))


subjects = [
    cf.Codec(ticks, [cf.AbsoluteError(2.0**-9)], name="tick_power=-8", magnitudes=(1e-6, 1e3), effort=0.2),
    cf.Codec(
        ticks,
        [cf.AbsoluteError(2.0**-9)],
        name="tick_power=-8, matrices",
        shape="matrix",
        magnitudes=(1e-6, 1e3),
        effort=0.2,
    ),
]
