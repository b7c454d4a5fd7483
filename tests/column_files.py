"""What columns have among the tests: files of their names in folders of tests, ours and those of further columns.

A column that is no part of the package (``COMMBOUNDS_COLUMNS``) has its own in ``tests/`` beside its rooms.
"""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from commbounds.columns import columns, extended

TESTS = Path(__file__).parent


def folders(within):
    """Where the columns' files of a folder of the tests are: ours first."""
    return [Path(folder) for folder in extended([str(TESTS / within)], f"tests/{within}")]


def modules_in(within):
    """Column -> its module in a folder of the tests that is no package, in the book's order, where it has one.

    Raises
    ------
    LookupError
        A file there is no column's.
    """
    files = {path.stem: path for folder in folders(within) for path in sorted(folder.glob("[!_]*.py"))}
    if unknown := sorted(set(files) - set(columns())):
        raise LookupError(f"{within} has files of what is no column: {', '.join(unknown)}")
    return {
        column: _loaded(files[column], f"{within.replace('/', '_')}_{column}")
        for column in columns()
        if column in files
    }


def _loaded(path, name):
    spec = spec_from_file_location(name, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
