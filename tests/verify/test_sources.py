"""What a column's findings are made from: every kind of file that counts, and none that does not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from commbounds.collectives import COLLECTIVES
from commbounds.columns import COLUMNS, part
from commbounds.compressors import COMPRESSORS, MECHANISMS
from commbounds.verify.experiments.setups import SETUPS, SWEEPS
from commbounds.verify.sources import ENGINE, NOT_RUN, ROOT, Sources, installed

ROOMS = ("theory", "compressors", "collectives", "verify")
FILES = {
    "columns.py": "def entries(table, room, module=''): ...\n",
    "theory/__init__.py": "from commbounds.theory.claim import Claim\n",
    "theory/claim.py": "class Claim: ...\n",
    "theory/hypotheses.py": "FINITE = 'finite'\n",
    "theory/top/__init__.py": "from commbounds.theory.top.claims import CLAIMS\nCOLUMN = CLAIMS\n",
    "theory/top/claims.py": "from commbounds.theory import Claim, hypotheses\nCLAIMS = (Claim(), hypotheses.FINITE)\n",
    "theory/top/certificates/top.a.json": "{}\n",
    "theory/low/__init__.py": "from commbounds.theory.low.claims import CLAIMS\nCOLUMN = CLAIMS\n",
    "theory/low/claims.py": "from commbounds.theory import Claim\nCLAIMS = (Claim(),)\n",
    "theory/low/certificates/low.a.json": "{}\n",
    "compressors/__init__.py": "from typing import TYPE_CHECKING\n"
    "from commbounds.columns import entries\n"
    "if TYPE_CHECKING:\n    from commbounds.compressors.low import Low\n"
    "from commbounds.compressors.top import Top\n"
    "COMPRESSORS = entries('COMPRESSORS', 'compressors')\n",
    "compressors/_select.py": "def select(x): return x\n",
    "compressors/top/__init__.py": "from commbounds.compressors.top.kernel import Top\nCOMPRESSORS = {'Top': Top}\n",
    "compressors/top/kernel.py": "from commbounds.compressors._select import select\n"
    "class Top:\n    chosen = select\n    def draw(self, x, coins): return coins\n",
    "compressors/low/__init__.py": "from commbounds.compressors.low.kernel import Low\nCOMPRESSORS = {'Low': Low}\n",
    "compressors/low/kernel.py": "class Low: ...\n",
    "compressors/odd/__init__.py": "from commbounds.compressors.odd.kernel import Odd\nCOMPRESSORS = {'Odd': Odd}\n",
    "compressors/odd/kernel.py": "class Odd: ...\n",
    "collectives/__init__.py": "",
    "verify/__init__.py": "from commbounds.verify.confront import confront\n"
    "from commbounds.verify.exhibits import EXHIBITS\n",
    "verify/confront.py": "from commbounds.verify.methods import judge\ndef confront(): return judge\n",
    "verify/methods.py": "from commbounds.compressors import COMPRESSORS\n"
    "def judge():\n    from commbounds.verify import late\n    return late.VALUE\n",
    "verify/late.py": "VALUE = 1\n",
    "verify/exhibits.py": "EXHIBITS = {}\n",
    "verify/vectors.npz": "numbers\n",
    "verify/definitions/__init__.py": "",
    "verify/definitions/top.py": "def top(x): return x\n",
    "verify/definitions/low.py": "def low(x): return x\n",
    "verify/experiments/__init__.py": "EXPERIMENTS = {}\n",
    "verify/experiments/top/__init__.py": "",
    "verify/experiments/top/studies.py": "from commbounds import compressors\n"
    "from commbounds.verify.experiments.top.cases import cases\nEXPERIMENTS = {'top.a': (compressors.Top, cases)}\n",
    "verify/experiments/top/cases.py": "def cases(): return 3\n",
    "verify/experiments/top/exhibits.py": "EXHIBITS = {}\n",
    "verify/experiments/low/__init__.py": "",
    "verify/experiments/low/studies.py": "from commbounds.compressors import Low\n"
    "def other(named): return named['Odd'], named['top.a']\nEXPERIMENTS = {'low.a': Low}\n",
    "verify/experiments/odd/__init__.py": "",
    "verify/experiments/odd/injections.py": "INJECTIONS = {'coins': 1}\n",
    "verify/experiments/odd/setups.py": "SETUPS = {'Odd': 3}\n",
    "verify/experiments/odd/studies.py": "from commbounds import compressors\n"
    "def one(name): return getattr(compressors, name)\nEXPERIMENTS = {'odd.a': one}\n",
}
"""A package of three columns: `low` looks things of both others up by their names, `odd` by names that are computed."""


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def sources(package):
    places = {ROOT: [package], **{f"{ROOT}.{room}": [package / room] for room in ROOMS}}
    return Sources(places, ("top", "low", "odd"))


def digest(package, column, *parts):
    read = sources(package)
    return read.digest(read.modules(column, parts))


COUNTS = {
    "top": {
        "the engine": "verify/methods.py",
        "what a function of the engine imports": "verify/late.py",
        "its data": "verify/vectors.npz",
        "the formula": "theory/top/claims.py",
        "a hypothesis": "theory/hypotheses.py",
        "what all claims are": "theory/claim.py",
        "the certificate": "theory/top/certificates/top.a.json",
        "the kernel": "compressors/top/kernel.py",
        "its helper": "compressors/_select.py",
        "the cases": "verify/experiments/top/cases.py",
        "the studies": "verify/experiments/top/studies.py",
        "the definition": "verify/definitions/top.py",
        "how what the kernel takes is injected": "verify/experiments/odd/injections.py",
        "the face that hands the kernel on": "compressors/__init__.py",
    },
    "low": {
        "the kernel that is shown to type checkers": "compressors/low/kernel.py",
        "a kernel that is looked up": "compressors/odd/kernel.py",
        "its set-ups": "verify/experiments/odd/setups.py",
        "another column's formula that is looked up": "theory/top/claims.py",
        "a hypothesis of that": "theory/hypotheses.py",
    },
    "odd": {
        "one that may be looked up": "compressors/low/kernel.py",
        "another": "compressors/top/kernel.py",
        "its helper": "compressors/_select.py",
    },
}
RUNS_IN_ODD = ("verify/experiments/odd/__init__.py", "verify/experiments/odd/injections.py")
"""What is injected lies in a package, which runs when it is imported."""
DOES_NOT = {
    "top": [
        *(name for name in FILES if "low" in name or ("odd" in name and name not in RUNS_IN_ODD)),
        "verify/experiments/top/exhibits.py",
        "verify/exhibits.py",
    ],
    "low": ["compressors/top/kernel.py", "verify/definitions/top.py", "verify/experiments/top/cases.py"],
    "odd": ["theory/top/claims.py", "theory/low/claims.py", "verify/experiments/low/studies.py"],
}


@pytest.mark.parametrize(("column", "file"), [(c, f) for c, named in COUNTS.items() for f in named.values()])
def test_an_edit_to_what_a_run_is_made_from_changes_its_digest(column, file, package):
    before = digest(package, column)
    with (package / file).open("a") as text:
        text.write("# edited\n")
    assert digest(package, column) != before


@pytest.mark.parametrize(("column", "file"), [(c, f) for c, files in DOES_NOT.items() for f in files])
def test_an_edit_to_what_is_not_run_does_not(column, file, package):
    before = digest(package, column)
    with (package / file).open("a") as text:
        text.write("# edited\n")
    assert digest(package, column) == before


def test_a_new_file_and_one_that_is_gone_count(package):
    before = digest(package, "top")
    (package / "theory/top/certificates/top.b.json").write_text("{}\n")
    assert digest(package, "top") != before
    (package / "theory/top/certificates/top.b.json").unlink()
    assert digest(package, "top") == before
    (package / "verify/experiments/top/setups.py").write_text("SETUPS = {}\n")
    assert digest(package, "top") != before


def test_exhibits_count_where_they_are_run(package):
    before = digest(package, "top", "exhibits")
    (package / "verify/experiments/top/exhibits.py").write_text("EXHIBITS = {'top.b': 1}\n")
    assert digest(package, "top", "exhibits") != before


def test_what_cannot_be_followed_is_refused(package):
    (package / "compressors/top/kernel.py").write_text("from commbounds.compressors._select import *\n")
    with pytest.raises(ValueError, match=r"imports all of commbounds\.compressors\._select"):
        digest(package, "top")


# --- the package itself -----------------------------------------------------------------------------------------------

REAL = {
    "the kernel": "commbounds.compressors.sparsifiers.topk",
    "its helper in another file": "commbounds.compressors._largest",
    "the formula": "commbounds.theory.sparsifiers.selection",
    "hypotheses": "commbounds.theory.hypotheses",
    "the cases": "commbounds.verify.experiments.sparsifiers.setups",
    "the methods": "commbounds.verify.methods",
    "the curves": "commbounds.verify.series",
    "the definition": "commbounds.verify.definitions.sparsifiers",
}


@pytest.mark.parametrize("module", REAL.values(), ids=REAL)
def test_of_the_package_the_same_kinds_of_modules_count(module):
    assert module in installed().modules("sparsifiers")


def test_of_the_package_data_and_certificates_count():
    read = installed()
    names = {path.name for path in read.files(read.modules("sparsifiers"))}
    assert {"gradients.npz", "digits.npz"} <= names
    certificates = {path.name for path in Path(__file__).parents[2].glob("theory/sparsifiers/certificates/*.json")}
    assert certificates
    assert certificates <= names


def test_columns_that_have_nothing_to_do_with_each_other_do_not_count_for_each_other():
    read = installed()
    for column, others in {
        "sparsifiers": ("moshpit", "packetloss"),
        "dropcompute": ("blockformats", "sketched"),
    }.items():
        met = {read.column_of(module) for module in read.modules(column)}
        assert met.isdisjoint(others), (column, met)


def test_the_engine_leads_to_no_column_but_for_messages_and_how_signs_are_injected():
    read = installed()
    met = {m for m in read.modules("a column that is not there", engine=ENGINE) if read.column_of(m)}
    injected = {f"{ROOT}.verify.experiments.rotations", f"{ROOT}.verify.experiments.rotations.injections"}
    assert injected <= met
    assert {read.column_of(module) for module in met - injected} == {"sparsifiers", "quantizers", "lowrank"}


def test_the_engine_asks_for_no_part_that_is_left_out():
    """Who asks columns for a part names it: where all columns are run, none is named that is left out."""
    read = installed()
    asking = {name for name in read.names() if not read.column_of(name) and set(NOT_RUN) & read.read(name).texts}
    assert {f"{ROOT}.verify.exhibits", f"{ROOT}.verify.vectors.subjects"} <= asking
    for column in COLUMNS:
        assert not (asking - {f"{ROOT}.verify.sources"}) & read.modules(column), column


def test_what_columns_register_is_found_under_its_name():
    known = {name: {place for place, _ in found} for name, found in installed().registered.items()}
    for registry in (COMPRESSORS, MECHANISMS, COLLECTIVES, SETUPS, SWEEPS):
        assert registry.keys() <= known.keys()
    for module, table in (("encodings", "ENCODINGS"), ("injections", "INJECTIONS"), ("setups", "SETUPS")):
        for column in COLUMNS:
            for name in getattr(part("verify.experiments", column, module), table, {}):
                assert any(place.endswith(f"{column}.{module}") for place in known[name]), (module, name)


RUN = """
import json, sys
from pathlib import Path
from commbounds.verify import certify, experiment
from commbounds.verify.confront import confront_together
from commbounds.verify.experiments import EXPERIMENTS

