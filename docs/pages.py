"""The pages of the site that are generated: reference of every public name, command line, gallery of figures.

A *face* is a module that people import from: a package with ``__all__``, or one of the modules of `SINGLE`. A name that
several faces offer is described at one of them, its *home*, and listed at the others.
"""

import ast
import enum
import inspect
import pkgutil
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from textwrap import indent
from types import ModuleType
from typing import get_origin

import click

import commbounds
from commbounds.cli import main
from commbounds.collectives.ranks import Collective
from commbounds.columns import columns, part
from commbounds.theory import Code, Tag, claims
from commbounds.theory.claim import COMMON_USAGE
from commbounds.theory.column import Column
from commbounds.verify.exhibits import EXHIBITS

ROOT = Path(__file__).resolve().parents[1]
SINGLE = ("testing", "recipes", "watch", "columns", "verify.gradients", "verify.executors")
"""Modules that people import from and that are no packages; so are those columns that are one module of a room."""

GROUPS = {
    "Judging an implementation": ("verify.conformance", "recipes", "testing", "watch", "verify.vectors"),
    "The book": ("theory", "verify", "verify.certify", "figures", "columns"),
    "Reference implementations": ("compressors", "collectives", "collectives.ranks"),
}
"""The faces that come first in the contents of the reference; the columns' come after them."""

PICTURES = {
    "oktopk.families": "Words that a rank sends, by families of inputs",
    "arctopk.contraction": "Error of ARC-Top-K against K/m, on orthogonal and on other rows",
    "moshpit.rounds": "How far Moshpit's workers differ, round by round",
    "dropcompute.slowest_worker": "Expected time of the slowest worker, by distributions of its latency",
    "packetloss.drift_by_loss": "Drift of the replicas by the probability of a loss",
    "flashcomm.errors": "Error of two-step quantised all-reduce, and of the ring's, by the number of ranks",
}
"""The figures that `figures/` holds, and what each shows."""


def single_columns() -> list[str]:
    """The columns' modules with implementations, where no package is theirs."""
    found = [part(room, column) for room in ("compressors", "collectives") for column in columns()]
    single = [module.__name__ for module in found if module is not None and not hasattr(module, "__path__")]
    return [name.removeprefix("commbounds.") for name in single]


@cache
def faces() -> dict[str, tuple[str, ...]]:
    """Module -> its public names, shorter modules' names first."""
    found = {}
    for info in pkgutil.walk_packages(commbounds.__path__, "commbounds."):
        if info.ispkg and not any(word.startswith("_") for word in info.name.split(".")):
            module = import_module(info.name)
            if hasattr(module, "__all__"):
                found[info.name] = tuple(module.__all__)
    for name in (*SINGLE, *single_columns()):
        module = import_module(f"commbounds.{name}")
        found[module.__name__] = tuple(
            key
            for key, entry in vars(module).items()
            if key[0] != "_"
            and (
                key in said_in(module.__name__)
                or key in offered_by(module.__name__)
                or ((inspect.isroutine(entry) or inspect.isclass(entry)) and entry.__module__ == module.__name__)
                or isinstance(entry, Collective)
            )
        )
    return {"commbounds": tuple(commbounds.__all__), **dict(sorted(found.items(), key=lambda item: item[0].count(".")))}


@cache
def homes() -> dict[tuple[str, str], str]:
    """A face and a name -> the face where that is described: the first with the same object under the same name."""
    first: dict[tuple[str, int], str] = {}
    found = {}
    for face, names in faces().items():
        for name in names:
            key = (name, id(getattr(import_module(face), name)))
            found[face, name] = first.setdefault(key, face)
    return found


def heading(text: str, line: str = "=") -> str:
    """A heading of reStructuredText."""
    return f"{text}\n{line * len(text)}\n\n"


