"""``commbounds new-column`` and ``commbounds check-column``: the files of a new column, and what is asked of one."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from typing import Any

import click

from commbounds.columns import COLUMNS, FURTHER
from commbounds.folders import FAILURES, written

ROOMS = ("theory", "compressors", "collectives", "verify.definitions", "verify.experiments")
"""Where a column may have a part, within ``commbounds``."""
KINDS = {"collective": ("collective",), "compressor": ("compressor",), "both": ("collective", "compressor")}
_TABLE = "src/commbounds/columns.py"


def checkout() -> Path | None:
    """The checkout that this package is run from, with its tests; None for an installed one."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / _TABLE).is_file() and (root / "tests" / "mutants").is_dir() else None


def rendered(name: str, of: str = "both", *, packaged: bool = False) -> dict[str, str]:
    """The files of a new column, by their paths within the rooms' folder.

    Parameters
    ----------
    name : str
        The column's.
    of : {"collective", "compressor", "both"}
        What it is to have an example of.
    packaged : bool
        Whether it is to be part of the package: imports of the tests are sorted otherwise then.
    """
    from jinja2 import Environment, PackageLoader

    words = name.split("_")
    known: dict[str, Any] = {
        "name": name,
        "title": " ".join(words).capitalize(),
        "Class": "".join(word.capitalize() for word in words),
        "lower": "".join(words),
        **{kind: kind in KINDS[of] for kind in KINDS["both"]},
        "both": of == "both",
        "packaged": packaged,
    }
    made = Environment(
        loader=PackageLoader("commbounds", "template"), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    left_out = {f"{kind}s/NAME.py.j2" for kind in KINDS["both"]} - {f"{kind}s/NAME.py.j2" for kind in KINDS[of]}
    return {
        template.removesuffix(".j2").replace("NAME", name): made.get_template(template).render(known)
        for template in made.list_templates()
        if template not in left_out
    }


# --- new-column -------------------------------------------------------------------------------------------------------


def _checked_name(name: str) -> str:
    """`name`, which a column may have.

    Raises
    ------
    click.UsageError
        It is none, or taken.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or iskeyword(name):
        raise click.UsageError(
            f"NAME must be a lower-case identifier of letters, digits and underscores, as in powergossip, got {name!r}"
        )
    package, root = Path(__file__).parent, checkout()
    places = {f"commbounds.{room}.{name}": package.joinpath(*room.split("."), name) for room in ROOMS}
    if root is not None:
        places[f"tests/mutants/{name}.py"] = root / "tests" / "mutants" / name
    taken = [module for module, path in places.items() if path.is_dir() or path.with_suffix(".py").exists()]
    if taken:
        raise click.UsageError(f"the name {name} is taken by {taken[0]}: choose another, or change that")
    return name


def _place() -> Path:
    """The folder of rooms that new columns go to.

    Raises
    ------
    click.UsageError
        There is none.
    """
    named = [Path(folder).resolve() for folder in os.environ.get(FURTHER, "").split(os.pathsep) if folder]
    root = checkout()
    if len(named) > 1:
        raise click.UsageError(f"{FURTHER} names {len(named)} folders: set it to the one that the column is to go to")
    if named and (named[0] / _TABLE).is_file():
        raise click.UsageError(f"{FURTHER} names commbounds itself: unset it to make a column of the package")
    if named and named[0].exists() and not named[0].is_dir():
        raise click.UsageError(f"{FURTHER} names {named[0]}, which is no folder: set it to a folder of your columns")
    if not named and root is None:
        raise click.UsageError(
            f"there is no folder for the column: set {FURTHER} to one of your own, which is made if need be, "
            f"as in {FURTHER}=my_columns commbounds new-column NAME"
        )
    return named[0] if named else root  # type: ignore[return-value]


@click.command("new-column")
@click.argument("name")
@click.option("--of", type=click.Choice(tuple(KINDS)), default="both", show_default=True, help="What it has.")
def new_column(name: str, of: str) -> None:
    """Make the files of a new column NAME. They hold an example that passes all tests, to be rewritten.

    They go to the folder that COMMBOUNDS_COLUMNS names; without it, to the checkout that commbounds is run from.
    """
    place = _place()
    files = rendered(_checked_name(name), of, packaged=place == checkout())
    there = [path for path in files if (place / path).exists()]
    there += [f"theory/{name}"] if (place / "theory" / name).exists() else []
    if there:
        raise click.UsageError(f"{place / there[0]} is there already: move it, or choose another name")
    try:
        for path, text in files.items():
            written(place / path, text.encode("utf-8"))
        if place == checkout():
            _listed(place / _TABLE, name)
    except OSError as error:
        _unmade(place, files)
        if error.errno in FAILURES:
            raise
        raise click.UsageError(f"nothing can be written to {place}: {error.strerror}") from error
    listed = [f"{place / _TABLE}: {name} in COLUMNS"] * (place == checkout())
    click.echo("\n".join([*(str(place / path) for path in files), *listed]))
    click.echo(
        f"Rewrite what is in them, beginning with theory/{name}/claims.py, and delete what you do not need; "
        f"commbounds check-column {name} says what is missing."
    )


def _unmade(place: Path, files: Iterable[str]) -> None:
    """Remove these files, and the folders that are empty without them: the same command can make them then."""
    for file in files:
        (place / file).unlink(missing_ok=True)
        for folder in list(Path(file).parents)[:-1]:
            with suppress(OSError):
                (place / folder).rmdir()


def _listed(table: Path, name: str) -> None:
    """Add the name at the end of `COLUMNS`."""
    text = table.read_text(encoding="utf-8")
    begun = text.index("COLUMNS = (")
    end = text.index("\n)\n", begun)
    written(table, f'{text[:end]}\n    "{name}",{text[end:]}'.encode())


# --- check-column -----------------------------------------------------------------------------------------------------

Complaints = Iterator[str]


def _parts_of(name: str, place: Path) -> list[Path]:
    """The column's files of Python, in the rooms' folder and its tests."""
    rooms = (room.replace(".", "/") for room in (*ROOMS, "tests.mutants", "tests.verify.certify.cases"))
    found = [[place / room / f"{name}.py", *sorted((place / room / name).rglob("*.py"))] for room in rooms]
    return [path for paths in found for path in paths if path.is_file()]


def _run(arguments: list[str], cwd: Path | None = None) -> tuple[int, str, str]:
    import subprocess

    wide = {**os.environ, "COLUMNS": "500"}  # lines are not cut
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=wide, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing was printed"


def _imports(name: str, place: Path) -> Complaints:
    """Whether every part can be imported."""
    from traceback import extract_tb

    from commbounds.columns import part

    said = set()
    for room in ROOMS:
        where, why = f"{room.replace('.', '/')}/{name}", ""
        try:
            part(room, name)
        except SyntaxError as error:
            where, why = f"{error.filename}:{error.lineno}", f"cannot be read: {error.msg}"
        except Exception as error:  # whatever a module raises, it is said where
            frames = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(place)]
            if frames:
                where = f"{frames[-1].filename}:{frames[-1].lineno}"
            why = f"cannot be imported: {type(error).__name__}: {error}"
        if why and where not in said:  # one part may import another
            said.add(where)
            yield f"{where.removeprefix(f'{place}/')} {why}"
    for room, tables in {"compressors": ("COMPRESSORS", "MECHANISMS"), "collectives": ("COLLECTIVES",)}.items():
        found = sys.modules.get(f"commbounds.{room}.{name}")
        if any(name in getattr(found, table, ()) for table in tables):
            yield f"{room}/{name} registers {name}: call it otherwise, since commbounds.{room}.{name} is the module"


def _claims(name: str, _place: Path) -> Complaints:
    """Whether every claim is judged, and found to be as the book says."""
    _code, out, err = _run(["-m", "commbounds", "verify", f"{name}.*", "--json"])
    findings = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if not findings:
        yield f"no claim was judged: {_last_line(err)}"
    for finding in findings:
        if finding["as_stated"]:
            continue
        hint = ""
        if finding["claim"].endswith(".definition"):
            hint = (
                '. The twin says the same bits: let it round where the implementation does, or say {"near": values, '
                '"allowance": rounding}'
            )
        yield f"{finding['claim']} is {finding['verdict']}: {finding['message'] or 'the book says otherwise'}{hint}"


def _ranks(name: str, _place: Path) -> Complaints:
    """Whether ranks by themselves end with the bits and the traffic of the collective."""
    from commbounds.verify.pairings import PAIRINGS

    paired = list(PAIRINGS.of_column(name))
    if paired:
        code, out, err = _run(["-m", "commbounds", "ranks", *paired, "--json"])
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        yield from (
            f"{line['name']} of {line['P']} ranks, {line['case']}: ranks by themselves differ from the collective: "
            f"{line['bits'] or line['traffic']}"
            for line in lines
            if line["bits"] or line["traffic"]
        )
        if code and not lines:
            yield f"the ranks of {', '.join(paired)} did not run: {_last_line(err or out)}"


def _mutants(name: str, _place: Path) -> Complaints:
    """Whether every mutant is killed."""
    root = checkout()
    code, out, err = _run(["tests/mutants/matrix.py", "--column", name], root)
    if code:
        last = _last_line(out if code == 1 else err)
        yield f"{last}. Add the case to a study, or the claim, that tells it from the right one" if code == 1 else last


def _tests(name: str, _place: Path) -> Complaints:
    """Whether the tests of columns, and its own, pass."""
    code, out, err = _run(["tests/column_tests.py", name, "-rfE", "--tb=no"], checkout())
    failed = [line for line in out.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    for line in failed:
        test, _, why = line.partition(" ")[2].partition(" - ")
        yield f"{test} fails{f': {why}' if why else ''}. python tests/column_tests.py {name} shows more"
    if code and not failed:
        yield f"the tests did not run: {_last_line(err or out)}"


def _style(name: str, place: Path) -> Complaints:
    """Whether the linter and the formatter leave the files as they are."""
    root, paths = checkout(), [str(path) for path in _parts_of(name, place)]
    settings = ["--config", str(root / "pyproject.toml")] if root else ["--line-length", "120"]
    _code, out, _err = _run(["-m", "ruff", "check", "--output-format", "concise", *settings, *paths])
    yield from (line for line in out.splitlines() if re.match(r".+:\d+:\d+: ", line))
    unlike = [path for path in paths if _run(["-m", "ruff", "format", "--check", *settings, path])[0]]
    if unlike:
        yield f"the formatter would change {', '.join(unlike)}: run ruff format"


def readme_complaints(name: str, text: str, counted: Callable[[str], str]) -> Complaints:
    """What is wrong with the rows about a column in the text of README.md.

    Parameters
    ----------
    name : str
        The column's.
    text : str
        Of README.md.
    counted : callable (row) -> row
        The row with the numbers of the book.
    """
    rows = [line for line in text.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[2]]
    if not rows:
        row = counted(f"| what it is, in a line | `{name}` | 0 | 0 | 0 | what was found |")
        yield f"README.md has no row for it: write one into a table, such as {row}"
    elif any(counted(row) != row for row in rows):
        yield f"README.md has other numbers of claims than the book, which has {counted(rows[0])}: run docs/counts.py"


def _readme(name: str, place: Path) -> Complaints:
    """Whether README.md has a row with the right numbers, and CHANGELOG.md names the column."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("counts", place / "docs" / "counts.py")
    counts = module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(counts)  # type: ignore[union-attr]
    yield from readme_complaints(name, (place / "README.md").read_text(encoding="utf-8"), counts.counted)
    if f"`{name}`" not in (place / "CHANGELOG.md").read_text(encoding="utf-8"):
        yield f"CHANGELOG.md says nothing of `{name}`: add a line under Added"


PARTS: dict[str, Callable[[str, Path], Complaints]] = {
    "imports": _imports,
    "claims": _claims,
    "ranks": _ranks,
    "mutants": _mutants,
    "tests": _tests,
    "style": _style,
    "readme": _readme,
}
"""What is looked at, in this order."""


def _not_run(part: str, ours: bool) -> str:
    """Why a part is not looked at; empty where it is."""
    if part in ("mutants", "tests") and checkout() is None:
        return "the tests of columns are in the repository: run this in a checkout, installed with pip install -e"
    if part == "style" and find_spec("ruff") is None:
        return "ruff is not installed"
    if part == "readme" and not ours:
        return "the column is not part of the package"
    return ""


@click.command("check-column")
@click.argument("name")
@click.argument("parts", nargs=-1, type=click.Choice(tuple(PARTS)))
def check_column(name: str, parts: tuple[str, ...]) -> None:
    """Check that a column is complete. All that is asked of NAME is tried, or PARTS of it; faults are explained.

    Exits with 0 if nothing is wrong, 1 if something is, 2 for wrong usage.
    """
    from commbounds.columns import columns, extended

    try:
        known = columns()
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if name not in known:
        raise click.UsageError(
            f"there is no column {name}: commbounds new-column {name} makes its files; of a column elsewhere {FURTHER} "
            "has to name the folder"
        )
    ours, wrong = name in COLUMNS, 0
    rooms = [Path(folder) for folder in extended([], "theory")]
    place = checkout() if ours else next(r for r in rooms if (r / name).is_dir() or (r / f"{name}.py").is_file()).parent
    for part in parts or PARTS:
        if reason := _not_run(part, ours):
            click.echo(f"{part}: not looked at: {reason}")
            continue
        complaints = list(PARTS[part](name, place or Path()))
        click.echo(f"{part}:" if complaints else f"{part}: nothing is wrong")
        for complaint in complaints:
            click.echo(f"  {complaint}")
        wrong += len(complaints)
        if complaints and part == "imports":
            click.echo("The rest is looked at once all parts can be imported.")
            break
    sys.exit(1 if wrong else 0)
