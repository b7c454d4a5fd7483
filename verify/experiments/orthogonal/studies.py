"""Orthogonalised updates: the claims bound to their implementations."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.orthogonal import ITERATIONS
from commbounds.theory import claims
from commbounds.verify.experiments.binding import table
from commbounds.verify.experiments.orthogonal.compressed import LOW_RANK, TOP_K
from commbounds.verify.family import Family, FamilyStudy, Rounded
from commbounds.verify.finding import Series
from commbounds.verify.space import RANKS, Of, Settings, Space, nothing
from commbounds.verify.study import AnyStudy, Case, Outcome, Stream, Study, Unmeasured, studies

Studies = tuple[FamilyStudy, ...]
_EPS = float(np.finfo(np.float64).eps)

# --- singular values -------------------------------------------------------------------------------------------------


def _numbers(first: int, last: int, every: int = 1) -> list[str]:
    """Numbers of bfloat16, by their bits."""
    bits = np.arange(first, last + 1, every, dtype=np.uint32)
    return [str(Fraction(float(value))) for value in (bits << 16).view(np.float32)]


_ONE, _LEAST = 0x3F80, 0x3AC6
"""The bits of 1, and of the smallest number of bfloat16 that is at least 1/662."""


def _singular(value: str, steps: int, seed: int) -> dict[str, Any]:
    """The singular value: the one given, or one that is drawn."""
    rng = np.random.default_rng(seed)
    if value == "drawn, of bfloat16":
        (value,) = _numbers(*[int(rng.integers(0x3900, _ONE + 1))] * 2)
    drawn = {
        "drawn": Fraction(int(rng.integers(2**10, 2**20)), 2**20),
        "drawn, small": Fraction(int(rng.integers(2**20)), 664 * 2**20),
    }
    return {"singular": drawn[value] if value in drawn else Fraction(value), "schulz_steps": steps}


def _first_entry(
    implementation: Any, singular: Fraction, P: int, columns: int, tall: bool, turned: bool, steps: int,
    iteration: str, arithmetic: str,
) -> float:  # fmt: skip
    """What becomes of the first entry of a diagonal matrix of norm one, the average of P that differ beside it."""
    matrix = np.zeros((2, columns))
    matrix[0, 0], matrix[1, 1] = float(singular), math.sqrt(float(1 - singular**2))
    gradients = np.array([matrix] * P)
    # whole numbers that add up to nothing, whatever the order
    gradients[:, 0, 1] = 2 * np.arange(P) - (P - 1)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]]) if turned else np.eye(2)
    gradients = turn @ gradients
    update, _ = implementation(gradients.transpose(0, 2, 1) if tall else gradients, steps, iteration, arithmetic)
    own = update[P - 1].T if tall else update[P - 1]
    return abs(float((turn.T @ own)[0, 0]))


def _measured(kind: str, found: float, singular: Fraction, steps: int, iteration: str, arithmetic: str) -> Any:
    if arithmetic == "bfloat16":
        return Fraction(found)
    # a step multiplies what is off by 3.45 at most (8.3 and 4.1 are the first of Polar Express), and adds the roundings
    # of some twenty operations
    slack = 64 * _EPS * (1 + steps) * (3.5**steps if iteration != "polar_express" else 1000)
    if kind == "error":
        return Rounded(abs(1 - found), slack)
    if kind == "value":
        small = min(1.0, 3.5**steps * float(singular))
        return Rounded(found, slack * max(small, float(singular)) if small < 0.1 else slack)
    return Rounded(1 - found**2 if kind == "square" else 1 - found, slack)


def _turning(which: int) -> str:
    """The value that is where the quintic is largest (0) or least (1) after four iterations, by bisection."""
    a, b, c = ITERATIONS["muon"][0]
    root = math.sqrt(9 * b * b - 20 * a * c)
    x = math.sqrt((-3 * b + (root if which else -root)) / (10 * c))
    for _ in range(4):
        x = _before(((a, b, c),), x, 0.5545)
    return str(Fraction(x))


def _before(maps: Sequence[tuple[float, float, float]], x: float, high: float) -> float:
    """What the maps a v + b v^3 + c v^5, which grow up to `high`, take to `x`, by bisection."""
    low = 0.0
    for _ in range(200):
        middle = value = (low + high) / 2
        for a, b, c in maps:
            value = a * value + b * value**3 + c * value**5
        low, high = (middle, high) if value < x else (low, middle)
    return low


def _express_maximum() -> str:
    """The least value that four iterations of Polar Express take to where the fifth is largest."""
    a, b, c = ITERATIONS["polar_express"][4]
    top = math.sqrt((-3 * b - math.sqrt(9 * b * b - 20 * a * c)) / (10 * c))
    return str(Fraction(_before(ITERATIONS["polar_express"][:4], top, 0.03)))


_SMALL = ("0", "1/100000", "1/2000", "1/1000", "1/665", "1/660", "drawn, small")
_LARGE = ("1", "1/100", "1/10", "1/5", "1/3", "1/2", "3/5", "7/10", "4/5", "9/10", "1/50", "drawn")
_MAXIMUM, _MINIMUM = _turning(0), _turning(1)
_EXACT_VALUES = Space(
    nothing,
    {
        "iteration": tuple(ITERATIONS),
        "steps": (5, 0, 1, 2, 6),
        "value": (*_LARGE, *_SMALL, _MAXIMUM, _MINIMUM),
        "P": RANKS,
        "columns": (2, 3, 4),
        "tall": (False, True),
        "turned": (False, True),
        "arithmetic": ("dtype",),
    },
    options=("iteration",),
    combined=(("value", "steps", "iteration"), ("P", "steps", "iteration")),
).without(
    "Roundings of a turned matrix are not small beside small values.",
    lambda value, turned: turned and value not in _LARGE,
)
_ROUNDED_VALUES = _EXACT_VALUES.replaced(
    value=(*_LARGE, *_SMALL[:-1], "drawn, of bfloat16"), steps=(5,), iteration=("muon",), arithmetic=("bfloat16",)
)


def _values(space: Space) -> Family:
    return Family("orthogonal", "muon_update", space, _singular, _first_entry, exact=False)


_AVERAGES = _EXACT_VALUES.every(
    P=RANKS,
    value=("1", "3/5", "1/50"),
    columns=lambda P: [2 + P % 3],
    tall=lambda P: [P % 2 == 1],
    turned=(False, True),
)
_EXPRESS_MAXIMUM = _EXACT_VALUES.at(value=_express_maximum(), iteration="polar_express")
_IN_DTYPE = _values(_EXACT_VALUES.including(_EXPRESS_MAXIMUM, *_AVERAGES))
_IN_BFLOAT16 = _values(_ROUNDED_VALUES)
_STEPS = {"cubic.one_step": 1, "quintic.one_step": 1, "polar_express.six": 6}
_OF_MUON = {"muon.one": ["1"], "muon.below": [str(Fraction(j, 20 * 665)) for j in range(1, 21)]}


def _of_values(statement: str, kind: str, *values: str, steps: Sequence[int] = (5,), axis: str = "singular") -> Studies:
    """Extremal are these values after so many steps."""
    iteration, family = statement.partition(".")[0], _IN_DTYPE
    points = _OF_MUON.get(statement, [str(Fraction(j, 50)) for j in range(1, 51)])
    if axis == "schulz_steps":
        curve = family.over(axis, range(6), iteration, by="steps", value="1/5", iteration=iteration)
    else:
        fixed = {"steps": _STEPS.get(statement, 5), "iteration": iteration}
        curve = family.over(axis, points, iteration, by="value", **fixed)
    options: dict[str, Any] = {"curves": [curve]}
    if statement in _OF_MUON:
        ways: dict[str, Any] = {"columns": lambda P: [2 + P % 3], "tall": (False, True), "turned": (False, True)}
        options["corpus"] = family.every(P=RANKS, value=points, **ways)
    if values:
        options["extremal"] = family.every(value=values, steps=steps, iteration=[iteration])
    return family.studies(partial(_measured, kind), statement, **options)


# --- Muon as it runs, in bfloat16 ------------------------------------------------------------------------------------

_rounded_grid = _IN_BFLOAT16.every(value=(*_numbers(_LEAST, _ONE), *_numbers(0, _LEAST, 37)))


def _of_rounded(statement: str, end: str) -> Studies:
    return _IN_BFLOAT16.studies(
        partial(_measured, "value"),
        f"muon.rounded_{statement}",
        grid=_rounded_grid,
        extremal=_IN_BFLOAT16.every(value=[str(Fraction(float(np.float32(end))))]),
        enumerated="every number of bfloat16 from 1/662 to 1, and every 37th below, beside one that makes the norm one",
        curves=[_IN_BFLOAT16.over("singular", _numbers(0x3A00, _ONE, 12), "muon in bfloat16", by="value")],
    )


def _count(implementation: Any, P: int, values: int, steps: int, iteration: str, arithmetic: str) -> int:
    """Changes of sign of what becomes of a singular value, less one."""
    signs = []
    for value in np.geomspace(1e-4, 1.0, values):
        matrix = np.array([[[value, 0.0], [0.0, math.sqrt(1 - value**2)]]] * P)
        update, _ = implementation(matrix, steps, iteration, arithmetic)
        signs.append(abs(float(update[P - 1][0, 0])) > 1)
    return int(np.count_nonzero(np.diff(signs)))


def _with_steps(steps: int) -> dict[str, Any]:
    return {"singular": 1, "schulz_steps": steps}


_AS_MUON: dict[str, Sequence[Any]] = {"steps": (5,), "iteration": ("muon",), "arithmetic": ("dtype", "bfloat16")}
_COUNTED = Family(
    "orthogonal",
    "muon_update",
    Space(nothing, {"P": RANKS, "values": (400,), **_AS_MUON}),
    _with_steps,
    exact=False,
    searched=False,
)


def _off_share(update: Array, gradient: Array) -> float:
    along = float((update * gradient).sum()) ** 2
    return 1 - along / (float(np.square(update).sum()) * float(np.square(gradient).sum()))


def _off(
    implementation: Any, x: Array, P: int, m: int, n: int, steps: int, iteration: str, arithmetic: str, dtype: str
) -> Rounded:  # fmt: skip
    """Of a product of two vectors of whole numbers, the average of P that differ."""
    gradient = np.outer(x[:m], x[m:])
    stack = np.array([gradient * factor for factor in 2 * np.arange(P) + 1], dtype)
    update, _ = implementation(stack, steps, iteration, arithmetic)
    # a step multiplies what is off by 3.45 at most, and adds the roundings of m + n operations; the share is its square
    off = 3.5**steps * steps * 8 * (m + n) * float(np.finfo(dtype).eps)
    slack = 64 * _EPS * m * n + (0.0 if arithmetic == "bfloat16" else off**2)
    return Rounded(_off_share(update[P - 1].astype(np.float64), gradient), slack)


def _two_vectors(m: int, n: int, data: str, seed: int) -> Array:
    rng = np.random.default_rng([seed, m, n])
    numbers = {"1 to 99": rng.integers(1, 100, m + n), "odd": 2 * rng.integers(0, 4, m + n) + 1}
    return np.asarray(numbers.get(data, np.resize([1, 3], m + n)), np.float64)


_OFF_SPACE = Space(
    _two_vectors,
    {
        "P": RANKS,
        "m": (2, 1, 4, 6),
        "n": (2, 1, 3, 6),
        "data": ("1 and 3", "1 to 99", "odd"),
        **_AS_MUON,
        "dtype": ("float64", "float32"),
    },
    options=("arithmetic", "dtype"),
).search(m=(1, 6), n=(1, 6))
_OFF = Family("orthogonal", "muon_update", _OFF_SPACE, _with_steps, exact=False)


def _products(muon: Any, m: int, n: int, rng: np.random.Generator) -> float:
    gradient = np.outer(rng.standard_normal(m), rng.standard_normal(n))
    update, _ = muon(gradient.astype(np.float32)[None], 5, "muon", "bfloat16")
    return _off_share(update[0].astype(np.float64), gradient)


def _product_streams(muon: Any) -> list[Stream]:
    bound = float(claims()["orthogonal.muon.amplified"].bound())

    def stream(m: int, n: int) -> Stream:
        def draw(rng: np.random.Generator, count: int) -> Array:
            return np.array([bound - _products(muon, m, n, rng) for _ in range(count)])

        return Stream(f"{m} x {n}", draw, bound - 1, bound, two_sided=False, unit=bound, cost=400)

    return [stream(32, 32), stream(32, 64), stream(64, 48)]


def _product_curve(muon: Any, seed: int) -> list[Series]:
    """The mean of ten draws by size."""
    sizes, rng = (32, 40, 48, 56, 64), np.random.default_rng(seed)
    found = [float(np.mean([_products(muon, n, n, rng) for _ in range(10)])) for n in sizes]
    bound = float(claims()["orthogonal.muon.amplified"].bound())
    return [Series("square, mean of 10", "n", [float(n) for n in sizes], [bound] * len(sizes), found)]


def _only_drawn(_muon: Any, _case: Case) -> Unmeasured:
    return Unmeasured("a mean over Gaussian vectors: draws alone tell")


_AS_IT_RUNS: tuple[Study, ...] = (
    *_of_rounded("at_most", "0.0037384033203125"),
    *_of_rounded("at_least", "0.00872802734375"),
    *_COUNTED.studies(_count, "muon.ones"),
    *_OFF.studies(_off, "muon.along", "muon.rounded_along"),
    Study("orthogonal.muon.amplified", "muon_update", _only_drawn, streams=_product_streams, curves=_product_curve),
)

# --- Dion ------------------------------------------------------------------------------------------------------------


def problem(s: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Gradients, momenta and a basis."""
    P, m, n, r = (s[name] for name in ("P", "m", "n", "r"))
    rng, one = np.random.default_rng(s["seed"]), np.zeros((m, n))
    gradients, momentum, basis = (rng.standard_normal(shape) for shape in ((P, m, n), (P, m, n), (n, r)))
    if s.get("missing"):  # one direction dominates, and all columns of the basis but the last miss it
        one[:, -1] = 1.0
        one[range(r - 1), range(r - 1)] += s["missing"]
        basis = np.eye(n)[:, [*range(r - 1), n - 1]]
    elif s.get("apart"):  # a diagonal, and its first axes
        np.fill_diagonal(one, np.arange(min(one.shape), 0, -1))
        basis = np.eye(n)[:, :r]
    elif s.get("short"):  # the right factor is (short, 1; 0, short), and the basis its dual: the left one are axes
        one[0, 0], one[1, 0], one[1, 1] = s["short"], 1.0, s["short"]
        basis = np.linalg.pinv(one[:2])
    else:
        return gradients, momentum, basis
    return np.array([one] * P), 0 * momentum, basis


