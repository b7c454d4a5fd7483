"""`Blind`: an implementation that is right but under a narrow condition; and what those share."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from commbounds.collectives import COLLECTIVES, Traffic
from commbounds.compressors import COMPRESSORS, MECHANISMS

A = np.asarray


@dataclass(frozen=True)
class Blind:
    """A stand-in for an implementation, and when it gives another answer, in words."""

    subject: str
    words: str
    implementation: Any


BLIND: list[Blind] = []
"""All of them."""


def right(name):
    """The implementation of that name."""
    return next(registry[name] for registry in (COMPRESSORS, MECHANISMS, COLLECTIVES) if name in registry)


def again(name, a, **changes):
    """What the implementation returns for these arguments, some of which are changed."""
    return right(name)(**{**a, **changes})


def stand_in(subject):
    """Lists a class or a function as a stand-in."""

    def keep(twin):
        BLIND.append(Blind(subject, twin.__doc__.split("\n")[0], twin))
        return twin

    return keep


def altered(subject):
    """Makes a stand-in of a generator (arguments, what was returned), whose first value is another answer, if any."""

    def keep(change):
        original = right(subject)
        signature = inspect.signature(original)

        def twin(*given, **options):
            found = original(*given, **options)
            bound = signature.bind(*given, **options)
            bound.apply_defaults()
            changed = next(change(bound.arguments, found), None)
            return found if changed is None else changed

        BLIND.append(Blind(subject, change.__doc__, twin))
        return change

    return keep


def put(array, where, value):
    """The array with another value there."""
    array = np.array(array)
    array[where] = value
    return array


def add(array, where, value=1):
    """The array with so much more there."""
    array = np.array(array)
    array[where] += value
    return array


def moved(t, rank=0, sent=0, received=0, messages=0, steps=0, path=0, phase=None):
    """The traffic with so much more, of a phase or as a whole."""
    if phase is not None:
        more = moved(t.phases[phase], rank, sent, received, messages, steps, path)
        return Traffic.of_phases({**t.phases, phase: more})
    counts = (add(t.sent, rank, sent), add(t.received, rank, received), add(t.messages, rank, messages))
    return Traffic(*counts, t.steps + steps, t.critical_path + path, dict(t.phases))
