"""The book on an old processor: what is found there is found here, but for the last digits of what is measured."""

import os
import subprocess
import sys

import pytest
from processors import old_processor, on_x86

from commbounds.verify.engine import load, run
from commbounds.verify.executors import executor


@pytest.mark.long
@on_x86
def test_every_verdict_is_the_same_on_an_old_processor(tmp_path):
    elsewhere = {**old_processor(tmp_path / "kernels"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "commbounds", "verify", "--out", str(tmp_path / "old")]
    subprocess.run(command, env={**os.environ, **elsewhere}, check=True, capture_output=True)
    with executor("process") as pool:
        here = run(executor=pool)
    there = load(tmp_path / "old")
    assert [(f.claim, f.verdict, f.as_stated) for f in there] == [(f.claim, f.verdict, f.as_stated) for f in here]
    assert here != there or not elsewhere["NPY_DISABLE_CPU_FEATURES"]  # or the other processor was not tried
