"""Shipped collectives: the claims bound to what they are about, and the cases on which they are judged."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from commbounds.array_types import Array
from commbounds.collectives import shipped_collectives as shipped
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.traffic import Traffic
from commbounds.theory import claims
from commbounds.verify.data import KINDS, stack_of
from commbounds.verify.definition import Definition, Given, called
from commbounds.verify.definitions import shipped_collectives as definitions
from commbounds.verify.family import Family
from commbounds.verify.pairing import on_definition
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes
from commbounds.verify.study import Outcome, studies

_EPS = float(np.finfo(np.float32).eps)
_Q, _F, _T, _H, _N = (
    f"shipped_collectives.{name}" for name in ("quickreduce", "flashinfer", "torchft", "hook", "nccl")
)
_ENDS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "both ends": lambda rng, P, n: rng.choice((-1.0, 1.0, 0.999, 0.25), (P, n)) * 2.0 ** rng.integers(-3, 4, (P, 1)),
    "blocks of all sizes": lambda rng, P, n: rng.standard_normal((P, n)) * 2.0 ** rng.integers(-24, 12, (P, 1)),
    "beyond float16": lambda rng, P, n: rng.standard_normal((P, n)) * 10.0 ** rng.integers(2, 7, (P, 1)),
}
"""Blocks that hold their largest magnitude with both signs, and blocks across the ends of float16."""
DATA = (*KINDS, *_ENDS)
_NO_ATOMS = "a thread of the source holds eight registers, which are shared out evenly"
_GROUPS = {
    "group": (3, 1, 8),
    "block": (Of("group P", lambda group, P: group * P), Of("2 group P", lambda group, P: 2 * group * P)),
}


def _stack(data: str, P: int, n: int, seed: int, dtype: Any = "float32") -> Array:
    if data in _ENDS:
        return _ENDS[data](np.random.default_rng([seed, P, n]), P, n).astype(dtype)
    return stack_of(data, P, n, dtype, seed)


def _atoms(P: int) -> bool:
    return bool(shipped.ATOMS % P)


# --- definitions ------------------------------------------------------------------------------------------------------


def _cases(n: tuple[Any, ...], options: Mapping[str, Any], rows: bool = False) -> Space:
    def make(P: int, n: int, data: str, dtype: str, seed: int, **given: Any) -> Given:
        size = n * given["columns"] if rows else n
        return Given({"stack": _stack(data, P, size, seed, dtype)}, given, {})

    axes = {"P": RANKS, "n": n, "data": DATA, "dtype": ("float32", "float64"), **options}
    return Space(make, axes, options=("dtype", *options), hiding={"n": TILES})


CASES = {
    "quickreduce": _cases(sizes(70, 130), {"width": (8, 4, 6, 3), "tile": (512, 1024), "saturates": (True, False)})
    .without(_NO_ATOMS, _atoms)
    .hidden_by(tile=(1536, 2048), n=(*TILES, 511, 513, 1025)),
    "flashinfer_allreduce": _cases(sizes(40), _GROUPS).hidden_by(group=(2, 4, 5, 7, 16)),
    "torchft_allreduce": _cases(
        sizes(), {"columns": (1, 3, 4), "native": (True, False), "mean": (False, True)}, True
    ).hidden_by(columns=(2, 5, 7, 8, 16)),
    "quantization_hook": _cases(sizes(16), {"channel": (None, 1, 4, 7)}).hidden_by(channel=(2, 3, 5, 8, 16, 32)),
    "nccl_sum": _cases(sizes(16), {"element": ("e4m3", "e5m2")}),
}
_REFUSED: dict[str, dict[str, tuple[Any, ...]]] = {
    "quickreduce": {"width": (2, 5, 7, 9), "tile": (0, 511, 768)},
    "flashinfer_allreduce": {"group": (0,), "block": (Of("group P + 1", lambda group, P: group * P + 1),)},
    "torchft_allreduce": {"columns": (0, Of("n columns + 1", lambda n, columns: n * columns + 1))},
    "quantization_hook": {"channel": (0,)},
    "nccl_sum": {"element": ("e3m4",)},
}
DEFINITIONS = {
    name: Definition(space, called("result", "traffic"), getattr(definitions, name), refused=_REFUSED[name])
    for name, space in CASES.items()
}

# --- errors -----------------------------------------------------------------------------------------------------------


def _largest(x: Array, parts: Array) -> Array:
    """At every entry, the largest magnitude of its part, whose number `parts` says."""
    found = np.zeros((len(x), int(parts.max()) + 1))
    for own, row in zip(found, np.abs(x), strict=True):
        np.maximum.at(own, parts, row)
    return found[:, parts]


def _closest(name: str, result: Array, exact: Array, slack: Array, **values: Any) -> Outcome:
    """The error at the entry where it comes closest to the bound of the claim; values are those of every entry."""
    error = np.abs(np.asarray(result, np.float64) - exact).max(axis=0)
    bound = np.broadcast_to(claims()[name].bound(**values), error.shape)
    least = np.finfo(np.float64).tiny
    at = int(np.argmax(np.maximum(error - slack, 0) / np.maximum(bound, least)))
    chosen = {key: float(v[at]) if isinstance(v, np.ndarray) else v for key, v in values.items()}
    return Outcome(float(error[at]), chosen, float(slack[at]))


def _errors(family: Family, name: str, **options: Any) -> Any:
    """The study of an error, from entry to entry."""
    claim = f"{family.prefix}.{name}"

    def measure(found: Array, facts: Mapping[str, Any], settings: Mapping[str, Any]) -> Outcome:
        known = {**settings, **facts}
        values = {str(symbol): known[str(symbol)] for symbol in claims()[claim].relation.rhs.free_symbols}
        return _closest(claim, found, facts["exact"], facts["slack"], **values)

    return family.studies(measure, name, **options)


def _least(*magnitudes: Array) -> float:
    """The smallest that is not zero."""
    return min((float(part[part > 0].min()) for part in magnitudes if (part > 0).any()), default=np.inf)


def _quick_facts(x: Array, P: int, n: int, width: int, saturates: bool) -> dict[str, Any]:
    places = np.arange(n)
    blocks = places // 64 * 2 + places % 2
    rounded = shipped.halves(x, saturates)
    filled = np.pad(rounded, ((0, 0), (0, -n % 64)))
    read = [shipped.quick_read(shipped.quick_code(row, width, saturates), row.size, width, saturates) for row in filled]
    with np.errstate(all="ignore"):
        sums = shipped.quick_sum(read, saturates)[np.newaxis, :n].astype(np.float64)
    if not np.isfinite(sums).all():
        return {"fits": False, "reached": False}
    own, whole = _largest(x, blocks), _largest(sums, blocks)[0]
    maxima = own.sum(axis=0)
    return {
        "maxima": maxima,
        "total": whole,
        "exact": x.sum(axis=0),
        "slack": np.zeros(n),
        "fits": bool((rounded == x).all() and maxima.max() <= 65000),
        "reached": _least(own, whole) >= 2 ** (width - 1) / 65000,
    }


def _halves(P: int, n: int, data: str, seed: int) -> Array:
    """A stack in float64, of numbers of float16 where they fit."""
    stack = _stack(data, P, n, seed, "float64")
    rounded = stack.astype(np.float16, copy=True).astype(np.float64) if np.abs(stack).max() < 65000 else stack
    return np.ascontiguousarray(rounded)


def _both_ends(P: int, n: int, width: int, seed: int) -> Array:
    """Blocks that hold m and -m, of two ranks whose sum's block holds M and -M: the positive ones err twice."""
    m, step = 1 + seed % 1024 / 1024, 2.0 ** (1 - width)
    ends = np.zeros((P, n + 6))
    ends[0, :4:2] = m, -m
    if P > 1:
        ends[1, :6:2] = m, -m * (1 - 2 * step), -m
    return np.ascontiguousarray(shipped.halves(ends[:, :n]).astype(np.float64))


