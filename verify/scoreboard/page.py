"""The page of a scoreboard, from its data and nothing else."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from commbounds.verify.conformance.report import shortened
from commbounds.verify.scoreboard.records import KnownFailure, Scoreboard, ScoredPackage

_INTRODUCTION = """\
# Scoreboard

What the conformance kit says of packages that PyPI serves, held to what their own documentation says. This page is
written by `commbounds scoreboard` from `results.jsonl`, `packages.toml` and `failures.toml`; do not edit it.

    commbounds scoreboard            # everything that is not known yet
    commbounds scoreboard hivemind   # one package
    commbounds scoreboard --fresh    # everything again

Every package has an environment of its own, made by the command, with the pinned versions below. The subjects are in
`subjects/`; what each is held to stands there in a few lines. A *failure* has a program in `programs/` that shows it
with the package alone, without the kit: it exits with 1 while the failure is there and with 0 when it is gone (so
`git bisect run` takes it), and what it printed is beside it. `issues/` holds a text for the maintainers. *Documented
otherwise* means that the claim is not the maintainers', and their documentation says so: that is no mistake of theirs.
On 2026-11-28 PyPI had no package microxcaling, and none of DGC was found. The book is about their sources:
`blockformats.microscaling.*`, and `shipped.dgc_steps.*` after GRACE.
"""


def page(board: Scoreboard) -> str:
    """The page of a scoreboard, in Markdown.

    Raises
    ------
    ValueError
        A claim fails and nothing is known about it, or something is said to fail that does not: `failures.toml` has to
        be brought up to date before the page says anything.
    """
    differences = [*unexplained(board), *outdated(board)]
    lines = [_INTRODUCTION, *_summary(board)]
    if differences:
        lines += ["## Not looked at yet", "", *(f"- {each}" for each in differences), ""]
    for package in board.packages.values():
        lines += _section(board, package)
    return "\n".join(lines)


def unexplained(board: Scoreboard) -> list[str]:
    """The failing claims that no entry of ``failures.toml`` is about."""
    return [
        f"{result['package']}, {result['subject']}: {claim['claim']} fails, and nothing is written about it"
        for result in board.results
        for claim in result.get("claims", ())
        if claim["verdict"] == "fail" and not board.explained(result["package"], result["subject"], claim["claim"])
    ]


def outdated(board: Scoreboard) -> list[str]:
    """What entries of ``failures.toml`` say fails, and does not; of subjects that were not judged nothing is known."""
    judged = {(result["package"], result["subject"]) for result in board.results if "problem" not in result}
    failing = {
        (result["package"], result["subject"], claim["claim"])
        for result in board.results
        for claim in result.get("claims", ())
        if claim["verdict"] == "fail"
    }
    return [
        f"{failure.package}, {subject}: {claim} is said to fail ({failure.name}), and does not"
        for failure in board.failures
        for subject, claim in failure.fails
        if (failure.package, subject) in judged and (failure.package, subject, claim) not in failing
    ]


def _summary(board: Scoreboard) -> Iterator[str]:
    yield "| package | version | judged | subjects | claims | pass | fail | documented otherwise | not judged |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
    totals = [0] * 6
    judged = 0
    for package in board.packages.values():
        results = [result for result in board.of(package.name) if "problem" not in result]
        if not results:
            continue
        judged += 1
        kinds = [_kind(board, result, claim) for result in results for claim in result["claims"]]
        numbers = [
            len(results),
            len(kinds),
            *(kinds.count(kind) for kind in ("pass", "fail", "documented otherwise", "not judged")),
        ]
        totals = [a + b for a, b in zip(totals, numbers, strict=True)]
        cells = [f"[{package.name}](#{_anchor(package)})", *_seen(results), *map(str, numbers)]
        yield f"| {' | '.join(cells)} |"
    yield f"| {judged} packages | | | {' | '.join(map(str, totals))} |"
    yield ""
    problems = [result for result in board.results if "problem" in result]
    if problems:
        yield "Not judged, as they could not be installed or hold nothing to judge:"
        yield ""
        for result in problems:
            asked = " ".join(result["requirements"])
            yield f"- **{result['package']}** (`{asked}`, tried on {result['date']}): {_plain(result['problem'])}"
        yield ""


def _seen(results: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """The versions and the days of results."""
    versions, days = ({str(result[name]): None for result in results} for name in ("version", "date"))
    return ", ".join(versions), ", ".join(sorted(days))


def _kind(board: Scoreboard, result: dict[str, Any], claim: dict[str, Any]) -> str:
    known = board.explained(result["package"], result["subject"], claim["claim"])
    if claim["verdict"] == "fail" and known is not None and not known.is_reported:
        return known.standing
    return str(claim["verdict"])


def _anchor(package: ScoredPackage) -> str:
    return package.name.replace(".", "")


def _plain(text: str) -> str:
    """A text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _section(board: Scoreboard, package: ScoredPackage) -> Iterator[str]:
    results = [result for result in board.of(package.name) if "problem" not in result]
    if not results:
        return
    yield f"## {package.name}"
    yield ""
    installed = ", ".join(f"{name} {version}" for name, version in results[0]["installed"].items())
    yield (
        f"Judged on {_seen(results)[1]} with {installed}; budget {results[0]['budget']}, seed {results[0]['seed']}. "
        f"Subjects: [{package.subjects.partition(':')[0]}]({package.subjects.partition(':')[0]}). "
        f"Its documentation: <{package.documentation}>."
    )
    if package.remark:
        yield package.remark
    yield ""
    yield "| subject | claim | verdict |"
    yield "|---|---|---|"
    for result in results:
        universal = [claim for claim in result["claims"] if not claim["claim"].endswith(")")]
        passing = sum(claim["verdict"] == "pass" for claim in universal)
        for claim in result["claims"]:
            if claim not in universal or claim["verdict"] != "pass":
                yield f"| {_plain(result['subject'])} | `{claim['claim']}` | {_verdict(board, result, claim)} |"
        if universal:
            yield f"| {_plain(result['subject'])} | {passing} of {len(universal)} universal checks | pass |"
    yield ""
    for failure in board.failures:
        if failure.package == package.name:
            yield from _failure(board, failure)


