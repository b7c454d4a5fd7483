"""What a finding says at a glance: one word, a sign, a colour, a number."""

import math
from dataclasses import dataclass

import sympy as sp

from commbounds.theory import Claim
from commbounds.verify.finding import Finding, Verdict

TIGHT = 0.999
"""A bound is called tight when measured / bound came this close to 1."""

MEANING = {
    "tight": f"an inequality that holds, and an input was found on which measured / bound is at least {TIGHT}",
    "loose": "an inequality that holds, and every input tried stays well away from the bound",
    "exact": "an equality that holds",
    "holds": "holds; how close the bound can be approached was not measured",
    "refuted": "fails: a counterexample was found",
    "error": "the implementation raised on an input that the hypotheses admit",
}
"""What each word means."""

_SIGN = {"tight": "●", "loose": "◐", "exact": "=", "holds": "○", "refuted": "✕", "error": "!"}


@dataclass(frozen=True)
class Status:
    """What a finding says at a glance.

    Parameters
    ----------
    word : str
        A key of `MEANING`; also names the colour.
    sign : str
        One character that tells the words apart without colour.
    tightness : str
        Measured / bound for an inequality (bound / measured for a lower bound), empty where it says nothing.
    verdict : str
        How it is known: enumerated, survived, consistent; empty where `word` says it.
    """

    word: str
    sign: str
    tightness: str
    verdict: str

    @property
    def text(self) -> str:
        """Everything in one line: ``● tight 1.000 · enumerated``."""
        known = f" · {self.verdict}" if self.verdict else ""
        return f"{self.sign} {self.word}{' ' * bool(self.tightness)}{self.tightness}{known}"


def status(finding: Finding, claim: Claim) -> Status:
    """`finding` on `claim`, in one word with its sign and number."""
    equality = isinstance(claim.relation, sp.Eq)
    tightness = "" if finding.tightness is None or equality else ratio(finding.tightness)
    if finding.verdict in (Verdict.REFUTED, Verdict.ERROR):
        word = finding.verdict.value
        return Status(word, _SIGN[word], f"×{tightness}" if tightness and word == "refuted" else "", "")
    if equality:
        word = "exact"
    elif finding.tightness is None:
        word = "holds"
    else:
        word = "tight" if finding.tightness >= TIGHT else "loose"
    return Status(word, _SIGN[word], tightness, finding.verdict.value)


def ratio(value: float | None) -> str:
    """Measured / bound for reading, cut rather than rounded where it would read as tight and is not."""
    text = number(value)
    return f"{TIGHT - 0.001:.3f}" if value is not None and 0 < value < TIGHT <= float(f"{value:.3f}") else text


def number(value: float | None) -> str:
    """`value` for reading: three decimals where that says it, else two significant digits and an exponent."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0 or 0.001 <= abs(value) < 1000:
        return f"{value:.3f}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
