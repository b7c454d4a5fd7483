import pickle

import pytest
import sympy as sp
from symbol_values import SYMBOLS

from commbounds.theory.notation import latex
from commbounds.theory.symbols import Symbol


def test_every_symbol_of_the_book_has_a_name_and_an_example_of_its_own():
    assert len({symbol.name for symbol in SYMBOLS}) == len(SYMBOLS)
    assert all(isinstance(symbol, Symbol) and symbol.example is not None for symbol in SYMBOLS)


def test_a_symbol_is_written_as_it_says_or_by_its_name():
    assert latex(Symbol("tilt", r"\theta", 2, positive=True) ** 2) == r"\theta^{2}"
    assert latex(Symbol("plain_one", example=2) + 1) == latex(sp.Symbol("plain_one") + 1)


def test_a_symbol_survives_pickling_with_what_it_carries():
    symbol = Symbol("bent", r"\beta", 3, integer=True)
    copy = pickle.loads(pickle.dumps(symbol))
    assert copy == symbol
    assert (copy.latex, copy.example, copy.is_integer) == (r"\beta", 3, True)


@pytest.mark.parametrize(("latex_", "example"), [(r"\nu", 2), (r"\mu", 3)])
def test_one_symbol_is_not_written_or_exemplified_in_two_ways(latex_, example):
    Symbol("twice", r"\mu", 2, positive=True)
    with pytest.raises(ValueError, match="of twice is"):
        Symbol("twice", latex_, example, positive=True)


def test_an_example_that_the_assumptions_do_not_admit_is_refused():
    with pytest.raises(ValueError, match="example of short must be integer, positive"):
        Symbol("short", "s", -1, integer=True, positive=True)
