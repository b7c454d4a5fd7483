"""Studies of the words that TopkA, gTopk and SparDL move: the same for every input."""

from collections.abc import Callable, Iterator
from typing import Any

from commbounds.collectives import Traffic
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.sparse.cases import FAMILIES, case_of, drawn, grid, over_ranks, study, trial
from commbounds.verify.study import Case, Curve, Study, shared

_GRID = grid(range(1, 17), (1, 3, 8), families=("small integers", "identical"))
_GRID_SAYS = "P = 1..16, n = 1, 3, 8, every k, two families of integers"


def _most(_case: Case, _result: Any, traffic: Traffic) -> int:
    return int(max(traffic.sent.max(), traffic.received.max()))


def _least(_case: Case, _result: Any, traffic: Traffic) -> int:
    return int(min(traffic.sent.min(), traffic.received.min()))


def _path(_case: Case, _result: Any, traffic: Traffic) -> int:
    return traffic.critical_path


def _received(_case: Case, _result: Any, traffic: Traffic) -> int:
    return int(traffic.received.max())


def _sent(_case: Case, _result: Any, traffic: Traffic) -> int:
    return int(traffic.sent.max())


def _steps(_case: Case, _result: Any, traffic: Traffic) -> int:
    return traffic.steps


def _entries(_case: Case, result: Any, _traffic: Traffic) -> int:
    return int(result.selected[0].size)


_Measure = Callable[[Case, Any, Traffic], Any]


def _counted(
    claim: str,
    subject: str,
    measure: _Measure,
    extremal: Callable[[Budget], Iterator[Case]] | None = None,
    choices: tuple[dict[str, Any], ...] = (),
) -> Study:
    """A count that the input does not matter to."""
    return study(
        f"sparse.{claim}",
        subject,
        trial(measure),
        grid=_GRID,
        cases=drawn(*choices),
        extremal=extremal,
        enumerated=_GRID_SAYS,
        curves=over_ranks(256, 64),
    )


def _cases(*sizes: tuple[int, int, int]) -> Callable[[Budget], Iterator[Case]]:
    """Some (P, n, k), in every family."""
    return lambda _budget: (case_of(*size, family) for size in sizes for family in FAMILIES)


@shared
def _along_k(P: int, n: int) -> Callable[[int], Iterator[tuple[float, list[Case]]]]:
    return lambda seed: ((k, [case_of(P, n, k, "normal", seed % 2**31)]) for k in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64))


def _limited(
    claim: str,
    subject: str,
    attained: Callable[[Budget], Iterator[Case]],
    drawn_at: tuple[int, int],
    choices: tuple[dict[str, Any], ...] = (),
) -> Study:
    """A bound on the critical path under a condition on P, n, k; drawn over k."""
    P, n = drawn_at
    return study(
        f"sparse.{claim}",
        subject,
        trial(_path),
        grid=_GRID,
        cases=drawn(*choices),
        extremal=attained,
        enumerated=_GRID_SAYS,
        curves=[Curve("k", f"P = {P}, n = {n}", _along_k(P, n), typical=1)],
    )


# --- SparDL in teams ---------------------------------------------------------------------------------------------


def _in_teams(synchronise: str) -> Callable[[int], Iterator[Case]]:
    """Every number of teams that fits, every k, and for b-sag the fewest and the most entries."""

    def cases(level: int) -> Iterator[Case]:
        for P in range(1, 25 if level else 17):
            for d in (d for d in range(1, P + 1) if P % d == 0):
                for k in (1, 7, 16) if not level else range(1, 17):
                    h = k // (P // d)
                    for sag in {h, -(-h // d)} if synchronise == "b-sag" else {None}:
                        for family in ("small integers", "identical"):
                            yield case_of(P, 16, k, family, teams=d, synchronise=synchronise, sag_entries=sag)

    return cases


def _team_study(claim: str, measure: _Measure, synchronise: str) -> Study:
    name = f"sparse.{claim}"

    def values(case: Case, _result: Any, _traffic: Traffic) -> dict[str, Any]:
        h = case.settings["k"] * case.settings["teams"] // case.settings["P"]
        sag = case.settings["sag_entries"]
        return {"kept": h if sag is None else sag}

    run = trial(measure, values, active=lambda case: case.settings["teams"] > 1)

    def points(seed: int) -> Iterator[tuple[float, list[Case]]]:
        for d in (1, 2, 4, 8, 16, 32):
            options = {"teams": d, "synchronise": synchronise, "sag_entries": None}
            yield d, [case_of(32, 256, 64, "normal", seed % 2**31, **options)]

    def attained(_budget: Budget) -> Iterator[Case]:
        for P, d in ((4, 2), (6, 3), (12, 4), (12, 6)):
            yield case_of(P, 48, 24, teams=d, synchronise=synchronise, sag_entries=None)

    return study(
        name,
        "spardl_allreduce",
        run,
        grid=_in_teams(synchronise),
        extremal=attained,
        enumerated="P = 1..16, every number of teams, n = 16, k = 1, 7, 16",
        curves=[Curve("teams", "P = 32, n = 256, k = 64", points, typical=1)],
    )


_TOPKA, _GTOPK, _SPARDL = "topk_allgather", "gtopk_allreduce", "spardl_allreduce"
_GATHERS = tuple({"allgather": algorithm} for algorithm in ("bruck", "ring", "recursive-doubling"))

WORDS = (
    _counted("topka.received", _TOPKA, _received, choices=_GATHERS),
    _counted("topka.critical_path", _TOPKA, _path, choices=_GATHERS),
    _counted("topka.above_oktopk", _TOPKA, _path, _cases((3, 8, 1), (3, 20, 7), (3, 9, 9)), _GATHERS),
    _limited("topka.below_oktopk", _TOPKA, _cases((3, 8, 1), (3, 20, 7), (3, 9, 9)), (3, 64), _GATHERS),
    _limited("topka.below_dense", _TOPKA, _cases((2, 4, 2), (5, 15, 3), (16, 32, 2)), (4, 256), _GATHERS),
    _counted("gtopk.critical_path", _GTOPK, _path),
    _counted("gtopk.steps", _GTOPK, _steps),
    _counted("gtopk.received", _GTOPK, _received),
    _counted("gtopk.sent", _GTOPK, _sent),
    _counted("gtopk.below_topka", _GTOPK, _path, _cases((7, 12, 3), (9, 20, 7))),
    _counted("gtopk.above_oktopk", _GTOPK, _path, extremal=_cases((2, 5, 2), (2, 30, 11))),
    _counted("spardl.most", _SPARDL, _most),
    _counted("spardl.least", _SPARDL, _least),
    _counted("spardl.steps", _SPARDL, _steps),
    _limited("spardl.below_even_split", _SPARDL, _cases((2, 8, 2), (5, 20, 15), (16, 64, 32)), (8, 64)),
    _counted("spardl.entries", _SPARDL, _entries),
    _counted("spardl.k_entries", _SPARDL, _entries),
    _team_study("spardl.r_sag_most", _most, "r-sag"),
    _team_study("spardl.r_sag_least", _least, "r-sag"),
    _team_study("spardl.b_sag", _most, "b-sag"),
)
