"""Quantisers: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "quantizers",
    "Quantisers: send few bits an entry",
    "A worker sends every entry in a few bits: signs, levels of a norm, powers of a base. The claims are about "
    "bias, variance, contraction and size.",
    synopsis=Synopsis(
        found=(
            "The printed variance factors hold; several are larger than need be, and the exact ones are here. In "
            "floating point, what holds of real numbers ends at the smallest and the largest number."
        ),
        promise="A few bits an entry: signs, levels of a norm, powers of a base; unbiased, with a stated variance.",
        holds=(
            "The printed factors of QSGD, natural compression and natural dithering "
            "(`quantizers.qsgd.variance_printed`, `quantizers.naturalcompression.variance`, "
            "`quantizers.naturaldithering.variance_printed`), with the exact ones beside them "
            "(`quantizers.qsgd.variance`, `quantizers.naturaldithering.variance`)."
        ),
        fails=(
            "Plain signs contract by no factor (`quantizers.sign.contraction`). QSGD’s variance factor is not one "
            "of the second moment (`quantizers.qsgd.second_moment_common`), 2.8 n + 32 bits are not enough for "
            "it (`quantizers.qsgd.elias_any_n`), one of its two sparse counts is below the entropy "
            "(`quantizers.qsgd.sparse_bits_of_fewer`), and natural compression’s 1/8 fails among subnormal numbers "
            "(`quantizers.naturalcompression.variance_every_float`)."
        ),
        tight="The exact factors are attained; QSGD’s printed one was approached to 0.94.",
        lesson=(
            "Use the exact variance factor for a step size; scale signs by their mean magnitude "
            "(`quantizers.scaledsign.contraction`)."
        ),
    ),
    renamed={
        "quantizers.qsgd.elias_printed": "quantizers.qsgd.elias_any_n",
        "quantizers.qsgd.second_moment_printed": "quantizers.qsgd.second_moment_common",
    },
)