def _dion_facts(settings: Mapping[str, Any], m: int, n: int, r: int) -> dict[str, Any]:
    """Whether all columns are full, from numpy's own decomposition, and what each claim allows for rounding."""
    gradients, momentum, basis = problem(settings)
    average = (gradients + momentum).mean(axis=0)
    values = np.linalg.svd(average @ basis, compute_uv=False)
    full = bool(values[-1] > 1e-6 * max(values[0], 1e-300))
    # columns may be dependent but for a millionth
    # columns may be dependent but for a millionth
    known = {"average": average, "basis": basis, "allowance": 64 * _EPS * m * n * r * 1e6}
    return {**known, "full": full, "keeps": Fraction(settings["mu"])}


def _stepped(implementation: Any, settings: Mapping[str, Any]) -> Any:
    return implementation(*problem(settings), float(Fraction(settings["mu"])), settings["right"])


def _basis_of(left: Array) -> Array:
    """An orthonormal basis of the columns of a matrix."""
    u, triangle = np.linalg.qr(left)
    return np.asarray(u[:, np.abs(np.diag(triangle)) > 1e-9 * max(float(np.abs(triangle).max()), 1e-300)])


def _words(found: Any) -> int:
    return int(found[1].sent.max())


def _size(found: Any, P: int, allowance: float) -> Rounded:
    return Rounded(float(np.square(found[0].update[P - 1]).sum()), allowance)


