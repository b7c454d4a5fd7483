"""Orthogonalised updates: the claims bound to their implementations."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.collectives.orthogonal import ITERATIONS
from commbounds.theory import claims
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.binding import table
from commbounds.verify.experiments.orthogonal.compressed import LOW_RANK, TOP_K
from commbounds.verify.finding import Series
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import AnyStudy, Case, Outcome, Stream, Study, Unmeasured, over, studies

_EPS = float(np.finfo(np.float64).eps)

# --- singular values -------------------------------------------------------------------------------------------------


def _singular(kind: str, muon: Any, case: Case) -> Outcome:
    """Of a diagonal matrix of norm one, the average of P that differ beside it: what becomes of its first entry."""
    s = case.settings
    value = Fraction(s["value"])
    rest = math.sqrt(float(1 - value**2))
    matrix = np.zeros((2, s["columns"]))
    matrix[0, 0] = float(value)
    matrix[1, 1] = rest
    gradients = np.array([matrix] * s["P"])
    # whole numbers that add up to nothing, whatever the order
    gradients[:, 0, 1] = 2 * np.arange(s["P"]) - (s["P"] - 1)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]]) if s["turned"] else np.eye(2)
    gradients = turn @ gradients
    if s["tall"]:
        gradients = gradients.transpose(0, 2, 1)
    update, _ = muon(gradients, s["steps"], s["iteration"], s["arithmetic"])
    own = update[s["P"] - 1].T if s["tall"] else update[s["P"] - 1]
    found = abs(float((turn.T @ own)[0, 0]))
    values = {"singular": value, "schulz_steps": s["steps"], "P": s["P"]}
    if s["arithmetic"] == "bfloat16":
        return Outcome(Fraction(found), values)
    # a step multiplies what is off by 3.45 at most (8.3 and 4.1 are the first of Polar Express), and adds the roundings
    # of some twenty operations
    slack = 64 * _EPS * (1 + s["steps"]) * (3.5 ** s["steps"] if s["iteration"] != "polar_express" else 1000)
    if kind == "error":
        return Outcome(abs(1 - found), values, slack)
    if kind == "value":
        small = min(1.0, 3.5 ** s["steps"] * float(value))
        return Outcome(found, values, slack * max(small, float(value)) if small < 0.1 else slack)
    return Outcome(1 - found**2 if kind == "square" else 1 - found, values, slack)


_VALUES = (
    "0",
    "1/100000",
    "1/2000",
    "1/1000",
    "1/665",
    "1/660",
    "1/100",
    "1/10",
    "1/5",
    "1/3",
    "1/2",
    "3/5",
    "7/10",
    "4/5",
    "9/10",
    "1",
)


def _case(value: str, steps: int = 5, iteration: str = "muon", **more: Any) -> Case:
    given = {"value": value, "steps": steps, "iteration": iteration, "P": 1, "columns": 2, "tall": False}
    return Case({**given, "arithmetic": "dtype", "turned": False, **more})


def _values(_budget: Budget) -> Iterator[Case]:
    for value, steps, iteration in itertools.product(_VALUES, (0, 1, 2, 5, 6), tuple(ITERATIONS)):
        yield _case(value, steps, iteration)
    for P, columns, tall in ((2, 3, False), (3, 4, True), (5, 2, True), (8, 3, False)):
        for value in ("1", "3/5", "1/50"):
            yield _case(value, 5, "muon", P=P, columns=columns, tall=tall)
            yield _case(value, 5, "muon", P=P, columns=columns, tall=tall, turned=True)
            yield _case(value, 1, "cubic", P=P, columns=columns, tall=tall)
    yield from _turning(0)
    yield from _turning(1)
    yield from _express_maxima(_budget)


@st.composite
def _drawn_values(draw: st.DrawFn) -> Case:
    value = Fraction(draw(integers(0, 2**20)), 2**20) ** draw(sampled_from((1, 1, 2)))
    steps = draw(sampled_from((5, 5, 1, 6)))
    more = {"P": draw(integers(1, 3)), "turned": draw(sampled_from((False, True)))}
    return _case(str(value), steps, draw(sampled_from(tuple(ITERATIONS))), **more)


def _turning(which: int) -> Iterator[Case]:
    """The value that is where the quintic is largest (0) or least (1) after four iterations, by bisection."""
    a, b, c = 3.4445, -4.775, 2.0315
    root = math.sqrt(9 * b * b - 20 * a * c)
    x = math.sqrt((-3 * b + (root if which else -root)) / (10 * c))
    for _ in range(4):
        low, high = 0.0, 0.5545
        for _ in range(200):
            middle = (low + high) / 2
            value = a * middle + b * middle**3 + c * middle**5
            low, high = (middle, high) if value < x else (low, middle)
        x = low
    yield _case(str(Fraction(x)))


def _thousandth(_budget: Any) -> Iterator[Case]:
    for steps in (5, 6):
        yield _case("1/1000", steps, "polar_express")


def _express_maxima(_budget: Any) -> Iterator[Case]:
    """The least value that four iterations of Polar Express take to where the fifth is largest, by bisection."""
    a, b, c = ITERATIONS["polar_express"][4]
    top = math.sqrt((-3 * b - math.sqrt(9 * b * b - 20 * a * c)) / (10 * c))
    low, high = 0.0, 0.03
    for _ in range(200):
        middle = value = (low + high) / 2
        for a, b, c in ITERATIONS["polar_express"][:4]:
            value = a * value + b * value**3 + c * value**5
        low, high = (middle, high) if value < top else (low, middle)
    yield _case(str(Fraction(low)), 5, "polar_express")


def _maxima(_budget: Budget) -> Iterator[Case]:
    yield from _turning(0)


def _minima(_budget: Budget) -> Iterator[Case]:
    yield from _turning(1)


def _tiny(_budget: Budget) -> Iterator[Case]:
    for value in ("1/100000000", "1/10000000000"):
        yield _case(value)


def _small(_budget: Budget) -> Iterator[Case]:
    for steps in (1, 5):
        yield _case("1/10000000000", steps, "cubic")


def _started(_budget: Budget) -> Iterator[Case]:
    for value in ("1/10", "9/10"):
        yield _case(value, 0, "cubic")


def _near_zero(_budget: Budget) -> Iterator[Case]:
    for value in ("1/10000", "1/100000"):
        yield _case(value, 1, "quintic")


def _of_values(statement: str, kind: str, axis: str, **options: Any) -> Study:
    iteration = statement.partition(".")[0]
    steps = {"cubic.one_step": 1, "quintic.one_step": 1, "polar_express.six": 6}.get(statement, 5)
    cases = [_case(str(Fraction(j, 50)), steps, iteration) for j in range(1, 51)]
    if axis == "schulz_steps":
        cases = [_case("1/5", T, iteration) for T in range(6)]
    if statement == "muon.one":
        cases = [_case("1")]
    if statement == "muon.below":
        cases = [_case(str(Fraction(j, 20 * 665))) for j in range(1, 21)]
    return Study(
        f"orthogonal.{statement}",
        "muon_update",
        partial(_singular, kind),
        corpus=_values,
        cases=_drawn_values,
        curves=[over(axis, iteration, cases)],
        **options,
    )


# --- Muon as it runs, in bfloat16 ------------------------------------------------------------------------------------


def _numbers(first: int, last: int, every: int = 1) -> list[str]:
    """Numbers of bfloat16, by their bits."""
    bits = np.arange(first, last + 1, every, dtype=np.uint32)
    return [str(Fraction(float(value))) for value in (bits << 16).view(np.float32)]


_ONE, _LEAST = 0x3F80, 0x3AC6
"""The bits of 1, and of the smallest number of bfloat16 that is at least 1/662."""


def _rounded(value: str, **more: Any) -> Case:
    return _case(value, arithmetic="bfloat16", **more)


def _rounded_grid(_level: int) -> Iterator[Case]:
    for value in (*_numbers(_LEAST, _ONE), *_numbers(0, _LEAST, 37)):
        yield _rounded(value)


def _rounded_corpus(_budget: Budget) -> Iterator[Case]:
    for value in (*_VALUES, *_numbers(_LEAST, _ONE, 16)):
        yield _rounded(value)
    for P, columns, tall in ((2, 3, False), (3, 4, True), (5, 2, True), (8, 3, False), (9, 2, False)):
        for value in ("1", "3/5", "1/50"):
            yield _rounded(value, P=P, columns=columns, tall=tall)
            yield _rounded(value, P=P, columns=columns, tall=tall, turned=True)


def _rounded_ends(name: str, _budget: Budget) -> Iterator[Case]:
    yield _rounded(str(Fraction(float(np.float32({"most": "0.0037384033203125", "least": "0.00872802734375"}[name])))))


@st.composite
def _drawn_rounded(draw: st.DrawFn) -> Case:
    (value,) = _numbers(*[draw(integers(0x3900, _ONE))] * 2)
    return _rounded(value, P=draw(integers(1, 9)), turned=draw(sampled_from((False, True))))


def _of_rounded(statement: str, end: str) -> Study:
    return Study(
        f"orthogonal.muon.rounded_{statement}",
        "muon_update",
        partial(_singular, "value"),
        grid=_rounded_grid,
        corpus=_rounded_corpus,
        cases=_drawn_rounded,
        extremal=partial(_rounded_ends, end),
        enumerated="every number of bfloat16 from 1/662 to 1, and every 37th below, beside one that makes the norm one",
        curves=[over("singular", "muon in bfloat16", [_rounded(value) for value in _numbers(0x3A00, _ONE, 12)])],
    )


def _count(muon: Any, case: Case) -> Outcome:
    """Changes of sign of what becomes of a singular value, less one."""
    s = case.settings
    signs = []
    for value in np.geomspace(1e-4, 1.0, s["values"]):
        matrix = np.array([[[value, 0.0], [0.0, math.sqrt(1 - value**2)]]] * s["P"])
        update, _ = muon(matrix, s["steps"], s["iteration"], s["arithmetic"])
        signs.append(abs(float(update[s["P"] - 1][0, 0])) > 1)
    return Outcome(int(np.count_nonzero(np.diff(signs))), {"schulz_steps": s["steps"], "P": s["P"]})


def _counts(_budget: Budget) -> Iterator[Case]:
    for P, arithmetic in ((1, "dtype"), (3, "dtype"), (1, "bfloat16")):
        yield Case({"P": P, "values": 400, "steps": 5, "iteration": "muon", "arithmetic": arithmetic})


def _off_share(update: Array, gradient: Array) -> float:
    along = float((update * gradient).sum()) ** 2
    return 1 - along / (float(np.square(update).sum()) * float(np.square(gradient).sum()))


def _off(muon: Any, case: Case) -> Outcome:
    """Of a product of two vectors of whole numbers, the average of P that differ."""
    s, x = case.settings, case.array
    dtype = np.dtype(s["dtype"])
    gradient = np.outer(x[: s["m"]], x[s["m"] :])
    stack = np.array([gradient * factor for factor in 2 * np.arange(s["P"]) + 1], dtype)
    update, _ = muon(stack, s["steps"], s["iteration"], s["arithmetic"])
    values = {"singular": 1, "schulz_steps": s["steps"], "P": s["P"], "m": s["m"], "n": s["n"]}
    # a step multiplies what is off by 3.45 at most, and adds the roundings of m + n operations; the share is its square
    off = 3.5 ** s["steps"] * s["steps"] * 8 * (s["m"] + s["n"]) * float(np.finfo(dtype).eps)
    slack = 64 * _EPS * s["m"] * s["n"] + (0.0 if s["arithmetic"] == "bfloat16" else off**2)
    return Outcome(_off_share(update[s["P"] - 1].astype(np.float64), gradient), values, slack)


def _off_case(left: list[int], right: list[int], P: int = 1, arithmetic: str = "dtype", dtype: str = "float64") -> Case:
    given = {"P": P, "m": len(left), "n": len(right), "steps": 5, "iteration": "muon"}
    return Case({**given, "arithmetic": arithmetic, "dtype": dtype}, np.array([*left, *right], np.float64))


def _offs(_budget: Budget) -> Iterator[Case]:
    for P, arithmetic, dtype in itertools.product((1, 2, 5), ("dtype", "bfloat16"), ("float32", "float64")):
        for left, right in (([1, 3], [1, 3]), ([1], [3, 5, 7]), ([1, 2, 3, 5], [7, 1, 1]), ([1, 2], [4, 8])):
            yield _off_case(left, right, P, arithmetic, dtype)


@st.composite
def _drawn_offs(draw: st.DrawFn) -> Case:
    sizes = [[draw(integers(1, 99)) for _ in range(draw(integers(1, 6)))] for _ in range(2)]
    kinds = draw(sampled_from(("dtype", "bfloat16"))), draw(sampled_from(("float32", "float64")))
    return _off_case(sizes[0], sizes[1], draw(integers(1, 3)), *kinds)


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


_AS_IT_RUNS = (
    _of_rounded("at_most", "most"),
    _of_rounded("at_least", "least"),
    Study("orthogonal.muon.ones", "muon_update", _count, corpus=_counts),
    Study("orthogonal.muon.along", "muon_update", _off, corpus=_offs, cases=_drawn_offs),
    Study("orthogonal.muon.rounded_along", "muon_update", _off, corpus=_offs, cases=_drawn_offs),
    Study("orthogonal.muon.amplified", "muon_update", _only_drawn, streams=_product_streams, curves=_product_curve),
)

# --- Dion ------------------------------------------------------------------------------------------------------------


def _problem(case: Case) -> tuple[Array, Array, Array]:
    """Gradients, momenta and a basis."""
    s = case.settings
    rng = np.random.default_rng(s["seed"])
    shape = (s["P"], s["m"], s["n"])
    gradients, momentum = rng.standard_normal(shape), rng.standard_normal(shape)
    basis = rng.standard_normal((s["n"], s["r"]))
    if s.get("missing"):  # one direction dominates, and all columns of the basis but the last miss it
        rows, k = s["m"], s["r"]
        one = np.zeros((rows, s["n"]))
        one[:, -1] = 1.0
        one[range(k - 1), range(k - 1)] += s["missing"]
        basis = np.eye(s["n"])[:, [*range(k - 1), s["n"] - 1]]
        gradients, momentum = np.array([one] * s["P"]), 0 * momentum
    if s.get("apart"):  # a diagonal, and its first axes
        one = np.zeros((s["m"], s["n"]))
        np.fill_diagonal(one, np.arange(min(one.shape), 0, -1))
        gradients, momentum, basis = np.array([one] * s["P"]), 0 * momentum, np.eye(s["n"])[:, : s["r"]]
    if s.get("short"):  # the right factor is (short, 1; 0, short), and the basis its dual: the left one are axes
        rows = np.zeros((s["m"], s["n"]))
        rows[0, 0], rows[1, 0], rows[1, 1] = s["short"], 1.0, s["short"]
        basis = np.linalg.pinv(rows[:2])
        gradients, momentum = np.array([rows] * s["P"]), 0 * momentum
    return gradients, momentum, basis


def _stepped(dion: Any, case: Case) -> Any:
    return dion(*_problem(case), float(Fraction(case.settings["mu"])), case.settings["right"])


def _known(_implementation: Any, case: Case) -> dict[str, Any]:
    """Whether all columns are full, from numpy's own decomposition."""
    gradients, momentum, basis = _problem(case)
    b = (gradients + momentum).mean(axis=0)
    left = b @ basis
    values = np.linalg.svd(left, compute_uv=False)
    full = bool(values[-1] > 1e-6 * max(values[0], 1e-300))
    names = ("P", "m", "n", "r")
    return {**{name: case.settings[name] for name in names}, "full": full, "keeps": Fraction(case.settings["mu"])}


