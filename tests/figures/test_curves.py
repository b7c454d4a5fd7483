import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import sympy as sp

from commbounds.figures import draw, save
from commbounds.figures.files import rendered
from commbounds.figures.style import COLOURS
from commbounds.figures.svg import inlined
from commbounds.verify.finding import Series
from commbounds.verify.writing import written


@pytest.fixture(scope="module")
def drawings(findings, book):
    """Every look, as SVG."""
    return [rendered(draw(finding, book), "svg") for finding in findings]


def test_every_look_draws_alike_twice(drawings, findings, book, tmp_path):
    written = save(findings, tmp_path, ("svg",), book)
    assert [p.name for p in written] == [f"{f.claim}.svg" for f in findings]
    assert [p.read_bytes() for p in written] == drawings
    assert max(map(len, drawings)) < 200_000


@pytest.mark.parametrize(
    ("form", "looks"),
    [("png", 2), pytest.param("png", None, marks=pytest.mark.wide), ("pdf", 2)],
    ids=["png of two", "png", "pdf of two"],
)
def test_looks_draw_alike_twice_in_every_format(form, looks, findings, book, tmp_path):
    drawn = findings[:looks]
    first, second = (save(drawn, tmp_path / name, (form,), book) for name in "ab")
    assert [p.name for p in first] == [f"{f.claim}.{form}" for f in drawn]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert one.stat().st_size < 200_000


@pytest.mark.parametrize("looks", [2, pytest.param(None, marks=pytest.mark.wide)], ids=["two", "all"])
def test_settings_of_the_user_change_no_byte(looks, drawings, findings, book):
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "other", "axes.grid": False}):
        assert [rendered(draw(f, book), "svg") for f in findings[:looks]] == drawings[:looks]


def test_drawing_leaves_pyplot_alone():
    code = "import sys, commbounds.figures; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_svg_is_xml_and_says_verdict_and_name(drawings, findings, book):
    for drawing, finding in zip(drawings, findings, strict=True):
        tree = ElementTree.fromstring(drawing)
        texts = {"".join(e.itertext()).strip() for e in tree.iter("{http://www.w3.org/2000/svg}text")}
        assert finding.claim in texts
        assert bool(finding.series) == ("gradients iid, early" in texts)
        found = "farthest found" if isinstance(book[finding.claim].relation, sp.Eq) else "worst found"
        assert {"bound", found, "random median", "random 5–95 %"} <= texts or not finding.series


def test_png_has_twice_the_pixels_of_a_plain_screen(findings, book, tmp_path):
    from PIL import Image

    (path,) = save(findings[:1], tmp_path, ("png",), book)
    width, height = draw(findings[0], book).get_size_inches()
    with Image.open(path) as image:
        assert abs(image.width - 192 * width) <= 1
        assert abs(image.height - 192 * height) <= 1


def test_curves_show_the_numbers_of_the_finding(findings, book):
    finding = findings[0]
    (series,) = finding.series
    (ax,) = draw(finding, book).axes
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines["bound"].get_ydata()) == series.bound
    assert list(lines["worst found"].get_ydata()) == series.worst
    assert list(lines["random median"].get_ydata()) == series.random_mid
    for kind, values in series.gradients.items():
        assert list(lines[f"gradients {kind}"].get_ydata()) == values
        assert list(lines[f"gradients {kind}"].get_xdata()) == series.x


def test_every_value_lies_inside_the_axes(findings, book):
    for finding in findings:
        for ax, series in zip(draw(finding, book).axes, finding.series, strict=False):
            low, high = ax.get_ylim()
            for curve in (
                series.bound,
                series.worst,
                series.random_low,
                series.random_high,
                *series.gradients.values(),
            ):
                assert all(low <= v <= high or v == float("inf") for v in curve)


def test_bare_series_and_unknown_gradients_draw(findings, book):
    bare = replace(findings[0], series=(Series("", "n", [3.0], [1e-30], [1e-31]),))
    assert rendered(draw(bare, book), "png")
    other = replace(
        findings[0], series=(Series("", "n", [1.0, 2.0], [-1.0, 2.0], [0.0, 0.0], gradients={"?": [0, 1]}),)
    )
    assert b"gradients ?" in rendered(draw(other, book), "svg")


def test_relative_series_say_so(findings, book):
    (series,) = findings[0].series
    (ax,) = draw(replace(findings[0], series=(replace(series, relative=True),)), book).axes
    assert ax.get_ylabel() == "measured / bound"
    (ax,) = draw(findings[0], book).axes
    assert ax.get_ylabel() == "relative error"


def test_refutation_without_a_curve_shows_its_counterexample(findings, book):
    finding = next(f for f in findings if f.claim.endswith("signs.scale_equivariance"))
    (ax,) = draw(replace(finding, series=()), book).axes
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines["bound"].get_xdata()) == {0.0}
    assert list(lines["counterexample, Made(up=1)"].get_xdata()) == [1.0]
    assert ax.get_xlabel() == "scale defect"


def test_rounding_does_not_stretch_the_axis(findings, book):
    noisy = replace(findings[0], series=(Series("", "k/n", [0.1, 1.0], [0.9, 0.0], [0.9, 1e-16]),))
    (ax,) = draw(noisy, book).axes
    assert ax.get_yscale() == "linear"


def test_labels_along_x_keep_apart(findings, book):
    x = [2 / 2410, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0]
    (ax,) = draw(replace(findings[0], series=(Series("", "k/n", x, [1.0] * 7, [1.0] * 7),)), book).axes
    assert list(ax.xaxis.get_major_locator().locs) == [x[0], 0.01, 0.03, 0.1, 0.3, 1.0]
    assert [ax.xaxis.get_major_formatter()(v) for v in (x[0], 1 / 64, 1.125, 2.0**27)] == [
        "0.00083",
        "1/64",
        "1.125",
        "2²⁷",
    ]


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
    assert not list(tmp_path.iterdir())


def test_inlined_drawings_take_the_colours_of_the_page(drawings):
    for i, drawing in enumerate(drawings):
        svg = inlined(drawing.decode(), f"p{i}-", "a &lt; b")
        tree = ElementTree.fromstring(svg)
        assert tree.get("aria-label") == "a < b"
        assert tree.get("width") is None
        assert "var(--ink)" in svg
        assert not any(colour in svg.lower() for colour in COLOURS.values())
        ids = [e.get("id") for e in tree.iter() if e.get("id")]
        assert len(ids) == len(set(ids))
        assert all(name.startswith(f"p{i}-") for name in ids)
        assert {e.get("href") for e in tree.iter() if e.get("href")} <= {f"#{name}" for name in ids}


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
