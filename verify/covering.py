"""The greedy choice of covertable's covering arrays, compiled: the same rows as the library makes in Python."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from covertable import Controller
from covertable.criteria import greedy
from numba import config, njit

from commbounds.array_types import Array

_Combination = tuple[int, ...]
_FEW = 250
"""Combinations from which the library chooses sooner than code is compiled; it always does where none is compiled."""

_LAST = 1 << 40
"""More than the rows of any array."""


def covering_array(
    values: dict[str, list[int]], last: Mapping[str, Collection[int]], **options: Any
) -> list[dict[str, int]]:
    """Rows among which is every pair of values, or more, as `covertable.make` chooses them.

    Parameters
    ----------
    values : dict of str to list of int
        Axes, and their values: 0, 1, and so on.
    last : mapping of str to collection of int
        Values of every axis. Where any value of an axis would do, the library takes the first that fits; here a row has
        the one that came least often so far, and one of these only where no other fits.
    options
        As of `covertable.make`.
    """
    return list(_Even(last, values, criterion=Greedy(), **options).make_async())


class _Even(Controller):  # type: ignore[misc]  # the library says no types
    """The library's search, with rows that are filled up with the values that came least often.

    What the constraints say of values of the axes that they ask for is worked out once.
    """

    def __init__(self, last: Mapping[str, Collection[int]], values: dict[str, list[int]], **options: Any) -> None:
        self._known: dict[Any, bool] = {}
        super().__init__(values, **options)
        self._taken = Counter({serials[place]: _LAST for axis, serials in self.serials.items() for place in last[axis]})

    def _asked(self, values: dict[str, int]) -> tuple[Any, ...]:
        return frozenset(self._passed_indexes), *[values.get(axis) for axis in self._constraints_by_key]

    def _storable_check(self, candidate: Any, row: Any = None) -> bool:
        asked = self._asked({**(self.row if row is None else row), **dict(candidate)})
        if asked not in self._known:
            self._known[asked] = super()._storable_check(candidate, row)
        return self._known[asked]

    def _forward_check(self, snapshot: dict[str, int]) -> bool:
        asked = "further", *self._asked(snapshot)
        if asked not in self._known:
            self._known[asked] = super()._forward_check(snapshot)
        return self._known[asked]

    def _order_by_weight(self, key: str, serials: list[int]) -> list[int]:
        return sorted(serials, key=self._taken.__getitem__)

    def _record_completions(self, row: Any, greedy_keys: Any) -> None:
        super()._record_completions(row, greedy_keys)
        self._taken.update(row.values())


class Greedy:
    """The criterion of one call of `covertable.make`: which combination of values a row gets next.

    That is the first one that completes enough missing combinations, else the one that completes most. Enough is more
    than the axes that it sets times the axes that are set already.
    """

    def __init__(self) -> None:
        self._tables: _Tables | None = None

    def extract(self, controller: Any) -> Iterator[_Combination]:
        """Yield combinations for the controller's present row, until that has a value of every axis."""
        if config.DISABLE_JIT or (self._tables is None and len(controller.incomplete) < _FEW):
            yield from greedy.extract(controller)
            return
        tables = self._tables = self._tables or _Tables(controller)
        left = tables.missing(controller.incomplete)
        row = np.full(len(controller.serials), -1)
        while not controller.is_filled():
            for value in controller.row.values():
                row[tables.axis[value]] = value
            for combination in controller.row.invalid_pairs & tables.places.keys():
                left[tables.places[combination]] = False
            chosen = _chosen(left, row, *tables.arrays)
            if chosen < 0:
                return
            combination = tables.combinations[chosen]
            if controller.storable(controller.get_candidate(combination)) is None:
                left[chosen] = False  # a constraint forbids it
            else:
                yield combination


class _Tables:
    """The combinations that have to be covered, by number.

    The library numbers the values of all axes in one sequence. A combination has a code: the values of its axes in
    mixed radix, behind the codes of the combinations of other axes.
    """

    def __init__(self, controller: Any) -> None:
        values = list(controller.serials.values())
        self.axis = np.repeat(np.arange(len(values)), [len(own) for own in values])
        self.combinations: list[_Combination] = list(controller.incomplete)
        axes = [tuple(self.axis[list(combination)].tolist()) for combination in self.combinations]
        models = {model: number for number, model in enumerate(dict.fromkeys(axes))}
        width = max(map(len, models), default=0)
        self._models, strides = (np.full((len(models), width), fill) for fill in (-1, 0))
        offsets, size = np.zeros(len(models), np.int64), 0
        for model, number in models.items():
            offsets[number], stride = size, 1
            for place, axis in enumerate(model):
                self._models[number, place], strides[number, place] = axis, stride
                offsets[number] -= stride * values[axis][0]
                stride *= len(values[axis])
            size += stride
        self._strides, self._offsets = strides, offsets
        self._values = np.full((len(axes), width), -1)
        for row, combination in zip(self._values, self.combinations, strict=True):
            row[: len(combination)] = combination
        own = np.array([models[model] for model in axes], np.int64)
        self._codes = (np.maximum(self._values, 0) * strides[own]).sum(axis=1) + offsets[own]
        self._missing = np.zeros(size, np.bool_)

    @cached_property
    def places(self) -> dict[_Combination, int]:
        """Which combination is where."""
        return {combination: place for place, combination in enumerate(self.combinations)}

    def missing(self, incomplete: dict[_Combination, Any]) -> Array:
        """Which combinations are missing still."""
        left = np.zeros(len(self.combinations), np.bool_)
        left[np.fromiter(map(self.places.__getitem__, incomplete), np.int64, len(incomplete))] = True
        self._missing[:] = False
        self._missing[self._codes[left]] = True
        return left

    @property
    def arrays(self) -> tuple[Array, ...]:
        """What `_chosen` takes besides the row."""
        return self._values, self.axis, self._models, self._strides, self._offsets, self._missing


@njit(cache=True)
def _chosen(left, row, values, axis, models, strides, offsets, missing):  # type: ignore[no-untyped-def]
    """The place of the combination that the row gets next; -1 where none that is left fits."""
    width = models.shape[1]
    filled = 0
    for value in row:
        filled += value >= 0
    found, most = -1, -1
    both = row.copy()
    for number in range(len(values)):
        if not left[number]:
            continue
        new, fits = 0, True
        for place in range(width):
            value = values[number, place]
            if value >= 0:
                held = row[axis[value]]
                new += held < 0
                fits = fits and (held < 0 or held == value)
        if not fits or new == 0:
            continue
        both[:] = row
        for place in range(width):
            if values[number, place] >= 0:
                both[axis[values[number, place]]] = values[number, place]
        gained = 0
        for model in range(len(models)):
            code, whole, further = offsets[model], True, False
            for place in range(width):
                if models[model, place] >= 0:
                    value = both[models[model, place]]
                    whole = whole and value >= 0
                    further = further or row[models[model, place]] < 0
                    code += strides[model, place] * value
            if whole and further:
                gained += missing[code]
        if gained > filled * new:
            return number
        if gained > most:
            found, most = number, gained
    return found
