"""Figures about more than one claim: what stands where, and the same bytes every time."""

import math
from itertools import combinations

import pytest

from commbounds.figures import draw_exhibit, save_exhibits, single
from commbounds.figures.canvas import Area, Marks, Stroke, Words
from commbounds.figures.curves import FORBIDDEN
from commbounds.figures.exhibits import in_order
from commbounds.figures.style import COLOURS, SERIES, STEPS
from commbounds.verify.exhibit import Exhibit, Heat, Line, Panel, exhibit_from_json

RANKS = [2.0, 4.0, 8.0, 16.0]
LINES = (
    Line("ring", RANKS, [1.0, 1.5, 1.75, 1.875], low=[0.9, 1.4, 1.6, 1.8], high=[1.1, 1.6, 1.8, 1.9]),
    Line("ring: bound", RANKS, [1.0, 1.5, 1.75, 1.875], "bound"),
    Line("doubling", RANKS, [1.0, 2.0, math.nan, 4.0]),
    Line("reported", RANKS, [1.0, 1.9, 3.1, 4.2], "published"),
)
CHOICE = Heat([0.01, 0.1], [2.0, 4.0, 8.0], [[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]], ["sparse", "dense"])
NUMBER = Heat([1.0, 2.0], [1.0, 2.0], [[0.0, 1.0], [2.0, math.nan]], title="error in %")
NAMED = Heat([1.0, 2.0], [0.0, 1.0], [[0.0, 1.0], [1.0, 0.0]], ["a", "b"], names=["first law", "a rather long name"])
EXHIBIT = Exhibit(
    "topk.words",
    "Ring stays below two words",
    "Counted in one run; look at the right end.",
    (
        Panel("n = 64", "ranks", "words / n", LINES, xscale="log"),
        Panel("cheapest", "k/n", "ranks", heat=CHOICE, xscale="log", yscale="log"),
        Panel("error", "N", "M", heat=NUMBER),
    ),
)


def test_json_brings_everything_back():
    again = exhibit_from_json(EXHIBIT.to_json())
    assert again.to_json() == EXHIBIT.to_json()
    assert again.panels[0].lines[0] == LINES[0]
    assert math.isnan(again.panels[0].lines[2].y[2])
    assert math.isnan(again.panels[2].heat.z[1][1])
    assert again.column == "topk"


@pytest.mark.parametrize("line", ["", "{}", "[]", '{"panels": 3}', '{"panels": [{"lines": [{}]}]}'])
def test_what_is_no_exhibit_is_refused(line):
    with pytest.raises(ValueError, match=r"."):
        exhibit_from_json(line)


