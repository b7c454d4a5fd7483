"""Bytes on the critical path of all-reduces that send in one number format and add in another."""

from dataclasses import replace
from typing import Any

from commbounds.theory.cost import Schedule, critical_words
from commbounds.theory.precision.roundings import schedule_of
from commbounds.theory.precision.terms import sum_bytes, wire_bytes


def critical_bytes(schedule: str) -> Any:
    """Sum of the schedule's words, each as long as the format that it is sent in.

    Parameters
    ----------
    schedule : str
        As in `roundings`; not "any".

    Notes
    -----
    What is added where it arrives counts `sum_bytes` a word, and what is copied `wire_bytes`.
    """
    found = schedule_of(schedule)
    summed = tuple(phase for phase in found.phases if phase.reduced != 0)
    copied = tuple(phase for phase in found.phases if phase.reduced == 0)
    return sum_bytes * _words(found, summed) + wire_bytes * _words(found, copied)


def _words(schedule: Schedule, phases: tuple[Any, ...]) -> Any:
    return critical_words(replace(schedule, phases=phases))
