"""The list of files with hashes, and what CI says of what was installed."""

import importlib.util
import json
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def hashes():
    spec = importlib.util.spec_from_file_location("hashes", ROOT / ".ci" / "hashes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def listed(hashes):
    return hashes.listed(hashes.CONSTRAINTS.read_text())


def test_what_the_project_asks_for_is_listed_in_versions_that_it_allows(hashes, listed):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(one for name, several in extras.items() if name != "torch" for one in several)]
    for requirement in map(Requirement, asked):
        versions = [version for name, version in listed if name == hashes.normal(requirement.name)]
        assert versions, requirement
        assert all(requirement.specifier.contains(version) for version in versions), (requirement, versions)
    assert all(listed.values())


def installed(name, version, digest, url="https://example.org/a.whl"):
    source = {"url": url, "archive_info": {"hashes": {"sha256": digest}}}
    return {"metadata": {"name": name, "version": version}, "download_info": source}


def test_an_altered_file_is_told_from_one_of_another_version_or_place(hashes, tmp_path, capsys):
    known = {("ml-dtypes", "0.6.0"): {"a" * 64, "b" * 64}}
    ours = {"metadata": {"name": "commbounds", "version": "0"}, "download_info": {"url": "file:///x", "dir_info": {}}}
    found = hashes.judged(
        {
            "install": [
                ours,
                installed("ML_dtypes", "0.6.0", "b" * 64),
                installed("ml.dtypes", "0.6.0", "c" * 64),
                installed("ml_dtypes", "0.6.0", "c" * 64, "file:///wheels/a.whl"),
                installed("ml_dtypes", "0.7.0", "b" * 64),
                installed("other", "0.6.0", "b" * 64),
            ]
        },
        known,
    )
    assert {kind: len(packages) for kind, packages in found.items()} == {
        "as listed": 1,
        "altered": 1,
        "of other versions": 2,
        "made here": 1,
    }


@pytest.mark.parametrize(("last", "status"), [("", 0), ("0", 1)])
def test_one_altered_file_is_a_failure(last, status, hashes, listed, tmp_path, capsys):
    (name, version), (digest, *_) = next((key, sorted(several)) for key, several in listed.items())
    altered = digest[: 64 - len(last)] + ("1" if last and digest.endswith("0") else last)
    (tmp_path / "report.json").write_text(json.dumps({"install": [installed(name, version, altered)]}))
    assert hashes.main(str(tmp_path / "report.json")) == status
    assert f"1 packages {'altered' if status else 'as listed'}" in capsys.readouterr().out