experiment.budgets["quick"] = experiment.Budget(0, (1, 2, 3), 3, 500, 10)
names = [name for name in EXPERIMENTS if any(name.startswith(start) for start in sys.argv[1:])]
certify.models(), certify.refutations()  # what is read of every column before a claim is run
run = set()
sys.setprofile(lambda frame, event, _: run.add(frame.f_code) if event == "call" else None)
confront_together(names, drawn=False)
sys.setprofile(None)
print(json.dumps(sorted({str(Path(code.co_filename).resolve()) for code in run if code.co_name != "<module>"})))
"""
SUBJECTS = [
    pytest.param("quantizers.sign.unbiased", marks=pytest.mark.wide),
    *(pytest.param(f"{column}.", marks=pytest.mark.long) for column in COLUMNS),
]


@pytest.mark.parametrize("claims", SUBJECTS)
def test_what_is_run_for_a_claim_is_what_it_is_said_to_be_made_from(claims):
    """The functions that are called while claims are confronted, kernels too, lie in files that count."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-c", RUN, claims]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    read = installed()
    names = {str(read.file(name).resolve()): name for name in read.names()}
    called = {names[file] for file in json.loads(done.stdout) if file in names}
    assert len(called) > 20
    assert called <= read.modules(claims.partition(".")[0])
