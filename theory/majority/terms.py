"""Symbols, functions, quantities and hypotheses of the column majority."""

import itertools
import math
from fractions import Fraction
from functools import cache, lru_cache
from math import comb
from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis
from commbounds.theory.functions import ExactFunction
from commbounds.theory.hypotheses import signs_survive
from commbounds.theory.quantities import P, Quantity, n
from commbounds.theory.sources import Work
from commbounds.theory.symbols import Symbol

SUBMISSION = Work(
    "J. Bernstein, J. Zhao, K. Azizzadenesheli, A. Anandkumar, 2018, signSGD with majority vote is communication "
    "efficient and Byzantine fault tolerant, as submitted to ICLR 2019 (arXiv:1810.05291)",
    "Of the submission the main text was read, in a transcription by others that a program made; the appendix is not "
    "in it.",
)

# --- symbols -----------------------------------------------------------------------------------------------------

votebits = Symbol("votebits", r"\beta", 2, integer=True, positive=True)
"""Bits of a ballot for one entry: 1, or 2 where a worker may abstain."""
honest = Symbol("honest", "H", 4, integer=True, nonnegative=True)
"""Workers that send the signs that they have."""
inverting = Symbol("inverting", "A", 1, integer=True, nonnegative=True)
"""Adversaries that send the opposite of the signs that they have."""
lying = Symbol("lying", "L", 1, integer=True, nonnegative=True)
"""Adversaries that send the opposite of the true sign."""
flip = Symbol("flip", "q", Fraction(1, 4), nonnegative=True)
"""Probability that a worker's own sign is wrong."""
tieloss = Symbol("tieloss", r"\tau", Fraction(1, 2), nonnegative=True)
"""Probability that a tied vote is wrong: 0 or 1 with a fixed sign, 1/2 with a coin, 1 with an abstention."""
snr = Symbol("snr", "S", Fraction(1, 2), positive=True)
"""Signal-to-noise ratio of the entry: |g| over the standard deviation of a worker's noise."""


class vote_error(ExactFunction):
    """Probability that the vote on an entry is wrong: P[W > V/2] + tau P[W = V/2], with W of V = H + A + L votes wrong.

    W = Bin(H, q) + Bin(A, 1 - q) + L, of H honest workers, A that invert and L that lie.
    """

    nargs = 5

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """The sum over all numbers of wrong votes."""
        H, A, L = map(int, arguments[:3])
        return _tail(H, A, L, Fraction(arguments[3]), Fraction(arguments[4]))

    def _latex(self, printer: Any, **_: Any) -> str:
        H, A, L, q, tau = (printer.parenthesize(a, 50) for a in self.args)
        groups = [rf"\mathrm{{Bin}}({H},{q})"] * (self.args[0] != 0)
        groups += [rf"\mathrm{{Bin}}({A},1-{q})"] * (self.args[1] != 0) + [L] * (self.args[2] != 0)
        voters = printer.doprint(sp.Add(*self.args[:3]))
        wrong = "+".join(groups) or "0"
        ties = "" if self.args[4] == 0 else rf"+{tau}\Pr\left[{wrong}=\tfrac{{{voters}}}{{2}}\right]"
        return rf"\Pr\left[{wrong}>\tfrac{{{voters}}}{{2}}\right]{ties}"


@lru_cache(maxsize=1 << 12)
def _tail(H: int, A: int, L: int, q: Fraction, tau: Fraction) -> Fraction:
    # chances in units of denominator^-(H + A), so that no sum is brought to lowest terms
    wrong, whole = q.numerator, q.denominator
    right = whole - wrong
    of_honest = [comb(H, j) * wrong**j * right ** (H - j) for j in range(H + 1)]
    of_inverting = [comb(A, j) * right**j * wrong ** (A - j) for j in range(A + 1)]
    at_least = [*list(itertools.accumulate(reversed(of_inverting)))[::-1], 0]
    more, tied = 0, 0
    for i, weight in enumerate(of_honest):
        # 2 (i + j + L) against H + A + L
        half, odd = divmod(H + A - L - 2 * i, 2)
        first = min(max(half + 1, 0), A + 1)
        more += weight * at_least[first]
        if not odd and 0 <= half <= A:
            tied += weight * of_inverting[half]
    return Fraction(more + tau * tied, whole ** (H + A))


GAUSS = sp.Piecewise((2 / (9 * snr**2), snr > 2 / sp.sqrt(3)), (sp.Rational(1, 2) - sp.sqrt(3) * snr / 6, True))


class gauss(sp.Function):  # type: ignore[misc]
    """The largest probability of a wrong sign under symmetric unimodal noise, by the signal-to-noise ratio."""

    nargs = 1

    @classmethod
    def eval(cls, ratio: Any) -> Any:
        """The value at a number."""
        return GAUSS.xreplace({snr: ratio}) if ratio.is_number else None

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"q_{{{printer.doprint(self.args[0])}}}"

    @staticmethod
    def _imp_(ratio: Any) -> Any:
        return _gauss_in_floats()(ratio)


@cache
def _gauss_in_floats() -> Any:
    return sp.lambdify(snr, GAUSS, "numpy")


# --- quantities --------------------------------------------------------------------------------------------------