def _verdict(board: Scoreboard, result: dict[str, Any], claim: dict[str, Any]) -> str:
    known = board.explained(result["package"], result["subject"], claim["claim"])
    kind = _kind(board, result, claim)
    if claim["verdict"] == "fail":
        return f"**{kind}**: " + (
            f"[{known.name}](#{known.name.replace('.', '')})" if known else _plain(claim["found"])
        )
    return kind if kind == "pass" else f"{kind}: {_plain(claim['found'])}"


def _failure(board: Scoreboard, failure: KnownFailure) -> Iterator[str]:
    yield f"### {failure.name}"
    yield ""
    yield f"{failure.title} **{failure.standing.capitalize()}.** {failure.says} <{failure.link}>"
    yield ""
    seen = [
        result
        for result in board.of(failure.package)
        if result.get("subject") in {subject for subject, _ in failure.fails}
    ]
    if seen:
        version, days = _seen(seen)
        yield f"Seen in {failure.package} {version} on {days}:"
        yield ""
    for result in board.of(failure.package):
        for claim in result.get("claims", ()):
            if claim["verdict"] == "fail" and (result["subject"], claim["claim"]) in failure.fails:
                yield f"- {_plain(result['subject'])}, `{claim['claim']}`: {_plain(claim['found'])}"
                if claim["input"] is not None:
                    yield f"  at `{shortened(claim['input'])}`, seed {json.dumps(claim['seed'])}"
    judged = {result.get("subject") for result in board.of(failure.package)}
    for subject in dict.fromkeys(subject for subject, _ in failure.fails):
        if subject not in judged:
            yield f"- {_plain(subject)}: not judged yet in this version; seen by the program alone"
    yield ""
    output = board.folder / "programs" / f"{failure.name}.txt"
    printed = output.read_text(encoding="utf-8") if output.exists() else "not run yet\n"
    yield f"[programs/{failure.name}.py](programs/{failure.name}.py) prints"
    yield ""
    yield "".join(f"    {text}\n" for text in printed.splitlines())
    if failure.is_reported:
        yield f"For the maintainers: [issues/{failure.name}.md](issues/{failure.name}.md)."
        yield ""
