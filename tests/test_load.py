"""The load of `tests/load`, for ten minutes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

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
    # a twentieth of what it has in use, in an hour
    assert summary["memory"]["MiB an hour"] < summary["memory"]["MiB"] / 20, summary
