"""Ranks with callers of their own: they do what they do with one caller, and refuse what is not alike or was altered.

Definitions run a collective with one caller. What ranks look at only where each has its own is tried here.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import islice, product
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.ranks.communicator import Parcel
from commbounds.collectives.ranks.lockstep import LockstepWorld
from commbounds.collectives.ranks.one_program import Collective
from commbounds.verify.definition import Definition, Given
from commbounds.verify.differences import Said, differences
from commbounds.verify.space import SEED, Settings
from commbounds.verify.watched_ranks import CarriedOut, OwnCallers


class _CalledWith(Exception):
    """What an implementation is called with."""


def call_of(definition: Definition, given: Given) -> Mapping[str, Any]:
    """What the definition calls an implementation with, by name; of several calls the first."""

    def record(*stack: Any, **settings: Any) -> Any:
        raise _CalledWith(settings)

    try:
        definition.run(record, given)
    except _CalledWith as call:
        settings: Mapping[str, Any] = call.args[0]
        return settings
    return {}


# --- the same on all ranks -------------------------------------------------------------------------------------------


def is_numeric(value: Any) -> bool:
    """Whether it is an array of numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiub"


def alike_lines(definition: Definition, implementation: Any, name: str) -> list[str]:
    """Whether what is not the same on all ranks is refused, saying so: at three numbers of ranks."""
    if not isinstance(implementation, Collective):
        return []
    rows = [(P, given) for P, given in definition.several_ranks if name in _settings(given, P)]
    pairs = islice(_unlike_pairs(definition, implementation, name, rows), 3)
    return [line for pair in pairs if (line := _refused_line(definition, implementation, name, *pair))]


def _refused_line(definition: Definition, implementation: Any, name: str, given: Given, changed: Given) -> str:
    refusal = _refusal(definition, implementation, given, changed)
    if changed is given:
        return f"refuses ranks of which all are given the same {name}: {refusal}"
    if not refusal:
        return f"takes a {name} that is not the same on all ranks"
    return "" if "on all ranks" in refusal else f"{name} is not the same on all ranks, but it says: {refusal}"


def _refusal(definition: Definition, implementation: Any, given: Given, others: Given) -> str:
    """How it is refused that one rank is given something else; empty where it is not."""
    apart = OwnCallers(implementation, (), call_of(definition, others))
    try:
        with np.errstate(all="ignore"):
            definition.run(apart, given)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    except CarriedOut:
        return ""
    raise TypeError("the definition does not call the implementation")


def _unlike_pairs(
    definition: Definition, implementation: Any, name: str, rows: Sequence[tuple[int, Given]]
) -> Iterator[tuple[Given, Given]]:
    """Rows, and what they are with another value of that name, which makes a difference; each for another P.

    Rows that are refused though all ranks are given the same, with themselves.
    """
    met: set[int] = set()

    @cache
    def values() -> dict[str, Any]:
        return {repr(one[name]): one[name] for _, g in rows for one in (g.parameters, g.randomness) if name in one}

    for P, given in rows:
        if P in met:
            continue
        found, refusal = _of_equals(definition, implementation, given)
        if refusal and not any(words in refusal for words in definition.together):
            yield given, given
        if found is None or refusal:
            continue
        value = _settings(given, P)[name]
        others = _others(value, values)
        for other in islice(others, 3) if name in given.randomness else others:  # one seed tells as much as another
            changed = given.changed(name, other)
            otherwise, refusal = _of_equals(definition, implementation, changed)
            if otherwise is None or refusal:
                continue
            if differences(found, otherwise) and _calls_differ(definition, given, changed):
                met.add(P)
                yield given, changed
                break


def _calls_differ(definition: Definition, *both: Given) -> bool:
    """Whether it is the first call that differs, and none of later rounds."""
    return len({repr(_shown(call_of(definition, given))) for given in both}) > 1


