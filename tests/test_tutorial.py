"""What ``docs/tutorial.md`` and the first screen of ``README.md`` tell to do is done, and prints what they show."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STEPS = re.findall(
    r"^```\w+ file (\S+)\n(.*?)^```$|^```console\n\$ ([^\n]*)\n(.*?)^```$",
    (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
"""(file, contents, "", "") and ("", "", command, output), in the tutorial's order."""


def told(text):
    """What is compared: lines without the blanks behind them, durations and this machine's paths and versions."""
    text = re.sub(r"^(platform|rootdir|plugins|configfile|cachedir).*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"in [\d.]+s(?: \([\d:]+\))?", "in a while", text)
    return [line.strip("= ").rstrip() for line in text.strip("\n").splitlines()]


@pytest.mark.wide
def test_every_step_of_the_tutorial_prints_what_is_shown(tmp_path):
    """In their order, in one folder: the commands fail, and pass, on the files as they then are."""
    environment = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "NO_COLOR": "1", "COLUMNS": "80"}
    environment.pop("PYTEST_ADDOPTS", None)
    statuses = []
    for file, contents, command, shown in STEPS:
        if file:
            (tmp_path / file).write_text(contents, encoding="utf-8")
            continue
        words = shlex.split(command)
        words = [sys.executable, "-m", "commbounds", *words[1:]] if words[0] == "commbounds" else words
        words = [sys.executable, *words[1:]] if words[0] == "python" else words
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert told(done.stdout) == told(shown), done.stderr
        statuses.append((command.split()[-1], done.returncode))
    assert statuses == [("subject.py:subject", 1), ("again.py", 0), ("subject.py:subject", 0), ("test_compress.py", 0)]


@pytest.mark.wide
def test_the_first_screen_of_the_readme_prints_what_is_shown():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, shown = re.search(r"^```python\n(.*?)^```$\n\n((?:    [^\n]*\n)+)", text, re.MULTILINE | re.DOTALL).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    assert out.getvalue().splitlines() == textwrap.dedent(shown).splitlines()
