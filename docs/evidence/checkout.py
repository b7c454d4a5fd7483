"""The checkout that a script of this folder is given: at the commit that was read, and at no other."""

import subprocess
import sys
from pathlib import Path


def checkout(repo: str, commit: str, place: int = 1, places: int = 1) -> Path:
    """The folder in that place on the command line, `repo` at `commit`; else it says what to check out."""
    if len(sys.argv) != places + 1:
        folders = " ".join(["FOLDER"] * places)
        sys.exit(f"usage: {Path(sys.argv[0]).name} {folders}, number {place} of github.com/{repo} at {commit}")
    folder = Path(sys.argv[place])
    asked = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    if found != commit:
        sys.exit(f"{folder} is at {found}; check out github.com/{repo} at {commit}")
    print(f"{repo} at {commit}")
    return folder
