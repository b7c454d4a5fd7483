"""A column is named in its own files and in one line of ``columns.py``: whoever adds one edits nothing else.

The ground are the columns that the faces of ``compressors`` and ``collectives`` re-export: others build on them, and
take them for examples. Any other column stands in no file but its own, whether by its name, by a claim's, by what it
registers, or by an import, and in those of columns after it in the book, which may build on it; the exceptions are few,
and have their reasons.
"""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from commbounds.columns import COLUMNS, part

ROOT = Path(__file__).resolve().parents[1]
CODE = ("theory", "compressors", "collectives", "verify", "figures", "src", "docs", "tests")
ELSEWHERE = ("docs/scoreboard/", "tests/toy_column/", "docs/reference/", "docs/gallery/")
"""Other people's code, a column that is no part of the package, and what is made."""
KINDS = {".py", ".j2", ".js", ".css"}
COLUMN_ROOMS = ("theory", "compressors", "collectives", r"verify\.experiments", r"verify\.definitions")

GROUND = {
    *("sparsifiers", "quantizers", "lowrank", "dense", "sparse", "oktopk", "arctopk", "feedback", "moshpit", "gossip"),
    *("packetloss", "dropcompute", "flashcomm"),
}
"""The columns that the faces of the rooms re-export."""
REGISTRIES = (("compressors", "COMPRESSORS"), ("compressors", "MECHANISMS"), ("collectives", "COLLECTIVES"))

