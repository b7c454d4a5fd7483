"""`believed`: whether a finding that was read says nothing that no run could have found.

What a file says is taken for what was found only as far as it agrees with the book and with itself: every number is in
its range, every verdict has the evidence that it takes, and certificates are checked again.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, TypeVar
from unicodedata import category

from commbounds.theory import Standing, claims
from commbounds.verify import certify
from commbounds.verify.confront import verdict_of, versions
from commbounds.verify.contents import study_entries
from commbounds.verify.experiment import budgets
from commbounds.verify.finding import Counterexample, Evidence, Finding, Method, Verdict
from commbounds.verify.methods import certificate_evidence

T = TypeVar("T")
_SAYS = {
    Method.CERTIFICATE: (Verdict.PROVED, Verdict.DEFINITION, Verdict.REFUTED),
    Method.EXACT: (Verdict.ENUMERATED, Verdict.REFUTED),
    Method.INJECT: (Verdict.SURVIVED, Verdict.REFUTED),
    Method.SEARCH: (Verdict.SURVIVED, Verdict.REFUTED),
    Method.SAMPLE: (Verdict.CONSISTENT, Verdict.REFUTED),
    Method.ATTACK: (Verdict.SURVIVED, Verdict.REFUTED),
    Method.EXTREMAL: (Verdict.SURVIVED, Verdict.REFUTED),
}
"""What each method may say."""


def believed(finding: Finding) -> Finding:
    """`finding`, if it is about a claim of the book and says of it what follows from what it says itself.

    Raises
    ------
    ValueError
        It does not; the message says what is wrong.
    """
    problem = next(_problems(finding), "")
    if problem:
        raise ValueError(problem)
    return finding


def each_once(entries: Iterable[T], name: Callable[[T], str]) -> None:
    """See that no two entries have the same name.

    Raises
    ------
    ValueError
        Two have.
    """
    seen: set[str] = set()
    for entry in entries:
        if name(entry) in seen:
            raise ValueError(f"{name(entry)} is there twice")
        seen.add(name(entry))


def _problems(finding: Finding) -> Iterator[str]:
    """Whatever is wrong; later parts rely on earlier ones."""
    name, verdict = finding.claim, finding.verdict
    if strange := next((text for text in _texts(asdict(finding)) if not _plain(text)), None):
        yield f"texts must be without characters that control a screen, got {strange!r:.80}"
    if verdict is Verdict.ERROR and not finding.evidence and name in study_entries():
        if finding.as_stated or not finding.message:
            yield f"{name} must say why it is not as the book says: {finding.message!r}"
        return  # the column may be one that cannot be imported
    claim = claims().get(name)
    if claim is None or name not in study_entries():
        yield f"the book has no claim {name!r}"
        return
    holds = claim.stands is Standing.HOLDS
    if finding.as_stated and (verdict is Verdict.ERROR or (verdict is Verdict.REFUTED) == holds):
        yield f"{name}, {verdict}, is said to be as stated, but the book says {claim.stands}"
    if finding.as_stated == bool(finding.message):
        yield f"{name} must say why it is not as the book says, and only then: {finding.message!r}"
    methods = [evidence.method for evidence in finding.evidence]
    follows = verdict_of(finding.evidence)
    if verdict not in (follows, Verdict.ERROR):
        yield f"{name} is said to be {verdict}, but its evidence says {follows if methods else 'nothing'}"
    for evidence in finding.evidence:
        yield from (f"{name}, {evidence.method}: {what}" for what in _of_evidence(evidence))
    if len(set(methods)) < len(methods):
        yield f"{name} has evidence of one method twice"
    if Method.CERTIFICATE in methods and verdict is not Verdict.ERROR:
        yield from _of_certificate(name, finding.evidence[methods.index(Method.CERTIFICATE)])
    yield from (f"{name}: {what}" for what in _of_numbers(finding))


def _texts(value: Any) -> Iterator[str]:
    """All texts inside of a value, keys of mappings too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _texts(entry)


def _plain(text: str) -> bool:
    return text.isprintable() or all(category(c) not in ("Cc", "Cf", "Cs", "Co") or c == "\n" for c in text)


