"""A site in Debian's chromium, or in any other that is there; without one, or without Playwright, a reason."""

import os
import re
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site that ``COMMBOUNDS_SITE`` names; else one of every claim in the book, with made-up findings."""
    if named := os.environ.get("COMMBOUNDS_SITE"):
        return Path(named)
    from commbounds.figures import report
    from commbounds.theory import Standing, claims
    from commbounds.verify.exhibit import Exhibit, Line, Panel
    from commbounds.verify.finding import Counterexample, Evidence, Finding, Method, Series, Verdict

    point = Counterexample("Made(up=1)", [1.0] * 64, 2.0, 1.0, "2 > 1", 99)
    against = Evidence(Method.SEARCH, Verdict.REFUTED, 7, "two workers", counterexample=point)
    found = [
        Finding(name, Verdict.SURVIVED, True, (Evidence(Method.SEARCH, Verdict.SURVIVED, 7, "two workers"),))
        if claim.stands is Standing.HOLDS
        else Finding(name, Verdict.REFUTED, True, (against,))
        for name, claim in claims().items()
    ]
    curve = Series("n = 4", "P", [2.0, 4.0, 8.0], [1.0, 2.0, 3.0], [1.0, 1.5, 2.5])
    found.append(Finding("oktopk.sent.any_split", Verdict.SURVIVED, True, (), (curve,)))
    line = Line("sent", [2.0, 4.0], [1.0, 1.5])
    exhibit = Exhibit("oktopk.families", "What is sent", "Made up.", (Panel("a", "P", "words", (line,)),))
    out = tmp_path_factory.mktemp("site")
    report(found, out, exhibits=[exhibit])
    return out


@pytest.fixture(scope="session")
def browser():
    """A browser without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("needs chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, site):
    """Opens an address of the site; what went wrong on any page is asserted in the end."""
    faults, contexts = [], []

    def left_behind(request):
        """Whether a page was left before this had arrived; a file that is missing fails in another way."""
        return request.failure == "net::ERR_ABORTED"

    def opener(address, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("requestfailed", lambda request: left_behind(request) or faults.append(f"{request.url} failed"))
        path, further = re.match(r"([^?#]*)(.*)", address).groups()
        page.goto((site / path).as_uri() + further)
        return page

    yield opener
    for context in contexts:
        context.close()
    assert faults == []