def _spectral(found: Any, P: int, allowance: float) -> Rounded:
    return Rounded(float(np.linalg.norm(found[0].update[P - 1], 2)), allowance)


def _aligned(found: Any, P: int, average: Array, basis: Array, allowance: float) -> Outcome:
    taken = _basis_of(average @ basis).T @ average
    nuclear = float(np.linalg.svd(taken, compute_uv=False).sum())
    along = float((found[0].update[P - 1] * average).sum())
    return Outcome(along, {"nuclear_taken": nuclear}, allowance * (1 + nuclear))


def _kept(found: Any, average: Array, basis: Array, allowance: float) -> Outcome:
    """Of one worker."""
    taken = _basis_of(average @ basis).T @ average
    values = {"square_before": float(np.square(average).sum()), "square_taken": float(np.square(taken).sum())}
    return Outcome(float(np.square(found[0].momentum[0]).sum()), values, allowance * (1 + values["square_before"]))


_RIGHT = ("columns", "orthonormal")
_DION_SPACE = Space(
    nothing,
    {
        "P": RANKS,
        "m": (3, 1, 2, 4, 5),
        "n": (4, 1, 2, 3, 5),
        "r": (1, Of("2, or min(m, n)", lambda m, n: min(2, m, n)), Of("min(m, n)", lambda m, n: min(m, n))),
        "mu": ("3/4", "0", "1", "1/3", "0.95"),
        "right": _RIGHT,
        **{"missing": (0.0,), "apart": (False,), "short": (0.0,)},
    },
    options=("mu", "right"),
)


