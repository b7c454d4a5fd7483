import itertools
import re

import pytest

from commbounds.columns import columns
from commbounds.figures.formula import mathml
from commbounds.theory import book


@pytest.mark.parametrize("column", columns())
def test_every_formula_of_the_book_becomes_mathml(column):
    for claim, large in itertools.product(book.columns()[column].claims, (False, True)):
        element = mathml(claim.latex, large=large)
        assert element.startswith("<math "), claim.name
        assert element.endswith("</math>"), claim.name
        # a command that the converter does not know comes out as its name
        assert "\\" not in re.sub(r"<[^>]*>", "", element), claim.name
        assert ('displaystyle="true"' in element) is large, claim.name


def test_bars_of_a_norm_stay_close():
    assert "<mo>&#x02016;</mo>" not in mathml(r"\frac{\lVert C(x)-x\rVert^2}{\lVert x\rVert^2}")


def test_words_and_letters_are_set_apart():
    assert mathml(r"k \mathrm{itembits}").count("mspace") == 1
    assert mathml(r"\mathrm{itembits} k + 1").count("mspace") == 1
    assert "mspace" not in mathml(r"\mathrm{bits}(C(x)) = k n")
