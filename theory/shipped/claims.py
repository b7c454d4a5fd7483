"""Claims about compressors that packages ship."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.shipped.codes import CODES
from commbounds.theory.shipped.eightbits import EIGHT_BITS
from commbounds.theory.shipped.sampling import SAMPLING
from commbounds.theory.shipped.signed import MEMORIES
from commbounds.theory.shipped.sizes import SIZES
from commbounds.theory.shipped.workers import WORKERS

CLAIMS: tuple[Claim, ...] = (*SAMPLING, *CODES, *SIZES, *WORKERS, *EIGHT_BITS, *MEMORIES)
