"""The site as a reader has it: quick, searchable, addressable, legible, by keyboard, on paper."""

import pytest

from commbounds.figures.picture import palette

pytestmark = pytest.mark.browser

CLAIM, FAILING = "oktopk.sent.any_split", "oktopk.received.unconditional"
KINDS = (
    "index.html",
    "oktopk.html",
    "quantizers.html",
    f"c/{CLAIM}.html",
    f"c/{FAILING}.html",
    "h/always_balanced.html",
    "errata.html",
    "proofs.html",
    "graph.html",
    "errata/oktopk.html",
    "graph/oktopk.html",
    "about.html",
)
"""One page of every kind, and two of some."""
USABLE = 1.0
"""Seconds of processor that the first page may take until it can be used: wall time is the machine's."""

FIRST_FEW = """() => {
  for (const parent of document.querySelectorAll("main section, main tbody, .graph"))
    for (const one of [...parent.children].slice(9)) if (!one.matches("path")) one.remove();
}"""
"""Leaves the first few of what a page repeats: judging contrast takes time for every element."""


def said(page):
    page.wait_for_selector("#results:not([hidden])")
    return page.locator("#said").inner_text()


def test_the_first_page_is_small_and_usable_at_once(browser, site, opened):
    assert (site / "index.html").stat().st_size < 300_000
    context = browser.new_context()
    page = context.new_page()
    meter = context.new_cdp_session(page)
    meter.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto((site / "index.html").as_uri())
    assert page.evaluate("document.querySelectorAll('*').length") < 1000
    page.keyboard.press("/")
    page.keyboard.type("oktopk")
    said(page)
    spent = {entry["name"]: entry["value"] for entry in meter.send("Performance.getMetrics")["metrics"]}
    context.close()
    assert spent["TaskDuration"] < USABLE


def test_a_search_finds_says_and_leads_on(opened):
    page = opened("index.html")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("is:refuted oktopk received")
    assert " found in " in said(page)
    page.wait_for_selector(f'#found a[href="c/{FAILING}.html"]')
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('#found') !== null")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    assert page.locator("#results").is_hidden()
    page.keyboard.type("zzyzx")
    page.wait_for_function("document.getElementById('said').textContent.startsWith('Nothing matches “zzyzx”')")
    assert "names, titles, verdicts, sources and hypotheses of" in said(page)
    assert page.locator("#found a").count() == 0
    page.locator("#search").fill(CLAIM)
    page.wait_for_selector(f'#found a[href="c/{CLAIM}.html"]')
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/c/{CLAIM}.html")


QUERIES = {
    "allreduce": "dense.html",
    "all-reduce words": "dense.html",
    "all reduce ring bandwidth": "c/dense.ring.critical_path.html",
    "top-k contraction": "c/sparsifiers.topk.contraction.html",
    "TopK contracts": "c/sparsifiers.topk.contraction.html",
    "topk error": "c/sparsifiers.topk.global_error.html",
    "error-feedback rate": "c/feedback.ef14.rate.html",
    "EF rate": "c/feedback.ef14.rate.html",
    "qsgd variance": "c/quantizers.qsgd.variance.html",
    "quantisation bias": "c/quantizers.qsgd.unbiased.html",
    "quantization bias": "c/quantizers.qsgd.unbiased.html",
    "unbiasedness of rand-k": "c/sparsifiers.randk.unbiased.html",
    "muon bf16": "c/orthogonal.muon.rounded_at_most.html",
    "fp8 torchft": "c/shipped_collectives.torchft.error.html",
    "signSGD majority vote": "majority.html",
    "arXiv:1809.07599": "c/sparsifiers.topk.contraction.html",
    "1610.02132": "c/quantizers.qsgd.variance_printed.html",
    "ok-topk 6k": "oktopk.html",
    "oktopk communication volume": "c/oktopk.sent.any_split.html",
    "packet-loss drift": "c/packetloss.drift.pair.html",
    "stragglers": "dropcompute.html",
    "moshpit mixing": "c/moshpit.random_groups.factor.html",
    "moshpit random groups": "c/moshpit.random_groups.factor.html",
    "powersgd warm start": "c/lowrank.powersgd.warm_start_contraction.html",
    "low-rank": "lowrank.html",
    "stochastic roundings bias": "c/precision.stochastic.unbiased.html",
    "hadamard rotation": "rotations.html",
    "DiLoCo words": "c/lowcomm.diloco.words.html",
    "two-step quantised error": "c/precision.quantised.twostep.html",
    "recursive halvings variance": "c/blockformats.multihop.butterfly_law.html",
    "exponential graphs": "c/gossip.exponential.distortion.html",
    "ef21 step-size": "c/feedback.ef21.descent.html",
}
"""What readers type, and what has to be among the first ten results."""


