"""Whether installed files are those that `constraints.txt` has hashes of: ``python .ci/hashes.py REPORT``.

REPORT is what ``pip install --report`` writes. A file that an index served for a version in the list, and that has none
of its hashes, was altered: the status is 1 then. Files from folders of this machine are only named, and so are versions
that are not in the list: it is of one day, and an index may have others.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

CONSTRAINTS = Path(__file__).with_name("constraints.txt")


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def listed(text: str) -> dict[tuple[str, str], set[str]]:
    """The hashes of every name and version."""
    found: dict[tuple[str, str], set[str]] = {}
    key = ("", "")
    for line in text.splitlines():
        if pinned := re.match(r"([\w.-]+)==([^\s;]+)", line):
            key = normal(pinned[1]), pinned[2]
        if hashed := re.search(r"--hash=sha256:([0-9a-f]{64})", line):
            found.setdefault(key, set()).add(hashed[1])
    return found


def judged(report: dict, hashes: dict[tuple[str, str], set[str]]) -> dict[str, list[str]]:
    """What was installed: as listed, altered, or of another version; and that from here which is not as listed."""
    found: dict[str, list[str]] = {"as listed": [], "altered": [], "of other versions": [], "made here": []}
    for one in report["install"]:
        source, name = one["download_info"], one["metadata"]["name"]
        key = normal(name), one["metadata"]["version"]
        if "dir_info" in source:  # this package
            continue
        digest = source.get("archive_info", {}).get("hashes", {}).get("sha256")
        if key not in hashes:
            kind = "of other versions"
        elif digest in hashes[key]:
            kind = "as listed"
        else:
            kind = "made here" if source["url"].startswith("file:") else "altered"
        found[kind].append(" ".join((name, key[1])))
    return found


def main(path: str) -> int:
    """Say what was installed; 1 where something was altered."""
    found = judged(json.loads(Path(path).read_text("utf-8")), listed(CONSTRAINTS.read_text("utf-8")))
    for kind, packages in found.items():
        names = "" if kind == "as listed" or not packages else f": {', '.join(packages)}"
        print(f"{len(packages)} packages {kind}{names}")
    return 1 if found["altered"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
