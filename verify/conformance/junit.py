"""Reports as JUnit XML, which CI services read: a suite for each subject, a case for each claim."""

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from commbounds.verify.conformance.report import CheckFinding, CheckVerdict, Report, shortened


def junit(reports: Sequence[Report], seconds: Mapping[tuple[str, str], float] | None = None) -> str:
    """The XML document.

    Parameters
    ----------
    reports : sequence of Report
        In the order of their suites.
    seconds : mapping of (subject, claim) to float, or None
        How long each took, where that is known.

    Returns
    -------
    str
        Failures are failures; expected ones and what was not judged are skipped, with the reason. Characters that XML
        does not have are spelled out.
    """
    times = seconds or {}
    root = ElementTree.Element("testsuites", name="commbounds check")
    for report in reports:
        suite = ElementTree.SubElement(root, "testsuite", name=_plain(report.subject), tests=str(len(report.findings)))
        suite.set("failures", str(len(report.failures)))
        suite.set("skipped", str(len(report.expected) + len(report.not_judged)))
        suite.set("errors", "0")
        suite.set("time", _time(sum(times.get((report.subject, f.claim), 0.0) for f in report.findings)))
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in {"budget": report.budget, "seed": str(report.seed), **report.versions}.items():
            ElementTree.SubElement(properties, "property", name=name, value=_plain(value))
        for finding in report.findings:
            case = ElementTree.SubElement(suite, "testcase", classname=_plain(report.subject))
            case.set("name", _plain(finding.claim))
            case.set("time", _time(times.get((report.subject, finding.claim), 0.0)))
            _said(case, finding)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _said(case: ElementTree.Element, finding: CheckFinding) -> None:
    message = _plain(finding.message)
    if finding.verdict is CheckVerdict.FAIL:
        failure = ElementTree.SubElement(case, "failure", message=message, type="claim")
        at = "" if finding.counterexample is None else f"at {shortened(finding.counterexample)}, seed {finding.seed}"
        failure.text = _plain("\n".join(part for part in (finding.message, at, finding.reproduce) if part))
    elif finding.verdict is CheckVerdict.EXPECTED:
        reason = _plain(f"expected: {finding.expected}")
        ElementTree.SubElement(case, "skipped", message=reason, type="expected failure").text = message
    elif finding.verdict is CheckVerdict.NOT_JUDGED:
        ElementTree.SubElement(case, "skipped", message=message, type="not judged")
    else:
        ElementTree.SubElement(case, "system-out").text = _plain(finding.evidence)


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"


def _plain(text: str) -> str:
    """`text` without the characters that no XML document may hold."""
    return "".join(c if c in "\t\n" or (c.isprintable() and c not in "\ufffe\uffff") else ascii(c)[1:-1] for c in text)
