"""`check`: everything a subject is held to, in one report."""

import contextlib
import math
import time
import warnings
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.compressors.base import as_numbers, checked_choice, checked_real, shown
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.budgets import BUDGETS, FALSE_ALARM
from commbounds.verify.conformance.calls import Hopeless, Unanswered, timer_ready
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import NoBound, NotHere, SubjectClaim, Sure
from commbounds.verify.conformance.instead import instead
from commbounds.verify.conformance.mistakes import likely_mistake
from commbounds.verify.conformance.process import Process
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict, Report
from commbounds.verify.conformance.subject import Subject, with_more_ranks
from commbounds.verify.conformance.universal import UNIVERSAL
from commbounds.verify.confront import versions

_TOO_SHORT = "it needs more than the seconds of time_limit, as to compile in the first call, or it never answers"


def check(
    subject: Subject,
    budget: str = "quick",
    seed: int = 0,
    *,
    only: Collection[str] | None = None,
    progress: Callable[[CheckFinding], None] | None = None,
    seconds: float = math.inf,
) -> Report:
    """What is true of what a subject claims, and of what every subject is held to.

    Parameters
    ----------
    subject : Subject
        A `Codec`, `Stateful` or `AllReduce`.
    budget : str
        quick, standard or thorough.
    seed : int
        Nonnegative root of all randomness; the same gives the same report.
    only : collection of str, or None
        Claims to judge, as they print, or up to the parenthesis; None for all.
    progress : callable (CheckFinding) or None
        Called with every finding as it becomes known.
    seconds : float
        That the judging may take, about: claims share what is left evenly. Findings say what was left out; a claim that
        cannot be judged in its time is not judged. What is found then depends on the machine.

    Returns
    -------
    Report
        Universal checks first.

    Raises
    ------
    TypeError, ValueError
        `subject` is none, its process cannot be started, or there is no such budget, claim, check to waive, or
        claim that could be expected to fail.

    Notes
    -----
    A report on a right implementation holds a failure from a sequential test with probability at most 1e-6, whatever
    the number of its claims; for `Unbiased` under the assumption that its docstring states. All other checks fail only
    where a violation was seen.
    """
    _require_subject(subject)
    checked_choice("budget", budget, tuple(BUDGETS))
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed must be a nonnegative integer, got {shown(seed)}")
    claims = [*UNIVERSAL, *subject.claims]
    unknown = set(subject.waivers) - {str(claim) for claim in claims}
    if unknown:
        names = ", ".join(map(str, claims))
        raise ValueError(f"{', '.join(sorted(unknown))} cannot be waived: checks and claims are {names}")
    unknown = set(subject.expected_failures) - {str(claim) for claim in claims}
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))} cannot fail: the claims are {', '.join(map(str, claims))}")
    if not checked_real("seconds", seconds) > 0.0:
        raise ValueError(f"seconds must be positive, got {shown(seconds)}")
    subject = with_more_ranks(subject, budget)
    statistical = sum(claim.statistical for claim in claims)  # of all, whatever is judged now: alpha stays the same
    bench = Bench(subject, BUDGETS[budget], seed, FALSE_ALARM / max(1, statistical))
    process = getattr(subject.outside, "process", None)
    if process is not None:
        with contextlib.suppress(Unanswered, Hopeless):  # that it dies or hangs at once is a finding
            process.started()  # that it cannot be started is none, but a mistake of the caller's
    findings = []
    picked, end = chosen(claims, only), time.monotonic() + seconds
    for place, claim in enumerate(picked):
        if seconds < math.inf:
            bench.spend(max(0.0, end - time.monotonic()) / (len(picked) - place))
        finding = _judged(claim, bench)
        if str(claim) in subject.expected_failures:
            finding = finding.expecting(subject.expected_failures[str(claim)])
        findings.append(finding)
        if progress is not None:
            progress(finding)
    wrong = [f"a later call: {bench.lost[0]}"] if bench.lost else []
    if any(finding.verdict is CheckVerdict.FAIL for finding in findings):
        wrong = []
    if isinstance(process, Process):
        if (left := process.left_behind()) and findings:
            said = f"left behind: {'; '.join(left)}"
            findings[0] = replace(findings[0], evidence="; ".join(filter(None, (findings[0].evidence, said))))
        ending, offences = process.finish(), process.offences
        said = f"left something behind in {len(offences)} of the calls: {'; '.join(dict.fromkeys(offences))}"
        wrong = wrong or [said[:1000]] * bool(offences) + [ending] * bool(ending)
    if wrong and findings and findings[0].verdict is not CheckVerdict.FAIL:
        findings[0] = replace(findings[0], verdict=CheckVerdict.FAIL, message="; ".join(wrong), expected="")
    return Report(subject.name, tuple(findings), budget, seed, versions())


