"""The tests that ask something of a column: ``python tests/column_tests.py NAME`` runs them."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from commbounds.columns import COLUMNS, part

ROOT = Path(__file__).resolve().parents[1]
REGISTRIES = (("compressors", "COMPRESSORS"), ("compressors", "MECHANISMS"), ("collectives", "COLLECTIVES"))

FAMILIES = (
    "collectives/test_definitions.py",
    "compressors/test_battery.py",
    "figures/test_formula.py",
    "test_hostile_calls.py",
    "theory/test_book.py",
    "theory/test_hypotheses.py",
    "theory/test_symbols.py",
    "verify/certify/test_refutations.py",
    "verify/conformance/test_controls.py",
    "verify/test_definition.py",
    "verify/test_encoding.py",
    "verify/test_experiments.py",
    "verify/test_kernel_law.py",
    "verify/test_measures.py",
    "verify/test_mutants.py",
    "verify/test_own_callers.py",
    "verify/test_space.py",
    "verify/test_vector_twins.py",
    "verify/test_vectors.py",
)
"""Tests of all columns, of all compressors, or of all collectives."""
OF_OURS = ("test_own_files.py", "test_readme.py")
"""Tests of columns of the package alone."""
TOGETHER = (
    *("covers_the_registry", "what_every_compressor_takes", "every_compressor_is", "every_compressor_has"),
    *("every_column_holds", "every_column_has", "a_column_says", "what_compressors_claim", "every_compressor_of"),
    *("hypotheses_have_one", "a_symbol_has_one", "a_quantity_has_one", "numbers_of_theorems", "have_laws"),
    *("every_hypothesis_runs", "every_symbol_of_the_book", "every_refutation_is", "every_claim_has_an_experiment"),
    *("the_subject_of_a", "names_are_unique", "every_method_kills", "mutants_are_expected"),
    *("everything_registered", "every_collective_of_ranks", "every_public_callable", "every_definition_is"),
    *("every_implementation_has_a_definition", "definitions_import_nothing", "columns_cases_are_about"),
)
"""Tests of all columns at once, whatever they hold."""


def registered(name):
    """What the column registers, by name."""
    return [entry for room, table in REGISTRIES for entry in getattr(part(room, name), table, ())]


def about(name):
    """How the members of families are called that are this column's."""
    return {name, *registered(name), *(mutant.name for mutant in import_module(f"mutants.{name}").MUTANTS)}


def files(name):
    """The files of tests: those of families, and the column's own."""
    shared = (*FAMILIES, *(OF_OURS if name in COLUMNS else ()))
    own = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").rglob(f"test_{name}*.py")))
    return [*(f"tests/{file}" for file in shared), *own]


def pytest_addoption(parser):
    parser.addoption("--column", help="run what asks something of this column")


def pytest_collection_modifyitems(config, items):
    """Of families the members that are the column's."""
    column = config.getoption("column")
    names, whole = about(column), {*OF_OURS, *(Path(file).name for file in files(column)[len(FAMILIES) :])}

    def asked(item):
        words = re.findall(r"\w+", item.nodeid.partition("[")[2])
        return (
            bool(names & set(words))
            or ("[" not in item.name and any(word in item.name for word in TOGETHER))
            or item.path.name in whole
        )

    chosen = [item for item in items if asked(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


if __name__ == "__main__":
    column, *more = sys.argv[1:]
    command = [sys.executable, "-m", "pytest", "-p", "column_tests", "--column", column, "-q", "-n", "0"]
    command += ["-p", "no:cacheprovider", "-m", "not long", *more, *files(column)]
    sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)
