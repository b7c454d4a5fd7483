"""The load of `tests/load`, for ten minutes."""

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

MINUTES = 10


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_ten_minutes_of_load_lose_nothing(tmp_path, record_property):
    log = tmp_path / "load.jsonl"
    command = [sys.executable, Path(__file__).with_name("load"), "--minutes", str(MINUTES), "--log", log]
    subprocess.run(command, cwd=tmp_path, check=False)
    summary = json.loads(log.read_text().splitlines()[-1])["summary"]
    record_property("tried", sum(summary["runs"].values()))
    record_property("lost", sum(summary["lost"].values()))
    assert summary["lost"] == {}, log.read_text()
    assert flat(summary["memory"]), summary


def flat(memory):
    """Whether a thousand rounds, about an hour of them, add less than a twentieth of what is in use."""
    return memory["MiB a thousand rounds"] < memory["MiB"] / 20


@pytest.mark.parametrize("leak", [0, 20_000])
def test_a_leak_is_told_from_a_beginning_however_slow_the_machine_is(leak):
    growth = runpy.run_path(str(Path(__file__).with_name("load") / "__main__.py"))["growth"]
    rng = np.random.default_rng(leak)
    sizes = [300 * 2**20 + min(t, 41) * 400_000 + leak * t + int(rng.integers(2**16)) for t in range(200)]
    assert flat(growth(sizes)) == (leak == 0)
    assert not flat(growth(sizes[:50]))  # too few to tell
