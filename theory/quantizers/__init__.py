"""Quantisers: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "quantizers",
    "Quantisers: send few bits per entry",
    "A worker sends every entry in a few bits: signs, levels of a norm, powers of a base. The claims are about "
    "bias, variance, contraction and size.",
    synopsis=Synopsis(
        found=(
            "The printed variance factors hold; several are larger than necessary, and the column has the exact ones. "
            "Claims about real numbers fail in floating point at the smallest and the largest numbers."
        ),
        promise="A few bits per entry (signs, levels, powers of a base) give an unbiased vector of a stated variance.",
        holds=(
            "The printed factors of QSGD, natural compression and natural dithering hold "
            "(`quantizers.qsgd.variance_printed`, `quantizers.naturalcompression.variance`, "
            "`quantizers.naturaldithering.variance_printed`), and the exact ones are stated too "
            "(`quantizers.qsgd.variance`, `quantizers.naturaldithering.variance`)."
        ),
        fails=(
            "Plain signs do not contract (`quantizers.sign.contraction`). QSGD’s variance factor does not bound the "
            "second moment (`quantizers.qsgd.second_moment_common`), it needs more than 2.8 n + 32 bits "
            "(`quantizers.qsgd.elias_any_n`), one of its two sparse counts is below the entropy "
            "(`quantizers.qsgd.sparse_bits_of_fewer`), and natural compression’s 1/8 fails for subnormal numbers "
            "(`quantizers.naturalcompression.variance_every_float`)."
        ),
        tight="The exact factors are attained; cases reach 0.94 of QSGD’s printed one.",
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
