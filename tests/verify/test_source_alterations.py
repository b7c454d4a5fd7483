"""Alterations of the source that were written blind: one place of one file, judged by `verify` as a user runs it.

They were written from `collectives` and `compressors` alone: what a rank, a number of ranks, who calls, an option, a
round or a size turns on. Those that no claim notices say why: a claim that notices one takes the mark.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ALTERATIONS = json.loads((TESTS / "blind_alterations" / "of_sources.json").read_text("utf-8"))


def texts(of):
    """What stands there, and what is put in its place."""
    return "\n".join(of["old"]), "\n".join(of["new"])


def test_what_is_altered_is_there_once():
    found = {}
    for of in ALTERATIONS:
        old, new = texts(of)
        assert old != new, of
        times = (TESTS.parent / of["path"]).read_text("utf-8").count(old)
        if times != 1:
            found[of["path"], old] = times
    assert not found


def missed(of):
    """The mark of what no claim notices, with the reason that the list gives."""
    reason = of.get("missed")
    return [pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)] if reason else []


@pytest.mark.long
@pytest.mark.parametrize("of", [pytest.param(of, id=of["when"], marks=missed(of)) for of in ALTERATIONS])
def test_an_altered_source_is_noticed(of):
    command = [sys.executable, str(TESTS / "altered_source.py"), of["path"], *texts(of), of["claim"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"refuted     {of['claim']}" in done.stdout + done.stderr or "error" in done.stdout, done.stdout
