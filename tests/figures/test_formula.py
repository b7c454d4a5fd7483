import re

import pytest

from commbounds.figures.formula import mathml
from commbounds.theory import claims


@pytest.mark.parametrize("name", claims())
def test_every_formula_of_the_book_becomes_mathml(name):
    for large in (False, True):
        element = mathml(claims()[name].latex, large=large)
        assert element.startswith("<math ")
        assert element.endswith("</math>")
        assert "\\" not in re.sub(r"<[^>]*>", "", element)
        assert ('displaystyle="true"' in element) is large


def test_bars_of_a_norm_stay_close():
    assert "<mo>&#x02016;</mo>" not in mathml(r"\frac{\lVert C(x)-x\rVert^2}{\lVert x\rVert^2}")


def test_words_and_letters_are_set_apart():
    assert mathml(r"k \mathrm{itembits}").count("mspace") == 1
    assert mathml(r"\mathrm{itembits} k + 1").count("mspace") == 1
    assert "mspace" not in mathml(r"\mathrm{bits}(C(x)) = k n")