def described(face: str, name: str) -> str:
    """The directive that describes a name at its home."""
    entry = getattr(import_module(face), name)
    if isinstance(entry, ModuleType):
        return f"The module :py:mod:`{entry.__name__}`.\n\n"
    if inspect.isclass(entry):
        every = "   :undoc-members:\n" if issubclass(entry, enum.Enum) else ""
        return f".. autoclass:: {name}\n   :members:\n   :show-inheritance:\n{every}\n"
    if callable(entry) and get_origin(entry) is None:  # an alias of types can be called as well
        return f".. autofunction:: {name}\n\n"
    if get_origin(entry) is not None:  # outside of any module: viewcode would take it for one of builtins
        text = f".. currentmodule:: None\n\n.. py:data:: {face}.{name}\n\n{indent(said_of(face, name), '   ')}\n\n"
        return text + f"   Short for ``{entry}``.\n\n.. currentmodule:: {face}\n\n"
    text = f".. py:data:: {name}\n\n{indent(said_of(face, name), '   ')}\n\n"
    if isinstance(entry, Column):
        text += f"   *{entry.title}.* {entry.story} :doc:`Its figures </gallery/{entry.name}>`.\n\n"
    elif isinstance(entry, str | int | tuple):
        text += f"   It is ``{entry!r}``.\n\n"
    elif isinstance(entry, Mapping):
        keys = ", ".join(f"``{key}``" for key in entry)
        text += f"   Its keys: {keys}.\n\n" if len(entry) < 100 else f"   It has {len(entry)} keys.\n\n"
    return text


def said_of(face: str, name: str) -> str:
    """What stands, as a docstring, below the assignment of a constant in the face or where that has it from; or ""."""
    entry = getattr(import_module(face), name)
    others = [key for key in sorted(sys.modules) if key.startswith("commbounds.")]
    for module in [face, *others]:
        if vars(sys.modules[module]).get(name) is entry and name in said_in(module):
            return said_in(module)[name]
    return ""


def offered_by(module: str) -> set[str]:
    """Names that a module takes from elsewhere to offer them itself: ``from ... import name as name``."""
    body = ast.parse(inspect.getsource(sys.modules[module])).body
    names = [alias for statement in body if isinstance(statement, ast.ImportFrom) for alias in statement.names]
    return {alias.name for alias in names if alias.asname == alias.name}


@cache
def said_in(module: str) -> dict[str, str]:
    """Name of a module's constant -> the docstring below its assignment."""
    body = ast.parse(inspect.getsource(sys.modules[module])).body
    found = {}
    for statement, after in pairwise(body):
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            if isinstance(statement, ast.AnnAssign):
                found[ast.unparse(statement.target)] = inspect.cleandoc(after.value.value)
            elif isinstance(statement, ast.Assign):
                found[ast.unparse(statement.targets[0])] = inspect.cleandoc(after.value.value)
    return found


def face_page(face: str) -> str:
    """The page of a face: its docstring, the names that are at home here, and those that are described elsewhere."""
    here = [name for name in faces()[face] if homes()[face, name] == face]
    there = [name for name in faces()[face] if homes()[face, name] != face]
    # a function of collectives may be called as its module is
    shared = "   :no-index:\n" if face in {f"{home}.{name}" for (_, name), home in homes().items()} else ""
    text = heading(face) + f".. automodule:: {face}\n{shared}\n.. currentmodule:: {face}\n\n"
    text += "".join(described(face, name) for name in here)
    if there:
        text += heading("Described elsewhere", "-")
        text += "".join(f"- :py:obj:`{face}.{name} <{homes()[face, name]}.{name}>`\n" for name in there)
    return text