def _dion(what: str, dion: Any, case: Case) -> Outcome:
    values = dict(case.once(_known, None))
    state, traffic = case.once(_stepped, dion)
    s = case.settings
    allowance = 64 * _EPS * s["m"] * s["n"] * s["r"] * 1e6  # columns may be dependent but for a millionth
    if what == "words":
        return Outcome(int(traffic.sent.max()), values)
    update = state.update[s["P"] - 1]
    if what == "size":
        return Outcome(float(np.square(update).sum()), values, allowance)
    if what == "spectral":
        return Outcome(float(np.linalg.norm(update, 2)), values, allowance)
    gradients, momentum, basis = _problem(case)
    if what == "aligned":
        b = (gradients + momentum).mean(axis=0)
        u, triangle = np.linalg.qr(b @ basis)
        taken = u[:, np.abs(np.diag(triangle)) > 1e-9 * np.abs(triangle).max()].T @ b
        nuclear = float(np.linalg.svd(taken, compute_uv=False).sum())
        return Outcome(float((update * b).sum()), {**values, "nuclear_taken": nuclear}, allowance * (1 + nuclear))
    b = gradients[0] + momentum[0]
    u, triangle = np.linalg.qr(b @ basis)
    taken = u[:, np.abs(np.diag(triangle)) > 1e-9 * np.abs(triangle).max()].T @ b
    values |= {"square_before": float(np.square(b).sum()), "square_taken": float(np.square(taken).sum())}
    return Outcome(float(np.square(state.momentum[0]).sum()), values, allowance * (1 + values["square_before"]))


