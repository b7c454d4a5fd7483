"""Errors of quantised all-reduces against the ranks' groups: the claims bound to the collectives of flashcomm."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import GroupQuantizer
from commbounds.theory import claims
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.flashcomm.cases import plain_quantiser, stack_cases, stacks
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

_EPS = float(np.finfo(np.float64).eps)
_HUGE = 2.0**64
"""More than any claim allows."""


def _blocks(schedule: str, case: Case) -> list[slice]:
    """Within which groups are counted."""
    n = case.array.shape[1]
    count: int = {"oneshot": 1, "hierarchical": case.settings.get("node", 1)}.get(schedule, len(case.array))
    edges = np.concatenate([[0], np.cumsum([len(part) for part in np.array_split(np.arange(n), count)])])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(edges)]


def _largest_of_groups(schedule: str, case: Case) -> Array:
    """Sum over the ranks of the largest magnitude in the group of every entry."""
    x, group = np.abs(case.array), case.settings["group"]
    found = np.zeros(x.shape[1])
    for block in _blocks(schedule, case):
        for start in range(block.start, block.stop, group):
            part = slice(start, min(start + group, block.stop))
            found[part] = x[:, part].max(axis=1).sum()
    return found


def _error(schedule: str, allreduce: Any, case: Case) -> Array:
    s = case.settings
    quantiser = GroupQuantizer(s["width"], s["group"], "float64")
    more: dict[str, Any] = {"node": s["node"]} if schedule == "hierarchical" else {}
    if "second_width" in s:
        more["second"] = GroupQuantizer(s["second_width"], s["group"], "float64")
    held = allreduce(case.array, quantiser, **more)[0].values
    return np.asarray(np.abs(held - case.array.sum(axis=0)).max(axis=0))


def _share(schedule: str, reference: Any, allreduce: Any, case: Case) -> Outcome:
    s, P = case.settings, len(case.array)
    error, size = case.once(_error, schedule, allreduce), reference(schedule, case)
    # every coding and reading rounds a difference, a quotient, a product and a sum, of sums of at most P entries
    slack = 8.0 * (P + 1) * P * _EPS * float(np.abs(case.array).max())
    error = np.where(error <= slack, 0.0, error)
    share = np.where(size > 0, error / np.where(size > 0, size, 1.0), np.where(error > 0, _HUGE, 0.0))
    at = int(np.argmax(share))
    values = {"P": P, "width": s["width"], "first_width": s["width"], "second_width": s.get("second_width", s["width"])}
    return Outcome(float(share[at]), values, slack / float(size[at]) if size[at] > 0 else 0.0)


def _own_entries(_schedule: str, case: Case) -> Array:
    return np.asarray(np.abs(case.array).sum(axis=0))


def _mixed(budget: Budget) -> Iterator[Case]:
    for second in (1, 3, 8):
        yield from stacks(budget, second_width=second)


def _noded(budget: Budget) -> Iterator[Case]:
    for case in stacks(budget):
        for node in (node for node in (1, 2, 3, 4) if case.settings["P"] % node == 0):
            yield Case({**case.settings, "node": node}, case.array)
    yield from _climbing(3, 4, 2)


def _extremal_twostep(_budget: Budget) -> Iterator[Case]:
    """Errors of half a step that add up, and a sum half-way between two of its levels; the rest of the entries zero."""
    for e in (2.0**-12, 2.0**-20):
        half = np.array([[-1.5, 1.5, 0.0, -1.5], [-1.5, 1.5, e - 1.0, -1.5]])
        settings = {"P": 2, "n": 8, "width": 2, "second_width": 2, "group": 4, "family": f"half-way, e = {e:g}"}
        yield Case(settings, np.concatenate([half, np.zeros((2, 4))], axis=1))


def _extremal_oneshot(_budget: Budget) -> Iterator[Case]:
    for P in (1, 2, 5):
        settings = {"P": P, "n": 4, "width": 2, "group": 4, "family": "half-way"}
        yield Case(settings, np.tile([-1.5, 1.5, -1.0, -0.5], (P, 1)))


def _climbing(quantisations: int, P: int, node: int = 0) -> Iterator[Case]:
    """A large group at the first rank of its block, and half a step from later ones: every code is rounded down."""
    for width in (4, 6, 8):
        top = 2**width - 1
        e = 2.0**-20
        x = np.zeros((P, 4 * P))
        # levels are one apart: from -top/2 to top/2, the entry 1/2 - e above the lowest level but one
        first, later = np.array([-top / 2, top / 2, 1.5 - e - top / 2]), 0.5 - e
        order = [0, 1, node] if node else list(range(P))
        x[0, :3] = first
        for rank in order[1:quantisations]:
            x[rank, 2] = later
        settings = {"P": P, "n": 4 * P, "width": width, "group": 4, "family": "half-way at every hop"}
        yield Case({**settings, "node": node} if node else settings, x)


def _ring_stacks(budget: Budget) -> Iterator[Case]:
    yield from stacks(budget)
    for P in (1, 2, 3, 4):
        yield from _climbing(P, P)


def _curves(name: str, schedule: str, by_hand: Any, **options: Any) -> Any:
    """Error over bound against the number of ranks."""

    def share(allreduce: Any, case: Case) -> float:
        outcome = _share(schedule, _largest_of_groups, allreduce, case)
        return float(outcome.measured) / float(claims()[name].bound(**outcome.values))

    def curves(allreduce: Any, seed: int) -> list[Series]:
        rng, ranks, rows, worst = np.random.default_rng(seed), [1, 2, 3, 4, 5, 8, 16], [], []
        other = list(by_hand(Budget(0, (), 0, 0, 0)))
        for P in ranks:
            node = {"node": 2 - P % 2} if schedule == "hierarchical" else {}
            cases = [
                Case({"P": P, "width": 4, "group": 32, **node, **options}, rng.standard_normal((P, 512)))
                for _ in range(9)
            ]
            rows.append([share(allreduce, case) for case in cases])
            worst.append(max(*rows[-1], *(share(allreduce, case) for case in other if case.settings["P"] == P)))
        low, middle, high = np.quantile(rows, (0.05, 0.5, 0.95), axis=1).tolist()
        label = "random: normal entries, four bits, groups of 32"
        return [Series(label, "P", [float(P) for P in ranks], [1.0] * 7, worst, low, middle, high, relative=True)]

    return curves


def _study(name: str, corpus: Any, extremal: Any = None, schedule: str = "", **options: Any) -> Study:
    schedule, full = schedule or name, f"precision.quantised.{name}"
    reference = _own_entries if name == "own_entries" else _largest_of_groups

    def trial(allreduce: Any, case: Case) -> Outcome:
        return _share(schedule, reference, allreduce, case)

    return Study(
        full,
        f"{schedule}_quantised_allreduce",
        trial,
        known=plain_quantiser,
        corpus=corpus,
        cases=stack_cases(**options),
        extremal=extremal,
        curves=() if name == "own_entries" else _curves(full, schedule, extremal or corpus, **options),
    )


QUANTISED: Sequence[Study] = (
    _study("twostep", _mixed, _extremal_twostep, second_width=5),
    _study("oneshot", stacks, _extremal_oneshot),
    _study("ring", _ring_stacks),
    _study("hierarchical", _noded, node=1),
    _study("own_entries", _mixed, schedule="twostep"),
)
"""In the order of the book."""
