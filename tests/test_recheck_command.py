"""The command ``recheck``: what a file says is beside what is found anew."""

import json
import re

import pytest
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.verify import load, run

CLAIMS = ("quantizers.sign.unbiased", "quantizers.nearestpower.contraction")


@pytest.fixture(scope="module")
def honest():
    return [finding.to_json() for finding in run(CLAIMS)]


@pytest.fixture
def rechecked(tmp_path, monkeypatch):
    for variable in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))

    def call(lines, *more):
        path = tmp_path / "f.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines))
        return CliRunner().invoke(main, ["recheck", str(path), "--jobs", "1", *more])

    return call


def test_what_a_run_found_is_found_again(honest, rechecked):
    done = rechecked(honest)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == "2 of 2 findings were found anew: none differ"
    done = rechecked(honest, "--sample", "1")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == "1 of 2 findings were found anew: none differ"
    done = rechecked(honest, "quantizers.sign.*")
    assert done.stdout.splitlines()[0] == "quantizers.sign.unbiased: the same"


def more_cases(finding):
    next(e for e in finding["evidence"] if e["method"] == "search")["cases"] += 1


def looser(finding):
    least = finding["tightness"] * 0.999
    for part in (finding, *finding["evidence"]):
        part["tightness"] = part["tightness"] and min(part["tightness"], least)


def another_curve(finding):
    worst = finding["series"][0]["worst"]
    worst[:] = [0.999 * value for value in worst]


def of_other_libraries(finding):
    more_cases(finding)
    finding["versions"]["numpy"] = "1.0.0"


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (more_cases, r"evidence\.[0-9]\.cases: the file says [0-9]+, found was [0-9]+"),
        (looser, r"tightness: the file says [0-9.e-]+, found was [0-9.e-]+"),
        (another_curve, r"series\.0\.worst\.0: the file says"),
        (of_other_libraries, r"the file was made with numpy 1\.0\.0"),
    ],
)
def test_plausible_numbers_that_no_run_found_are_seen(forge, said, honest, rechecked, tmp_path):
    finding = json.loads(honest[1])
    forge(finding)
    done = rechecked([honest[0], json.dumps(finding)], CLAIMS[1])
    assert load(tmp_path / "f.jsonl")[1].to_json() == json.dumps(finding)  # reading alone believes it
    assert done.exit_code == 1, done.output
    assert done.stdout.startswith(f"{CLAIMS[1]}: differs\n")
    assert re.search(said, done.stdout), done.stdout
    assert done.stdout.splitlines()[-1] == "1 of 2 findings were found anew: 1 differs"


def test_a_file_without_what_is_asked_for_is_wrong_usage(honest, rechecked):
    done = rechecked(honest, "quantizers.qsgd.*")
    assert done.exit_code == 2
    assert "holds no finding that matches" in done.output
    done = rechecked([honest[0].replace('"seed": 0', '"seed": -1')])
    assert done.exit_code == 2
    assert "seed must be nonnegative" in done.output
