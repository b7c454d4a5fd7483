"""Figures about more than one claim: what stands where, and the same bytes every time."""

import math

import pytest
from matplotlib.colors import to_hex

from commbounds.figures import draw_exhibit, report, save_exhibits
from commbounds.figures.style import COLOURS, SERIES
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


def test_lines_of_one_method_share_a_colour_and_differ_in_style():
    ax = draw_exhibit(EXHIBIT).axes[0]
    by_label = {line.get_label(): line for line in ax.get_lines()}
    assert set(by_label) == {line.label for line in LINES}
    ring, bound, doubling = (by_label[label] for label in ("ring", "ring: bound", "doubling"))
    assert ring.get_color() == bound.get_color() == COLOURS[SERIES[0]]
    assert ring.get_linestyle() != bound.get_linestyle()
    assert doubling.get_color() == COLOURS[SERIES[1]]
    assert by_label["reported"].get_linestyle() == "None"
    assert by_label["reported"].get_marker() == "x"
    assert ring.get_marker() != doubling.get_marker() != "None"


def test_axes_say_what_they_show():
    figure = draw_exhibit(EXHIBIT)
    first, second = figure.axes[:2]
    assert (first.get_xlabel(), first.get_ylabel()) == ("ranks", "words / n")
    assert first.get_title("left") == "n = 64"
    assert [text.get_text() for text in first.get_legend().get_texts()] == [line.label for line in LINES]
    assert list(first.get_xticks()) == RANKS
    assert first.get_xscale() == second.get_yscale() == "log"
    assert [text.get_text() for text in second.get_legend().get_texts()] == CHOICE.labels
    shown = {to_hex(colour) for colour in second.collections[0].to_rgba([0.0, 1.0])}
    assert shown == {COLOURS[name] for name in SERIES[:2]}
    assert figure.axes[3].get_ylabel() == "error in %"
    assert EXHIBIT.title in [text.get_text() for text in figure.texts]
    assert draw_exhibit(EXHIBIT, heading=False).texts == []


def test_rows_of_a_map_can_have_names():
    ax = draw_exhibit(Exhibit("topk.named", "t", "c.", (Panel("", "N", "law", heat=NAMED),))).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == NAMED.names
    with pytest.raises(ValueError, match="names must have one for every y"):
        Heat([1.0], [0.0, 1.0], [[0.0], [1.0]], names=["one"])


def test_long_titles_take_several_lines():
    title = "A finding that takes more words than fit above a single panel of the usual width, which is not much"
    figure = draw_exhibit(Exhibit("topk.long", title, "c.", EXHIBIT.panels[:1]))
    lines = [text.get_text() for text in figure.texts]
    assert len(lines) == 2
    assert " ".join(lines) == title


@pytest.mark.parametrize("panels", [EXHIBIT.panels, (Panel("", "N", "law", heat=NAMED),)])
def test_nothing_leaves_the_figure(panels):
    figure = draw_exhibit(Exhibit("topk.words", EXHIBIT.title, "c.", panels))
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    for ax in figure.axes:
        box = ax.get_tightbbox()
        assert box.x0 >= -1
        assert box.x1 <= width + 1
        assert box.y0 >= -1
        assert box.y1 <= height + 1


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
    page = report(found, tmp_path, book, exhibits=[exhibit]).read_text()
    assert page.index('id="synthetic.words"') > page.index('id="column-synthetic"')
    assert page.index('id="synthetic.words"') < page.index('id="synthetic.topk"')
    assert "A &lt;title&gt; &amp; more" in page
    assert "Its caption." in page
    assert "var(--blue)" in page
    assert all(f"--{name}:" in page for name in SERIES)
    other = report(found, tmp_path / "other", book, exhibits=[EXHIBIT]).read_text()
    assert "topk.words" not in other
