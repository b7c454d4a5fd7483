import math
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import sympy as sp
from matplotlib.lines import Line2D
from matplotlib.text import Text

from commbounds.figures import draw, save
from commbounds.figures.axes import Scale, short, tick_words, value_ticks
from commbounds.figures.canvas import Area, Drawing, Marks, Stroke, Words
from commbounds.figures.curves import FORBIDDEN, forbids, relation_words
from commbounds.figures.status import status
from commbounds.figures.style import COLOURS
from commbounds.figures.svg import inlined
from commbounds.verify.finding import Series
from commbounds.verify.writing import written


@pytest.fixture(scope="module")
def drawings(findings, book):
    """Every look, as SVG."""
    return [draw(finding, book).svg() for finding in findings]


def named(findings, name):
    return next(f for f in findings if f.claim == f"synthetic.{name}")


def items(drawing, kind, **attributes):
    found = [item for item in drawing.items if isinstance(item, kind)]
    return [item for item in found if all(getattr(item, name) == value for name, value in attributes.items())]


def close(places, others):
    return all(math.dist(a, b) < 1e-6 for a, b in zip(places, others, strict=True))


def test_every_look_draws_alike_twice(drawings, findings, book, tmp_path):
    written = save(findings, tmp_path, ("svg",), book)
    assert [p.name for p in written] == [f"{f.claim}.svg" for f in findings]
    assert [p.read_text() for p in written] == drawings
    assert max(map(len, drawings)) < 40_000


@pytest.mark.parametrize(
    ("form", "looks"),
    [("png", 2), pytest.param("png", None, marks=pytest.mark.wide), pytest.param("pdf", 2, marks=pytest.mark.wide)],
    ids=["png of two", "png", "pdf of two"],
)
def test_looks_draw_alike_twice_in_every_format(form, looks, findings, book, tmp_path):
    drawn = findings[:looks]
    first, second = (save(drawn, tmp_path / name, (form,), book) for name in "ab")
    assert [p.name for p in first] == [f"{f.claim}.{form}" for f in drawn]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert one.stat().st_size < 200_000


@pytest.mark.parametrize("looks", [1, pytest.param(None, marks=pytest.mark.wide)], ids=["one", "all"])
def test_settings_of_the_user_change_no_byte(looks, drawings, findings, book):
    pictures = [draw(f, book).rendered("png") for f in findings[:looks]]
    with mpl.rc_context({"font.size": 30, "figure.facecolor": "red", "svg.hashsalt": "other", "lines.linewidth": 9}):
        assert [draw(f, book).svg() for f in findings[:looks]] == drawings[:looks]
        assert [draw(f, book).rendered("png") for f in findings[:looks]] == pictures


@pytest.mark.wide
def test_drawing_leaves_pyplot_alone():
    code = "import sys, commbounds.figures; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_svg_is_xml_and_says_verdict_and_name(drawings, findings, book):
    for drawing, finding in zip(drawings, findings, strict=True):
        tree = ElementTree.fromstring(drawing)
        texts = {e.text for e in tree.iter("{http://www.w3.org/2000/svg}text")}
        claim = book[finding.claim]
        assert {finding.claim, status(finding, claim).text} <= texts
        curves = [s for s in finding.series if any(s.bound) or any(s.worst)]
        assert bool(curves) == ("gradients iid, early" in texts)
        found = "farthest found" if isinstance(claim.relation, sp.Eq) else "worst found"
        assert {relation_words(claim), found, "random median", "random 5–95 %"} <= texts or not curves


def test_paths_of_an_svg_stay_on_its_paper(drawings):
    for drawing in drawings:
        tree = ElementTree.fromstring(drawing)
        width, height = map(float, tree.get("viewBox").split()[2:])
        for text in tree.iter("{http://www.w3.org/2000/svg}text"):
            x, y = float(text.get("x", 0)), float(text.get("y", 0))
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_png_has_twice_the_pixels_of_a_plain_screen(findings, book, tmp_path):
    from PIL import Image

    (path,) = save(findings[:1], tmp_path, ("png",), book)
    drawing = draw(findings[0], book)
    with Image.open(path) as image:
        assert abs(image.width - 192 / 72 * drawing.width) <= 1
        assert abs(image.height - 192 / 72 * drawing.height) <= 1


def test_matplotlib_paints_what_the_svg_says(findings, book):
    drawing = draw(findings[0], book)
    (series,) = findings[0].series
    figure = drawing.figure()
    assert [text.get_text() for text in figure.findobj(Text) if text.get_text()] == drawing.words
    discs = next(line for line in figure.findobj(Line2D) if line.get_marker() == "o")
    plane = drawing.planes[0]
    at = [plane.at(x, v) for x, v in zip(series.x, series.worst, strict=True)]
    assert close(zip(*discs.get_data(), strict=True), [(x, drawing.height - y) for x, y in at])


