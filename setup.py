"""The packages: every folder with an ``__init__.py`` in a room, under the name by which it is imported."""

from pathlib import Path

from setuptools import setup

ROOMS = ("theory", "compressors", "collectives", "verify", "figures")
FOLDERS = {"commbounds": "src/commbounds"}
for room in ROOMS:
    for init in sorted(Path(room).rglob("__init__.py")):
        FOLDERS[".".join(("commbounds", *init.parent.parts))] = init.parent.as_posix()

setup(packages=list(FOLDERS), package_dir=FOLDERS)