def _of_evidence(evidence: Evidence) -> Iterator[str]:
    if evidence.verdict not in _SAYS[evidence.method]:
        yield f"it cannot say {evidence.verdict}"
    if not evidence.detail.strip():
        yield "detail must say what was done"
    if evidence.cases < 1:
        yield f"cases must be at least 1, got {evidence.cases}"
    if evidence.nontrivial is not None and not 0 <= evidence.nontrivial <= evidence.cases:
        yield f"nontrivial must be in [0, {evidence.cases}], got {evidence.nontrivial}"
    if evidence.verdict is Verdict.ENUMERATED and not evidence.nontrivial:
        yield "nontrivial must be at least 1: a grid without a case that could break the claim shows nothing"
    yield from _share("tightness", evidence.tightness)
    drawn = (evidence.e_value, evidence.alpha, evidence.detects)
    if evidence.method is not Method.SAMPLE:
        if any(value is not None for value in drawn):
            yield "e_value, alpha and detects are those of a sequential test, and it is none"
    elif evidence.e_value is None or evidence.alpha is None or evidence.detects is None:
        yield "a sequential test must say its e_value, alpha and what it detects"
    elif not (evidence.e_value >= 0.0 and 0.0 < evidence.alpha < 1.0 and evidence.detects >= 0.0):
        yield f"e_value and detects must be nonnegative and alpha in (0, 1), got {drawn}"
    refuted = evidence.verdict is Verdict.REFUTED
    shown = evidence.counterexample
    if shown is not None:
        if not refuted:
            yield f"a counterexample refutes, and it says {evidence.verdict}"
        yield from _of_counterexample(shown)
    elif refuted and evidence.method in (Method.EXACT, Method.INJECT, Method.SEARCH, Method.ATTACK):
        yield "what it refutes it must show a counterexample of"


def _of_counterexample(shown: Counterexample) -> Iterator[str]:
    if not shown.subject.strip():
        yield "the subject of a counterexample must be named"
    if shown.x_length < 0:
        yield f"x_length must be nonnegative, got {shown.x_length}"
    for entry in _flat(shown.x):
        if isinstance(entry, bool) or not isinstance(entry, int | float):
            yield f"x of a counterexample must be numbers, got {entry!r:.40}"
            return


def _flat(x: Sequence[Any]) -> Iterator[Any]:
    for entry in x:
        if isinstance(entry, list):
            yield from _flat(entry)
        else:
            yield entry


@cache
def _checked(name: str) -> Evidence | str:
    """The evidence of a claim's certificate, which is checked for it; or why there is none."""
    try:
        return certificate_evidence(name) if name in certify.files() else "the book has none"
    except certify.CertificateError as error:
        return str(error)


def _of_certificate(name: str, evidence: Evidence) -> Iterator[str]:
    checked = _checked(name)
    if isinstance(checked, str):
        yield f"{name} is said to have a certificate: {checked}"
    elif evidence != checked:
        yield f"what {name} says of its certificate is not what the certificate says"


def _share(what: str, value: float | None) -> Iterator[str]:
    if value is not None and not value >= 0.0:
        yield f"{what} must be at least 0, got {value!r}"


def _of_numbers(finding: Finding) -> Iterator[str]:
    if finding.budget not in budgets:
        yield f"budget must be one of {', '.join(budgets)}, got {finding.budget!r}"
    if finding.seed < 0:
        yield f"seed must be nonnegative, got {finding.seed}"
    if set(finding.versions) != set(versions()):
        yield f"versions must be those of {', '.join(versions())}, got {', '.join(finding.versions) or 'none'}"
    shares = [evidence.tightness for evidence in finding.evidence if evidence.tightness is not None]
    if finding.tightness != (max(shares) if shares else None):
        yield f"tightness must be the largest of its evidence, got {finding.tightness!r}"
    known = {hypothesis.name for hypothesis in claims()[finding.claim].assumes}
    if unknown := sorted(set(finding.left_out) - known):
        yield f"left_out names what is no hypothesis of the claim: {unknown[0]!r}"
    for what in ("left_out", "unmeasured", "regimes"):
        for key, count in getattr(finding, what).items():
            if count < 0:
                yield f"{what} of {key!r} must be nonnegative, got {count}"
    loose = [*finding.untested, *finding.explained]
    if len(set(loose)) < len(loose) or not len(loose) <= finding.mutants:
        yield f"mutants must be as many as are untested or explained, each once, got {finding.mutants} and {len(loose)}"
    for series in finding.series:
        try:
            series.check()
        except ValueError as error:
            yield str(error)
        if not all(abs(x) <= sys.float_info.max for x in series.x):
            yield f"x of the series {series.label!r} must be finite"
