"""The checkout that a script of this folder is given: at the commit that was read, and at no other."""

import subprocess
import sys
from pathlib import Path


def checkout(repo: str, commit: str) -> Path:
    """The folder named on the command line, which must be `repo` at `commit`; else it says what to check out."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {Path(sys.argv[0]).name} FOLDER, a checkout of github.com/{repo} at {commit}")
    folder = Path(sys.argv[1])
    asked = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    if found != commit:
        sys.exit(f"{folder} is at {found}; check out github.com/{repo} at {commit}")
    print(f"{repo} at {commit}")
    return folder
