"""One iteration of Ok-Topk as a case: how it is set up, and what is measured on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import Traffic
from commbounds.collectives.oktopk.state import OkTopkState
from commbounds.theory import Claim, claims
from commbounds.verify.study import Case, Outcome

DATA = ("split", "balance", "allgather")
"""The phases that the published volume is about."""
_OPTIONS = ("boundaries", "balance", "allgather", "threshold", "rotation")


def even_cuts(P: int, n: int) -> tuple[int, ...]:
    """Boundaries of P regions of n/P entries, the first ones longer by one where P does not divide n."""
    long = n % P
    return tuple(j * (n // P) + min(j, long) for j in range(P + 1))


@dataclass(frozen=True)
class OkTopkRun:
    """What the collective returned for a case."""

    case: Case
    x: Array
    P: int
    n: int
    k: int
    result: Any
    state: Any
    traffic: Traffic
    _sums: dict[tuple[str, ...], Traffic] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, implementation: Any, case: Case) -> OkTopkRun:
        """Run it: with fresh boundaries and thresholds, or in an iteration that keeps the boundaries of the case.

        Small runs are remembered: many claims are about the same ones.
        """
        assert case.x is not None
        if case.x.size > _REMEMBERED_SIZE:
            return _made(implementation, case)
        settings = tuple(item for item in case.settings.items() if item[0] not in ("family", "seed", "rows"))
        key = _Key(settings, case.x.tobytes(), case.x.dtype.char, case)
        return _remembered(implementation, key)

    def option(self, name: str, default: Any = None) -> Any:
        """An option of the case."""
        return self.case.settings.get(name, default)

    @cached_property
    def selected(self) -> list[Array]:
        """Every rank's selected entries, from the vectors and the thresholds in force."""
        strict = self.option("threshold") == "strict"
        size = np.abs(self.x.astype(np.float64))
        limits = np.asarray(self.state.local_thresholds, dtype=np.float64)
        found = []
        for p in range(self.P):
            passes = size[p] > limits[p] if strict else (size[p] >= limits[p]) & (size[p] != 0)
            found.append(np.flatnonzero(passes))
        return found

    @cached_property
    def region_counts(self) -> Array:
        """(P, P) selected entries of every rank in every region, from vectors, thresholds and boundaries."""
        cuts = np.asarray(self.state.boundaries)
        return np.array([np.diff(np.searchsorted(s, cuts)) for s in self.selected], dtype=np.int64)

    @property
    def inbound(self) -> Array:
        """(P,) entries of other ranks in every region."""
        entries: Array = self.region_counts.sum(axis=0) - np.diag(self.region_counts)
        return entries

    @property
    def outbound(self) -> Array:
        """(P,) entries of every rank in other regions."""
        entries: Array = self.region_counts.sum(axis=1) - np.diag(self.region_counts)
        return entries

    @cached_property
    def winners(self) -> Array:
        """(P,) entries of the result in every region."""
        kept = np.flatnonzero(self.result.update)
        return np.diff(np.searchsorted(kept, np.asarray(self.state.boundaries)))

    @cached_property
    def values(self) -> dict[str, Any]:
        """The values of the bounds' symbols, and what else hypotheses ask of a run."""
        return {
            "P": self.P, "n": self.n, "k": self.k, "winners": int(self.winners.sum()),
            "selected": max(map(len, self.selected)), "inbound": int(self.inbound.max()),
            "union": int(np.sum(self.result.nonzero_sums)), "region_counts": self.region_counts,
            "region_winners": self.winners,
        }  # fmt: skip

    def counted(self, claim: Claim) -> Traffic:
        """The part of the traffic that the claim is about."""
        names = next((_COUNTED[h.name] for h in claim.assumes if h.name in _COUNTED), ())
        if names not in self._sums:
            self._sums[names] = self.traffic.only(*names)
        return self._sums[names]


def _made(implementation: Any, case: Case) -> OkTopkRun:
    settings, x = case.settings, case.x
    assert x is not None
    (P, n), k, cuts = x.shape, settings["k"], settings["cuts"]
    options = {name: settings[name] for name in _OPTIONS if name in settings}
    state = None
    if cuts != "fresh":
        at = np.array(even_cuts(P, n) if cuts == "even" else cuts, dtype=np.int64)
        given = settings.get("thresholds")
        local, shared = (np.zeros(P), 0.0) if given is None else (np.full(P, given[0]), given[1])
        # thresholds are found anew every 32 iterations, boundaries every 64
        t = 32 if given is None else 1
        state = OkTopkState(t=t, k=k, local_thresholds=local, global_threshold=shared, boundaries=at)
    result, after, traffic = implementation(x, k, state, **options)
    return OkTopkRun(case, x, P, n, k, result, after, traffic)


_REMEMBERED_SIZE = 1 << 13
"""Entries of a stack up to which its run is remembered."""


@dataclass(frozen=True)
class _Key:
    """All that a run depends on, and the case itself, which is that and no more."""

    settings: tuple[tuple[str, Any], ...]
    data: bytes
    dtype: str
    case: Case = field(compare=False)


@lru_cache(maxsize=1 << 12)
def _remembered(implementation: Any, key: _Key) -> OkTopkRun:
    return _made(implementation, key.case)


_COUNTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "words_of_the_data": DATA,
        "phase_two": ("balance", "allgather"),
        "split_alone": ("split",),
        "balancing_alone": ("balance",),
        "all_gather_alone": ("allgather",),
        "reevaluation_alone": ("reevaluation",),
        "all_data": ("split", "reevaluation", "balance", "allgather"),
        "ordinary_iteration": ("split", "sizes", "balance", "allgather"),
        "sizes_alone": ("sizes",),
    }
)


_MEASURED: Mapping[str, Callable[[OkTopkRun, Traffic], Any]] = MappingProxyType(
    {
        "most_sent": lambda run, t: t.sent.max(),
        "most_received": lambda run, t: t.received.max(),
        "least_received": lambda run, t: t.received.min(),
        "sent_and_received": lambda run, t: (t.sent + t.received).max(),
        "critical_path": lambda run, t: t.critical_path,
        "messages": lambda run, t: t.messages.max(),
        "steps": lambda run, t: t.steps,
        "most_inbound": lambda run, t: run.inbound.max(),
        "most_selected": lambda run, t: np.max(run.result.local_counts),
        "split_defect": lambda run, t: max(
            np.abs(t.sent - 2 * run.outbound).max(), np.abs(t.received - 2 * run.inbound).max()
        ),
    }
)
"""What is measured, by the quantity's symbol."""


def _active(claim: Claim, run: OkTopkRun) -> bool:
    """Whether what the claim is about did anything: a balancing that moved winners, a rotation of several ranks."""
    assumed = {h.name for h in claim.assumes}
    if "always_balanced" in assumed and not run.traffic.phases["balance"].sent.any():
        return False
    return run.P > 1 or not assumed & {"rotated", "unrotated"}


def measure(name: str) -> Callable[[OkTopkRun], Outcome]:
    """Measures the claim's quantity on a run."""

    def measured(found: OkTopkRun) -> Outcome:
        claim = claims()[name]
        traffic, active = found.counted(claim), _active(claim, found)
        if claim.quantity.name == "mean_received":
            return Outcome(Fraction(int(traffic.received.sum()), found.P), found.values, active=active)
        return Outcome(int(_MEASURED[claim.quantity.name](found, traffic)), found.values, active=active)

    return measured