_SHAPES = ((1, 1, 1), (2, 3, 1), (3, 2, 2), (4, 6, 3), (5, 4, 4))


def _dion_case(P: int, m: int, n: int, r: int, mu: str = "3/4", **more: Any) -> Case:
    return Case({"P": P, "m": m, "n": n, "r": r, "mu": mu, "seed": 1, "right": "columns", **more})


def _dions(_budget: Budget) -> Iterator[Case]:
    for P, (m, n, r), mu in itertools.product((1, 2, 5), _SHAPES, ("0", "3/4", "1")):
        yield _dion_case(P, m, n, r, mu)
        yield _dion_case(P, m, n, r, mu, right="orthonormal")
    yield from _parallel(_budget)
    yield from _apart(_budget)
    for short in (1e-2, 1e-4):
        yield _dion_case(1, 3, 4, 2, right="orthonormal", short=short)


def _parallel(_budget: Any) -> Iterator[Case]:
    for m, n, r in ((2, 3, 2), (3, 4, 3), (4, 4, 4)):
        yield _dion_case(1, m, n, r, missing=1e-8)


def _apart(_budget: Any) -> Iterator[Case]:
    """Right factors whose columns are orthogonal."""
    for right, (m, n, r) in itertools.product(("columns", "orthonormal"), ((2, 3, 2), (4, 4, 3))):
        yield _dion_case(1, m, n, r, right=right, apart=True)