WORKER_BYTES = Quantity(
    "worker_bytes",
    r"\max_{p>0}\max(\mathrm{sent}_p,\mathrm{received}_p)",
    "bytes that a rank other than the server sends or receives, whichever is more",
)
BUSIEST_BYTES = Quantity("busiest_bytes", r"\max_p\mathrm{sent}_p", "bytes sent by the rank that sends most")
OVERTURNED = Quantity("overturned", r"\#\{i: v_i\neq v'_i\}", "entries on which the two votes differ")
WORKER_ERROR = Quantity(
    "worker_error", r"\Pr[\mathrm{sign}(\tilde g)\neq\mathrm{sign}(g)]", "probability that one worker's sign is wrong"
)
VOTE_ERROR = Quantity("vote_error", r"\Pr[v\neq\mathrm{sign}(g)]", "probability that the vote on an entry is wrong")
VALUES = Quantity("vote_values", r"|\{v\}|", "different values that the vote on an entry may take")
DRIFT = Quantity(
    "vote_drift", r"\mathbb{E}\,v", "mean vote on an entry whose gradient is zero, under symmetric noise", real=True
)
VOTE_DISTORTION = Quantity(
    "vote_distortion",
    r"\frac{\lVert \frac1n\lVert\bar x\rVert_1 v-\bar x\rVert^2}{\lVert\bar x\rVert^2}",
    "squared error of the vote, scaled by the mean magnitude of the workers' average, over the average's squared norm",
)

# --- hypotheses --------------------------------------------------------------------------------------------------

SERVER = Hypothesis("vote_by_server", "Rank 0 is the server and a worker too.", lambda way: way == "server")
SHARDS = Hypothesis("vote_by_shards", "Every rank is the server of a block of entries.", lambda way: way == "shards")
GATHERED = Hypothesis(
    "vote_by_all_gather", "Every rank gets all ballots and counts them itself.", lambda way: way == "all-gather"
)
SEVERAL = Hypothesis("several_voters", "There are two ranks at least.", Ge(P, 2))
WHOLE_BYTES = Hypothesis("whole_byte_blocks", "Eight times the number of ranks divides n.", Eq(sp.Mod(n, 8 * P), 0))
A_BIT = Hypothesis("a_bit_a_ballot", "No worker abstains: a ballot takes one bit per entry.", Eq(votebits, 1))


SCALES = Hypothesis(
    "positive_scales",
    "Every worker's vector is multiplied by its own c > 0, and nothing over- or underflows.",
    signs_survive,
)
INDEPENDENT = Hypothesis(
    "independent_noise",
    "The workers' noise is independent.",
    ensured="Every pattern of right and wrong signs is voted on, weighted with the product of its probabilities.",
)
HONEST = Hypothesis("all_honest", "All workers send their true signs.", Eq(inverting + lying, 0))
ALONE = Hypothesis("one_voter", "There is one worker.", Eq(P, 1))
ONE_NOISE = Hypothesis(
    "one_noise",
    "All workers have the same noise.",
    ensured="Two patterns are voted on, all signs right and all wrong, with weights 1 - q and q.",
)
UNIMODAL = Hypothesis(
    "unimodal_noise",
    "The noise is symmetric and unimodal, its variance finite, and the entry of the gradient not zero.",
    lambda unimodal, gradient: unimodal and gradient != 0,
)
ANY_NOISE = Hypothesis(
    "any_noise",
    "The noise has mean zero and a finite variance, and any shape.",
    ensured="Every law that the workers' noise follows has mean zero and a finite variance; one is not symmetric.",
)
EVEN = Hypothesis("even_voters", "The number of workers is even.", Eq(sp.Mod(P, 2), 0))
FAIR = Hypothesis("fair_ties", "A tied vote is decided by a fair coin.", Eq(tieloss, sp.Rational(1, 2)))
FAIR_OR_OPEN = Hypothesis(
    "fair_or_open_ties",
    "Zeros and tied votes are decided by fair coins, or stay zero.",
    lambda zeros: zeros in ("coin", "abstain"),
)
PLUS = Hypothesis("plus_ties", "A tied vote is +1.", lambda zeros: zeros == "plus")
NO_ATOM = Hypothesis(
    "no_zero_ballots", "The noise has no atom: no entry of any worker is zero.", lambda zero_entries: not zero_entries
)
BROKEN = Hypothesis(
    "broken_ties",
    "Zeros and tied votes become +1 or -1, by a rule or by a coin.",
    lambda zeros: zeros in ("plus", "coin"),
)
OPEN = Hypothesis(
    "open_ties", "The sign of zero is zero, for ballots and for the vote.", lambda zeros: zeros == "abstain"
)
MINORITY = Hypothesis("minority", "A of the P workers are adversaries, A < P/2.", sp.Lt(2 * inverting, P))
HALF = Hypothesis("half_or_more", "A of the P workers are adversaries, A >= P/2.", Ge(2 * inverting, P))
INVERT = Hypothesis("inverting_adversaries", "Adversaries send the opposite of their signs.", Eq(lying, 0))
ANY_BALLOT = Hypothesis(
    "any_ballot",
    "Adversaries may send any signs.",
    ensured="Some adversaries invert their signs and some vote against the true sign, in every proportion.",
)
LIARS = Hypothesis(
    "few_liars",
    "L adversaries always vote against the true sign, and no others invert; L < (1 - 2 q) H.",
    sp.And(sp.Lt(lying, (1 - 2 * flip) * honest), Eq(inverting, 0)),
)
NONZERO_MEAN = Hypothesis(
    "nonzero_mean",
    "The average of the workers' vectors is not zero.",
    lambda x: any(math.fsum(entries) for entries in x.T.tolist()),  # fsum rounds the exact sum
)