def reference() -> dict[str, str]:
    """Path of a page below ``reference/`` -> its text."""
    known = [f"commbounds.{name}" for names in GROUPS.values() for name in names]
    missing = [name for name in known if name not in faces()]
    if missing:
        raise ValueError(f"GROUPS names what is no face: {', '.join(missing)}")
    trees = {title: [f"commbounds.{name}" for name in names] for title, names in GROUPS.items()}
    trees["Columns, room by room, and the rest"] = [face for face in faces() if face not in known]
    index = heading("Reference") + (
        "Every public name, from its docstring; the index of all of them is :ref:`genindex`, and the modules' is\n"
        ":ref:`modindex`. A name that is offered in several places is described at one and listed at the others.\n\n"
    )
    index += (
        ".. toctree::\n   :caption: Commands, and sources\n   :maxdepth: 1\n\n   command-line\n   what-was-read\n\n"
    )
    for title, names in trees.items():
        index += f".. toctree::\n   :caption: {title}\n   :maxdepth: 1\n\n"
        index += "".join(f"   {name.removeprefix('commbounds.')} <{name}>\n" for name in names) + "\n"
    pages = {f"{face}.rst": face_page(face) for face in faces()}
    return {"index.rst": index, "command-line.rst": command_line(), "what-was-read.md": what_was_read(), **pages}


def command_line() -> str:
    """The page of all commands: what ``--help`` prints of each."""
    text = heading("Command line") + "What ``commbounds COMMAND --help`` prints.\n\n"
    top = click.Context(main, info_name="commbounds", max_content_width=100, terminal_width=100)
    for name, command in sorted(main.commands.items()):
        context = click.Context(command, parent=top, info_name=name, max_content_width=100, terminal_width=100)
        shown = "\n".join(f"    {line}".rstrip() for line in command.get_help(context).splitlines())
        text += heading(f"commbounds {name}", "-") + f".. code-block:: text\n\n{shown}\n\n"
    return text


def what_was_read() -> str:
    """The page of the works that claims come from: how each is known, where, and in which lines of which commit."""
    known: dict[str, dict[tuple[str, str, Code | None], list[str]]] = {}
    links: dict[str, str] = {}
    texts: dict[str, str] = {}
    for claim in claims().values():
        source = claim.source
        if source.tag is not Tag.DERIVED and source.work != COMMON_USAGE and not claim.asked_of_all:
            places = known.setdefault(source.work, {})
            links[source.work] = source.link
            texts[source.work] = source.text or texts.get(source.work, "")
            places.setdefault((str(source.tag), source.place, source.code), []).append(claim.name)
    text = "# What was read\n\n" + (
        "The works that claims come from, by their authors or makers; under each how it is known, in which place, and "
        "by which claims. What was read in code has the commit, the lines, the setting and what became of it. No "
        "source was read in full: *read* is said of the place that is named, *transcription* of a copy of the text "
        "that others made, *second-hand* of what others report, and *recalled* of what is attributed from memory and "
        "may be misremembered. What a claim adds of its own is said on its page.\n\n"
    )
    for work in sorted(known, key=str.casefold):
        text += f"## {plain(work)}\n\n" + (f"<{links[work]}>\n\n" if links[work] else "")
        text += f"{plain(texts[work])}\n\n" if texts[work] else ""
        for (tag, place, code), names in known[work].items():
            where = "" if code is None else f" ([{plain(code.words)}]({code.link}))"
            text += f"- *{tag}*: {plain(place)}{where}: {', '.join(f'`{name}`' for name in names)}\n"
        text += "\n"
    return text


def plain(text: str) -> str:
    """`text` where Markdown has no signs of its own, in a cell of a table."""
    return re.sub(r"([\\`*_{}\[\]<>|#~$])", r"\\\1", " ".join(text.split()))


def gallery() -> dict[str, str]:
    """Path of a page below ``gallery/`` -> its text: the figures of every column, and what draws each."""
    pages = {"index.md": gallery_index()}
    for name in columns():
        column = part("theory", name).COLUMN
        text = f"# {plain(column.title)}\n\n{plain(column.story)}\n\n"
        text += f"All figures of the column:\n\n    commbounds figures '{name}.*' --out figures\n\n"
        exhibits = {exhibit: make for exhibit, make in EXHIBITS.items() if exhibit.split(".")[0] == name}
        if exhibits:
            text += "## About several claims\n\n"
            for exhibit, make in exhibits.items():
                text += f"### {exhibit}\n\n{plain(inspect.getdoc(make) or '')}\n\n"
                if exhibit in PICTURES:
                    text += f"![{PICTURES[exhibit]}](../figures/{exhibit}.png)\n\n"
                text += drawing(exhibit)
                text += "<details>\n<summary>What is measured for it</summary>\n\n"
                text += f"```python\n{inspect.getsource(make)}```\n\n</details>\n\n"
        text += "## Bound against measurement, claim by claim\n\n"
        text += "`commbounds figures CLAIM --out figures` draws one.\n\n| claim | says |\n|---|---|\n"
        for claim in column.claims:
            if not claim.asked_of_all:
                text += f"| `{claim.name}` | {plain(claim.title)} |\n"
        pages[f"{name}.md"] = text
    return pages


