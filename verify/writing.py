"""Files written in one step: readers see the old one or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path


def written(path: Path, content: bytes) -> None:
    """Put `content` at `path`, whose folder is made where it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def replaced(path: Path, lines: Sequence[str]) -> None:
    """Write the file anew with these lines."""
    written(path, "".join(f"{line}\n" for line in lines).encode())
