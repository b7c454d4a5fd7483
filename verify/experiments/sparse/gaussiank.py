"""Studies of Gaussiank: what it moves, and how many entries its threshold lets pass."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Floats
from commbounds.collectives import Traffic
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.sparse.cases import (
    SMALL_STACKS,
    by_hand,
    drawn,
    every_small_stack,
    neighbour,
    over_ranks,
    performed,
    study,
    trial,
)
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case, Curve, Outcome, Study

_SUBJECT = "gaussiank_allreduce"
_DENSITIES = (0.001, 0.01, 0.02, 0.1, 0.3, 0.5)
_EPS = float(np.finfo(np.float64).eps)

# --- words -------------------------------------------------------------------------------------------------------


def _selected(_case: Case, result: Any, _traffic: Traffic) -> dict[str, Any]:
    sizes = [s.size for s in result.selected]
    return {"entries": sum(sizes), "fewest": min(sizes)}


def _most_received(_case: Case, _result: Any, traffic: Traffic) -> int:
    return int(traffic.only("allgather").received.max())


def _mean_received(_case: Case, _result: Any, traffic: Traffic) -> Fraction:
    received = traffic.only("allgather").received
    return Fraction(int(received.sum()), received.size)


def _words(claim: str, measure: Callable[[Case, Any, Traffic], Any]) -> Study:
    name, run = f"sparse.gaussiank.{claim}", trial(measure, _selected)
    choices: tuple[dict[str, Any], ...] = ({}, {"allgather": "ring", "adapt": "vgg"})
    return study(
        name,
        _SUBJECT,
        run,
        grid=every_small_stack({}),
        corpus=by_hand(*choices),
        cases=drawn(*choices),
        enumerated=SMALL_STACKS,
        curves=over_ranks(256, 16, "one rank", relative=True),
    )


# --- shares ------------------------------------------------------------------------------------------------------


def _normal(u: Any) -> Any:
    from scipy.special import ndtri

    return ndtri(u)


def _student(degrees: float, u: Any) -> Any:
    from scipy.special import stdtrit

    return stdtrit(degrees, u)


LAWS: dict[str, Callable[[Floats], Any]] = {
    "normal": _normal,
    "laplace": lambda u: -np.sign(u - 0.5) * np.log1p(-2 * np.abs(u - 0.5)) / math.sqrt(2),
    "student 3": partial(_student, 3),
    "student 2": partial(_student, 2),
    "student 1.5": partial(_student, 1.5),
}
"""Quantile functions; of variance one for the first two."""


@lru_cache(maxsize=64)
def quantiles(law: str, n: int) -> Floats:
    """The quantiles of (i - 1/2)/n, read-only."""
    x = np.asarray(LAWS[law]((np.arange(n) + 0.5) / n), dtype=np.float64)
    x.flags.writeable = False
    return x


def _of_quantiles(law: str, n: int, density: float) -> Case:
    k = min(n - 1, max(1, round(density * n)))
    return Case({"P": 1, "n": n, "k": k, "law": law}, quantiles(law, n)[None])


def _share(case: Case, result: Any, _traffic: Traffic) -> Fraction:
    return Fraction(int(result.selected[0].size), case.settings["k"])


def _normal_units(case: Case, _result: Any, _traffic: Traffic) -> dict[str, Any]:
    assert case.x is not None
    mu = case.settings["k"] / case.settings["n"]
    return {"mu": mu, "z": -float(_normal(mu / 2)), "sd": float(np.std(case.x[0]))}


def _threshold_slack(case: Case) -> float:
    # The mean, here and there, is off by at most n eps mean|x| <= n eps sd, the standard deviation and every quantile
    # by (n + 10) eps of themselves: the threshold by a share of (2n + 10)(1 + 1/z) eps at most. A share c of a
    # threshold of z standard deviations changes the tail P(|X| > t) by at most a share (z^2 + 2) c, for the normal law
    # and milder ones alike, and n/z^2 by a share 2c. Tails and bounds are at most 1/mu.
    n, mu = int(case.settings["n"]), case.settings["k"] / case.settings["n"]
    z = -float(_normal(mu / 2))
    return (z**2 + 2) * (1 + 1 / z) * (2 * n + 10) * _EPS / float(mu)


def _by_law(*laws: str) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        for n in (2, 3, 10, 101, 1000, 10_000, 100_000) + (1_000_000,) * bool(budget.level):
            for law in laws:
                for density in _DENSITIES:
                    yield _of_quantiles(law, n, density)

    return cases


def _drawn_law(*laws: str) -> Callable[[], st.SearchStrategy[Case]]:
    sizes = st.tuples(sampled_from(laws), integers(2, 400), integers(1, 99))
    return lambda: sizes.map(lambda size: _of_quantiles(size[0], size[1], size[2] / 100))


def _long(law: str) -> Callable[[Budget], Iterator[Case]]:
    return lambda _budget: (_of_quantiles(law, 1_000_000, density) for density in (0.01, 0.1, 0.3))


def _law_study(claim: str, *laws: str, extremal: Callable[[Budget], Iterator[Case]] | None = None) -> Study:
    name = f"sparse.gaussiank.{claim}"
    run = trial(_share, _normal_units, slack=_threshold_slack)

    def points(_seed: int) -> Iterator[tuple[float, list[Case]]]:
        for density in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
            yield density, [_of_quantiles(law, 100_000, density) for law in laws]

    return study(
        name,
        _SUBJECT,
        run,
        corpus=_by_law(*laws),
        cases=_drawn_law(*laws),
        extremal=extremal,
        curves=[Curve("k/n", f"quantiles ({', '.join(laws)}), n = 100000", points, typical=len(laws))],
    )


# --- any vector --------------------------------------------------------------------------------------------------


def _scaled(case: Case, scale: float) -> Case:
    assert case.x is not None
    return Case({**case.settings, "scale": scale}, case.x * scale)


def _two_values(n: int, density: float) -> Case:
    """As many opposite pairs as Chebyshev's inequality allows, and zeros."""
    case = _of_quantiles("normal", n, density)
    z = -float(_normal(case.settings["k"] / n / 2))
    pairs = int(n / z**2 / 2)
    x = np.zeros((1, n))
    x[0, :pairs], x[0, pairs : 2 * pairs] = 1.0, -1.0
    return Case({**case.settings, "law": "opposite pairs and zeros"}, x)


