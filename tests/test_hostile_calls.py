"""No hostile argument of any public callable ends in anything but a clear error or a documented result."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from hostile_calls import HostileFace, arrays_like, complaints, outcome, same_arrays, unclear
from hostile_faces import FACES

from commbounds import collectives, compressors
from commbounds.verify import conformance

RESULTS = {
    # what calls return: nobody builds them to hand them in
    *("Aggregated", "ArcResult", "Coded", "Dense", "Drift", "DropStep", "Factors", "FeedbackState", "GaussiankResult"),
    *("GroupCodes", "Message", "OkTopkResult", "QuantisedSum", "Reduced", "Signs", "Sparse", "SparseResult"),
    *(
        "Threshold",
        "Traffic",
        "Trials",
        "AllReduceResult",
        "CheckCase",
        "CheckFinding",
        "CheckVerdict",
        "Report",
        "WordLaw",
    ),
    # states, which the functions that take them check
    *("FeedbackSGDState", "OkTopkSGDState", "OkTopkState", "Replicas"),
    # abstract, or a type
    *("Compressor", "Feedback", "LatencyLaw", "Law"),
    # a subclass for every law or set of numbers is among the faces
    "Controller",
}
UNTRIED = {
    # reads a file or a line that somebody else wrote: refusals name file, line and field, not a parameter
    *("report_from_json", "reports_from"),
    # takes no argument
    "schema",
    # a right argument names a module or a file, and loads it: test_process.py
    *("isolated", "loaded"),
    # needs a package that is optional: test_mpi.py, test_ddp.py, test_tensors.py
    *("mpi_allreduce", "torch_ddp_hook", "on_torch"),
    # a right call judges for a second, forty times an argument: `conforms` and `recheck` refuse by the same checks
    "check",
    # a KeyError for an unknown claim, as a mapping raises it, is documented
    "book_bound",
}
PARTS = 24
"""One part of the calls runs by default, the others with ``wide``."""


def part_of(face, parts):
    """Those calls of a face whose number, counted over all faces, falls in these parts."""
    first = sum(len(list(earlier.cases())) for earlier in FACES[: FACES.index(face)])
    return [case for number, case in enumerate(face.cases(), first) if number % PARTS in parts]


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((0,), id="sample"),
        pytest.param(tuple(range(1, PARTS)), id="rest", marks=pytest.mark.wide),
    ],
)
def test_hostile_arguments_are_refused_clearly_or_taken_as_documented(face, parts):
    face.call(**face.good())
    assert complaints(face, part_of(face, parts)) == []


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
def test_arrays_in_other_memory_give_the_same_answer(face):
    good = face.good()
    expected = repr(face.call(**face.good()))
    for name, value in good.items():
        if isinstance(value, np.ndarray):
            for kind, variant in same_arrays(value).items():
                assert repr(face.call(**{**face.good(), name: variant})) == expected, (name, kind)


def test_every_public_callable_is_tried_or_says_why_not():
    tried = {face.name.split(".")[0].split("(")[0] for face in FACES}
    for room in (compressors, collectives, conformance):
        public = {name for name in room.__all__ if callable(getattr(room, name))}
        bare = {name for name in public if parameters(getattr(room, name)) == []}
        assert public - tried - RESULTS - UNTRIED - bare == set()


def parameters(cls):
    """What a class is built from; None of what is no dataclass."""
    return [entry.name for entry in fields(cls)] if isinstance(cls, type) and is_dataclass(cls) else None


def careless(count, flag=False):
    return np.zeros(int(count)) / (1 if flag else 2)


def careful(count: int) -> list:
    if isinstance(count, bool) or not isinstance(count, int | np.integer):
        raise TypeError(f"count must be an integer, got {count!r}")
    if not 0 <= count <= 100:
        raise ValueError(f"count must be in [0, 100], got {count}")
    return [0.0] * int(count)


def found(call, **good):
    face = HostileFace(call.__name__, call, lambda: dict(good))
    return {case: outcome(face, *case) for case in face.cases()}


def test_the_battery_hears_what_is_wrong():
    answers = found(careless, count=2)
    assert "does not name" not in answers["count", "2**31"]
    assert answers["count", "2**31"].startswith("MemoryError")
    assert answers["count", "inf"].startswith("OverflowError")
    assert answers["count", "None"].startswith("names no parameter")
    assert answers["flag", "array"].startswith("names no parameter")
    assert not any(found(careful, count=2).values())
    assert unclear(["count"], ValueError("count is wrong")).startswith("states no rule")
    assert unclear(["count"], ValueError("count must be even")).startswith("does not say what it got")


def infinite(x: float) -> float:
    return x * 2


def test_the_battery_hears_results_that_are_not_finite_and_masks_that_are_dropped():
    answers = found(infinite, x=1.0)
    assert answers["x", "NaN"] == "a result that is not finite"
    assert answers["x", "'x'"] == "taken for float"
    total = found(np.sum, a=np.ones(3))
    assert total["a", "masked, shaped"] == "taken for an array without masks"
    assert "complex, shaped" in arrays_like(np.ones(3))
