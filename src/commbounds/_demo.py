"""The command ``demo``: one claim of each verdict, a counterexample and a figure, in half a minute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commbounds._progress import Progress, compiling_here, progress
from commbounds._terminal import plain, width_of_output
from commbounds.folders import ready

if TYPE_CHECKING:
    from commbounds.theory import Claim
    from commbounds.verify import Counterexample, Finding

_SCENES = (
    (
        "sparsifiers.topk.contraction",
        "Keep the k entries of a vector that are largest, and send nothing else: what is lost has a bound. A "
        "certificate proves it for every input; the implementation is run all the same.",
    ),
    (
        "oktopk.boundaries.averaged",
        "Workers agree on where to cut a vector by averaging where each of them would cut it. Of small sizes there are "
        "few enough cases to try them all.",
    ),
    (
        "precision.quantised.oneshot",
        "How far an all-reduce of few bits may be off has no certificate here. Cases that break the bound are searched "
        "for; the nearest miss says how tight it is.",
    ),
    (
        "arctopk.allreduce.high_probability",
        "A statement about a probability is tested by draws. The test may stop at any time, and a run of the whole "
        "book raises a false alarm with probability 1e-6 at most.",
    ),
    (
        "quantizers.sign.unbiased",
        "A compressor is unbiased if it gives the vector back on average. Signs alone do not: the smallest input that "
        "shows it is printed.",
    ),
)
"""A claim of each verdict: proved, enumerated, survived, consistent, refuted; and what it is about."""
_DRAWN = _SCENES[0][0]


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder of the figure; the working one if not given.",
)
def demo(out: Path) -> None:
    """Show one claim of each verdict, in half a minute. A counterexample and a figure are made, too.

    About 20 seconds; a minute the first time, while kernels are compiled. Exits with 1 if a finding is not as the book
    says.
    """
    try:
        ready(out)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    with progress("claims") as shown:
        from commbounds.theory import claims
        from commbounds.verify import confront

        shown.watch(compiling_here())
        shown.expect(len(_SCENES))
        findings = []
        for number, (name, about) in enumerate(_SCENES, start=1):
            shown.doing(name)
            _say(shown, f"{number} of {len(_SCENES)}. {about}")
            finding = confront(name, drawn=name == _DRAWN)
            for line in _lines(claims()[name], finding):
                _say(shown, line, "    ")
            shown.show("")
            shown.advance()
            findings.append(finding)
        shown.doing("drawing")
        from commbounds.figures import save

        drawn = [finding for finding in findings if finding.claim == _DRAWN]
        (figure,) = save(drawn, out, ("svg",))
    click.echo(f"{plain(str(figure))}: the bound of {_DRAWN} beside what was measured")
    click.echo("what next: `commbounds claims` lists the book, `commbounds report` confronts all of it")
    sys.exit(0 if all(finding.as_stated for finding in findings) else 1)


def _say(shown: Progress, text: str, start: str = "") -> None:
    """A paragraph."""
    from textwrap import fill

    width = min(width_of_output(), 100)
    shown.show(fill(plain(text), width, initial_indent=start, subsequent_indent=start, break_on_hyphens=False))


def _lines(claim: Claim, finding: Finding) -> list[str]:
    """What is claimed, by whom, and what was found."""
    evidence = ", ".join(f"{e.cases} by {e.method}" for e in finding.evidence)
    lines = [
        f"{claim.name}: {claim.title}",
        f"claimed: {claim.relation}  [{claim.source.work}, {claim.source.tag}]",
        f"verdict: {finding.verdict}, as the book says"
        if finding.as_stated
        else f"verdict: {finding.verdict}; {finding.message}",
        f"cases: {evidence}",
    ]
    if finding.grade:
        lines.append(f"{finding.graded}: {finding.shown_for}")
    if finding.tightness is not None:
        lines.append(f"nearest to the bound: measured / bound = {finding.tightness:.4g}")
    if finding.counterexample is not None:
        lines.append(f"counterexample: {_shown(finding.counterexample)}")
    return lines


def _shown(found: Counterexample) -> str:
    """A counterexample in a line."""
    values = f"{found.subject}, x = {list(found.x)}"
    return f"{values}: {found.exact or f'measured {found.measured:.6g}, bound {found.bound:.6g}'}"