def _apart_columns(_budget: Any) -> Iterator[Case]:
    yield from (case for case in _apart(_budget) if case.settings["right"] == "columns")


def _apart_orthonormal(_budget: Any) -> Iterator[Case]:
    yield from (case for case in _apart(_budget) if case.settings["right"] == "orthonormal")


@st.composite
def _drawn_dions(draw: st.DrawFn) -> Case:
    m, n = draw(integers(1, 5)), draw(integers(1, 5))
    mu = draw(sampled_from(("0", "1/3", "0.95", "1")))
    right = draw(sampled_from(("columns", "orthonormal")))
    return _dion_case(
        draw(integers(1, 3)), m, n, draw(integers(1, min(m, n))), mu, seed=draw(integers(0, 2**31)), right=right
    )


def _sizes(_level: int) -> Iterator[Case]:
    for P, (m, n, r) in itertools.product(
        (1, 2, 3, 4), ((2, 2, 1), (4, 8, 2), (6, 12, 2), (12, 12, 5), (3, 4, 1), (4, 4, 3))
    ):
        yield _dion_case(P, m, n, r)
    yield _dion_case(5, 5, 10, 2)
    yield _dion_case(8, 8, 16, 3)


def _of_dion(statement: str, what: str, axis: str = "r", **options: Any) -> Study:
    right = "orthonormal" if statement.startswith("orth_dion") else "columns"
    cases = [_dion_case(1, 8, 8, k, right=right) for k in range(1, 9)]
    if axis == "keeps":
        cases = [_dion_case(1, 6, 8, 2, str(Fraction(j, 8))) for j in range(9)]
    if what == "words":
        cases = [_dion_case(4, 16, 16, k) for k in range(1, 17)]
    sources = {"grid": _sizes, "enumerated": "1 to 5 and 8 ranks"} if what == "words" else {"corpus": _dions,
               "cases": _drawn_dions}  # fmt: skip
    return Study(
        f"orthogonal.{statement}", "dion_update", partial(_dion, what), known=_known,
        curves=[over(axis, "8 x 8" if what != "words" else "16 x 16, P = 4", cases)], **sources, **options,
    )  # fmt: skip


