"""Imports only point left, rooms are imported by their full name, and __all__ is literal."""

import ast
import gc
import os
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("theory", "compressors", "collectives", "verify", "figures")
"""From left to right."""
MODULES = sorted(p for room in ROOMS for p in (ROOT / room).rglob("*.py"))
SOURCES = [*MODULES, *sorted((ROOT / "src" / "commbounds").glob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def ident(path):
    return str(path.relative_to(ROOT))


@cache
def parsed(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    gc.freeze()  # or the collector would look through all trees so far, again and again
    return tree


def broken(rule, paths):
    """What the rule finds in modules, where that is anything."""
    return {ident(path): found for path in paths if (found := rule(path))}


RELATIVE = "tests/mutants/source/"
"""A command that is run from the root, as tests.mutants.source, and imported by tests, as mutants.source."""


@cache
def imports(path, *, top_level=False):
    """Absolute names of what the module imports: anywhere, or only when it is imported itself."""
    return tuple(_imports(path, top_level))


def _imports(path, top_level):
    tree = parsed(path)
    for node in _run_on_import(tree) if top_level else _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level and ident(path).startswith(RELATIVE):
                continue
            assert node.level == 0, f"{ident(path)}, line {node.lineno}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _statements(node):
    """All statements inside, at any depth: no expression holds one."""
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        for child in getattr(node, field, ()):
            yield child
            yield from _statements(child)


def _run_on_import(node):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from _run_on_import(child)


def rooms_of(names):
    return {name.split(".")[1] for name in names if name.startswith("commbounds.") and name.split(".")[1] in ROOMS}


def imported_from_the_right(path):
    room = path.relative_to(ROOT).parts[0]
    right = set(ROOMS[ROOMS.index(room) + 1 :])
    return (rooms_of(imports(path)) & right) | ({"commbounds.cli"} & set(imports(path)))


def test_imports_only_point_left():
    assert not broken(imported_from_the_right, MODULES)


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "src" else ("commbounds", *parts)).removesuffix(".__init__")


def imported_modules(path, modules):
    """Which of the modules it names, inside functions and for types alone too."""
    for node in _statements(parsed(path)):
        if isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & modules
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from inner & modules
            if inner - modules:
                yield from {node.module} & modules


def test_imports_go_round_in_no_circle():
    paths = {module_name(path): path for path in SOURCES}
    del paths["commbounds"]  # offers the rooms to type checkers, and imports none
    imported = {name: set(imported_modules(path, paths.keys())) for name, path in paths.items()}
    assert "commbounds.verify.methods" in imported["commbounds.verify.confront"]
    list(TopologicalSorter(imported).static_order())  # raises a CycleError that names the circle


def of_packages(*packages, top_level=False):
    """The rule that a module imports none of these packages."""
    return lambda path: {name for name in imports(path, top_level=top_level) if name.split(".")[0] in packages}


def test_no_room_is_imported_by_its_bare_name():
    assert not broken(of_packages(*ROOMS), [*SOURCES, *TESTS])


def test_only_figures_imports_matplotlib():
    others = [path for path in SOURCES if "figures" not in path.relative_to(ROOT).parts]
    made_of_templates = ["src/commbounds/_column.py"]  # the files of a new column
    assert not broken(of_packages("matplotlib", "latex2mathml"), others)
    assert sorted(broken(of_packages("jinja2"), others)) == made_of_templates


def test_theory_knows_nothing_of_arrays():
    theory = [path for path in MODULES if path.is_relative_to(ROOT / "theory")]
    assert not broken(of_packages("numba", "matplotlib", "hypothesis"), theory)
    assert not broken(of_packages("numpy", "scipy", top_level=True), theory)


def test_compressors_load_no_sympy():
    compressors = [path for path in MODULES if path.is_relative_to(ROOT / "compressors")]
    assert not broken(of_packages("sympy", "scipy", top_level=True), compressors)


FACES = [p for p in SOURCES if p.name == "__init__.py" and (any(imports(p)) or p.parent.name == "commbounds")]
"""The packages that re-export something; the others hold modules and no more."""


def names_listed(path):
    """The tables of contents of a module: ``__all__``."""
    stored = (node for statement in parsed(path).body for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)} & {"__all__"}


def test_only_faces_of_packages_list_their_names():
    assert names_listed(FACES[0])
    assert not broken(names_listed, [path for path in [*SOURCES, *TESTS] if path.name != "__init__.py"])


@pytest.mark.parametrize("path", FACES, ids=ident)
def test_every_table_of_contents_is_literal_and_true(path):
    tree = parsed(path)
    (listed,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["__all__"]
    )
    names = ast.literal_eval(listed)
    assert len(set(names)) == len(names)
    shown = [n for block in tree.body if isinstance(block, ast.If) for n in block.body]  # what type checkers see
    imports = [n for n in (*tree.body, *shown) if isinstance(n, ast.ImportFrom)]
    defined = {alias.asname or alias.name for n in imports for alias in n.names}
    defined |= {t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    defined |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    assert set(names) <= defined


def test_a_class_name_has_one_meaning():
    places = {}
    for path in SOURCES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(ident(path))
    assert len(places) > 300
    places["Suspect"].remove(
        "src/commbounds/_numpy_only.py"
    )  # it stands in for the other in a file without the package
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}


def test_modules_fit_on_a_few_pages():
    assert not broken(lambda path: len(path.read_text(encoding="utf-8").splitlines()) > 600, MODULES)


def loaded_after(code):
    """Names of the modules that are loaded once `code` has run in a new interpreter."""
    printed = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(printed.stdout.split())


@pytest.mark.parametrize(
    ("code", "without"),
    [
        ("import commbounds", {"numpy", "sympy", "numba", "click", "commbounds.theory"}),
        ("import commbounds.cli", {"numpy", "sympy", "numba", "matplotlib", "hypothesis", "scipy", "rich"}),
        ("import commbounds.theory", {"numba", "matplotlib", "numpy", "commbounds.compressors"}),
        ("import commbounds.compressors", {"sympy", "matplotlib", "commbounds.theory", "hypothesis"}),
        ("import commbounds.verify", {"matplotlib", "commbounds.figures", "sklearn"}),
    ],
)
def test_importing_a_room_loads_no_more_than_it_needs(code, without):
    assert not loaded_after(code) & without


_LISTEN = """
from numba.core import event
class Listener(event.Listener):
    def on_start(self, event): print(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
"""


def printed(code, cache):
    """What `code` prints in a new interpreter, whose cache is empty, and the names of kernels that are compiled."""
    return subprocess.run(
        [sys.executable, "-c", _LISTEN + code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    ).stdout


_READ = """
import sys
from commbounds.columns import columns
from commbounds.verify.experiments import EXPERIMENTS
for column in columns():
    EXPERIMENTS.of_column(column)
    print("column", column, *(other for other in columns() if f"commbounds.theory.{other}.claims" in sys.modules))
"""


def test_reading_the_studies_of_a_column_reads_no_column_behind_it_and_compiles_nothing(tmp_path):
    # every process of a run would do it
    lines = printed(_READ, tmp_path).splitlines()
    rows = [line.split()[1:] for line in lines if line.startswith("column ")]
    assert [line for line in lines if not line.startswith("column ")] == []
    order = [column for column, *_ in rows]
    assert len(order) > 20
    assert {column: read[-1] for column, *read in rows} == dict(zip(order, order, strict=True))


def test_a_kernel_that_is_compiled_is_seen(tmp_path):
    kernel = "import numpy as np\nfrom commbounds.compressors import TopK\nTopK(1)(np.ones(3))"
    assert printed(kernel, tmp_path)
