"""`evidence_for`: the least evidence with which a finding is believed."""

from commbounds.verify.finding import Counterexample, Evidence, Method, Verdict


def evidence_for(verdict, tightness=None):
    """Evidence of one case that says what the verdict says: enumerated or refuted."""
    against = Counterexample("it", [1.0], 2.0, 1.0) if verdict is Verdict.REFUTED else None
    return (Evidence(Method.EXACT, verdict, 1, "one case", tightness, counterexample=against, nontrivial=1),)
