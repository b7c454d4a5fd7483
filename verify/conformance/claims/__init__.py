"""What an implementation can claim."""

from commbounds.verify.conformance.claims.error import AbsoluteError, Contraction

__all__ = ["AbsoluteError", "Contraction"]
