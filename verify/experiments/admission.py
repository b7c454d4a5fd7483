"""What is measured on a case if the hypotheses of its claim admit it: for figures, which measure cases of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from commbounds.theory import Claim
from commbounds.verify import study
from commbounds.verify.study import Case, Outcome, Unmeasured

Trial = Callable[[Any, Case], Outcome | Unmeasured]


def admitted(
    claim: Claim, trial: Trial, implementation: Any, case: Case, known: Mapping[str, Any] | None = None
) -> Outcome | None:
    """The outcome of a trial; None where a hypothesis of the claim keeps the case out, or nothing can be measured.

    Parameters
    ----------
    claim : Claim
        Whose hypotheses decide.
    trial : callable (implementation, case) -> Outcome or Unmeasured
        Its study's.
    implementation, case
        What is measured.
    known : mapping
        What hypotheses may ask besides the case's settings, its vectors and what is measured.
    """
    facts = {"x": case.x, **case.settings, **(known or {})}
    found = study.admitted(claim, facts, lambda: trial(implementation, case))
    return found if isinstance(found, Outcome) else None