def _shapes(*shapes: tuple[int, int, int], **more: Any) -> list[Settings]:
    return [_DION_SPACE.at(m=m, n=n, r=r, **more) for m, n, r in shapes]


_PARALLEL = _shapes((2, 3, 2), (3, 4, 3), (4, 4, 4), missing=1e-8)
_APART = {right: _shapes((2, 3, 2), (4, 4, 3), right=right, apart=True) for right in _RIGHT}
"""Right factors whose columns are orthogonal."""
_SHORT = [row for short in (1e-2, 1e-4) for row in _shapes((3, 4, 2), right="orthonormal", short=short)]


def _dions(space: Space, **options: Any) -> Family:
    return Family("orthogonal", "dion_update", space, _dion_facts, _stepped, exact=False, **options)


def _alone(space: Space) -> Space:
    return space.replaced(P=(1,)).without("More workers than the claim is about.", lambda P: P > 1)


_DION = _dions(_DION_SPACE.including(*_PARALLEL, *_APART["columns"], *_APART["orthonormal"], *_SHORT))
_DION_ALONE = _dions(_alone(_DION_SPACE).including(*_PARALLEL), arrays=3)
_SIZES = [
    row
    for P in range(1, 10)
    for row in _shapes((2, 2, 1), (4, 8, 2), (6, 12, 2), (12, 12, 5), (3, 4, 1), (4, 4, 3), (P, 2 * P, min(P, 3)), P=P)
]


