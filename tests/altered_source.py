"""Run `commbounds verify` on a package of which one source is another one: PATH OLD NEW CLAIM...

The file stays as it is: what is imported from it is altered. Kernels run in plain Python, as compiled ones are kept.
"""

import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"
PATH, OLD, NEW, *CLAIMS = sys.argv[1:]
read = SourceFileLoader.get_data


def altered(loader, path):
    """The data of a file; of that one what stands there instead, and no compiled code."""
    data, name = read(loader, path), Path(loader.path)
    if not name.as_posix().endswith(f"/{PATH}") or "commbounds" not in loader.name:
        return data
    if str(path) != loader.path:
        return b""
    assert data.decode().count(OLD) == 1, f"{PATH} does not have the text once"
    return data.decode().replace(OLD, NEW).encode()


SourceFileLoader.get_data = altered
sys.dont_write_bytecode = True

from commbounds.cli import main  # noqa: E402 - imports are what is altered

main(["verify", "--jobs", "1", "--fresh", *CLAIMS])
