"""`Measurements`: all values that a claim met, with its bound's symbols, and what can be asked of them together."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Floats
from commbounds.theory import Claim, Standing
from commbounds.theory.mutation import formula_mutants, regimes
from commbounds.verify.experiment import decimal
from commbounds.verify.points import ValuesAt

_ROUNDING = 1e-9
"""Relative difference of two exact numbers that their float64 forms are trusted to tell."""
_LISTED = 12


class Scope:
    """Which values every setting, and every symbol that counts something, took."""

    def __init__(self) -> None:
        self._seen: dict[str, set[Any]] = {}

    def add(self, named: Mapping[str, Any]) -> None:
        """One case more."""
        for name, value in named.items():
            if isinstance(value, int | str | np.integer):
                self._seen.setdefault(name, set()).add(int(value) if isinstance(value, np.integer) else value)

    def words(self) -> dict[str, str]:
        """``{"P": "1, 2, 3, 5, 8", "n": "1 to 33"}``: up to 12 values one by one, else from which to which."""
        return {name: _listed(values) for name, values in sorted(self._seen.items())}


def _listed(values: set[Any]) -> str:
    numbers = sorted(v for v in values if not isinstance(v, str))
    words = sorted(v for v in values if isinstance(v, str))
    if len(values) <= _LISTED:
        return ", ".join(map(str, [*numbers, *words]))
    return f"{numbers[0]} to {numbers[-1]}" if not words else f"{len(values)} kinds"


@dataclass(frozen=True)
class Pinned:
    """How precisely the measured values pin the formula down.

    Parameters
    ----------
    mutants : int
        Formula mutants that ask for more than the claim does, somewhere among the measured cases.
    untested : tuple of str
        Those that no case refutes, by name.
    allowance : tuple of str
        Those of them that stay true by the stated tightness: they are nowhere below that share of the bound.
    """

    mutants: int
    untested: tuple[str, ...]
    allowance: tuple[str, ...] = ()


class Measurements:
    """What a claim's cases measured, one entry for every set of values of the bound's symbols.

    Parameters
    ----------
    claim : Claim
        Whose bound it is.
    """

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._sign = -1.0 if isinstance(claim.relation, sp.Ge) else 1.0
        self._kept: dict[tuple[float, ...], tuple[float, float]] = {}
        self._counts: Counter[tuple[float, ...]] = Counter()
        self._heard: dict[tuple[float, ...], float] = {}
        self.left_out: Counter[str] = Counter()
        """Cases that each hypothesis kept out."""
        self.unmeasured: Counter[str] = Counter()
        """Admissible cases that could not be measured, by reason."""

    def add(self, measured: Any, values: Mapping[str, Any], slack: float) -> None:
        """A case that keeps the relation: of those at one point the hardest for the bound stays."""
        key, value = self._key(values), decimal(measured)
        known = self._kept.get(key)
        if known is None or self._sign * (value - known[0]) - (slack - known[1]) > 0.0:
            self._kept[key] = value, slack
        self._counts[key] += 1

    def heard(self, values: Mapping[str, Any], detects: float) -> None:
        """A stream whose mean is the bound, tested so that a relative difference of `detects` would have been seen."""
        key = self._key(values)
        self._heard[key] = min(detects, self._heard.get(key, np.inf))

    def _key(self, values: Mapping[str, Any]) -> tuple[float, ...]:
        return tuple(decimal(values[name]) for name in self._claim.parameters)

    def _at(self, keys: Iterable[tuple[float, ...]]) -> ValuesAt:
        listed = list(keys)
        columns = np.array(listed, np.float64).reshape(len(listed), len(self._claim.parameters))
        return ValuesAt({name: columns[:, i] for i, name in enumerate(self._claim.parameters)})

    @cached_property
    def _points(self) -> ValuesAt:
        return self._at(self._kept)

    def regimes(self) -> dict[str, int]:
        """How many cases were in each regime of the bound; empty where it has but one."""
        listed = regimes(self._claim.relation.rhs)
        if not listed or not self._kept:
            return {regime.name: 0 for regime in listed}
        counts = np.array([self._counts[key] for key in self._kept])
        return {regime.name: int(counts[self._points.entered(regime)].sum()) for regime in listed}

    def pinned(self) -> Pinned:
        """The formula mutants against all that was measured."""
        if self._claim.stands is not Standing.HOLDS or not (self._kept or self._heard):
            return Pinned(0, ())
        with np.errstate(all="ignore"):  # bounds may be infinite, and mutants have no value at some points
            return self._pinned_by_cases() if self._kept else self._pinned_by_streams()

    def _pinned_by_cases(self) -> Pinned:
        claim = self._claim
        pairs = np.array(list(self._kept.values()), np.float64)
        measured, slack = pairs[:, 0], pairs[:, 1]
        bound = self._points(claim.relation.rhs)
        sharp = None if claim.tightness is None else self._points(claim.tightness) ** self._sign * bound
        digits = 1e-12 * np.maximum(np.abs(bound), self._points.size(claim.relation.rhs))
        mutants, untested, allowance = 0, [], []
        for mutant in formula_mutants(claim.relation.rhs):
            changed = self._points(mutant.bound)
            changed = np.where(np.isfinite(changed), changed, np.nan)  # it asks for nothing there
            differs = np.isfinite(changed) & (np.abs(changed - bound) > digits)
            if not np.isfinite(changed).any():
                continue  # has no value anywhere
            if isinstance(claim.relation, sp.Eq):
                refuted = np.abs(measured - changed) > slack + _allowance(measured, changed)
            else:
                stronger = differs & (self._sign * (bound - changed) > 0.0)
                if differs.any() and not stronger.any():
                    continue  # asks for less wherever it asks for something else
                refuted = stronger & (self._sign * (measured - changed) > slack + _allowance(measured, changed))
            mutants += 1
            if not (refuted & differs).any():
                untested.append(mutant.name)
                if sharp is not None and differs.any() and (self._sign * (sharp - changed) <= digits)[differs].all():
                    allowance.append(mutant.name)
        return Pinned(mutants, tuple(untested), tuple(allowance))

    def _pinned_by_streams(self) -> Pinned:
        """The same where draws alone were seen."""
        points, detects = self._at(self._heard), np.array(list(self._heard.values()))
        bound, mutants, untested = points(self._claim.relation.rhs), 0, []
        for mutant in formula_mutants(self._claim.relation.rhs):
            changed = points(mutant.bound)
            if not np.isfinite(changed).any():
                continue  # has no value anywhere
            mutants += 1
            if not (np.isfinite(changed) & (np.abs(changed - bound) > detects * np.abs(bound))).any():
                untested.append(mutant.name)
        return Pinned(mutants, tuple(untested))


def _allowance(measured: Floats, bound: Any) -> Floats:
    with np.errstate(invalid="ignore"):
        allowance: Floats = _ROUNDING * np.maximum(np.abs(measured), np.abs(bound))
        return allowance