def test_readers_find_what_they_look_for(opened):
    page = opened("index.html")
    missed = {}
    for query, wanted in QUERIES.items():
        page.locator("#search").fill("")
        page.locator("#search").fill(query)
        said(page)
        links = page.locator("#found a").evaluate_all(
            "links => links.slice(0, 10).map(link => link.getAttribute('href'))"
        )
        if wanted not in links:
            missed[query] = links
    assert missed == {}


def test_what_has_most_of_the_words_is_shown_where_nothing_has_all(opened):
    page = opened("index.html?q=moshpit+groups+zzyzx")
    assert "with most of these words" in said(page)
    assert page.locator("#found a").first.get_attribute("href").startswith(("moshpit", "c/moshpit"))
    assert "Nothing matches" in said(opened("index.html?q=is:refuted+zzyzx"))


def test_the_search_stays_in_sight(opened):
    page = opened("oktopk.html")
    page.mouse.wheel(0, 4000)
    page.wait_for_function("scrollY > 500")
    assert page.locator("#search").bounding_box()["y"] >= 0


def test_searches_rows_and_old_sections_have_addresses(opened):
    assert " found in " in said(opened("index.html?q=is:refuted"))
    assert opened(f"oktopk.html#{CLAIM}").locator(f'details[id="{CLAIM}"]').get_attribute("open") is not None
    page = opened(f"index.html#{CLAIM}")
    page.wait_for_url(f"**/c/{CLAIM}.html")
    page = opened("index.html")
    page.locator(".tile.refuted").click()
    assert page.locator("#search").input_value() == "is:refuted"
    assert " found in " in said(page)


@pytest.mark.parametrize(("scheme", "place"), [("light", 0), ("dark", 1)])
def test_light_and_dark_are_the_readers(scheme, place, opened):
    page = opened(f"c/{CLAIM}.html", scheme=scheme)
    paper = palette()[place]["paper"]
    red, green, blue = (int(paper[i : i + 2], 16) for i in (1, 3, 5))
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb({red}, {green}, {blue})"


@pytest.mark.parametrize("address", KINDS)
def test_a_narrow_window_scrolls_one_way_and_begins_with_the_title(address, opened):
    page = opened(address, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("h1").bounding_box()["y"] < 200


def test_a_formula_that_goes_on_beyond_the_edge_has_a_shadow_there(opened):
    formula = opened("c/dense.allgather.bruck_words.html", width=390).locator("#statement")
    assert formula.evaluate("e => e.scrollWidth > e.clientWidth")
    assert "linear-gradient" in formula.evaluate("e => getComputedStyle(e).backgroundImage")


@pytest.mark.parametrize("address", KINDS)
def test_identifiers_are_unique_and_pictures_load(address, opened):
    page = opened(address)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    broken = """() => Promise.all([...document.images].map(async image => {
        image.loading = 'eager';
        try { await image.decode(); return null; } catch { return image.src; }
    })).then(found => found.filter(Boolean))"""
    assert page.evaluate(broken) == []
    assert page.evaluate("[...document.images].filter(i => i.closest('figure') && !i.alt).length") == 0


def test_everything_is_reached_by_keyboard(opened):
    page = opened(f"c/{FAILING}.html")
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.className || document.activeElement.id"))
        style = "(e => e.matches(':focus-visible') && getComputedStyle(e).outlineStyle !== 'none')"
        assert page.evaluate(f"{style}(document.activeElement)")
    assert seen[:3] == ["skip", "brand", "search"]
    summary = page.locator("details.hypothesis > summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details.hypothesis").first.get_attribute("open") is not None


@pytest.mark.parametrize(
    ("address", "scheme"),
    [*((address, "light") for address in KINDS), ("index.html", "dark"), (f"c/{FAILING}.html", "dark")],
)
def test_nothing_stands_in_the_way_of_any_reader(address, scheme, opened):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    page = opened(address, scheme=scheme)
    page.evaluate(FIRST_FEW)
    found = axe.Axe().run(page, options={"preload": False})  # of styles, which a page from a file may not read
    assert found.violations_count == 0, found.generate_report()


def test_pages_can_be_printed(opened):
    page = opened("oktopk.html")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.emulate_media(media="print")
    assert page.locator(".top").is_hidden()
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") + printed.count(b"/Type/Page") > 1
