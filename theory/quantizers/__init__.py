"""Quantisers: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "quantizers",
    "Quantisers: send few bits an entry",
    "A worker sends every entry in a few bits: signs, levels of a norm, powers of a base. The claims are about "
    "bias, variance, contraction and size.",
)