# --- runs of Dion ----------------------------------------------------------------------------------------------------


def _run(dion: Any, case: Case) -> dict[str, float]:
    """Steps from no momentum on: what is missing from the sum, what is kept, and the largest gradient."""
    s = case.settings
    P, m, n = s["P"], s["m"], s["n"]
    rng, mu = np.random.default_rng([s["seed"], 2]), float(Fraction(s["mu"]))
    momentum, basis = np.zeros((P, m, n)), rng.standard_normal((n, s["r"]))
    taken, came, largest = np.zeros((m, n)), np.zeros((m, n)), 0.0
    fixed = rng.standard_normal((P, m, n))
    if s["missed"]:  # all but the first column, and a basis of that column alone
        fixed, basis = np.zeros((P, m, n)), np.zeros((n, 1))
        fixed[:, 0, 1:], basis[0, 0] = 1.0, 1.0
        fixed[:, m - 1, 0] = 0.0 if s["missed"] == "all" else 0.5
    for _ in range(s["steps"]):
        g = fixed if s["fixed"] else rng.standard_normal((P, m, n))
        before = momentum + g
        state, _ = dion(g, momentum, basis, mu, s["right"])
        left = before.mean(axis=0) @ basis
        u, triangle = np.linalg.qr(left)
        u = u[:, np.abs(np.diag(triangle)) > 1e-9 * max(float(np.abs(triangle).max()), 1e-300)]
        taken = taken + (1 - mu) * (u @ (u.T @ before.mean(axis=0)))
        came, momentum, basis = came + g.mean(axis=0), state.momentum, state.basis
        largest = max(largest, *(float(np.linalg.norm(own)) for own in g))
    return {
        "defect": float(np.abs(momentum.mean(axis=0) + taken - came).max()),
        "kept": float(np.linalg.norm(momentum[0])),
        "largest": largest,
    }