def _quick_stack(P: int, n: int, data: str, width: int, seed: int) -> Array:
    if data == "worst":
        return _both_ends(P, n, width, seed)
    return np.full((P, n), 2.0**-10) if data == "small blocks" else _halves(P, n, data, seed)


def _quick_run(implementation: Any, x: Array, width: int, saturates: bool) -> Array:
    return implementation(x, width, tile=512, saturates=saturates)[0]  # type: ignore[no-any-return]


_QUICK = Space(
    _quick_stack,
    {
        "P": RANKS,
        "n": sizes(70, 130),
        "data": (*DATA, "small blocks", "worst"),
        "width": (8, 4, 6, 3),
        "saturates": (True, False),
    },
    options=("width", "saturates", "data"),
).without(_NO_ATOMS, _atoms)
_QUICK = _QUICK.including(
    *(
        _QUICK.at(P=2, n=8, data="worst", width=width, seed=seed)
        for width, seed in ((8, 75), (6, 83), (4, 380), (3, 798))
    )
)
QUICK = Family(_Q, "quickreduce", _QUICK, facts=_quick_facts, run=_quick_run, exact=False)


def _float_facts(x: Array, parts: Array, P: int, read: Callable[[Array], Array], divisor: int = 1) -> dict[str, Any]:
    """Of codes in float32 arithmetic: what every number is multiplied with and added to rounds by eps."""
    with np.errstate(all="ignore"):
        sums = np.stack([read(row) for row in x]).sum(axis=0, keepdims=True, dtype=np.float32).astype(np.float64)
    own, whole = _largest(x, parts), _largest(sums, parts)[0]
    maxima = own.sum(axis=0)
    return {
        "maxima": maxima,
        "total": whole,
        "exact": x.astype(np.float64).sum(axis=0) / divisor,
        "slack": (P + 8) * _EPS * (maxima + whole) / divisor,
        "divisor": divisor,
        "least": _least(own, whole),
    }


