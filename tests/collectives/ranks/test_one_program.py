"""A collective and the program of its ranks are one object."""

import inspect
import pickle

import numpy as np
import pytest

from commbounds.collectives import COLLECTIVES, topk_dsa
from commbounds.collectives.ranks import Collective, ThreadWorld, fused_program, one_program, parcel
from commbounds.collectives.traffic import Traffic
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
NAMES = [name for name, collective in COLLECTIVES.items() if isinstance(collective, Collective)]
EACH = pytest.mark.parametrize("name", NAMES)


@one_program(np.stack, stack="rows")
def passed_on(comm, row, distance=1, *, factor=1.0):
    """Every rank's row, times a factor, goes that many ranks on."""
    target, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
    return comm.step({target: parcel(factor * row)}, [source])[source].arrays[0]


def test_called_with_all_rows_it_runs_the_programs():
    rows = np.arange(6.0).reshape(3, 2)
    result, traffic = passed_on(rows, 2, factor=2.0)
    assert result.tolist() == (2 * rows[[1, 2, 0]]).tolist()
    assert (traffic.sent.tolist(), traffic.steps) == ([2, 2, 2], 1)
    apart, counted = ThreadWorld().run(lambda comm: passed_on.on_rank(comm, rows[comm.rank], 2, factor=2.0), 3)
    assert np.stack(apart).tobytes() == result.tobytes()
    assert counted.as_dict() == traffic.as_dict()


def test_the_rows_may_be_named():
    assert passed_on(rows=[[1.0], [2.0]], distance=1)[0].tolist() == [[2.0], [1.0]]
    with pytest.raises(TypeError, match=r"passed_on\(\) misses its argument 'rows'"):
        passed_on(distance=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'stack'"):
        passed_on([[1.0]], stack=[[1.0]])


def test_the_rows_are_looked_at_first():
    with pytest.raises(ValueError, match="rows must be finite, got NaN or infinity"):
        passed_on([[np.nan], [1.0]], no_such_option=1)
    with pytest.raises(TypeError, match="rows must be float32 or float64, got int64"):
        passed_on([[1], [2]])


def test_a_fused_program_takes_the_place_of_the_ranks_in_one_process():
    @fused_program(lambda rows, shift=0: (rows.sum() + shift, Traffic.none(len(rows))), checked=np.asarray)
    def total(comm, row, shift=0):
        """The sum."""
        raise NotImplementedError

    assert total([1, 2, 3], shift=4)[0] == 10
    assert total.__doc__ == "The sum."


def test_programs_are_given_pythons_numbers():
    """A rank that says a number in a narrow type of NumPy's computes with it as the others do."""

    @one_program(np.stack)
    def kinds(comm, row, count, *, rate):
        comm.step({}, [])
        return np.array([type(count) is int, type(rate) is float, count + 100 == 200])

    result, _ = kinds([[1.0], [2.0]], np.int8(100), rate=np.float32(0.5))
    assert result.all()
    assert ThreadWorld().run(lambda comm: kinds.on_rank(comm, [1.0], np.int8(100), rate=np.float16(1)), 2)[0][0].all()


def test_it_looks_like_the_function_that_it_is():
    assert str(inspect.signature(passed_on)) == "(rows, distance=1, *, factor=1.0)"
    assert repr(passed_on) == "<collective passed_on(rows, distance=1, *, factor=1.0)>"
    assert (passed_on.__name__, passed_on.__module__) == ("passed_on", __name__)
    assert passed_on.__doc__ == passed_on.on_rank.__doc__
    assert list(inspect.signature(topk_dsa).parameters) == ["stack", "k", "switch", "allgather"]


@EACH
def test_every_collective_is_found_again_where_it_was_defined(name):
    collective = COLLECTIVES[name]
    assert pickle.loads(pickle.dumps(collective)) is collective
    assert "Parameters" in collective.__doc__
    assert collective.__name__ == name


def test_every_collective_has_a_pairing():
    """The others are descents, trials, and those whose ranks are given more of their own than a row."""
    others = {
        "gather_blocks",
        "oktopk_allreduce",
        "OkTopkSGD",
        "FeedbackSGD",
        "push_sum",
        "moshpit_sgd",
        "group_trials",
        "lossy_broadcast",
        "lossy_step",
        "lossy_training",
        "drift_trials",
        "staleness_trials",
        "drop_gradient",
    }
    assert set(PAIRINGS) == {*NAMES, *others}