def _of_run(what: str, dion: Any, case: Case) -> Outcome:
    s, found = case.settings, case.once(_run, dion)
    values = {"P": s["P"], "keeps": Fraction(s["mu"]), "dion_steps": s["steps"], "largest_gradient": found["largest"]}
    allowance = 64 * _EPS * s["m"] * s["n"] * s["r"] * s["steps"] ** 2 * (1 + found["largest"]) * 1e6
    return Outcome(found[what], values, allowance if what == "defect" else 1e-6 * allowance)


def _run_case(steps: int, **more: Any) -> Case:
    given = {"P": 1, "m": 3, "n": 4, "r": 1, "mu": "1/2", "steps": steps, "fixed": True, "missed": "", "seed": 1}
    return Case({**given, "right": "columns", **more})


def _dion_runs(_budget: Budget) -> Iterator[Case]:
    for P, steps, mu in itertools.product((1, 3), (1, 4, 9), ("0", "1/2", "0.95")):
        yield _run_case(steps, P=P, mu=mu, r=2, fixed=False)
        yield _run_case(steps, P=P, mu=mu, missed="part")
    yield _run_case(3, mu="1", r=3)
    yield _run_case(3, mu="1/4", r=2, P=2, right="orthonormal")
    yield from _all_missed(_budget)


