"""An environment for one package: made, filled by pip, and removed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import commbounds
from commbounds.verify.scoreboard.records import ScoredPackage
from commbounds.verify.writing import written


class NotInstalled(Exception):
    """The environment could not be made; the message says what pip, or Python, said last."""


def python_of(environment: Path) -> Path:
    """The interpreter of an environment."""
    return environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def made(environment: Path, package: ScoredPackage, wheels: Path, seconds: float) -> Path:
    """The interpreter of the package's environment, which is made unless it is there from an earlier run.

    Behind what pip installs, the environment sees the packages of the one that this runs in: the kit, what it needs,
    and torch where that is installed. So it is small, and everything pinned is its own.

    Parameters
    ----------
    environment : Path
        Its folder; a half-made one there is removed first.
    wheels : Path
        Where requirements that end in ``.whl`` lie.
    seconds : float
        That each of its steps may take.

    Raises
    ------
    NotInstalled
        Python or pip failed.
    """
    stamp = environment / "scoreboard.json"
    asked = json.dumps([*package.requirements, package.dependencies])
    python = python_of(environment)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == asked and python.exists():
        return python
    removed(environment)
    _run([sys.executable, "-m", "venv", "--without-pip", str(environment)], seconds)
    (own,) = environment.glob("Lib/site-packages" if sys.platform == "win32" else "lib/python*/site-packages")
    outer = [str(Path(commbounds.__file__).parents[1]), *(entry for entry in sys.path if _holds_packages(entry))]
    (own / "of_the_caller.pth").write_text("\n".join(dict.fromkeys(outer)) + "\n", encoding="utf-8")
    requirements = [str(wheels / entry) if entry.endswith(".whl") else entry for entry in package.requirements]
    plain = [] if package.dependencies else ["--no-deps"]
    pip = [sys.executable, "-m", "pip", "--python", str(python)]  # that of the caller: one less to install
    _run([*pip, "install", "--quiet", "--no-input", *plain, *requirements], seconds)
    written(stamp, asked.encode())
    return python


def removed(environment: Path) -> None:
    """Remove an environment, if it is there."""
    if environment.exists():
        shutil.rmtree(environment)


def _holds_packages(entry: str) -> bool:
    return Path(entry).name in ("site-packages", "dist-packages")


def _run(command: list[str], seconds: float) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"not done after {seconds:g} s") from None
    if done.returncode:
        lines = [text.strip() for text in done.stderr.splitlines() if text.strip()]
        errors = [text for text in lines if text.lower().startswith("error")] or lines
        raise NotInstalled(errors[-1] if errors else f"ended with {done.returncode}")