def _flashinfer_stack(P: int, n: int, data: str, seed: int) -> Array:
    if data == "worst":
        stack = np.zeros((P, n))
        stack[-1, :2], stack[0, :2] = (1.1015625, 0.984375), (1.109375, 1.0703125)
        return stack.astype(np.float32)
    with np.errstate(over="ignore"):
        return _stack(data, P, n, seed).astype(bfloat16).astype(np.float32)


def _flashinfer_facts(x: Array, P: int, n: int, group: int) -> dict[str, Any]:
    def read(row: Array) -> Array:
        return shipped.flashinfer_read(shipped.flashinfer_code(row, group), n, group)

    facts = _float_facts(x, np.arange(n) // group, P, read)
    return {**facts, "above": facts["least"] >= 1e-12}


FLASHINFER = Family(
    _F,
    "flashinfer_allreduce",
    Space(
        _flashinfer_stack,
        {"P": RANKS, "n": sizes(40, least=2), "data": (*DATA, "worst"), **_GROUPS},
        options=("group", "block", "data"),
    ),
    facts=_flashinfer_facts,
    run=lambda implementation, x, group, block: implementation(x, group, block)[0],
    exact=False,
)


def _rows(P: int, height: int, columns: int, data: str, seed: int) -> Array:
    if data == "worst":
        stack = np.zeros((P, height, columns))
        stack[0, :, :2], stack[-1, :, :2] = (448, 432), (64, 304 / 7 + 1e-4)
        return stack.reshape(P, -1).astype(np.float32)
    if data == "below a step":
        return np.tile(np.array([127.0, *[0.999] * (columns - 1)] * height, np.float32), (P, 1))
    return _stack(data, P, height * columns, seed)


def _torchft_facts(x: Array, P: int, height: int, columns: int, native: bool, mean: bool) -> dict[str, Any]:
    def read(row: Array) -> Array:
        return shipped.torchft_read(shipped.torchft_code(row.reshape(-1, columns), native), columns, native)

    facts = _float_facts(x, np.arange(x.shape[1]) // columns, P, read, P if mean else 1)
    return {
        **facts,
        "rescaled": facts["least"] >= 2.0**-110,
        "rows": -(-height // P),
        "words": -(-columns // 4),
        "n": x.shape[1],
    }


TORCHFT = Family(
    _T,
    "torchft_allreduce",
    Space(
        _rows,
        {
            "P": RANKS,
            "height": (1, Of("P", lambda P: P), Of("2 P + 1", lambda P: 2 * P + 1)),
            "columns": (2, 1, 4, 7),
            "data": (*DATA, "worst", "below a step"),
            "native": (True, False),
            "mean": (False, True),
        },
        options=("columns", "native", "mean", "data"),
    ).without("the worst rows have two entries", lambda columns, data: columns == 1 and data == "worst"),
    facts=_torchft_facts,
    run=lambda implementation, x, columns, native, mean: implementation(x, columns, native=native, mean=mean)[0],
    exact=False,
)


def _hook_stack(P: int, n: int, data: str, seed: int) -> Array:
    if data == "half-way":
        return np.tile(np.resize(np.array([0.0, 255.0, 0.5, 2.5, 254.5], np.float32), n), (P, 1))
    return np.full((P, n), 2.0**-25, np.float32) if data == "small" else _stack(data, P, n, seed)


def _hook_facts(x: Array, P: int, n: int, channel: int | None) -> dict[str, Any]:
    width = n if channel is None else channel
    count = 1 if channel is None else n // channel + 1
    ranges = np.zeros(n)
    floors = np.zeros(n)
    for row in x.astype(np.float64):
        for start in range(0, n, width):
            part = slice(start, min(start + width, n))
            own = max(row[part].max(), 0.0) - min(row[part].min(), 0.0)
            ranges[part] += own
            floors[part] += max(own / 255, 2.0**-23)
    return {
        "ranges": ranges,
        "channel_scales": floors,
        "exact": x.astype(np.float64).mean(axis=0),
        "slack": (P + 4) * _EPS * (np.abs(x).astype(np.float64).sum(axis=0) + floors) / P,
        "channels": count,
        "channel": width,
        "n": n,
    }


HOOK = Family(
    _H,
    "quantization_hook",
    Space(
        _hook_stack,
        {"P": RANKS, "n": sizes(16), "data": (*DATA, "half-way", "small"), "channel": (None, 1, 4, 7)},
        options=("channel", "data"),
    ),
    facts=_hook_facts,
    run=lambda implementation, x, settings: implementation(x, settings["channel"])[0],
    exact=False,
)


def _float8_stack(P: int, n: int, data: str, element: str, seed: int) -> Array:
    """Numbers of float8; the worst add half a unit of one at a time."""
    if data == "worst":
        stack = np.full((P, n), 2.0**-4 if element == "e4m3" else 2.0**-3)
        owners = np.repeat(np.arange(P), np.diff(even_cuts(n, P)))
        stack[(owners + 1) % P, np.arange(n)] = 1.0
        return stack
    return shipped.float8(_stack(data, P, n, seed, "float64"), element).astype(np.float64)


def _nccl_facts(x: Array, P: int, n: int, element: str) -> dict[str, Any]:
    unit, whole = 2.0**-4 if element == "e4m3" else 2.0**-3, np.abs(x).sum(axis=0)
    return {
        "sizes": whole,
        "element_unit": unit,
        "exact": x.sum(axis=0),
        "slack": np.zeros(n),
        "below": bool(((1 + unit / (1 + unit)) ** (P - 1) * whole).max() <= shipped.FLOAT8[element][1]),
    }


NCCL = Family(
    _N,
    "nccl_sum",
    Space(
        _float8_stack,
        {"P": RANKS, "n": sizes(16), "data": (*DATA, "worst"), "element": ("e4m3", "e5m2")},
        options=("element", "data"),
    ),
    facts=_nccl_facts,
    run=lambda implementation, x, element: implementation(x, element)[0],
    exact=False,
)

# --- who agrees, what is finite, and bytes ----------------------------------------------------------------------------


def _apart(found: Array) -> int:
    """Ranks that do not end with rank 0's bits."""
    return sum(row.tobytes() != found[0].tobytes() for row in found)


def _not_finite(found: Array) -> int:
    return int((~np.isfinite(found[0])).sum())


def _sent(found: Traffic) -> int:
    return int(found.sent.max())


QUICK_BYTES = Family(
    _Q,
    "quickreduce",
    Space(
        lambda P, n: np.ones((P, n)), {"P": RANKS, "n": (1, 512, 513, 2048), "width": (8, 4, 6, 3), "tile": (512, 1024)}
    ).without(_NO_ATOMS, _atoms),
    facts=lambda n, tile: {"tiles": -(-n // tile)},
    run=lambda implementation, x, width, tile: implementation(x, width, tile=tile)[1],
)
FLASHINFER_BYTES = Family(
    _F,
    "flashinfer_allreduce",
    Space(
        lambda P, n: np.ones((P, n), np.float32),
        {
            "P": RANKS,
            **_GROUPS,
            "n": (Of("P block", lambda P, block: P * block), Of("3 P block", lambda P, block: 3 * P * block), 5),
        },
    ),
    run=lambda implementation, x, group, block: implementation(x, group, block)[1],
)
TORCHFT_BYTES = Family(
    _T,
    "torchft_allreduce",
    Space(
        lambda P, height, columns: np.ones((P, height * columns), np.float32),
        {
            "P": RANKS,
            "height": (Of("P", lambda P: P), 1, Of("2 P + 1", lambda P: 2 * P + 1)),
            "columns": (1, 2, 4, 7, 32),
        },
    ),
    facts=lambda P, height, columns: {"rows": -(-height // P), "words": -(-columns // 4), "n": height * columns},
    run=lambda implementation, x, columns: implementation(x, columns)[1],
)
HOOK_BYTES = Family(
    _H,
    "quantization_hook",
    Space(lambda P, n: np.ones((P, n), np.float32), {"P": RANKS, "n": sizes(16), "channel": (None, 1, 4, 7)}),
    facts=lambda n, channel: {"channels": 1 if channel is None else n // channel + 1, "channel": channel or n},
    run=lambda implementation, x, settings: implementation(x, settings["channel"])[1],
)
NCCL_BYTES = Family(
    _N,
    "nccl_sum",
    Space(
        lambda P, n: np.ones((P, n), np.float32),
        {"P": RANKS, "n": (Of("P", lambda P: P), Of("3 P", lambda P: 3 * P), 1, 5)},
    ),
    run=lambda implementation, x: implementation(x)[1],
)


def _over_plain(found: Traffic, P: int, n: int) -> Fraction:
    return Fraction(_sent(found), 8 * (P - 1) * -(-n // P))


EXPERIMENTS = studies(
    *_errors(QUICK, "error", curves=[QUICK.over("P", (1, 2, 4, 8), n=130)]),
    *_errors(QUICK, "error_of_any"),
    *QUICK.studies(_not_finite, "finite", "finite_saturated"),
    *QUICK.studies(_apart, "agreement"),
    *QUICK_BYTES.studies(_sent, "bytes", curves=[QUICK_BYTES.over("P", (2, 4, 8), n=2048)]),
    *_errors(
        FLASHINFER,
        "error",
        extremal=FLASHINFER.every(P=(1, 2), n=(8,), data=("worst",), group=(8,), block=(16,)),
        curves=[FLASHINFER.over("P", (1, 2, 3, 5, 8), n=40)],
    ),
    *FLASHINFER.studies(_apart, "agreement"),
    *FLASHINFER_BYTES.studies(_sent, "bytes", curves=[FLASHINFER_BYTES.over("P", (2, 4, 8))]),
    *_errors(
        TORCHFT,
        "error",
        extremal=TORCHFT.every(P=(1, 2), columns=(4,), data=("worst",)),
        curves=[TORCHFT.over("P", (1, 2, 3, 5, 8), columns=7)],
    ),
    *_errors(
        TORCHFT,
        "error_cut",
        extremal=TORCHFT.every(P=(1, 2), columns=(4,), data=("below a step",), native=(False,)),
        curves=[TORCHFT.over("P", (1, 2, 3, 5, 8), columns=7, native=False)],
    ),
    *_errors(TORCHFT, "half_a_step"),
    *TORCHFT_BYTES.studies(_sent, "bytes", curves=[TORCHFT_BYTES.over("P", (2, 4, 8), columns=32)]),
    *TORCHFT_BYTES.studies(_over_plain, "never_more"),
    *_errors(
        HOOK,
        "error",
        extremal=HOOK.every(P=(1, 2, 5), n=(5,), data=("half-way",)),
        curves=[HOOK.over("P", (1, 2, 3, 5, 8), n=16)],
    ),
    *_errors(HOOK, "error_of_any"),
    *HOOK_BYTES.studies(_sent, "bytes", curves=[HOOK_BYTES.over("P", (2, 4, 8), n=16)]),
    *_errors(
        NCCL,
        "error",
        extremal=NCCL.every(P=(2,), n=(5,), data=("worst",)),
        curves=[NCCL.over("P", (2, 3, 5, 8), n=16)],
    ),
    *_errors(NCCL, "error_of_any", extremal=NCCL.every(P=(2,), n=(5,), data=("beyond float16",), element=("e4m3",))),
    *NCCL.studies(_apart, "agreement"),
    *NCCL_BYTES.studies(_sent, "bytes", curves=[NCCL_BYTES.over("P", (2, 4, 8))]),
)

# --- ranks by themselves, and test vectors ----------------------------------------------------------------------------


PAIRINGS = tuple(on_definition(name, DEFINITIONS[name]) for name in shipped.COLLECTIVES)
OTHER_SIZES = {"quickreduce": "1, 2, 4 or 8 ranks, which share out the registers of a thread"}
"""Collectives whose ranks and entries are not those of every vector, and what they take."""


def subjects() -> list[Any]:
    """What has test vectors here."""
    from commbounds.verify.vectors.collectives import called as calling
    from commbounds.verify.vectors.collectives import case_of, collective

    by_hand: dict[str, list[tuple[str, dict[str, Any], bool]]] = {
        "quickreduce": [
            *(("Codes of another width.", {"width": width, "tile": 512}, False) for width in (4, 6)),
            ("A width that there is not.", {"width": 5}, True),
        ],
        "flashinfer_allreduce": [("A block that is no multiple of the group.", {"group": 4, "block": 6}, True)],
        "torchft_allreduce": [
            ("Integers, and the mean.", {"columns": 5, "native": False, "mean": True}, False),
            ("Columns that do not divide.", {"columns": 3}, True),
        ],
        "quantization_hook": [("Channels, of which the last is filled.", {"channel": 4}, False)],
        "nccl_sum": [("Two bits of significand.", {"element": "e5m2"}, False)],
    }
    standard: dict[str, dict[str, Any]] = {
        "quickreduce": {"tile": 512},
        "flashinfer_allreduce": {"group": 5, "block": 20},
        "torchft_allreduce": {"columns": 1},
        "quantization_hook": {},
        "nccl_sum": {},
    }

    def sizes_of(name: str) -> tuple[tuple[int, int], ...]:
        return (1, 10), (2, 10), (4, 10), (8, 5) if name == "quickreduce" else (5, 3)

    def cases(name: str) -> Iterator[Any]:
        plan = [("As by default.", standard[name], False), *by_hand[name]]
        for number, (why, given, refused) in enumerate(plan):
            for P, n in sizes_of(name) if not refused else ((2, 10),):
                if P in (1, 2) or given == standard[name]:
                    stack = _stack("normal", P, n, number)
                    yield case_of(why if P > 1 else f"{why} One rank.", {"stack": stack}, given, refused=refused)
        ends = {"blocks of all sizes": "Blocks across the ends of float16.", "zeros": "Zeros of both signs."}
        for data, why in ends.items():
            yield case_of(why, {"stack": _stack(data, 2, 20, 3)}, standard[name], about=data)

    return [
        collective(name, partial(cases, name), calling(function, "result", "traffic"), "bytes")
        for name, function in shipped.COLLECTIVES.items()
    ]