def _chebyshev() -> Study:
    name = "sparse.gaussiank.any_input"
    run = trial(_share, _normal_units, slack=_threshold_slack)

    def corpus(budget: Budget) -> Iterator[Case]:
        for case in _by_law(*LAWS)(budget):
            if case.settings["n"] <= 10_000:
                yield case
                yield _scaled(case, 2.0**-4)
        yield from by_hand()(budget)

    def attained(_budget: Budget) -> Iterator[Case]:
        return (_two_values(20_000, density) for density in (0.01, 0.02, 0.1, 0.2))

    def points(_seed: int) -> Iterator[tuple[float, list[Case]]]:
        for density in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2):
            laws = [_of_quantiles(law, 20_000, density) for law in LAWS]
            # the mean of a symmetric vector is rounded to either side of zero
            laws += [_scaled(case, -1.0) for case in laws]
            yield density, [*laws, _two_values(20_000, density)]

    return study(
        name,
        _SUBJECT,
        run,
        corpus=corpus,
        cases=drawn(largest=60),
        mutate=neighbour,
        extremal=attained,
        curves=[Curve("k/n", "n = 20000", points, typical=2 * len(LAWS))],
    )


def _asymmetry(implementation: Any, case: Case) -> int:
    assert case.x is not None
    result, _ = case.once(performed, implementation)
    turned, _ = performed(implementation, Case(case.settings, -case.x))
    return sum(len(set(a.tolist()) ^ set(b.tolist())) for a, b in zip(result.selected, turned.selected, strict=True))


def _symmetry() -> Study:
    return study(
        "sparse.gaussiank.sign_symmetry",
        _SUBJECT,
        lambda implementation, case: Outcome(_asymmetry(implementation, case), case.settings),
        grid=every_small_stack({}),
        corpus=by_hand({}),
        cases=drawn(ranks=2, largest=8),
        enumerated=SMALL_STACKS,
    )


GAUSSIANK = (
    _words("received", _most_received),
    _words("mean_received", _mean_received),
    _chebyshev(),
    _symmetry(),
    _law_study("heavy_tails", "laplace", "student 3", "student 2", "student 1.5", extremal=_long("laplace")),
    _law_study("normal_least", "normal", extremal=_long("normal")),
    _law_study("normal_most", "normal", extremal=_long("normal")),
    _law_study("laplace_least", "laplace", extremal=_long("laplace")),
    _law_study("laplace_most", "laplace", extremal=_long("laplace")),
    _law_study("student_least", "student 3"),
)
