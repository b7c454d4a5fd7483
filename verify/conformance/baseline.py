"""What changed between earlier reports and new ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from commbounds.verify.conformance.report import CheckFinding, CheckVerdict, Report


@dataclass(frozen=True)
class Change:
    """What is different about one claim.

    Parameters
    ----------
    subject, claim : str
        Which.
    before, now : CheckFinding or None
        The two findings; None where there is none.
    """

    subject: str
    claim: str
    before: CheckFinding | None
    now: CheckFinding | None

    @property
    def worse(self) -> bool:
        """Whether it fails now, and did not."""
        failed = self.before is not None and self.before.verdict is CheckVerdict.FAIL
        return self.now is not None and self.now.verdict is CheckVerdict.FAIL and not failed

    def __str__(self) -> str:
        was = "new" if self.before is None else str(self.before.verdict)
        if self.now is None:
            return f"{self.subject}: {self.claim}: {was} -> not there any more"
        return f"{self.subject}: {self.claim}: {was} -> {self.now.verdict}" + (
            f": {self.now.message}" if self.now.message else ""
        )


def changes(before: Sequence[Report], now: Sequence[Report]) -> list[Change]:
    """Claims whose verdict differs, that are new, or gone: in the order of the new reports, then of the old.

    Parameters
    ----------
    before, now : sequence of Report
        Of subjects of different names. What is gone is looked for in the subjects of `now` alone.
    """
    old, new = _by_name(before), _by_name(now)
    subjects = {report.subject for report in now}
    keys = [*new, *(key for key in old if key not in new and key[0] in subjects)]
    found = [Change(*key, old.get(key), new.get(key)) for key in keys]
    return [c for c in found if c.before is None or c.now is None or c.before.verdict is not c.now.verdict]


def _by_name(reports: Sequence[Report]) -> dict[tuple[str, str], CheckFinding]:
    return {(report.subject, finding.claim): finding for report in reports for finding in report.findings}
