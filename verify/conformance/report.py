"""What a check of somebody's implementation found: `CheckFinding`, `Report`, and their JSON form."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class CheckVerdict(StrEnum):
    """What was found about one claim."""

    PASS = "pass"
    """Looked for a violation in every way that the budget allows, and found none."""
    FAIL = "fail"
    """A violation was found; or a waiver was not needed; or the claim's number is no bound."""
    NOT_JUDGED = "not judged"
    """Nothing could be measured; the message says why."""


@dataclass(frozen=True)
class CheckFinding:
    """The verdict on one claim of a subject.

    Parameters
    ----------
    claim : str
        As it prints: ``Contraction(alpha=0.1)``; universal checks by their name.
    verdict : CheckVerdict
        Pass, fail, or not judged.
    evidence : str
        What was done, in one sentence: cases, draws, false-alarm rate.
    message : str
        Why it failed or was not judged; empty for a pass.
    counterexample : nested list of float, or None
        The shrunk input: a vector, a matrix, the steps of a stateful subject, or one row a rank.
    seed : int or None
        The seed that goes with it.
    reproduce : str
        A program that shows the failure again.
    waived : str
        The reason for which a universal check is waived; then a violation is a pass.
    e_value, alpha, detects : float or None
        Sequential tests: final wealth, false-alarm rate, and the smallest relative violation that is detected with
        probability 0.99.
    """

    claim: str
    verdict: CheckVerdict
    evidence: str = ""
    message: str = ""
    counterexample: Any = None
    seed: int | None = None
    reproduce: str = ""
    waived: str = ""
    e_value: float | None = None
    alpha: float | None = None
    detects: float | None = None


@dataclass(frozen=True)
class Report:
    """Everything that was found about a subject.

    Parameters
    ----------
    subject : str
        Its name.
    findings : tuple of CheckFinding
        Universal checks first, then the claims in their order.
    budget : str
        quick, standard or thorough.
    seed : int
        With which `check` was called; the same gives the same report.
    versions : dict of str to str
        commbounds and the libraries that it used.
    """

    subject: str
    findings: tuple[CheckFinding, ...]
    budget: str = "quick"
    seed: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether nothing failed. What was not judged is no failure: see `not_judged`."""
        return not self.failures

    @property
    def failures(self) -> tuple[CheckFinding, ...]:
        """The findings that failed."""
        return tuple(f for f in self.findings if f.verdict is CheckVerdict.FAIL)

    @property
    def not_judged(self) -> tuple[CheckFinding, ...]:
        """The findings without a judgement."""
        return tuple(f for f in self.findings if f.verdict is CheckVerdict.NOT_JUDGED)

    def __getitem__(self, claim: str) -> CheckFinding:
        """The finding on the claim of that name, or the only one that begins so (``"Unbiased"``)."""
        found = [f for f in self.findings if f.claim == claim] or [
            f for f in self.findings if f.claim.split("(")[0] == claim
        ]
        if len(found) != 1:
            raise KeyError(f"{claim!r} is {len(found)} of {[f.claim for f in self.findings]}")
        return found[0]

    def to_json(self) -> str:
        """One line of JSON; numbers that are not finite become strings, so that any JSON reader takes it."""
        return json.dumps(_plain(asdict(self)), sort_keys=True, allow_nan=False)

    def __str__(self) -> str:
        counts = Counter(str(f.verdict) for f in self.findings)
        lines = [f"{self.subject}: {', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items()))}"]
        for finding in self.findings:
            lines.append(f"  {finding.verdict:<10}  {finding.claim}: {finding.message or finding.evidence}")
            if finding.verdict is CheckVerdict.FAIL and finding.counterexample is not None:
                lines.append(f"              at {shortened(finding.counterexample)}")
        return "\n".join(lines)


def shortened(values: Any, limit: int = 200) -> str:
    """Nested lists on one line, cut where they get long."""
    text = json.dumps(_plain(values))
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return repr(value)
    return value


def report_from_json(line: str) -> Report:
    """The report that `Report.to_json` wrote; numbers that are not finite stay strings in counterexamples.

    Raises
    ------
    ValueError
        The line is not a report.
    """
    try:
        data = json.loads(line)
        findings = []
        for entry in data.pop("findings"):
            numbers = {
                name: None if entry[name] is None else float(entry[name]) for name in ("e_value", "alpha", "detects")
            }
            findings.append(CheckFinding(**{**entry, **numbers, "verdict": CheckVerdict(entry["verdict"])}))
        return Report(**data, findings=tuple(findings))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a report: {error}") from error