def _shown(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call with the states of its generators, which are all that tells them apart."""
    return {
        name: value.bit_generator.state if isinstance(value, np.random.Generator) else value
        for name, value in call.items()
    }


def _settings(given: Given, P: int) -> Mapping[str, Any]:
    """What all ranks are given besides their own: that comes first, and matrices with a row for every rank are it."""
    others = list(given.inputs)[1:]
    arrays = {name: given.inputs[name] for name in others if is_numeric(given.inputs[name])}
    common = {name: array for name, array in arrays.items() if array.ndim < 2 or len(array) != P}
    return {**given.parameters, **common, **given.randomness}


def _others(value: Any, values: Callable[[], Mapping[str, Any]]) -> Iterator[Any]:
    """Other values: of an array the same entries, backwards; of anything else those that other rows have; or half."""
    if isinstance(value, np.ndarray):
        backwards = np.ascontiguousarray(value[..., ::-1])
        found = [] if np.array_equal(backwards, value) else [backwards]
    else:
        own = repr(value)
        found = [other for shown, other in values().items() if shown != own]
    yield from found or ([0.5 * value] if np.asarray(value).dtype.kind == "f" else [])


@lru_cache(maxsize=1 << 10)
def _of_equals(definition: Definition, implementation: Any, given: Given) -> tuple[Said | None, str]:
    """What the implementation says, None where it does not take what is given; how ranks refuse it that all have it."""
    try:
        with np.errstate(all="ignore"):
            found = definition.run(implementation, given)
    except Exception:  # whatever is wrong with it: others are tried
        return None, ""
    return found, _refusal(definition, implementation, given, given)


def common_names(definition: Definition) -> Iterator[str]:
    """What must be the same on all ranks, by name."""
    names = dict.fromkeys(name for P, given in definition.several_ranks for name in _settings(given, P))
    yield from (name for name in names if name not in definition.own)


# --- what they do ----------------------------------------------------------------------------------------------------


def showing(rows: Iterable[Settings], often: int = 2) -> Iterator[Settings]:
    """Those of the rows that have a value of an axis that fewer than `often` rows before them have."""
    met: Counter[tuple[str, str]] = Counter()
    for row in rows:
        values = [(name, repr(value)) for name, value in row.items() if name != SEED]
        if any(met[value] < often for value in values):
            yield row
        met.update(values)


def own_caller_lines(definition: Definition, implementation: Any, given: Given, said: Said) -> list[str]:
    """How ranks with callers of their own differ from the definition; they may refuse what it says that they may."""
    if not isinstance(implementation, Collective) or implementation.result is None:
        return []
    lines = definition.differences(OwnCallers(implementation, definition.own), given, said)
    return [] if any(words in line for line in lines for words in definition.together) else lines


# --- what they do not believe ----------------------------------------------------------------------------------------


_BROUGHT: Mapping[str, Callable[[Array], Array]] = {
    "dtype": lambda part: part.astype(np.float32 if part.dtype == np.float64 else np.float64),
    "length": lambda part: np.concatenate([part, part[..., -1:]], axis=-1),
}
"""What one rank brings, made of its part."""


def _of_another_dtype(array: Array) -> Array:
    return np.zeros(array.shape, np.float64 if array.dtype.kind in "iub" else np.int64)


def _longer(array: Array) -> Array:
    return np.concatenate([array, array[-1:]]) if array.ndim else array


_ALTERATIONS: Mapping[str, Callable[[Array], Array]] = {"dtype": _of_another_dtype, "length": _longer}
"""What of a message is altered on its way, and how."""


def altered_lines(definition: Definition, implementation: Any) -> list[str]:
    """Whether a rank of three to five refuses what has another form, in rows that show the values of all options.

    Rows with fewer entries than ranks are not tried: most of what is sent is empty there.
    """
    if not isinstance(implementation, Collective):
        return []
    tried, met, lines, rows = Counter[tuple[str, str]](), set[tuple[str, str]](), list[str](), 0
    alterations = [what for what in _ALTERATIONS if what not in definition.believed]
    for row in definition.space.covering():
        values = {("any", ""), *((name, repr(row[name])) for name in definition.space.chosen_options)} - met
        if not 2 < row["P"] < 6 or row.get("n", 5) < row["P"] or not any(tried[value] < 3 for value in values):
            continue
        tried.update(values)
        given, heard = definition.space.make(**row), Altering()
        if not _heard(definition, implementation, given, heard) and (places := heard.places(rows % 2)):
            if not rows:
                lines += _brought_lines(definition, implementation, given)
            met, rows = met | values, rows + 1
            lines += [
                _believed(definition, implementation, given, *altered) for altered in product(alterations, places)
            ]
    return [line for line in dict.fromkeys(lines) if line]


Place = tuple[int, int, int]
"""A rank, the step, and the array of the first message that it hears there."""


class Altering:
    """What ranks 0 and 1 hear: all that is sent, but for one array, which `other` gives; see `LockstepWorld`."""

    def __init__(self, place: Place | None = None, other: Callable[[Array], Array] = np.copy) -> None:
        self._place, self._other = place, other
        self._heard: dict[int, list[int]] = {0: [], 1: []}
        self.changed = False
        """Whether an array that is not empty had another dtype or shape."""

    def places(self, first: int) -> list[Place]:
        """Two arrays in each of three steps that a rank hears: rank `first`, or the other one of 0 and 1."""
        for rank in (first, 1 - first):
            steps = enumerate(self._heard[rank][:3])
            if found := [(rank, step, part) for step, arrays in steps for part in range(min(arrays, 2))]:
                return found
        return []

    def __call__(self, rank: int, parcels: dict[int, Parcel]) -> dict[int, Parcel]:
        if rank > 1 or not parcels:
            return parcels
        source, sent = next(iter(parcels.items()))
        arrays, step = list(sent.arrays), len(self._heard[rank])
        self._heard[rank].append(len(arrays) if any(array.size for array in arrays) else 0)
        if self._place is not None and self._place[:2] == (rank, step) and self._place[2] < len(arrays):
            part = self._place[2]
            right, arrays[part] = arrays[part], self._other(arrays[part])
            self.changed = right.size > 0 and (right.dtype, right.shape) != (arrays[part].dtype, arrays[part].shape)
        return {**parcels, source: Parcel(tuple(arrays), sent.words)}


def _believed(definition: Definition, implementation: Any, given: Given, what: str, place: Place) -> str:
    altering = Altering(place, _ALTERATIONS[what])
    refusal = _heard(definition, implementation, given, altering)
    where = f"array {place[2]} in step {place[1] + 1} of another {what}"
    if not altering.changed or re.search(r"rank \d must send|the message must|sent must have shape", refusal):
        return ""
    return f"of {where} it says: {refusal}" if refusal else f"believes {where}"


def _heard(definition: Definition, implementation: Any, given: Given, altering: Altering) -> str:
    """What ranks say that hear something else; empty where all carry it out."""
    return _refusal_of(definition, OwnCallers(implementation, world=LockstepWorld(arriving=altering)), given)


def _floats(change: Callable[[Array], Array], part: Any) -> Array:
    """What is made of a part; a TypeError for one that holds no floats, of which nothing is asked."""
    if isinstance(part, np.ndarray) and part.dtype.kind == "f" and part.ndim:
        return change(part)
    raise TypeError("no floats")


def _brought_lines(definition: Definition, implementation: Any, given: Given) -> list[str]:
    """Whether it is refused that one rank brings floats of another dtype, or more of them."""
    lines = []
    for what, change in _BROUGHT.items():
        if what in definition.believed:
            continue
        refusal = _refusal_of(definition, OwnCallers(implementation, brought=partial(_floats, change)), given)
        if not refusal.startswith(("TypeError", "ValueError")):
            lines.append(f"of what one rank brings of another {what} it says: {refusal or 'nothing'}")
    return lines


def _refusal_of(definition: Definition, implementation: Any, given: Given) -> str:
    """What is said where something is not as it should be; empty where all ranks carry it out."""
    try:
        with np.errstate(all="ignore"):
            definition.run(implementation, given)
    except CarriedOut:
        return ""
    except Exception as error:  # whatever it is, it is shown
        return f"{type(error).__name__}: {error}"
    return ""
