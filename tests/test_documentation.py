"""The site that Sphinx makes of ``docs/``: its pages are all there, its links lead somewhere, it loads nothing.

What needs the site itself takes it from the folder that ``COMMBOUNDS_SITE`` names, where ``.ci/run`` has built it::

    sphinx-build -W --keep-going docs site && COMMBOUNDS_SITE=site python -m pytest tests/test_documentation.py
"""

import importlib.util
import os
import re
import sys
import zlib
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SITE = os.environ.get("COMMBOUNDS_SITE", "")
CHEAP = "flashcomm.errors"
"""An exhibit that takes a second."""
NEEDS_SITE = pytest.mark.skipif(not SITE, reason="needs a site that is built, and COMMBOUNDS_SITE to name its folder")


@pytest.fixture(scope="module")
def pages():
    """``docs/pages.py``."""
    spec = importlib.util.spec_from_file_location("pages", DOCS / "pages.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["pages"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["pages"]


class Page(HTMLParser):
    """What a page refers to and what it can be referred to by.

    ``links`` are where one may go; ``loads`` is what a browser fetches unasked; ``ids`` are its anchors.
    """

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id"):
            self.ids.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon", "preconnect"):
            self.loads.append(given["href"])
        elif given.get("src"):
            self.loads.append(given["src"])


@cache
def pages_in(folder):
    """Path -> page."""
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.resolve().rglob("*.html"))}


def astray(folder):
    """(page, reference) for what refers to a file or an anchor that is not in the folder."""
    known = pages_in(folder)
    found = []
    for path, page in known.items():
        for reference in (*page.links, *page.loads):
            parts = urlsplit(reference)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in known and anchor not in known[target].ids):
                found.append((path.relative_to(folder.resolve()).as_posix(), reference))
    return found


def fetched(folder):
    """What pages and style sheets of the folder would fetch from elsewhere."""
    elsewhere = re.compile(r"(?:https?:)?//")
    found = {source for page in pages_in(folder).values() for source in page.loads if elsewhere.match(source)}
    for path in folder.rglob("*.css"):
        found |= set(
            re.findall(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")]+)", path.read_text(encoding="utf-8"))
        )
    return sorted(found)


def test_every_guide_is_in_the_contents():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", index, re.MULTILINE | re.DOTALL)
    listed = {line.split(" <")[-1].rstrip(">") for tree in trees for line in tree.splitlines()}
    guides = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert sorted(guides - listed) == []
    assert {"scoreboard/README", "reference/index", "gallery/index"} <= listed


@pytest.mark.parametrize("source", ["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/scoreboard/**/*.md"])
def test_links_between_sources_lead_to_files(source):
    made = ("gallery/", "reference/")  # when the site is built
    for path in ROOT.glob(source):
        for link in re.findall(r"\]\(([^)#\s]+)[^)\s]*\)", path.read_text(encoding="utf-8")):
            assert urlsplit(link).scheme or link.startswith(made) or (path.parent / link).exists(), (path, link)


def test_a_link_that_leads_nowhere_is_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">b</a> <a href="#me" id="me">a</a> <a href="https://x.org">x</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there">a</p>')
    assert astray(tmp_path) == []
    assert fetched(tmp_path) == []
    pages_in.cache_clear()
    (tmp_path / "b.html").write_text('<p id="here">a</p><img src="c.png"><script src="//x.org/d.js"></script>')
    assert astray(tmp_path) == [("a.html", "b.html#there"), ("b.html", "c.png")]
    (tmp_path / "e.css").write_text("@font-face { src: url('https://fonts.org/f.woff2') }")
    assert fetched(tmp_path) == ["//x.org/d.js", "https://fonts.org/f.woff2"]


def test_every_work_stands_in_what_was_read_and_code_with_its_link(pages):
    from commbounds.theory import Tag, claims
    from commbounds.theory.claim import COMMON_USAGE

    text = pages.what_was_read()
    for name, claim in claims().items():
        if claim.source.tag is not Tag.DERIVED and claim.source.work != COMMON_USAGE and not claim.asked_of_all:
            assert f"`{name}`" in text
            assert f"\n## {pages.plain(claim.source.work)}\n" in text
        if claim.source.tag is Tag.OFFICIAL_CODE and claim.source.code:
            assert f"]({claim.source.code.link})): `" in text, name


@pytest.mark.wide
def test_every_public_name_has_its_place_in_the_reference(pages):
    texts = pages.reference()
    assert [face for face in pages.faces() if f"<{face}>\n" not in texts["index.rst"]] == []
    told = set()
    for (face, name), home in pages.homes().items():
        entry = getattr(import_module(face), name)
        assert entry is getattr(import_module(home), name)
        if isinstance(entry, ModuleType):
            assert entry.__name__ in pages.faces()
            continue
        assert re.search(rf"^\.\. (?:auto\w+|py:data):: (?:{home}\.)?{name}$", texts[f"{home}.rst"], re.MULTILINE), (
            home,
            name,
        )
        assert face == home or f"<{home}.{name}>`" in texts[f"{face}.rst"]
        told.add(f"{home}.{name}")
    assert pages.missing(told) == []
    assert pages.missing(told - {"commbounds.compressors.TopK"}) == ["commbounds.compressors.TopK"]
    assert len(told) > 250


@pytest.mark.wide
def test_every_figure_and_every_command_has_its_place(pages, tmp_path, monkeypatch):
    from commbounds.cli import main
    from commbounds.theory import claims
    from commbounds.verify.exhibits import EXHIBITS

    text = "".join(pages.gallery().values())
    drawn = [name for name, claim in claims().items() if not claim.asked_of_all]
    assert [name for name in drawn if f"| `{name}` |" not in text] == []
    programs = set(re.findall(r"^```python\n(from commbounds.figures .*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert len(programs) == len(EXHIBITS)
    assert [name for name in EXHIBITS if pages.drawing(name) not in text] == []
    assert sorted(path.stem for path in (DOCS / "figures").iterdir()) == sorted(pages.PICTURES)
    made = tmp_path / "figures"
    monkeypatch.chdir(tmp_path)
    exec(pages.drawing(CHEAP).replace("```python", "").replace("```", ""), {})
    assert sorted(path.name for path in made.iterdir()) == [f"{CHEAP}.png", f"{CHEAP}.svg"]
    shown = pages.command_line()
    assert [name for name in main.commands if f"Usage: commbounds {name} " not in shown] == []


@pytest.mark.wide
def test_magnitudes_are_no_substitutions(pages):
    lines = ["The norm |x| of ``a|b``, as::", "", "    |x|", "", "and |y|.", "", ">>> 1 | 2", "3"]
    pages.spelled(None, "", "", None, None, lines)
    assert lines == [r"The norm \|x\| of ``a|b``, as::", "", "    |x|", "", r"and \|y\|.", "", ">>> 1 | 2", "3"]


@NEEDS_SITE
def test_all_links_of_the_site_lead_somewhere():
    assert astray(Path(SITE)) == []


@NEEDS_SITE
def test_the_site_fetches_nothing():
    assert fetched(Path(SITE)) == []


@NEEDS_SITE
def test_the_inventory_has_every_public_name(pages):
    packed = (Path(SITE) / "objects.inv").read_bytes().split(b"\n", 4)[4]
    known = {line.split()[0] for line in zlib.decompress(packed).decode().splitlines()}
    assert pages.missing(known) == []
