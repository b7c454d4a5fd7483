"""What was tried to lose something: ``python docs/reliability.py [ROW...]`` tries it, and writes its page anew."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
ROWS = {
    "altered messages of every compressor": ("tests/compressors/test_altered_messages.py",),
    "damaged, planted and shared caches of kernels": ("tests/test_kernel_cache.py",),
    "full disk, quota, no locks, I/O errors, signals": ("tests/test_faults.py",),
    "forged findings": ("tests/verify/test_believed.py",),
    "texts in the place of formulas": ("tests/theory/test_expressions.py",),
    "hostile subjects of `check`": ("tests/verify/conformance/test_hostile_subjects.py",),
    "hostile arguments of public callables": ("tests/test_hostile_calls.py", "tests/test_named_calls.py"),
    "the store of findings, and who may write there": ("tests/verify/test_store.py",),
}
"""Measures, with the files whose tests try them."""
_ROW = re.compile(r"^\| (?P<name>.+?) \| (?P<tried>\d+) \| (?P<lost>\d+) \|$", re.MULTILINE)


def listed() -> dict[str, tuple[int, int]]:
    """Tried and lost, by the measure, as the page has them."""
    return {row["name"]: (int(row["tried"]), int(row["lost"])) for row in _ROW.finditer(PAGE.read_text("utf-8"))}


def tried(files: tuple[str, ...]) -> tuple[int, int]:
    """How many cases the files try, but those of minutes, and how many fail."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "tests.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not long", f"--junit-xml={out}", *files]
        subprocess.run(command, cwd=ROOT, check=False)
        suite = next(ET.parse(out).iter("testsuite"))
    count = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    return count["tests"] - count["skipped"], count["failures"] + count["errors"]


def main(names: list[str]) -> None:
    """Try the rows of these names, or all, and write the page."""
    known = listed()
    for name in names or ROWS:
        known[name] = tried(ROWS[name])
    table = "".join(f"| {name} | {known[name][0]} | {known[name][1]} |\n" for name in ROWS if name in known)
    head, rule, rest = PAGE.read_text("utf-8").partition("|---|---:|---:|\n")
    PAGE.write_text(f"{head}{rule}{table}\n{_ROW.sub('', rest).lstrip()}", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
