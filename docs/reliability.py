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
SOON, ALL, LONG = "not long", "wide or not wide", "long"
ROWS = {
    "altered messages of every compressor": (ALL, "tests/compressors/test_altered_messages.py"),
    "what ranks send one another, altered": (ALL, "tests/collectives/test_altered_payloads.py"),
    "homes and caches in odd places": (ALL, "tests/test_places.py"),
    "damaged, planted and shared caches of kernels": (SOON, "tests/test_kernel_cache.py"),
    "full disk, quota, no locks, I/O errors, signals": (SOON, "tests/test_faults.py"),
    "links, pipes and devices in the place of files": (ALL, "tests/test_strange_paths.py"),
    "odd arguments and files of every command": (SOON, "tests/test_odd_arguments.py"),
    "forged findings": (SOON, "tests/verify/test_believed.py"),
    "altered test vectors": (SOON, "tests/verify/test_mutated_vectors.py"),
    "texts in the place of formulas": (SOON, "tests/theory/test_expressions.py"),
    "hostile subjects of `check`": (ALL, "tests/verify/conformance/test_hostile_subjects.py"),
    "hostile arguments of public callables": (SOON, "tests/test_hostile_calls.py", "tests/test_named_calls.py"),
    "calls by signatures of public callables": (LONG, "tests/test_fuzz.py"),
    "numbers near the largest": (SOON, "tests/test_overflow.py"),
    "the store of findings, and who may write there": (SOON, "tests/verify/test_store.py"),
    "workers, schedulers and ranks that are lost": (ALL, "tests/test_executors.py"),
    "commands in ten minutes of load": (LONG, "tests/test_load.py"),
}
"""Measures, with the marks and the files of the tests that try them."""
_ROW = re.compile(r"^\| (?P<name>.+?) \| (?P<tried>\d+) \| (?P<lost>\d+) \|$", re.MULTILINE)


def listed() -> dict[str, tuple[int, int]]:
    """Tried and lost, by the measure, as the page has them."""
    return {row["name"]: (int(row["tried"]), int(row["lost"])) for row in _ROW.finditer(PAGE.read_text("utf-8"))}


def tried(marks: str, *files: str) -> tuple[int, int]:
    """How many cases the tests with these marks try, and how many are lost; a test may have counted its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "tests.xml"
        # of the two families the one that has what tests count
        given = ("-n", "0", "-m", marks, f"--junit-xml={out}", "-o", "junit_family=xunit1")
        command = [sys.executable, "-m", "pytest", "-q", *given, *files]
        subprocess.run(command, cwd=ROOT, check=False)
        tests = [test for test in ET.parse(out).iter("testcase") if test.find("skipped") is None]
    cases = lost = 0
    for test in tests:
        counted = {entry.get("name"): int(entry.get("value", "0")) for entry in test.iter("property")}
        failed = test.find("failure") is not None or test.find("error") is not None
        cases += counted.get("tried", 1)
        lost += max(counted.get("lost", 0), int(failed))
    return cases, lost


def main(names: list[str]) -> None:
    """Try the rows of these names, or all, and write the page."""
    known = listed()
    for name in names or ROWS:
        known[name] = tried(*ROWS[name])
    table = "".join(f"| {name} | {known[name][0]} | {known[name][1]} |\n" for name in ROWS if name in known)
    head, rule, rest = PAGE.read_text("utf-8").partition("|---|---:|---:|\n")
    PAGE.write_text(f"{head}{rule}{table}\n{_ROW.sub('', rest).lstrip()}", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
