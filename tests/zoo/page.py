"""The page of the zoo, ``docs/conformance-zoo.md``: every defect, and what a quick check says of it.

``PYTHONPATH=tests python -m zoo.page`` writes it anew. With a file's name behind it rows are
kept there as they come, and those that it has are not made again.
"""

import json
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

UNSTEADY = {
    "dithered by the clock": "two calls with one seed gave different answers; which ones changes from run to run",
    "topk remembered by id": "calls before and behind others gave different answers; which ones follows addresses",
}
"""What is said of subjects whose report is another in every run."""


def cell(text):
    """`text` in a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def short(claim):
    """A claim without its numbers."""
    return claim.split("(")[0]


def row(broken):
    """The line of the table for one broken subject."""
    report = cf.check(broken.subject)
    if broken.name in UNSTEADY and not report.passed:
        fails = ", ".join(broken.killed_by)
        return f"| {cell(broken.defect)} | {fails} |  | {UNSTEADY[broken.name]} |"
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


def main(kept=None):
    """Write the page; rows are kept in the JSON-lines file `kept`."""
    store = Path(kept) if kept else None
    known = dict(map(json.loads, store.read_text(encoding="utf-8").splitlines())) if store and store.exists() else {}
    lines = []
    for broken in ZOO:
        if broken.name not in known:
            known[broken.name] = row(broken)
            if store:
                with store.open("a", encoding="utf-8") as file:
                    print(json.dumps([broken.name, known[broken.name]]), file=file)
            print(broken.name, file=sys.stderr, flush=True)
        lines.append(known[broken.name])
    unseen = [f"| {cell(broken.defect)} | {cell(broken.killed_by[0])} |" for broken in UNSEEN]
    text = HEAD.format(count=len(ZOO)) + "\n".join(lines) + "\n" + TAIL + "\n".join(unseen) + "\n"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:2])
