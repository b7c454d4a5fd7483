"""The conditions of ARC-Top-K's claims draw their lines where they say."""

import numpy as np
import pytest

from commbounds.theory.arctopk import terms as t


@pytest.mark.parametrize(
    ("stack", "exact"),
    [
        ([[[1.0]], [[2.0]]], True),  # 3/2
        ([[[1.0]], [[2.0]], [[0.0]]], True),  # 1
        ([[[1.0]], [[2.0]], [[1.0]]], False),  # 4/3
        ([[[0.5]], [[0.5]]], False),
        ([[[2.0**20]]], False),
    ],
)
def test_averages_of_integers_are_exact_where_p_divides_but_for_twos(stack, exact):
    assert t.EXACT_SUMS.admits(x=np.array(stack)) is exact


def test_rows_are_orthogonal_where_every_two_are():
    assert t.ORTHOGONAL_ROWS.admits(x=np.diag([1.0, 2.0, 0.0]))
    assert t.ORTHOGONAL_ROWS.admits(x=np.array([[1.0, 1.0]]))
    assert not t.ORTHOGONAL_ROWS.admits(x=np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))


def test_parallel_rows_and_an_orthogonal_one():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.7]])
    assert t.PARALLEL_AND_ONE.admits(x=rows, k=1, r=1)
    assert not t.PARALLEL_AND_ONE.admits(x=rows, k=2, r=1)
    assert not t.PARALLEL_AND_ONE.admits(x=rows, k=1, r=2)
    assert not t.PARALLEL_AND_ONE.admits(x=rows[::-1], k=1, r=1)
    assert not t.PARALLEL_AND_ONE.admits(x=2 * rows, k=1, r=1)
    assert not t.PARALLEL_AND_ONE.admits(x=rows[:1], k=1, r=1)


def test_one_row_cancels_where_it_is_the_largest_and_there_are_two_ranks():
    stack = np.ones((2, 3, 1))
    stack[0, 1], stack[1, 1] = 9.0, -9.0
    assert t.ONE_ROW_CANCELS.admits(x=stack)
    assert not t.ONE_ROW_CANCELS.admits(x=np.concatenate([stack, stack]))
    assert not t.ONE_ROW_CANCELS.admits(x=np.abs(stack))
    stack[0, 0], stack[1, 0] = 9.0, -9.0
    assert not t.ONE_ROW_CANCELS.admits(x=stack)
