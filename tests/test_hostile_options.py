"""No option of anything registered takes a value of another kind, and what refuses one says which and why.

What an option is, the rows of its definition show: a flag, a word, a count or a real number.
"""

from fractions import Fraction
from numbers import Integral

import numpy as np
import pytest
from hostile_calls import unclear

from commbounds.collectives import COLLECTIVES
from commbounds.compressors import COMPRESSORS, MECHANISMS
from commbounds.verify.definition_study import DefinitionStudy
from commbounds.verify.experiments import EXPERIMENTS

REGISTERED = {**COMPRESSORS, **MECHANISMS, **COLLECTIVES}
DEFINITIONS = [name for name, study in EXPERIMENTS.items() if isinstance(study, DefinitionStudy)]
ROWS = 40
OF_THE_CASE = {
    # what the definition's run reads, and gives to nothing by this name
    ("moshpit.moshpit", "d"),
    ("packetloss.lossy_training", "rate"),
    ("packetloss.lossy_training", "watched"),
    ("packetloss.lossy_training", "gradient"),
    ("moshpit.moshpit_sgd", "gradient"),
    ("dropcompute.drop_trials", "first"),
    ("dropcompute.drop_trials", "trials"),
    ("dropcompute.random_batch_sgd", "gradient"),
    ("arctopk.arctopk_allreduce", "allreduce"),
}


def hostile(values):
    """Values of other kinds than all of these; none for what is none of the four."""
    if all(isinstance(v, bool | np.bool_) for v in values):
        return "x", 2, None
    if all(isinstance(v, str) for v in values):
        return "no such word", b"x", 3
    if any(isinstance(v, bool) for v in values):
        return ()
    if all(isinstance(v, Integral) for v in values):
        return -(2**70), 1.5, True, float("nan"), "x"
    if all(isinstance(v, Integral | float | Fraction | np.floating) for v in values):
        return float("nan"), "x", True, 1j
    return ()


def options(definition):
    """Option -> a row of the space that gives it, and values of other kinds."""
    rows, found = definition.space.covering()[:ROWS], {}
    for row in rows:
        for name, value in definition.space.make(**row).parameters.items():
            found.setdefault(name, (row, []))[1].append(value)
    return {name: (row, hostile(values)) for name, (row, values) in found.items()}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_an_option_of_another_kind_is_refused_clearly(name):
    study = EXPERIMENTS[name]
    definition, subject, complaints = study.definition, REGISTERED[study.subject], []
    for option, (row, values) in options(definition).items():
        if (name.removesuffix(".definition"), option) in OF_THE_CASE:
            continue
        for value in values:
            given = definition._streamed(definition.space.make(**row).changed(option, value))
            try:
                definition.run(subject, given)
            except Exception as error:
                why = unclear([option, "format"], error)  # of a wire or an accumulator
            else:
                why = "is taken"
            if why:
                complaints.append(f"{option}={value!r}: {why}")
    assert complaints == []