def drawing(exhibit: str) -> str:
    """The program that measures what is in a figure about several claims, and draws it."""
    lines = (
        "from commbounds.figures import save_exhibits",
        "from commbounds.verify.exhibition import make_exhibit",
        "",
        f'save_exhibits([make_exhibit("{exhibit}")], "figures")',
    )
    return "\n".join(("```python", *lines, "```", "", ""))


def gallery_index() -> str:
    """The first page of the gallery."""
    drawn = sum(not claim.asked_of_all for claim in claims().values())
    text = "# Gallery\n\n"
    text += (
        f"{drawn} figures show one claim each, bound against measurement, and {len(EXHIBITS)} tell something about"
        " several. A few are shown here; every page below lists those of a column with what draws them."
        " `commbounds report` draws all of them into its pages.\n\n"
    )
    for name, title in PICTURES.items():
        text += f"## {title}\n\n![{title}](../figures/{name}.png)\n\n{drawing(name)}"
    entries = [f"{part('theory', name).COLUMN.title.split(':')[0]} <{name}>\n" for name in columns()]
    return text + "```{toctree}\n:maxdepth: 1\n:caption: Columns\n\n" + "".join(entries) + "```\n"


def write(source: Path) -> None:
    """Write ``reference/`` and ``gallery/`` into the folder of sources; a page that is as it was is left alone."""
    for folder, pages in (("reference", reference()), ("gallery", gallery())):
        target = source / folder
        target.mkdir(exist_ok=True)
        for old in target.iterdir():
            if old.name not in pages:
                rmtree(old) if old.is_dir() else old.unlink()
        for name, text in pages.items():
            path = target / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")


def freed(app: object, document: str, text: list[str]) -> None:
    """Sphinx's "source-read": texts for maintainers of packages are reached from the scoreboard alone."""
    if document.startswith("scoreboard/issues/"):
        text[0] = "---\norphan: true\n---\n\n" + text[0]


def spelled(app: object, what: str, name: str, entry: object, options: object, lines: list[str]) -> None:
    """Autodoc's "autodoc-process-docstring": magnitudes and norms in running text, ``|x|``, are no substitutions."""
    outside: int | None = None  # of a literal block: how far the paragraph before it is indented
    example = False
    for i, line in enumerate(lines):
        if not line.strip():
            example = False
            continue
        indent = len(line) - len(line.lstrip())
        example = example or line.lstrip().startswith(">>>")
        if example or (outside is not None and indent > outside):
            continue
        lines[i] = "".join(
            piece if piece.startswith("`") else piece.replace("|", "\\|")
            for piece in re.split(r"(``.+?``|`.+?`)", line)
        )
        outside = indent if line.rstrip().endswith("::") else None


def missing(known: set[str]) -> list[str]:
    """Public names that are not described, given all names that are."""
    names = {f"{home}.{name}": getattr(import_module(home), name) for (_, name), home in homes().items()}
    return [name for name, entry in names.items() if name not in known and not isinstance(entry, ModuleType)]


def complete(app: object, env: object) -> None:
    """Sphinx's "env-check-consistency": warns of every public name that no page describes."""
    from sphinx.util.logging import getLogger

    known = {name for name, *_ in env.domains["py"].get_objects()}
    for name in missing(known):
        getLogger(__name__).warning("the public name %s is not described", name)