def _of_dion(measure: Any, *statements: str, right: str = "columns", extremal: Any = None) -> Studies:
    curve = _DION.over("r", range(1, 9), "8 x 8", m=8, n=8, right=right)
    return _DION.studies(measure, *statements, extremal=extremal and _DION.of(extremal), curves=[curve])


# --- runs of Dion ----------------------------------------------------------------------------------------------------


def _run(
    implementation: Any, P: int, m: int, n: int, r: int, mu: str, right: str, steps: int, fixed: bool, missed: str,
    seed: int,
) -> dict[str, float]:  # fmt: skip
    """Steps from no momentum on: what is missing from the sum, what is kept, and the largest gradient."""
    rng, keeps = np.random.default_rng([seed, 2]), float(Fraction(mu))
    momentum, basis = np.zeros((P, m, n)), rng.standard_normal((n, r))
    taken, came, largest = np.zeros((m, n)), np.zeros((m, n)), 0.0
    held = rng.standard_normal((P, m, n))
    if missed:  # all but the first column, and a basis of that column alone
        held, basis = np.zeros((P, m, n)), np.zeros((n, 1))
        held[:, 0, 1:], basis[0, 0] = 1.0, 1.0
        held[:, m - 1, 0] = 0.0 if missed == "all" else 0.5
    for _ in range(steps):
        g = held if fixed else rng.standard_normal((P, m, n))
        before = momentum + g
        state, _ = implementation(g, momentum, basis, keeps, right)
        u = _basis_of(before.mean(axis=0) @ basis)
        taken = taken + (1 - keeps) * (u @ (u.T @ before.mean(axis=0)))
        came, momentum, basis = came + g.mean(axis=0), state.momentum, state.basis
        largest = max(largest, *(float(np.linalg.norm(own)) for own in g))
    return {
        "defect": float(np.abs(momentum.mean(axis=0) + taken - came).max()),
        "kept": float(np.linalg.norm(momentum[0])),
        "largest": largest,
    }


def _of_run(what: str, found: dict[str, float], m: int, n: int, r: int, steps: int) -> Outcome:
    allowance = 64 * _EPS * m * n * r * steps**2 * (1 + found["largest"]) * 1e6
    values = {"largest_gradient": found["largest"]}
    return Outcome(found[what], values, allowance if what == "defect" else 1e-6 * allowance)


