"""The page of the zoo, ``docs/conformance-zoo.md``: every defect, and what a quick check says of it.

``PYTHONPATH=tests python -m zoo.page`` writes it anew: minutes of work.
"""

import re
import sys
from pathlib import Path

from commbounds.verify import conformance as cf
from commbounds.verify.conformance.report import shortened
from zoo.registry import ZOO
from zoo.unseen import UNSEEN

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance-zoo.md"

HEAD = """# Broken implementations, and what finds them

{count} implementations with one defect each, held to everything that a right one claims, by a quick check (seed 0)
of the conformance kit. The tests hold every one of them to fail, and the right one that it was made from to pass.
"Fails" lists claims and checks that all subjects are held to, first the one that is shown with its smallest
counterexample, which is an input, or a row for every step or rank; "holds" lists claims.

`PYTHONPATH=tests python -m zoo.page` writes this page.

| defect | fails | holds | what the report says |
|---|---|---|---|
"""

TAIL = """
## Not seen

A pass is no proof. These pass a quick check:

| defect | why |
|---|---|
"""


def cell(text):
    """`text` in a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def short(claim):
    """A claim without its numbers."""
    return claim.split("(")[0]


def row(broken):
    """The line of the table for one broken subject."""
    report = cf.check(broken.subject)
    failures = sorted(report.failures, key=lambda f: short(f.claim) not in broken.killed_by)
    shown = failures[0]
    said = cell(re.sub(r"; \w+\.pyx?:\d+ in .*", "", shown.message))
    if shown.counterexample is not None:
        said += f" at `{cell(shortened(shown.counterexample, 120))}`"
    fails = ", ".join(dict.fromkeys(short(f.claim) for f in failures))
    claims = [str(claim) for claim in broken.subject.claims]
    holds = ", ".join(short(f.claim) for f in report.findings if f.verdict == "pass" and f.claim in claims)
    return f"| {cell(broken.defect)} | {fails} | {holds} | {said} |"


def rows(text):
    """The defects that a page lists, in its order."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| defect")]
    return [line.split(" | ")[0].removeprefix("| ") for line in lines]


def main():
    """Write the page."""
    lines = []
    for broken in ZOO:
        lines.append(row(broken))
        print(broken.name, file=sys.stderr, flush=True)
    unseen = [f"| {cell(broken.defect)} | {cell(broken.killed_by[0])} |" for broken in UNSEEN]
    text = HEAD.format(count=len(ZOO)) + "\n".join(lines) + "\n" + TAIL + "\n".join(unseen) + "\n"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
