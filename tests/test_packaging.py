"""What is installed is what is here."""

import os
import re
import runpy
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, entry_points, version
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import commbounds
from commbounds.cli import main
from commbounds.theory import claims

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = ("theory", "compressors", "collectives", "verify", "figures")


@pytest.fixture(scope="module")
def folders():
    """Package -> its folder, as ``setup.py`` tells setuptools when it is run in the root."""
    pytest.importorskip("setuptools")  # environments of Python 3.12 and later come without it
    told = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setuptools.setup", lambda **arguments: told.update(arguments))
        patch.chdir(ROOT)
        runpy.run_path("setup.py")
    assert list(told["package_dir"]) == told["packages"]
    return told["package_dir"]


def test_every_folder_with_an_init_is_a_package(folders):
    found = {"commbounds"}
    for room in ROOMS:
        assert (ROOT / room / "__init__.py").is_file(), room
        for init in (ROOT / room).rglob("__init__.py"):
            found.add(".".join(("commbounds", *init.parent.relative_to(ROOT).parts)))
    assert sorted(folders) == sorted(found)


def test_every_folder_of_modules_has_an_init():
    for room in ROOMS:
        for module in (ROOT / room).rglob("*.py"):
            assert (module.parent / "__init__.py").is_file(), module


def test_packages_are_where_they_are_imported_from(folders):
    for package, folder in folders.items():
        assert (ROOT / folder / "__init__.py").is_file(), package
        assert folder == "src/commbounds" if package == "commbounds" else folder == "/".join(package.split(".")[1:])


def test_data_files_match_a_pattern(folders):
    patterns = CONFIGURATION["tool"]["setuptools"]["package-data"]
    for room in ROOMS:
        for path in (ROOT / room).rglob("*"):
            if (
                path.is_file()
                and path.suffix not in (".py", ".pyc", ".nbi", ".nbc")
                and "__pycache__" not in path.parts
            ):
                folder = next(parent for parent in path.parents if (parent / "__init__.py").is_file())
                package = ".".join(("commbounds", *folder.relative_to(ROOT).parts))
                found = [*patterns["*"], *patterns.get(package, [])]
                assert any(path in folder.glob(pattern) for pattern in found), path
    for package, globs in patterns.items():
        places = [ROOT / folder for folder in folders.values()] if package == "*" else [ROOT / folders[package]]
        for pattern in globs:
            assert any(list(folder.glob(pattern)) for folder in places), (package, pattern)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need privileges there")
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a source distribution has no links")
def test_every_room_has_its_link_in_the_namespace():
    for room in ROOMS:
        assert (ROOT / "src" / "commbounds" / room).resolve() == ROOT / room


def test_commands_of_the_action_and_the_hook_exist():
    """What another project's CI would call takes the options that it is given."""
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    called = re.findall(r"^ +(?:entry: )?(commbounds .+)$", hook + action, re.MULTILINE)
    assert len(called) == 2
    for _, name, *more in map(str.split, called):
        known = {option for parameter in main.commands[name].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z]+", " ".join(more))) <= known


def test_the_version_is_one():
    assert version("commbounds") == commbounds.__version__


def test_what_is_to_be_cited_is_this_release():
    """The fields of CITATION.cff that stand in the package as well."""
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r'^(\w[\w-]*): "?([^"\n]+)"?$', cited, re.MULTILINE))
    assert fields["version"] == commbounds.__version__
    assert fields["license"] == CONFIGURATION["project"]["license"]
    description = CONFIGURATION["project"]["description"]
    assert fields["title"].lower() == f"commbounds: {description}".lower()
    (author,) = CONFIGURATION["project"]["authors"]
    assert re.findall(r'- name: "(.+)"', cited) == [author["name"]]


def test_the_command_is_installed():
    (command,) = entry_points(group="console_scripts", name="commbounds")
    assert command.value == "commbounds.cli:main"
    assert callable(command.load())


def test_python_and_the_classifiers_agree():
    project = CONFIGURATION["project"]
    assert project["requires-python"] == ">=3.11"
    assert CONFIGURATION["tool"]["ruff"]["target-version"] == "py311"
    assert "Typing :: Typed" in project["classifiers"]
    assert (ROOT / "src" / "commbounds" / "py.typed").is_file()


def test_every_dependency_has_bounds_and_what_is_installed_is_within_them():
    project = CONFIGURATION["project"]
    listed = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    within = 0
    for requirement in map(Requirement, listed):
        assert {part.operator for part in requirement.specifier} == {">=", "<"}, str(requirement)
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            continue  # of an extra
        assert installed in requirement.specifier, requirement.name
        within += 1
    assert within >= len(project["dependencies"])


def test_the_recipe_for_conda_asks_for_the_same():
    recipe = (ROOT / ".ci" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{commbounds.__version__}"' in recipe
    asked = {
        (r.name, r.specifier)
        for r in map(
            Requirement, re.findall(r"^    - (.+)$", recipe.partition("\n  run:\n")[2].partition("\n\n")[0], re.M)
        )
    }
    project = CONFIGURATION["project"]
    needed = {Requirement(each) for each in [*project["dependencies"], f"python{project['requires-python']}"]}
    packaged = {"matplotlib": "matplotlib-base"}  # without a toolkit
    assert asked == {(packaged.get(r.name, r.name), r.specifier) for r in needed}
    assert f"commbounds = {project['scripts']['commbounds']}" in recipe


@pytest.mark.wide
def test_the_library_works_where_what_posix_systems_alone_have_is_missing():
    told = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "without_posix.py")], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert int(told[0].split()[1]) > 900
    assert told[1:] == [
        "sent [5, 6, 5]",
        "compressed [0.0, 0.0, 0.0, 3.0]",
        "drawn (4,)",
        f"claims {len(claims('sparsifiers.topk.*'))}",
        "found enumerated",
        "checked 0 pass, 1 fail, 0 not judged",
        "command 2 True",
    ]
