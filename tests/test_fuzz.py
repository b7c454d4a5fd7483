"""Public functions called with whatever their signatures allow: they answer, or refuse by TypeError or ValueError."""

import inspect
import pkgutil
import re
import warnings
from collections import Counter
from enum import Enum
from importlib import import_module

import hypothesis.strategies as st
import numpy as np
import pytest
from hostile_calls import _bounded
from hypothesis import HealthCheck, given, seed, settings

from commbounds import collectives, compressors, theory
from commbounds.verify import conformance

LEFT_OUT = {
    # load and run what is named, or judge for seconds: their refusals have tests of their own
    *(
        "check",
        "conforms",
        "executable",
        "isolated",
        "loaded",
        "mpi_allreduce",
        "on_torch",
        "recheck",
        "torch_ddp_hook",
    ),
    # abstract, or what calls return: nobody builds them to hand them in
    *("Compressor", "Feedback", "LatencyLaw", "Law"),
    # what programs of ranks are made of: collectives hand in what they have checked
    *("Collective", "MpiWorld", "in_one_process", "packets"),
}
NAMED = ("book_bound", "bound", "claim", "claims")
"""A KeyError for what is not in the book is documented."""
NUMBERS = st.one_of(
    st.integers(-3, 9),
    st.sampled_from([2**31, 2**63, 2**64, 10**400, -(10**400)]),
    st.floats(),
    st.fractions(max_denominator=9),
    st.sampled_from([np.int64(3), np.float32(0.5), np.uint8(2), np.bool_(True)]),
)
ENTRIES = st.one_of(st.floats(width=32), st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, 1.0, 2.0]))
ARRAYS = st.one_of(
    st.lists(ENTRIES, max_size=9).map(np.array),
    st.builds(
        lambda shape, value, kind: np.full(shape, value).astype(kind),
        st.lists(st.integers(0, 4), max_size=3),
        st.sampled_from([0.0, 1.0, -2.5]),
        st.sampled_from(["float32", "float64", "int64", "float16", "bool", "complex128", "U3", "object"]),
    ),
    st.builds(
        lambda P, n, seed: np.random.default_rng(seed).normal(size=(P, n)),
        st.integers(1, 5),
        st.integers(1, 9),
        st.integers(0, 9),
    ),
)
ODD = st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.binary(max_size=3), st.builds(object), st.just({}))
COMPRESSORS = st.sampled_from([compressors.TopK(1), compressors.Sign(), compressors.QSGD(2)])


def strategy(annotation):
    """Values for a parameter: mostly of what its annotation names, sometimes of anything."""
    words = re.findall(r"\w+", str(annotation))
    fitting = [st.booleans()] if "bool" in words else []
    fitting += [NUMBERS] if {"int", "float", "Fraction", "Exact"} & {*words} else []
    fitting += [ARRAYS] if {"ArrayLike", "Array", "NDArray", "Sequence", "Stack", "Vector"} & {*words} else []
    fitting += [st.text(max_size=3)] if "str" in words else []
    fitting += [st.builds(np.random.default_rng, st.integers(0, 9))] if "Generator" in words else []
    fitting += [COMPRESSORS] if "Compressor" in words else []
    anything = st.one_of(NUMBERS, ARRAYS, ODD, COMPRESSORS)
    return st.one_of(*fitting, *fitting, anything) if fitting else anything


def public():
    """Functions and classes that the rooms and their columns export, by name."""
    found = {}
    for room in (compressors, collectives):
        modules = [
            room,
            *(import_module(f"{room.__name__}.{m.name}") for m in pkgutil.iter_modules(room.__path__) if m.ispkg),
        ]
        for module in modules:
            for name in getattr(module, "__all__", ()):
                found[name] = getattr(module, name)
    found |= {name: getattr(room, name) for room in (conformance, theory) for name in room.__all__}
    callables = {}
    for name, value in found.items():
        if not (inspect.isfunction(value) or inspect.isclass(value)) or name in LEFT_OUT or inspect.isabstract(value):
            continue
        if inspect.isclass(value) and issubclass(value, Enum):
            continue  # calls of these are Python's
        parameters = inspect.signature(value).parameters.values()
        if parameters and all(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            callables[name] = value
    return callables


PUBLIC = public()


def arguments(call):
    """Keyword arguments of a call; those with defaults are there half of the time."""
    required, optional = {}, {}
    for parameter in inspect.signature(call).parameters.values():
        (required if parameter.default is parameter.empty else optional)[parameter.name] = strategy(
            parameter.annotation
        )
    return st.fixed_dictionaries(required, optional=optional)


def wrong(name, given_to_it):
    """What is wrong with the way in which a call ends; '' where nothing is."""
    try:
        with warnings.catch_warnings(), _bounded():
            warnings.simplefilter("error")
            PUBLIC[name](**given_to_it)
    except (TypeError, ValueError) as error:
        return f"{len(str(error))} characters" if len(str(error)) > 2000 or not str(error) else ""
    except Exception as error:
        if isinstance(error, KeyError) and name in NAMED:
            return ""
        return f"{type(error).__name__}: {str(error)[:80]}"
    return ""


def tried(name, examples, number, tell):
    """Call the function so many times."""

    @seed(number)
    @settings(max_examples=examples, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(arguments(PUBLIC[name]))
    def call(given_to_it):
        tell(wrong(name, given_to_it))

    call()


def complaints(examples, number):
    """What is wrong with so many calls of every function, with how often, and the number of calls."""
    found, calls = Counter(), []
    for name in PUBLIC:

        def tell(why, name=name):
            calls.append(name)
            if why:
                found[f"{name}: {why}"] += 1

        tried(name, examples, number, tell)
    return found, len(calls)


def test_calls_answer_or_refuse():
    found, calls = complaints(2, 1)
    assert calls > 300
    assert not found, found


@pytest.mark.long
def test_a_hundred_thousand_calls_answer_or_refuse(record_property):
    found, calls = complaints(100_000 // len(PUBLIC) + 1, 2)
    record_property("tried", calls)
    record_property("lost", sum(found.values()))
    assert calls >= 90_000
    assert sum(found.values()) * 1000 < calls, found