def _require_subject(subject: Any) -> None:
    if not isinstance(subject, Subject):
        raise TypeError(f"subject must be a Codec, Stateful or AllReduce, got {shown(subject)}")


def chosen(claims: list[SubjectClaim], only: Collection[str] | None) -> list[SubjectClaim]:
    """Those of `claims` that `only` names, as `check` takes it."""
    if only is None:
        return claims
    wanted = {only} if isinstance(only, str) else set(only)
    chosen = [claim for claim in claims if {str(claim), str(claim).split("(")[0]} & wanted]
    missing = wanted - {str(claim) for claim in chosen} - {str(claim).split("(")[0] for claim in chosen}
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))} is none of the claims {', '.join(map(str, claims))}")
    return chosen


def _judged(claim: SubjectClaim, bench: Bench) -> CheckFinding:
    with warnings.catch_warnings(), np.errstate(all="ignore"), timer_ready():
        warnings.simplefilter("ignore")  # what a subject warns of is its own affair
        try:
            finding = claim.judge(bench)
        except Hopeless as error:
            finding = claim.unjudged(str(error))
        except NoBound as error:
            finding = CheckFinding(str(claim), CheckVerdict.FAIL, message=f"nothing is claimed: {error}")
        if bench.left_out:
            evidence = f"{finding.evidence}; no time for {', '.join(dict.fromkeys(bench.left_out))}"
            finding = replace(finding, evidence=evidence.lstrip("; "))
        if finding.verdict is CheckVerdict.FAIL:
            finding = replace(
                finding,
                likely=_TOO_SHORT if "no answer within" in finding.message else likely_mistake(bench, str(claim)),
                instead=instead(bench, claim, finding),
                book=claim.in_book,
            )
    reason = bench.subject.waivers.get(str(claim))
    if reason is None:
        return finding
    if not claim.universal:  # it need not be judged; what is judged counts
        judged = finding.verdict is not CheckVerdict.NOT_JUDGED
        return _not_needed(finding, reason) if judged else replace(finding, waived=reason)
    if finding.verdict is CheckVerdict.FAIL:
        return replace(finding, verdict=CheckVerdict.PASS, waived=reason)
    if finding.verdict is CheckVerdict.PASS:
        return replace(finding, verdict=CheckVerdict.FAIL, waived=reason, message="holds: the waiver is not needed")
    return replace(finding, waived=reason)


def _not_needed(finding: CheckFinding, reason: str) -> CheckFinding:
    """A claim that was judged, though it was said that it need not be."""
    if finding.verdict is CheckVerdict.FAIL:
        return finding
    return replace(finding, verdict=CheckVerdict.FAIL, waived=reason, message="was judged: the waiver is not needed")


def recheck(subject: Subject, claim: str, x: ArrayLike, seed: int = 0) -> str:
    """What is wrong with one case, or ``"holds here"``: what the reproductions in findings call.

    Parameters
    ----------
    subject : Subject
        As for `check`.
    claim : str
        As it prints.
    x : array
        The case: one input, or a row a step or rank.
    seed : int
        Its seed.

    Raises
    ------
    TypeError
        `subject` is none, `claim` no string, `x` no array of numbers, or `seed` no integer.
    ValueError
        There is no such claim, it is not one that a single case can break, or the subject does not take `x`.
    """
    _require_subject(subject)
    if not isinstance(claim, str):
        raise TypeError(f"claim must be a string, got {shown(claim)}")
    claims = [*UNIVERSAL, *subject.claims]
    if not any(claim in (str(known), str(known).split("(")[0]) for known in claims):
        raise ValueError(f"claim must be one of {', '.join(map(str, claims))}, got {shown(claim)}")
    (judged,) = chosen(claims, [claim])
    if not isinstance(judged, Sure):
        raise ValueError(f"{claim} is not judged by single cases: call check(subject, only=[{claim!r}])")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed must be an integer, got {shown(seed)}")
    if not 0 <= seed < 2**31:
        raise ValueError(f"seed must be in [0, 2^31), got {shown(seed)}")
    subject = with_more_ranks(subject, "standard")
    given = x if isinstance(x, np.ndarray) and x.dtype == subject.numpy_dtype else as_numbers(x, "x")
    case = CheckCase(given.astype(subject.numpy_dtype), int(seed))
    if not subject.takes(case.x):
        raise ValueError(f"x must be an input that {subject.name} takes, got an array of shape {case.x.shape}")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what a subject warns of is its own affair
        try:
            return judged.violation(Bench(subject, BUDGETS["quick"], 0, FALSE_ALARM), case) or "holds here"
        except NotHere as error:
            return f"nothing is claimed here: {error}"
        except NoBound as error:
            return f"nothing is claimed: {error}"
        except Unanswered as error:
            return f"no usable answer: {error}"
