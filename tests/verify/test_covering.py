"""Covering arrays by the compiled criterion are those by the library's, and cover what the library covers."""

from functools import partial
from itertools import combinations

import pytest
from covertable import make
from covertable.criteria import greedy
from hypothesis import given
from hypothesis import strategies as st

from commbounds.verify import covering
from commbounds.verify.covering import covering_array


def _allows(names, places, row):
    return [row[name] for name in names[:2]] != places


@st.composite
def models(draw):
    """Axes with their numbers of values, further combinations to cover, and pairs of values that are forbidden."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=2, max_size=6))
    numbers = {str(axis): list(range(size)) for axis, size in enumerate(sizes)}
    fields = st.lists(st.sampled_from(sorted(numbers)), min_size=2, max_size=4, unique=True)
    covered = [{"fields": names, "strength": len(names)} for names in draw(st.lists(fields, max_size=3))]
    forbidden = draw(st.lists(st.tuples(fields, st.integers(0, 5), st.integers(0, 5)), max_size=2))
    constraints = [
        {"operator": "fn", "requires": names[:2], "evaluate": partial(_allows, names, places)}
        for names, *places in forbidden
    ]
    return numbers, {"sub_models": covered, "constraints": constraints, "salt": str(draw(st.integers(0, 3)))}


def _combinations(rows, numbers, options):
    """What is among the rows: every two values, and the combinations that are to be covered besides."""
    fields = [*combinations(numbers, 2), *(model["fields"] for model in options["sub_models"])]
    return {(*names, *(row[name] for name in names)) for row in rows for names in map(tuple, fields)}


def _rows(numbers, options):
    return covering_array(numbers, dict.fromkeys(numbers, ()), **options)


@given(models())
def test_values_in_turn_cover_as_much_as_the_library(model):
    numbers, options = model
    assert _combinations(_rows(*model), *model) == _combinations(make(numbers, **options), *model)


@given(models())
def test_the_compiled_criterion_is_that_of_the_library(model):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covering, "_FEW", 0)  # the few too that it leaves to the library
        rows = _rows(*model)
        patch.setattr(covering, "Greedy", lambda: greedy)
        assert rows == _rows(*model)