_RUNS_SPACE = Space(
    nothing,
    {
        "P": RANKS,
        "m": (3, 4, 5),
        "n": (4, 3),
        "missed": ("", "part", "all"),
        "r": (1, 2, 3),
        "mu": ("1/2", "0", "0.95", "1/3", "1/4", "1"),
        "right": _RIGHT,
        "steps": (4, 1, 2, 3, 6, 9),
        "fixed": (True, False),
    },
    options=("mu", "fixed"),
).without(
    "What a basis misses in every step is said for one column and for gradients that stay the same.",
    lambda missed, r, fixed: bool(missed) and (r > 1 or not fixed),
)


def _of_steps(mu: str, steps: int) -> dict[str, Any]:
    return {"keeps": Fraction(mu), "dion_steps": steps}


def _runs(space: Space, **options: Any) -> Family:
    return Family("orthogonal", "dion_update", space, _of_steps, _run, exact=False, **options)


_RUNS, _RUNS_ALONE = _runs(_RUNS_SPACE), _runs(_alone(_RUNS_SPACE), arrays=2)


def _of_runs(family: Family, statement: str, what: str, extremal: Any = None) -> Studies:
    words = "a direction that the basis misses"
    curve = family.over("dion_steps", (1, 2, 4, 8, 16), words, by="steps", missed="part", mu="3/4")
    return family.studies(partial(_of_run, what), f"dion.{statement}", extremal=extremal, curves=[curve])


_STUDIES = studies(
    *_of_values("cubic.one_step", "one"),
    *_of_values("cubic.converges", "square", "1/10", "9/10", steps=(0,), axis="schulz_steps"),
    *_of_values("muon.one", "value"),
    *_of_values("muon.at_most", "value", _MAXIMUM),
    *_of_values("muon.at_least", "value", _MINIMUM),
    *_of_values("muon.uniform", "value"),
    *_of_values("muon.growth", "value", "1/100000000", "1/10000000000"),
    *_of_values("muon.below", "value"),
    *_of_values("muon.plateau", "error", _MINIMUM),
    *_of_values("cubic.growth", "value", "1/10000000000", steps=(1, 5), axis="schulz_steps"),
    *_of_values("quintic.one_step", "square", "1/10000", "1/100000", steps=(1,)),
    *_of_values("polar_express.at_most", "value", _EXPRESS_MAXIMUM["value"]),
    *_of_values("polar_express.balanced", "value"),
    *_of_values("polar_express.at_least", "value", "1/1000", steps=(5, 6)),
    *_of_values("polar_express.six", "value", "1/1000", steps=(5, 6)),
    *_DION.studies(
        _words,
        "dion.words",
        "dion.fewer",
        grid=_DION.of(_SIZES),
        corpus=None,
        cases=None,
        enumerated="1 to 9 ranks",
        curves=[_DION.over("r", range(1, 17), "16 x 16, P = 4", P=4, m=16, n=16)],
    ),
    *_DION_ALONE.studies(
        _kept,
        "dion.keeps",
        curves=[_DION_ALONE.over("keeps", [str(Fraction(j, 8)) for j in range(9)], "8 x 8", by="mu", m=6, n=8, r=2)],
    ),
    *_of_dion(_size, "dion.size"),
    *_of_dion(_spectral, "dion.orthonormal"),
    *_of_dion(_spectral, "dion.spectral", extremal=_PARALLEL),
    *_of_dion(_aligned, "dion.aligned", extremal=_APART["columns"]),
    *_of_dion(_spectral, "orth_dion.spectral", right="orthonormal", extremal=_APART["orthonormal"]),
    *_of_dion(_aligned, "orth_dion.aligned", right="orthonormal", extremal=_APART["orthonormal"]),
    *_of_dion(_aligned, "orth_dion.polar", right="orthonormal"),
    *_of_runs(_RUNS, "mass", "defect"),
    *_of_runs(_RUNS_ALONE, "buffer_geometric", "kept"),
    *_of_runs(_RUNS_ALONE, "buffer", "kept", _RUNS_ALONE.every(mu=["1/4"], missed=["all"], steps=(2, 6))),
    *_AS_IT_RUNS,
    *TOP_K,
)

EXPERIMENTS: dict[str, AnyStudy] = {**table(*LOW_RANK), **_STUDIES}
"""By the name of their claim."""