def test_curves_show_the_numbers_of_the_finding(findings, book):
    finding = findings[0]
    (series,) = finding.series
    drawing = draw(finding, book)
    (plane,) = drawing.planes

    def places(values):
        return [plane.at(x, v) for x, v in zip(series.x, values, strict=True)]

    bound = items(drawing, Stroke, colour="ink", width=1.8)[0]
    assert close(bound.runs[0], places(series.bound))
    assert close(items(drawing, Marks, shape="o")[0].places, places(series.worst))
    assert close(items(drawing, Marks, shape="_")[0].places, places(series.random_mid))
    for aside, (shape, filled, kind) in zip(
        (-6, -2, 2, 6),
        [
            ("^", False, "iid, early"),
            ("^", True, "iid, late"),
            ("s", False, "by label, early"),
            ("s", True, "by label, late"),
        ],
        strict=True,
    ):
        marks = items(drawing, Marks, shape=shape, filled=filled)[0]
        assert close(marks.places, [(x + aside, y) for x, y in places(series.gradients[kind])])


def test_every_value_lies_inside_the_axes(findings, book):
    for finding in findings:
        for plane, series in zip(draw(finding, book).planes, finding.series, strict=False):
            curves = (series.bound, series.worst, series.random_low, series.random_high, *series.gradients.values())
            for curve in curves:
                assert all(plane.y.low <= v <= plane.y.high or v == float("inf") for v in curve)


@pytest.mark.parametrize(
    ("name", "words", "side"),
    [("topk.contraction", "≤ bound", "above"), ("topk.moment", "≥ bound", "below"), ("topk.wire", "= law", "")],
)
def test_the_line_says_its_relation_and_the_forbidden_side_is_shaded(name, words, side, findings, book):
    finding = named(findings, name)
    claim = book[finding.claim]
    assert (relation_words(claim), forbids(claim)) == (words, side)
    drawing = draw(finding, book)
    (plane,) = drawing.planes
    (label,) = items(drawing, Words, text=words)
    last = plane.y.place(finding.series[0].bound[-1])
    assert label.place[0] > plane.x.end
    assert abs(label.place[1] - last) < 8
    shades = items(drawing, Area, colour="refuted", opacity=FORBIDDEN)
    assert len(shades) == bool(side)
    for shade in shades:
        (outline,) = shade.outlines
        edge = plane.y.end if side == "above" else plane.y.start
        assert {place for place in outline if place[1] == edge} >= {(plane.x.start, edge), (plane.x.end, edge)}
        rest = [y for _, y in outline if y != edge]
        heights = [plane.y.place(v) for v in finding.series[0].bound]
        assert min(rest) == pytest.approx(min(heights))
        assert max(rest) == pytest.approx(max(heights))
        assert f"{side} the bound the claim fails" in drawing.words


def test_discs_of_a_refuted_claim_lie_in_the_shade(findings, book):
    finding = named(findings, "topk.global_contraction")
    drawing = draw(finding, book)
    (plane,) = drawing.planes
    assert all(y < plane.y.place(0.5) for _, y in items(drawing, Marks, shape="o")[0].places[:3])
    assert not any("off these curves" in text for text in drawing.words)


def test_a_counterexample_that_no_curve_shows_is_told(findings, book):
    finding = named(findings, "topk.global_contraction")
    (series,) = finding.series
    hidden = replace(finding, series=(replace(series, worst=[0.5, 0.4, 0.4, 0.5]),))
    told = "The claim fails off these curves: 1.0e6 was measured, the bound is 0.500, at Made(up=1)."
    assert told in " ".join(draw(hidden, book).words)
    shown = replace(finding, series=(replace(series, worst=[0.5, 0.4, 0.4, 0.501]),))
    assert told not in " ".join(draw(shown, book).words)


def test_no_axes_are_empty(findings, book):
    zero = draw(named(findings, "signs.sign_symmetry"), book)
    assert zero.planes == []
    assert "measured was zero at all 9 values of n from 2 to 2²⁷" in " ".join(zero.words)
    series = named(findings, "signs.sign_symmetry").series[0]
    nearly = replace(series, worst=[*series.worst[:-1], 1e-9])
    rounded = draw(replace(named(findings, "signs.sign_symmetry"), series=(nearly,)), book)
    assert "measured was at most 1.0e-9 at all 9 values" in " ".join(rounded.words)
    failed = draw(named(findings, "powersgd.broken"), book)
    assert failed.planes == []
    assert "No curve: the implementation raised LinAlgError: no convergence." in failed.words
    bare = draw(replace(findings[0], series=(), tightness=None), book)
    assert "13 245 cases were judged, and none" in " ".join(bare.words).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert not items(bare, Stroke)


