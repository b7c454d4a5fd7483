"""Exact laws of compressors are compared with what their kernels do."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from commbounds.compressors import QSGD, RandK, TopK
from commbounds.verify.compressor_run import EXACT, law_lines


@dataclass(frozen=True)
class OtherLaw(QSGD):
    """Dithering whose law says that the first outcome is a little more probable."""

    def law(self, x):
        (p, first), *others = super().law(x)
        if not others:
            return [(p, first)]
        (q, second), *rest = others
        return [(p + Fraction(1, 1000), first), (q - Fraction(1, 1000), second), *rest]


@pytest.mark.parametrize("compressor", [QSGD(2), QSGD(3), RandK(1), TopK(1)])
def test_laws_are_what_kernels_do(compressor):
    assert list(law_lines(compressor, EXACT)) == []


def test_another_law_is_noticed():
    lines = list(law_lines(OtherLaw(3), EXACT))
    assert lines
    assert all(line.startswith("the law of ") for line in lines)


def test_inputs_that_are_refused_are_left_out():
    assert list(law_lines(RandK(3), [EXACT[0]])) == []  # one entry, three to keep
    with pytest.raises(ValueError, match="k"):
        RandK(3).law(EXACT[0])
