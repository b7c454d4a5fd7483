"""What an implementation can claim."""

from commbounds.verify.conformance.claims.collective import Averages, Conserves, RanksAgree, Sums
from commbounds.verify.conformance.claims.error import (
    AbsoluteError,
    Bounded,
    Contraction,
    Monotone,
    Propagates,
    RelativeError,
)
from commbounds.verify.conformance.claims.expected import Unbiased, Variance
from commbounds.verify.conformance.claims.form import Bits, Codebook, Support
from commbounds.verify.conformance.claims.independent import Independent
from commbounds.verify.conformance.claims.law import SameLaw
from commbounds.verify.conformance.claims.recovery import RecoversAfterZero
from commbounds.verify.conformance.claims.reference import Matches
from commbounds.verify.conformance.claims.stateful import MemoryBounded, Telescopes
from commbounds.verify.conformance.claims.symmetry import ExactOn, Idempotent, ScaleEquivariant, SignSymmetric
from commbounds.verify.conformance.claims.words import WordsAtMost

__all__ = [
    "AbsoluteError",
    "Averages",
    "Bits",
    "Bounded",
    "Codebook",
    "Conserves",
    "Contraction",
    "ExactOn",
    "Idempotent",
    "Independent",
    "Matches",
    "MemoryBounded",
    "Monotone",
    "Propagates",
    "RanksAgree",
    "RecoversAfterZero",
    "RelativeError",
    "SameLaw",
    "ScaleEquivariant",
    "SignSymmetric",
    "Sums",
    "Support",
    "Telescopes",
    "Unbiased",
    "Variance",
    "WordsAtMost",
]