def test_one_number_stands_beside_the_bound(findings, book):
    drawing = draw(named(findings, "qsgd.level"), book)
    (line,) = items(drawing, Stroke, colour="ink")
    (disc,) = items(drawing, Marks, shape="o", size=9)[:1]
    assert disc.places[0][0] < line.runs[0][0][0]
    assert {"0.750", "measured / bound"} <= set(drawing.words)


def test_a_broken_axis_is_marked_and_said(findings, book):
    series = Series("", "n", [1.0, 2.0, 3.0], [1e-3, 1.0, 10.0], [0.0, 1.0, 10.0])
    drawing = draw(replace(findings[0], series=(series,)), book)
    (plane,) = drawing.planes
    assert plane.y.kind == "symlog"
    assert "upright axis: logarithmic down to 0.001, linear to 0" in drawing.words
    strokes = [run for stroke in plane.frame() if isinstance(stroke, Stroke) for run in stroke.runs]
    slanted = [run for run in strokes if run[0][0] != run[-1][0] and run[0][1] != run[-1][1] and len(run) == 2]
    middle = (plane.y.place(0.0) + plane.y.place(1e-3)) / 2
    assert [round((a[1] + b[1]) / 2 - middle, 6) for a, b in slanted] == [-1.5, 1.5]


def test_words_do_not_cover_one_another(findings, book):
    for finding in findings:
        words = items(draw(finding, book), Words)
        for one, other in combinations(words, 2):
            a, b = one.box, other.box
            across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            assert across <= 0.5 or down <= 2.5, (finding.claim, one.text, other.text)


def test_the_unit_stands_in_the_definition(findings, book):
    for finding in findings:
        quantity = book[finding.claim].quantity
        assert f"{quantity.name.replace('_', ' ')}: {quantity.meaning}" in " ".join(draw(finding, book).words)


def test_bare_series_and_unknown_gradients_draw(findings, book):
    bare = replace(findings[0], series=(Series("", "n", [3.0], [1e-30], [1e-31]),))
    assert draw(bare, book).rendered("png")
    other = replace(
        findings[0], series=(Series("", "n", [1.0, 2.0], [-1.0, 2.0], [0.0, 0.0], gradients={"?": [0, 1]}),)
    )
    assert "gradients ?" in draw(other, book).words


def test_what_was_not_measured_leaves_a_gap(findings, book):
    x, ones = [1.0, 2.0, 3.0, 4.0, 5.0], [1.0] * 5
    torn = [0.5, 0.5, math.nan, 0.5, 0.5]
    series = Series("", "n", x, ones, ones, torn, torn, torn, {"iid, early": torn})
    drawing = draw(replace(findings[0], series=(series,)), book)
    assert [len(run) for run in items(drawing, Stroke, colour="band")[0].runs] == [2, 2]
    assert len(items(drawing, Area, colour="band")[0].outlines) == 2
    assert len(items(drawing, Marks, shape="^")[0].places) == 4
    with pytest.raises(ValueError, match="NaN has no place on a scale"):
        drawing.planes[0].y.place(math.nan)


def test_relative_series_say_so(findings, book):
    (series,) = findings[0].series
    assert "measured / bound" in draw(replace(findings[0], series=(replace(series, relative=True),)), book).words
    assert "relative error" in draw(findings[0], book).words


def test_refutation_without_a_curve_shows_its_counterexample(findings, book):
    drawing = draw(replace(named(findings, "signs.scale_equivariance"), series=()), book)
    assert drawing.planes == []
    (line,) = items(drawing, Stroke, colour="ink")
    disc = items(drawing, Marks, shape="o")[0]
    ticks = {item.text: item.place[0] for item in items(drawing, Words, size=9, anchor="middle")}
    assert line.runs[0][0][0] == pytest.approx(ticks["0"])
    assert disc.places[0][0] == pytest.approx(ticks["1.0"])
    assert {"counterexample, Made(up=1)", "scale defect", "= law"} <= set(drawing.words)


def test_rounding_does_not_stretch_the_axis(findings, book):
    noisy = replace(findings[0], series=(Series("", "k/n", [0.1, 1.0], [0.9, 0.0], [0.9, 1e-16]),))
    (plane,) = draw(noisy, book).planes
    assert plane.y.kind == "linear"