ALLOWED = {
    "src/commbounds/columns.py": (set(COLUMNS), "the one line"),
    "tests/test_own_files.py": (set(COLUMNS), "these exceptions"),
    "tests/test_hostile_options.py": ({"sketched"}, "tables of which may hold infinities"),
    "tests/verify/test_own_callers.py": ({"rotations"}, "one of its collectives looks at messages in another place"),
    "tests/verify/test_vector_twins.py": ({"rotations"}, "two of its vectors have fewer digits than their definitions"),
    "tests/verify/certify/test_second_ways.py": (
        {"majority", "precision", "sketched"},
        "models on which most rests, of whatever column",
    ),
    "tests/theory/test_functions.py": ({"majority", "precision"}, "functions of all columns, counted out"),
    "tests/narrow_alterations.py": (
        {
            *("lowcomm", "majority", "orthogonal", "precision", "rotations"),
            *("shipped", "shipped_collectives", "variance_reduced"),
        },
        "one table of alterations, of whatever column",
    ),
    "tests/verify/test_narrow_alterations.py": (
        {"orthogonal", "shipped", "shipped_collectives"},
        "one table of alterations, of whatever column",
    ),
    "tests/blind_alterations/columns.py": (
        {
            "blockformats",
            "lowcomm",
            "majority",
            "orthogonal",
            "precision",
            "rotations",
            "shipped",
            "shipped_collectives",
            "sketched",
            "variance_reduced",
        },
        "one table of alterations, of whatever column",
    ),
    "tests/blind_alterations/further.py": (
        {"blockformats", "lowcomm", "orthogonal", "rotations", "shipped", "shipped_collectives"},
        "one table of alterations, of whatever column",
    ),
    **{
        f"tests/blind_alterations/{file}.py": (named, "one table of alterations, of whatever column")
        for files, named in {
            ("again_systems", "later_systems"): {"lowcomm"},
            ("again_columns", "later_columns"): {
                *("blockformats", "majority", "orthogonal", "powergossip", "precision", "rotations", "shipped"),
                *("shipped_collectives", "sketched", "variance_reduced"),
            },
        }.items()
        for file in files
    },
    "docs/plan_checks.py": ({"blockformats", "variance_reduced"}, "one table of runs of methods from several columns"),
    "tests/browser/test_site_in_a_browser.py": ({"majority", "rotations"}, "what readers type into the search"),
    # a column builds on one that comes after it in the book
    "collectives/blockformats/table.py": ({"rotations"}, "its sums rotate first"),
    "theory/blockformats/nvfp4.py": ({"rotations"}, "its scales are EDEN's"),
    "tests/collectives/test_zeroone.py": ({"orthogonal", "variance_reduced"}, "facts by hand about both"),
    # ports are held to it
    "docs/examples/torchcomms_reduce_scatter.py": ({"shipped_collectives"}, "the port of a reader is held to it"),
    "docs/examples/loongforge_feedback.py": ({"shipped_collectives"}, "the port of a reader is held to it"),
    # what was derived in a column is a tool for all
    "theory/_tolerance.py": ({"precision"}, "tolerances of sums"),
    "src/commbounds/_tolerance.py": ({"precision"}, "tolerances of sums"),
    "src/commbounds/_numpy_only.py": ({"precision"}, "formats and steps of sums"),
    "src/commbounds/_arrays.py": ({"precision"}, "formats of arrays"),
    "src/commbounds/_asked.py": ({"precision"}, "formats of sums"),
    "src/commbounds/_exact.py": ({"precision"}, "formats of sums"),
    "src/commbounds/_orders.py": ({"precision"}, "formats and steps of sums"),
    "src/commbounds/_replayed.py": ({"precision"}, "formats of sums"),
    "src/commbounds/testing.py": ({"precision"}, "tolerances of sums"),
    "src/commbounds/_along.py": ({"precision"}, "tolerances of sums"),
    "src/commbounds/_parallel.py": ({"precision"}, "tolerances of what is split"),
    "src/commbounds/_tolerance_plans.py": ({"precision"}, "tolerances of what is split"),
    "src/commbounds/_quantised.py": ({"precision"}, "tolerances of sums"),
    "tests/verify/conformance/test_lossy.py": ({"precision"}, "what roundings by a few bits are off by"),
    "tests/test_along.py": ({"precision"}, "tolerances of sums"),
    "tests/test_orders.py": ({"precision"}, "what is simulated"),
    "tests/test_exact_inputs.py": ({"precision"}, "formats of sums"),
    "verify/conformance/claims/collective.py": ({"precision"}, "tolerances of sums"),
    "tests/hostile_faces.py": ({"precision"}, "tolerances of sums"),
    "tests/test_allreduce_close.py": ({"precision"}, "tolerances of sums"),
    "tests/theory/test_tolerance.py": ({"precision"}, "tolerances of sums"),
    # one is an example of many, and any other would do
    "src/commbounds/_demo.py": ({"precision"}, "a claim that survives"),
    "tests/test_cli.py": ({"majority"}, "a pattern"),
    "tests/test_source_mutants.py": ({"majority"}, "a small column"),
    "tests/mutants/equivalent.py": (set(COLUMNS), "lines of any column"),
    "verify/experiments/arctopk/errors.py": ({"orthogonal"}, "a word: rows at right angles"),
    "tests/test_plan_command.py": ({"blockformats"}, "sizes of messages, from several columns"),
    "tests/compressors/test_altered_messages.py": ({"blockformats"}, "mechanisms that have messages"),
    "tests/verify/test_definition.py": ({"majority"}, "a stand-in that is wrong"),
    "tests/verify/test_sources.py": ({"blockformats", "sketched"}, "columns that do not meet"),
    "tests/verify/test_store.py": ({"shipped"}, "a column about another's compressor"),
    "tests/test_named_calls.py": ({"blockformats", "precision", "rotations"}, "calls by name, of any column"),
    "tests/collectives/test_definitions.py": ({"sketched"}, "where compiled kernels and plain Python differ"),
    # the page is the column's own
    "tests/test_who_ships_what.py": ({"shipped"}, "the table of its claims by package"),
}
"""File -> columns that it names without being theirs, and why."""


def files():
    """What is code, from the root."""
    found = (path for room in CODE for path in (ROOT / room).rglob("*") if path.suffix in KINDS)
    return sorted({name for path in found if not (name := path.relative_to(ROOT).as_posix()).startswith(ELSEWHERE)})


def own(file, columns):
    """The columns whose file it is: a folder, or the file, is named after the column, or begins so."""
    parts = file.rpartition(".")[0].split("/")
    return {c for c in columns for word in parts if re.match(rf"(test_)?{c}(_|$)", word)}


def before(columns):
    """The last of these columns, and all before it in the book: what it may build on."""
    return set(COLUMNS[: 1 + max(map(COLUMNS.index, columns), default=-1)])


