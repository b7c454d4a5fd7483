"""What is known of code's runs says of the symbols of their models."""

from fractions import Fraction

import numpy as np

MEAN = {"t": lambda x: Fraction(float(np.asarray(x)[:, 0].sum())), "m": lambda t, P: t / P}

RUNS = {
    "shipped.permk_mean.unbiased": MEAN,
    "shipped.permk_mean.error": MEAN,
    "shipped.permk_mean.identical": {**MEAN, "v": lambda x: Fraction(float(np.asarray(x)[0, 0]))},
    "shipped.shared_randk_mean.error": MEAN,
    "shipped.ef_signs.first_large": {"height": lambda firstlargest: firstlargest},
    "shipped.switched.variance_whole": {
        "before": lambda chances, omegas: sum(p * omega for p, omega in zip(chances, omegas, strict=True)),
    },
    "shipped.spectral_atoms.bias": {"chance": lambda planned: planned},
}
