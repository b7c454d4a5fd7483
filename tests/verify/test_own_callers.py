"""Ranks with callers of their own: that definitions see whatever they no longer look at."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest

from commbounds.collectives import COLLECTIVES, ring_allreduce
from commbounds.collectives.ranks import one_program
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import Collective
from commbounds.columns import parts
from commbounds.verify import own_callers, watched_ranks
from commbounds.verify.definition import Definition, Given, called
from commbounds.verify.space import Space

DEFINED = {
    name: definition
    for _, found in parts("verify.experiments", "definitions")
    for name, definition in found.DEFINITIONS.items()
    if isinstance(COLLECTIVES.get(name), Collective)
}
DECOMPRESSED = ("rotated_mean",)
"""Whose messages are looked at where they are decompressed."""


@dataclass
class Moved:
    way: int
    far: int


def sampled(names):
    return [pytest.param(name, marks=pytest.mark.wide if i % 6 else ()) for i, name in enumerate(names)]


@pytest.mark.parametrize("name", sampled(DEFINED))
def test_ranks_that_look_at_no_message_are_noticed(name, monkeypatch):
    assert own_callers.altered_lines(DEFINED[name], COLLECTIVES[name]) == []
    monkeypatch.setattr(Communicator, "fitting", lambda _comm, _source, sent, *_forms: getattr(sent, "arrays", sent))
    assert bool(own_callers.altered_lines(DEFINED[name], COLLECTIVES[name])) != (name in DECOMPRESSED)


@pytest.mark.parametrize("name", sampled([name for name in DEFINED if COLLECTIVES[name].result is not None]))
def test_ranks_that_end_with_something_else_are_noticed(name):
    definition, collective = DEFINED[name], COLLECTIVES[name]
    wrong = Collective(collective.on_rank, None, collective.stack, collective.parts, collective.result)

    def other_by_two(comm, part, *others, **settings):
        found = collective.on_rank(comm, part, *others, **settings)
        return other(found) if comm.size == 2 and comm.rank == 1 and not comm.one_caller else found

    wrong.on_rank = other_by_two
    rows = [row for row in own_callers.showing(definition.space.covering()) if row["P"] < 4]
    told = {P: [] for P in (1, 2, 3)}
    for row in rows:
        given = definition.space.make(**row)
        told[row["P"]] += own_callers.own_caller_lines(definition, wrong, given, definition.said(given))
    assert not told[1] + told[3]
    assert told[2] or 2 not in definition.space.axes["P"]


def other(found):
    """A rank's result, whose arrays are turned round and one larger."""
    if isinstance(found, np.ndarray):
        return found[::-1] + 1
    if hasattr(found, "_replace"):
        return found._replace(**{name: other(value) for name, value in found._asdict().items()})
    if isinstance(found, tuple):
        return tuple(map(other, found))
    return (
        replace(found, **{one.name: other(getattr(found, one.name)) for one in fields(found)})
        if is_dataclass(found)
        else found
    )


def test_what_is_the_same_on_all_ranks_is_looked_at_on_all_of_them():
    @one_program(lambda results: results[0])
    def summed(comm, vector):
        (row,) = agreed_row(comm, vector, lambda _: {})
        total = ring_allreduce.on_rank(comm, row)
        return Ended(total + (comm.size == 5 and comm.rank == 3), comm.rank)

    space = Space(lambda P, seed: Given({"stack": np.ones((P, 2))}), {"P": (4, 5)})
    definition = Definition(space, called("ended", "traffic"), lambda held: said_of(held["inputs"]["stack"]))
    four, five = (definition.differences(summed, space.make(**row)) for row in space.covering())
    assert four == ["number is not the same on all ranks"]
    assert five == ["number is not the same on all ranks", "total is not the same on all ranks"]
    own = Definition(space, definition.run, definition.twin, own={"number": "a rank's own"})
    assert [bool(own.differences(summed, space.make(**row))) for row in space.covering()] == [False, True]


@pytest.mark.parametrize(
    ("results", "shown", "names"),
    [
        ([np.ones(2), np.ones(2)], lambda results: results[0], set()),
        ([np.ones(2), np.zeros(2)], lambda results: results[0], {"result"}),
        ([np.ones(2), np.zeros(2)], np.stack, set()),
        ([(1, 2), (1, 3)], lambda results: results[0], {"1"}),
        ([(1, 2), (1, 3)], lambda results: [b for _, b in results], set()),
        ([Moved(1, 2), Moved(2, 2)], lambda results: results[0], {"way"}),
        ([None, np.ones(2)], lambda results: results[0], {"result"}),
    ],
)
def test_parts_of_what_ranks_end_with(results, shown, names):
    assert watched_ranks.unshown(shown, results) == names


class Ended(NamedTuple):
    total: np.ndarray
    number: int


def said_of(stack):
    total, traffic = ring_allreduce(stack)
    return {"ended": [total[0], 0], "traffic": traffic.as_dict()}