def imported(tree, columns):
    """The columns of which a module imports something."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        rooms = "|".join(COLUMN_ROOMS)
        matches = (re.match(rf"(?:commbounds\.(?:{rooms})|mutants)\.(\w+)", name) for name in names)
        found |= {match[1] for match in matches if match} & set(columns)
    return found


@cache
def registered():
    """Column -> what it registers, for those that are not the ground."""
    return {
        column: frozenset(name for room, table in REGISTRIES for name in getattr(part(room, column), table, ()))
        for column in COLUMNS
        if column not in GROUND
    }


def named(text, known, python=True):
    """The columns of `known` (column -> what it registers) that a text names."""
    words = {column: {column, *names} for column, names in known.items()}
    spoken = set(re.findall(r"\w+", text))
    suspected = {column for column in words if words[column] & spoken}
    if not suspected or not python:
        return suspected & spoken
    tree = ast.parse(text)
    found = imported(tree, suspected)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value
            if re.fullmatch(r"\w+(\.[\w*]+)*\.?", word):
                found |= {c for c in suspected if word.split(".")[0] == c or word in known[c]}
        elif isinstance(node, ast.Name | ast.Attribute):
            word = node.id if isinstance(node, ast.Name) else node.attr
            found |= {c for c in suspected if word in known[c]}
    return found


@cache
def astray():
    """File -> columns that it names without being theirs."""
    found = {}
    for file in files():
        earlier = before(own(file, COLUMNS))
        others = {column: registered()[column] for column in registered().keys() - earlier}
        if theirs := named((ROOT / file).read_text("utf-8"), others, file.endswith(".py")):
            found[file] = theirs
    return found


def test_the_faces_of_rooms_name_the_ground_alone():
    faces = [ROOT / room / "__init__.py" for room in ("compressors", "collectives")]
    assert set().union(*(imported(ast.parse(face.read_text("utf-8")), COLUMNS) for face in faces)) == GROUND
    assert set(COLUMNS) > GROUND
    assert "ThreeLC" in registered()["shipped"]


def test_what_any_column_registers_can_be_had_from_the_face():
    for room, table in REGISTRIES:
        face = import_module(f"commbounds.{room}")
        for name, entry in getattr(face, table).items():
            assert getattr(face, name) is entry
        with pytest.raises(AttributeError, match=f"'commbounds.{room}' has no attribute 'Nothing'"):
            _ = face.Nothing


def test_a_column_is_named_in_its_own_files_alone():
    others = {file: columns - ALLOWED.get(file, (set(),))[0] for file, columns in astray().items()}
    assert {file: sorted(columns) for file, columns in others.items() if columns} == {}


def test_every_exception_is_one_and_has_its_reason():
    for file, (columns, reason) in ALLOWED.items():
        assert reason
        assert columns == set(COLUMNS) or columns == astray().get(file), file


STARS = {"stars": {"Parity", "star_allreduce"}}


@pytest.mark.parametrize(
    "text",
    [
        "CASES = {'stars.star.equal': ({}, None)}",
        "KERNEL_ALONE = {'other.claim', 'stars.star.equal'}",
        "def test(claim):\n    assert claim.column in ('rotations', 'stars')",
        "EXEMPT = ('TopK', 'Parity')",
        "if name == 'star_allreduce':\n    pass",
        "from commbounds.compressors.stars import EveryOther",
        "from commbounds.verify.experiments import stars",
        "import mutants.stars",
        "FORMS = {Parity: check}",
        "name = f'stars.{subject}.wire'",
    ],
)
def test_a_table_that_needs_the_column_is_seen(text):
    assert named(text, STARS) == {"stars"}
    assert not named(text, {"planets": {"Orbit"}})


def test_words_are_no_names_and_own_files_are_known():
    assert not named("'''Stars, in words: stars and their parity.'''\nstars_seen = 3", STARS)
    assert own("tests/verify/certify/test_stars_models.py", STARS) == {"stars"}
    assert own("verify/experiments/stars/studies.py", STARS) == {"stars"}
    assert own("tests/mutants/stars_counts.py", STARS) == {"stars"}
    assert not own("tests/mutants/starship.py", STARS)
    assert before({"majority"}) == before({"majority", "dense"}) > {"dense", "majority"}
    assert "shipped" not in before({"majority"})
    assert before(()) == set()
