"""What a check of somebody's implementation found: `CheckFinding`, `Report`, and their JSON form."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from commbounds._notebook import Cell, NotebookTable
from commbounds.compressors.base import shown
from commbounds.verify.reading import NON_FINITE, line_of, parsed, record


class CheckVerdict(StrEnum):
    """What was found about one claim."""

    PASS = "pass"
    """Looked for a violation in every way that the budget allows, and found none."""
    FAIL = "fail"
    """A violation was found; or a waiver or an expected failure is none; or the claim's number is no bound."""
    EXPECTED = "expected failure"
    """A violation was found, and the subject's maintainers had said so, with a reason."""
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
        Pass, fail, expected failure, or not judged.
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
        The reason for which a universal check is waived, and then a violation is a pass; or for which a claim need not
        be judged.
    likely : str
        The known mistake that explains what a subject that failed answers, where one was found to.
    e_value, alpha, detects : float or None
        Sequential tests: final wealth, false-alarm rate, and the smallest relative violation that is detected with
        probability 0.99.
    expected : str
        The reason for which it is expected to fail; then a pass is a failure.
    instead : str
        Of a failure: the claim of this kind that held at the inputs that were tried then.
    book : tuple of str
        Of a failure: claims of the book that say the same of methods of its own.
    """

    claim: str
    verdict: CheckVerdict
    evidence: str = ""
    message: str = ""
    counterexample: Any = None
    seed: int | None = None
    reproduce: str = ""
    waived: str = ""
    likely: str = ""
    e_value: float | None = None
    alpha: float | None = None
    detects: float | None = None
    expected: str = ""
    instead: str = ""
    book: tuple[str, ...] = ()

    @property
    def next_steps(self) -> list[str]:
        """What can be done about a failure, in lines: what it most likely is, what holds, where the book says more."""
        lines = [f"likely: {self.likely}"] if self.likely else []
        lines += [f"would hold: {self.instead}"] if self.instead else []
        return [*lines, f"in the book: commbounds claims {' '.join(self.book)}"] if self.book else lines

    @property
    def owed(self) -> bool:
        """Whether it is about a claim of the subject, not a check of all, that was not judged, and not waived."""
        return self.verdict is CheckVerdict.NOT_JUDGED and "(" in self.claim and not (self.waived or self.expected)

    def expecting(self, reason: str) -> CheckFinding:
        """The finding where the claim is expected to fail: a failure becomes an expected one, and a pass a failure."""
        if self.verdict is CheckVerdict.FAIL:
            return replace(self, verdict=CheckVerdict.EXPECTED, expected=reason)
        if self.verdict is CheckVerdict.PASS:
            message = "was expected to fail, and passes: expect it no more"
            return replace(self, verdict=CheckVerdict.FAIL, expected=reason, message=message)
        return replace(self, expected=reason)


@dataclass(frozen=True)
class Report(NotebookTable):
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

    def __repr__(self) -> str:
        return f"<Report {self._heading()}>"

    def _heading(self) -> str:
        return f"{self.subject}: {self.counts}"

    def _rows(self) -> list[tuple[Cell, ...]]:
        return [
            (f.claim, str(f.verdict), f.message or f.evidence, "" if f.counterexample is None else self._at(f))
            for f in self.findings
        ]

    @staticmethod
    def _at(finding: CheckFinding) -> str:
        return "; ".join([f"at {shortened(finding.counterexample)}", *finding.next_steps])

    @property
    def passed(self) -> bool:
        """Whether nothing failed but what was expected to, and no claim was left without a judgement: see `owed`."""
        return not self.failures and not self.owed

    @property
    def failures(self) -> tuple[CheckFinding, ...]:
        """The findings that failed, and were not expected to."""
        return tuple(f for f in self.findings if f.verdict is CheckVerdict.FAIL)

    @property
    def expected(self) -> tuple[CheckFinding, ...]:
        """The findings that failed as expected."""
        return tuple(f for f in self.findings if f.verdict is CheckVerdict.EXPECTED)

    @property
    def not_judged(self) -> tuple[CheckFinding, ...]:
        """The findings without a judgement."""
        return tuple(f for f in self.findings if f.verdict is CheckVerdict.NOT_JUDGED)

    @property
    def owed(self) -> tuple[CheckFinding, ...]:
        """The claims of the subject that were not judged, and not waived. Universal checks may say nothing of it."""
        return tuple(f for f in self.findings if f.owed)

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
        return line_of(self, repr)

    @property
    def counts(self) -> str:
        """How many findings there are of each verdict, in words; of expected failures where there are some."""
        found = Counter(f.verdict for f in self.findings)
        return ", ".join(f"{found[v]} {v}" for v in CheckVerdict if v is not CheckVerdict.EXPECTED or found[v])

    def __str__(self) -> str:
        lines = [self._heading()]
        width = max(len("not judged"), *(len(f.verdict) for f in self.findings)) if self.findings else 0
        for finding in self.findings:
            lines.append(f"  {finding.verdict:<{width}}  {finding.claim}: {finding.message or finding.evidence}")
            if finding.verdict in (CheckVerdict.FAIL, CheckVerdict.EXPECTED) and finding.counterexample is not None:
                lines.append(f"{' ' * (width + 4)}at {shortened(finding.counterexample)}")
            lines += [f"{' ' * (width + 4)}{line}" for line in finding.next_steps]
        return "\n".join(lines)


def shortened(values: Any, limit: int = 200) -> str:
    """Nested lists on one line, cut where they get long."""
    text = line_of(values, repr)
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def _number(value: Any) -> Any:
    return NON_FINITE.get(value, value) if isinstance(value, str) else value


def report_from_json(line: str) -> Report:
    """The report that `Report.to_json` wrote; ``report.schema.json`` beside this module says the same of it.

    Raises
    ------
    ValueError
        The line is no JSON or not a report; the message names the field that is not what it must be.
    """
    if not isinstance(line, str):
        raise TypeError(f"line must be a string, got {shown(line)}")
    try:
        report = record(Report, parsed(line), _number)
        for finding in report.findings:
            if finding.counterexample is not None:
                _see_numbers(finding.counterexample)
    except RecursionError:
        raise ValueError("not a report: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not a report: {error}") from error
    return report


def _see_numbers(value: Any) -> None:
    """See that a counterexample is made of numbers, in lists of any depth."""
    if isinstance(value, list):
        for entry in value:
            _see_numbers(entry)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"counterexample must hold numbers, got {value!r:.80}")


def reports_from(path: Path) -> list[Report]:
    """The reports of a file of JSON lines, as ``commbounds check --json`` writes it.

    Raises
    ------
    ValueError
        It cannot be read, or a line is not a report: the message names file and line.
    """
    if not isinstance(path, Path):
        raise TypeError(f"path must be a Path, got {shown(path)}")
    reports = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        try:
            reports.append(report_from_json(line.decode()))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error!s:.500}") from error
    return reports


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a report, one line of ``--json``."""
    found: dict[str, Any] = json.loads(Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8"))
    return found