def test_data_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="role must be one of"):
        Line("a", [1.0], [1.0], "guess")
    with pytest.raises(ValueError, match="must have one length"):
        Line("a", [1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="one row for every y"):
        Heat([1.0], [1.0], [[1.0, 2.0]])


def drawn(*panels):
    return draw_exhibit(Exhibit("topk.some", "t", "c.", panels), heading=False)


def items(drawing, kind, **attributes):
    found = [item for item in drawing.items if isinstance(item, kind)]
    return [item for item in found if all(getattr(item, name) == value for name, value in attributes.items())]


def curves(drawing):
    """What is joined through the data, without frame, grid and legend."""
    return [s for s in items(drawing, Stroke, width=1.6) if len(s.runs[0]) > 2 or len(s.runs) > 1]


def test_lines_of_one_method_share_a_colour_and_differ_in_style():
    drawing = drawn(EXHIBIT.panels[0])
    (plane,) = drawing.planes
    ring, bound, doubling = curves(drawing)
    assert [list(run) for run in ring.runs] == [[plane.at(x, y) for x, y in zip(RANKS, LINES[0].y, strict=True)]]
    assert ring.runs == bound.runs
    assert ring.colour == bound.colour == SERIES[0]
    assert ring.dash == () != bound.dash
    assert doubling.colour == SERIES[1]
    assert [len(run) for run in doubling.runs] == [2, 1]
    assert [marks.colour for marks in items(drawing, Marks, shape="x")] == [SERIES[2]] * 2
    assert {marks.shape for marks in items(drawing, Marks, colour=SERIES[0])} == {"o"}
    assert {marks.shape for marks in items(drawing, Marks, colour=SERIES[1])} == {"s"}


def test_axes_say_what_they_show():
    drawing = draw_exhibit(EXHIBIT)
    first, second, third = drawing.planes
    assert {EXHIBIT.title, "n = 64", "ranks", "words / n", "k/n", "error in %"} <= set(drawing.words)
    assert {"ring", "ring: bound (≤)", "doubling", "reported", *CHOICE.labels} <= set(drawing.words)
    assert first.xticks == tuple(zip(RANKS, ("2", "4", "8", "16"), strict=True))
    assert (first.x.kind, first.y.kind, second.y.kind, third.x.kind) == ("log", "linear", "log", "linear")
    assert EXHIBIT.title not in draw_exhibit(EXHIBIT, heading=False).words


def test_a_map_has_a_cell_for_every_value_that_there_is():
    drawing = drawn(EXHIBIT.panels[1])
    cells = {area.colour: area.outlines for area in items(drawing, Area) if len(area.outlines) > 1}
    assert {name: len(outlines) for name, outlines in cells.items()} == {SERIES[0]: 3, SERIES[1]: 3}
    (plane,) = drawing.planes
    assert all(plane.x.start <= x <= plane.x.end for outlines in cells.values() for o in outlines for x, _ in o)
    shaded = drawn(EXHIBIT.panels[2])
    (plane,) = shaded.planes
    inside = [area for area in items(shaded, Area) if area.outlines[0][1][0] <= plane.x.end + 1e-9]
    assert [area.opacity for area in inside] == sorted(area.opacity for area in inside)
    assert sum(len(area.outlines) for area in inside) == 3


@pytest.mark.parametrize(
    ("role", "words", "edge"),
    [("bound", "limit (≤)", "end"), ("lower", "limit (≥)", "start"), ("exact", "limit (=)", "")],
)
def test_a_line_says_its_relation_and_what_a_lone_bound_forbids_is_shaded(role, words, edge):
    run, limit = Line("ring", RANKS, [1.0, 1.5, 1.7, 1.9]), Line("limit", RANKS, [2.0, 2.5, 2.5, 2.0], role)
    drawing = drawn(Panel("", "ranks", "words", (run, limit)))
    (plane,) = drawing.planes
    assert words in drawing.words
    shades = items(drawing, Area, opacity=FORBIDDEN)
    assert len(shades) == bool(edge)
    for shade in shades:
        level = getattr(plane.y, edge)
        places = [plane.at(x, y) for x, y in zip(RANKS, limit.y, strict=True)]
        assert shade.outlines == (((places[0][0], level), *places, (places[-1][0], level)),)


def test_a_bound_of_one_method_among_others_shades_nothing():
    others = [Line(name, RANKS, RANKS) for name in ("ring", "tree")]
    of_ring = Line("bound for ring", RANKS, RANKS, "bound")
    assert not items(drawn(Panel("", "x", "y", (*others, of_ring))), Area, opacity=FORBIDDEN)
    assert not items(
        drawn(Panel("", "x", "y", (*others, Line("a", RANKS, RANKS, "bound"), Line("b", RANKS, RANKS, "lower")))),
        Area,
        opacity=FORBIDDEN,
    )


def test_what_has_an_order_has_colours_in_that_order():
    ordered = Panel("", "x", "y", tuple(Line(f"P = {P}", RANKS, RANKS) for P in (2, 8, 32)))
    assert [stroke.colour for stroke in curves(drawn(ordered))] == ["step1", "step3", "step5"]
    within = Heat([1.0, 2.0], [1.0, 2.0], [[0.0, 1.0], [2.0, 2.0]], ["within 1 %", "within 5 %", "within 20 %"])
    cells = [area.colour for area in items(drawn(Panel("", "x", "y", heat=within)), Area)]
    assert cells[:3] == ["step1", "step3", "step5"]


@pytest.mark.parametrize(
    ("labels", "ordered"),
    [
        (["q = 1/4", "q = 1/2", "q = 9/10"], True),
        (["N = 64", "N = 8", "N = 2", "else"], True),
        (["N = 2", "N = 64", "N = 8"], False),
        (["N = 2", "P = 4", "N = 8"], False),
        (["N = 2", "N = 4"], False),
        (["else", "N = 2", "N = 4", "N = 8"], False),
        (["1 of 2", "1 of 3", "1 of 4"], False),
    ],
)
def test_which_labels_are_in_order(labels, ordered):
    assert in_order(labels) is ordered


def test_four_of_many_methods_have_colours_and_the_rest_is_grey():
    heights = {"sum": 3.0, "tree": 9.0, "ring": 1.0, "halves": 8.0, "gossip": 7.0, "grid": 2.0}
    lines = tuple(Line(name, RANKS, [height] * 4) for name, height in heights.items())
    exhibit = Exhibit("topk.some", "A ring is best", "c.", (Panel("", "x", "y", lines),))
    drawing = draw_exhibit(exhibit, heading=False)
    (plane,) = drawing.planes
    level = {plane.y.place(height): name for name, height in heights.items()}
    found = {level[stroke.runs[0][0][1]]: stroke.colour for stroke in curves(drawing)}
    assert sorted(name for name, colour in found.items() if colour == "band") == ["grid", "sum"]
    assert len({found[name] for name in ("tree", "ring", "halves", "gossip")} & set(SERIES)) == 4
    assert [level[stroke.runs[0][0][1]] for stroke in curves(drawing)][:2] == ["sum", "grid"]  # below the others
    names = [word for word in drawing.words if word in heights]
    assert names[-2:] == ["sum", "grid"]


def test_a_method_with_a_formula_keeps_its_colour_and_a_formula_alone_is_black():
    lines = [Line(name, RANKS, [height] * 4) for height, name in enumerate("abcdef", 1)]
    lines += [Line("a: bound", RANKS, [1.5] * 4, "bound"), Line("published", RANKS, [6.5] * 4, "printed")]
    drawing = drawn(Panel("", "x", "y", tuple(lines)))
    colours = [stroke.colour for stroke in curves(drawing)]
    assert colours.count("band") == 2
    dashed = [stroke.colour for stroke in curves(drawing) if stroke.dash]
    assert dashed[0] in SERIES
    assert dashed[1] == "ink"
    assert "above a: bound" not in drawing.words  # it is one method's


def test_what_a_bound_forbids_is_named_beside_a_printed_formula():
    ours, printed = Line("2kP", RANKS, [3.0] * 4, "bound"), Line("6k", RANKS, [2.0] * 4, "printed")
    assert "above 2kP" in drawn(Panel("", "x", "y", (Line("ring", RANKS, RANKS), ours, printed))).words


def test_the_steps_rise_in_darkness_and_can_be_seen():
    def light(name):
        channels = [int(COLOURS[name][i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    lights = [light(name) for name in STEPS]
    assert lights == sorted(lights, reverse=True)
    assert all(1.05 / (value + 0.05) >= 3 for value in lights)


def test_rows_of_a_map_can_have_names():
    drawing = drawn(Panel("", "N", "law", heat=NAMED))
    assert [text for _, text in drawing.planes[0].yticks] == NAMED.names
    with pytest.raises(ValueError, match="names must have one for every y"):
        Heat([1.0], [0.0, 1.0], [[0.0], [1.0]], names=["one"])


def test_long_titles_take_several_lines():
    title = "A finding that takes more words than fit above a single panel of the usual width, which is not much"
    drawing = draw_exhibit(Exhibit("topk.long", title, "c.", EXHIBIT.panels[:1]))
    lines = [item.text for item in items(drawing, Words, bold=True)]
    assert len(lines) == 2
    assert " ".join(lines) == title


@pytest.mark.parametrize("panels", [EXHIBIT.panels, (Panel("", "N", "law", heat=NAMED),)])
def test_nothing_leaves_the_figure_and_no_words_meet(panels):
    drawing = draw_exhibit(Exhibit("topk.words", EXHIBIT.title, "c.", panels))
    words = items(drawing, Words)
    for left, top, right, foot in (word.box for word in words):
        assert left >= 0
        assert top >= 0
        assert right <= drawing.width
        assert foot <= drawing.height
    for one, other in combinations(words, 2):
        a, b = one.box, other.box
        assert min(a[2], b[2]) - max(a[0], b[0]) <= 0.5 or min(a[3], b[3]) - max(a[1], b[1]) <= 2.5, (one, other)


def test_files_are_the_same_every_time(tmp_path):
    first = save_exhibits([EXHIBIT], tmp_path / "a")
    second = save_exhibits([EXHIBIT], tmp_path / "b")
    assert [path.name for path in first] == ["topk.words.svg", "topk.words.png"]
    assert [a.read_bytes() == b.read_bytes() for a, b in zip(first, second, strict=True)] == [True, True]
    assert save_exhibits([], tmp_path) == []
    with pytest.raises(ValueError, match="formats must be of"):
        save_exhibits([EXHIBIT], tmp_path, ("gif",))


def test_the_page_shows_exhibits_at_the_head_of_their_column(findings, book, tmp_path):
    found = [f for f in findings if f.claim.startswith("synthetic.topk")]
    exhibit = Exhibit("synthetic.words", "A <title> & more", "Its caption.", EXHIBIT.panels)
    page = single(found, tmp_path, book, exhibits=[exhibit]).read_text()
    assert page.index('id="figure-synthetic.words"') > page.index('id="column-synthetic"')
    assert page.index('id="figure-synthetic.words"') < page.index('id="synthetic.topk"')
    assert "A &lt;title&gt; &amp; more" in page
    assert "Its caption." in page
    assert "var(--blue)" in page
    assert all(page.count(f"--{name}:") == 2 for name in (*SERIES, *STEPS))
    other = single(found, tmp_path / "other", book, exhibits=[EXHIBIT]).read_text()
    assert "topk.words" not in other
