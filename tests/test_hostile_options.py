"""Nothing registered takes an option or an array of another kind, and what refuses one says which and why.

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
    ("moshpit", "d"),
    ("lossy_training", "rate"),
    ("lossy_training", "watched"),
    ("lossy_training", "gradient"),
    ("moshpit_sgd", "gradient"),
    ("drop_trials", "first"),
    ("drop_trials", "trials"),
    ("random_batch_sgd", "gradient"),
    ("arctopk_allreduce", "allreduce"),
}

SAID_OF = {
    # a first gradient is one
    **{(name, "start"): ("gradient",) for name in ("plain", "ef14", "ef21", "ef21m", "econtrol")},
}
"""What an error says of an array in place of its name."""
TAKEN = {
    # counters that overflowed: an estimate may be infinite, and is refused where it would be NaN
    *(("sketch_estimates", "table", kind) for kind in ("inf", "-inf")),
    *(("unsketch", "table", kind) for kind in ("inf", "-inf")),
    # of the uniforms of a whole vector an owner uses those of its part
    ("twostep_quantised_allreduce", "uniforms", "nan"),
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


def arrays(definition):
    """Name -> a row of the space that gives such an array, of at least three entries, and whether it is drawn."""
    found = {}
    for row in definition.space.covering()[:ROWS]:
        given = definition.space.make(**row)
        for drawn, named in enumerate((given.inputs, given.randomness)):
            for name, value in named.items():
                if isinstance(value, np.ndarray) and value.size > 2:
                    found.setdefault(name, (row, bool(drawn)))
    return found


def spoiled(array, drawn):
    """Kind -> an array that is nearly this one."""
    kinds = {"complex": array + 1j, "strings": array.astype(str), "objects": np.full(array.shape, None)}
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf, -np.inf):
            kinds[f"{value}"] = np.concatenate([[value], array.ravel()[1:]]).astype(array.dtype).reshape(array.shape)
    if drawn and array.ndim:
        kinds |= {"one entry less": array[..., :-1], "one axis more": array[None]}
    return kinds


def complaint(study, row, name, value, also=()):
    """Why a case with another value of that name is not refused clearly; '' where it is."""
    definition = study.definition
    given = definition._streamed(definition.space.make(**row).changed(name, value))
    try:
        definition.run(REGISTERED[study.subject], given)
    except Exception as error:
        return unclear([name, *also], error)
    return "is taken"


@pytest.mark.parametrize("name", DEFINITIONS)
def test_an_option_of_another_kind_is_refused_clearly(name):
    study, complaints = EXPERIMENTS[name], {}
    for option, (row, values) in options(study.definition).items():
        if (name.split(".")[1], option) not in OF_THE_CASE:
            for value in values:  # of a wire or an accumulator "the format" is said
                complaints[f"{option}={value!r}"] = complaint(study, row, option, value, ["format"])
    assert {what: why for what, why in complaints.items() if why} == {}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_an_array_of_another_kind_is_refused_clearly(name):
    study, complaints = EXPERIMENTS[name], {}
    for array, (row, drawn) in arrays(study.definition).items():
        subject = name.split(".")[1]
        also = [*options(study.definition), *SAID_OF.get((subject, array), ())]
        made = study.definition.space.make(**row)
        for kind, value in spoiled({**made.inputs, **made.randomness}[array], drawn).items():
            if (subject, array, kind) not in TAKEN:
                complaints[f"{array}, {kind}"] = complaint(study, row, array, value, also)
    assert {what: why for what, why in complaints.items() if why} == {}
