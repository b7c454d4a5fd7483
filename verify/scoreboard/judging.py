"""What runs in a package's own environment: ``python -m commbounds.verify.scoreboard.judging FILE:NAME BUDGET SEED``.

First a line of JSON with the versions of what is installed there, then two for every subject: that it is begun, and its
report. Names that follow the seed are of subjects that are left out. What subjects print goes to stderr.
"""

import json
import os
import sys
from importlib.metadata import distributions

from commbounds.verify.conformance.check import check
from commbounds.verify.conformance.loading import loaded


def judge(target: str, budget: str, seed: int, done: frozenset[str]) -> None:
    """Write what is found about the subjects of `target` that are not `done` to what was stdout."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    found = {str(each.metadata["Name"]): each.version for each in reversed(list(distributions()))}
    print(json.dumps({"installed": found}), file=lines, flush=True)
    for subject in loaded(target):
        if subject.name not in done:
            print(json.dumps({"begun": subject.name}), file=lines, flush=True)
            print(check(subject, budget, seed).to_json(), file=lines, flush=True)


if __name__ == "__main__":
    judge(sys.argv[1], sys.argv[2], int(sys.argv[3]), frozenset(sys.argv[4:]))