def test_labels_along_x_keep_apart(findings, book):
    x = [2 / 2410, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0]
    (plane,) = draw(replace(findings[0], series=(Series("", "k/n", x, [1.0] * 7, [1.0] * 7),)), book).planes
    assert [v for v, _ in plane.xticks] == x
    assert [text for _, text in plane.xticks] == ["0.00083", "0.01", "0.03", "0.1", "0.3", "0.6", "1"]
    crowded = [1.0, *(1 + 1e-4 * i for i in range(1, 6)), 2.0]
    (plane,) = draw(replace(findings[0], series=(Series("", "k/n", crowded, [1.0] * 7, [1.0] * 7),)), book).planes
    assert [v for v, _ in plane.xticks] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2 / 2410, "0.00083"),
        (1 / 64, "1/64"),
        (1.125, "1.125"),
        (2.0**27, "2²⁷"),
        (1e-7, "10⁻⁷"),
        (2.5e-7, "2.5·10⁻⁷"),
        (3e9, "3·10⁹"),
        (-0.5, "−0.5"),
        (0.0, "0"),
        (4096.0, "4096"),
    ],
)
def test_labels_are_short(value, text):
    assert short(value) == text


def test_labels_of_one_axis_are_of_one_kind():
    linear, log = (Scale(kind, 1.0, 2e4, 0.0, 1.0) for kind in ("linear", "log"))
    assert tick_words(linear, [0.0, 5000.0, 10000.0]) == ["0", "5000", "10000"]
    assert tick_words(linear, [1.0, 1.005, 1.01]) == ["1.000", "1.005", "1.010"]
    assert tick_words(linear, [0.0, 1e-4, 2e-4]) == ["0", "0.0001", "0.0002"]
    assert tick_words(linear, [0.0, 1e-5, 2e-5]) == ["0", "10⁻⁵", "2·10⁻⁵"]
    assert tick_words(log, [5000.0, 10000.0]) == ["5000", "10000"]
    assert tick_words(log, [100.0, 10000.0]) == ["100", "10⁴"]


def test_ticks_are_the_values_where_they_are_few_and_shortly_said():
    values = [1 / 2410, 0.25, 0.5, 1.0]
    assert [text for _, text in value_ticks(Scale("linear", 0.0, 1.0, 0.0, 400.0), values[1:])] == ["0.25", "0.5", "1"]
    round_ones = [text for _, text in value_ticks(Scale("linear", 0.0, 1.0, 0.0, 400.0), values)]
    assert round_ones == ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]


@pytest.mark.parametrize(
    "series",
    [
        Series("", "n", [], [], []),
        Series("", "n", [1.0], [], [1.0]),
        Series("", "n", [1.0], [1.0], []),
        Series("", "n", [1.0, 2.0], [1.0, 2.0], [1.0]),
        Series("", "n", [1.0], [1.0], [1.0], gradients={"iid, early": [1.0, 2.0]}),
    ],
)
def test_ragged_series_are_refused(findings, book, series):
    with pytest.raises(ValueError, match="every list of a series must be as long as x, and not empty"):
        draw(replace(findings[0], series=(series,)), book)


def test_what_cannot_be_drawn_is_refused(findings, book, tmp_path):
    with pytest.raises(ValueError, match="the book has no claim called 'nowhere'"):
        draw(replace(findings[0], claim="nowhere"))
    with pytest.raises(ValueError, match="findings must not be empty"):
        save([], tmp_path)
    with pytest.raises(ValueError, match="formats must be of svg, png, pdf, got gif"):
        save(findings, tmp_path, ("svg", "gif"), book)
    with pytest.raises(ValueError, match="formats must be of svg, png, pdf, got none"):
        save(findings, tmp_path, (), book)
    with pytest.raises(ValueError, match="formats must be of svg, png, pdf, got gif"):
        Drawing(1.0, 1.0).rendered("gif")
    assert not list(tmp_path.iterdir())


def test_inlined_drawings_take_the_colours_of_the_page(drawings):
    for drawing in drawings:
        svg = inlined(drawing, "a &lt; b")
        tree = ElementTree.fromstring(svg)
        assert tree.get("aria-label") == "a < b"
        assert tree.get("width") is tree.get("font-family") is None
        assert "var(--ink)" in svg
        assert not any(colour in svg.lower() for colour in COLOURS.values())
        assert not [e for e in tree.iter() if e.get("id") or e.get("href")]


def test_files_are_replaced_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "new" / "file"
    written(path, b"one")
    written(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o644

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="no space left"):
        written(path, b"three")
    assert [p.name for p in path.parent.iterdir()] == ["file"]
    assert path.read_bytes() == b"two"