def _all_missed(_budget: Any) -> Iterator[Case]:
    for steps in (2, 6):
        yield _run_case(steps, mu="1/4", missed="all")


@st.composite
def _drawn_runs(draw: st.DrawFn) -> Case:
    more = {
        "P": draw(integers(1, 3)),
        "r": draw(integers(1, 3)),
        "mu": draw(sampled_from(("0", "1/3", "0.95"))),
        "m": draw(integers(3, 5)),
    }
    more |= {"fixed": draw(sampled_from((True, False))), "seed": draw(integers(0, 2**31))}
    return _run_case(draw(integers(1, 6)), right=draw(sampled_from(("columns", "orthonormal"))), **more)


def _of_runs(statement: str, what: str, **options: Any) -> Study:
    cases = [_run_case(T, missed="part", mu="3/4") for T in (1, 2, 4, 8, 16)]
    return Study(
        f"orthogonal.dion.{statement}", "dion_update", partial(_of_run, what), corpus=_dion_runs, cases=_drawn_runs,
        curves=[over("dion_steps", "a direction that the basis misses", cases)], **options,
    )  # fmt: skip


_STUDIES = studies(
    _of_values("cubic.one_step", "one", "singular"),
    _of_values("cubic.converges", "square", "schulz_steps", extremal=_started),
    _of_values("muon.one", "value", "singular"),
    _of_values("muon.at_most", "value", "singular", extremal=_maxima),
    _of_values("muon.at_least", "value", "singular", extremal=_minima),
    _of_values("muon.uniform", "value", "singular"),
    _of_values("muon.growth", "value", "singular", extremal=_tiny),
    _of_values("muon.below", "value", "singular"),
    _of_values("muon.plateau", "error", "singular", extremal=_minima),
    _of_values("cubic.growth", "value", "schulz_steps", extremal=_small),
    _of_values("quintic.one_step", "square", "singular", extremal=_near_zero),
    _of_values("polar_express.at_most", "value", "singular", extremal=_express_maxima),
    _of_values("polar_express.balanced", "value", "singular"),
    _of_values("polar_express.at_least", "value", "singular", extremal=_thousandth),
    _of_values("polar_express.six", "value", "singular", extremal=_thousandth),
    _of_dion("dion.words", "words"),
    _of_dion("dion.fewer", "words"),
    _of_dion("dion.keeps", "kept", "keeps"),
    _of_dion("dion.size", "size"),
    _of_dion("dion.orthonormal", "spectral"),
    _of_dion("dion.spectral", "spectral", extremal=_parallel),
    _of_dion("dion.aligned", "aligned", extremal=_apart_columns),
    _of_dion("orth_dion.spectral", "spectral", extremal=_apart_orthonormal),
    _of_dion("orth_dion.aligned", "aligned", extremal=_apart_orthonormal),
    _of_dion("orth_dion.polar", "aligned"),
    _of_runs("mass", "defect"),
    _of_runs("buffer_geometric", "kept"),
    _of_runs("buffer", "kept", extremal=_all_missed),
    *_AS_IT_RUNS,
    *TOP_K,
)

EXPERIMENTS: dict[str, AnyStudy] = {**table(*LOW_RANK), **_STUDIES}
"""By the name of their claim."""
