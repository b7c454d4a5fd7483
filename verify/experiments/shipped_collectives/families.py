"""Shipped collectives: the cases on which they are judged, what is known of each, and how they are run."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from commbounds.array_types import Array
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.shipped_collectives.flashinfer import flashinfer_code, flashinfer_read
from commbounds.collectives.shipped_collectives.loongforge import loongforge_code
from commbounds.collectives.shipped_collectives.nccl import FLOAT8, float8
from commbounds.collectives.shipped_collectives.quickreduce import halves, quick_code, quick_read, quick_sum
from commbounds.collectives.shipped_collectives.torchft import torchft_code, torchft_read
from commbounds.verify.experiments.shipped_collectives.definitions import DATA, GROUPS, NO_ATOMS, no_atoms, stack_like
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Space, sizes

EPS = float(np.finfo(np.float32).eps)
_Q, _F, _T, _H, _N, _C, _L = (
    f"shipped_collectives.{name}"
    for name in ("quickreduce", "flashinfer", "torchft", "hook", "nccl", "torchcomms", "loongforge")
)


def _largest(x: Array, parts: Array) -> Array:
    """At every entry, the largest magnitude of its part, whose number `parts` says."""
    found = np.zeros((len(x), int(parts.max()) + 1))
    for own, row in zip(found, np.abs(x), strict=True):
        np.maximum.at(own, parts, row)
    return found[:, parts]


def _least(*magnitudes: Array) -> float:
    """The smallest that is not zero."""
    return min((float(part[part > 0].min()) for part in magnitudes if (part > 0).any()), default=np.inf)


def _quick_facts(x: Array, P: int, n: int, width: int, saturates: bool) -> dict[str, Any]:
    places = np.arange(n)
    blocks = places // 64 * 2 + places % 2
    rounded = halves(x, saturates)
    filled = np.pad(rounded, ((0, 0), (0, -n % 64)))
    read = quick_read(quick_code(filled, width, saturates), filled.shape[1], width, saturates)
    with np.errstate(all="ignore"):
        sums = quick_sum(list(read), saturates)[np.newaxis, :n].astype(np.float64)
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
    stack = stack_like(data, P, n, seed, "float64")
    rounded = stack.astype(np.float16, copy=True).astype(np.float64) if np.abs(stack).max() < 65000 else stack
    return np.ascontiguousarray(rounded)


def _both_ends(P: int, n: int, width: int, seed: int) -> Array:
    """Blocks that hold m and -m, of two ranks whose sum's block holds M and -M: the positive ones err twice."""
    m, step = 1 + seed % 1024 / 1024, 2.0 ** (1 - width)
    ends = np.zeros((P, n + 6))
    ends[0, :4:2] = m, -m
    if P > 1:
        ends[1, :6:2] = m, -m * (1 - 2 * step), -m
    return np.ascontiguousarray(halves(ends[:, :n]).astype(np.float64))


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
).without(NO_ATOMS, no_atoms)
_QUICK = _QUICK.including(
    *(
        _QUICK.at(P=2, n=8, data="worst", width=width, seed=seed)
        for width, seed in ((8, 75), (6, 83), (4, 380), (3, 798))
    )
)
QUICK = Family(_Q, "quickreduce", _QUICK, facts=_quick_facts, run=_quick_run, exact=False)


def _float_facts(x: Array, parts: Array, P: int, read: Callable[[Array], Array], divisor: int = 1) -> dict[str, Any]:
    """Of codes in float32 arithmetic, whose roundings are eps of an entry, and of what codes are off by, at most."""
    with np.errstate(all="ignore"):
        sums = read(x).sum(axis=0, keepdims=True, dtype=np.float32).astype(np.float64)
    own, whole = _largest(x, parts), _largest(sums, parts)[0]
    maxima = own.sum(axis=0)
    return {
        "maxima": maxima,
        "total": whole,
        "exact": x.astype(np.float64).sum(axis=0) / divisor,
        "slack": (P + 8) * EPS * (np.abs(x).sum(axis=0, dtype=np.float64) + (maxima + whole) / 28) / divisor,
        "divisor": divisor,
        "least": _least(own, whole),
    }


def _flashinfer_stack(P: int, n: int, data: str, seed: int) -> Array:
    if data == "worst":
        stack = np.zeros((P, n))
        stack[-1, :2], stack[0, :2] = (1.1015625, 0.984375), (1.109375, 1.0703125)
        return stack.astype(np.float32)
    with np.errstate(over="ignore"):
        return stack_like(data, P, n, seed).astype(bfloat16).astype(np.float32)


def _flashinfer_facts(x: Array, P: int, n: int, group: int) -> dict[str, Any]:
    def read(rows: Array) -> Array:
        return flashinfer_read(flashinfer_code(rows, group), n, group)

    facts = _float_facts(x, np.arange(n) // group, P, read)
    return {**facts, "above": facts["least"] >= 1e-12}


FLASHINFER = Family(
    _F,
    "flashinfer_allreduce",
    Space(
        _flashinfer_stack,
        {"P": RANKS, "n": sizes(40, least=2), "data": (*DATA, "worst"), **GROUPS},
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
    if data == "below a step":  # of the ranks, whose steps are 1 and 0.4999, and of their sum, of 1.4999
        stack = np.zeros((P, height, columns))
        stack[0], stack[-1] = [127.0, *[0.9998] * (columns - 1)], [63.4873, *[3.9998 * 0.4999] * (columns - 1)]
        return stack.reshape(P, -1).astype(np.float32)
    return stack_like(data, P, height * columns, seed)


def _torchft_facts(x: Array, P: int, height: int, columns: int, native: bool, mean: bool) -> dict[str, Any]:
    def read(rows: Array) -> Array:
        return torchft_read(torchft_code(rows.reshape(P, -1, columns), native), columns, native)

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
    return np.full((P, n), 2.0**-25, np.float32) if data == "small" else stack_like(data, P, n, seed)


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
        "slack": (P + 4) * EPS * (np.abs(x).astype(np.float64).sum(axis=0) + floors) / P,
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
    return float8(stack_like(data, P, n, seed, "float64"), element).astype(np.float64)


def _nccl_facts(x: Array, P: int, n: int, element: str) -> dict[str, Any]:
    unit, whole = 2.0**-4 if element == "e4m3" else 2.0**-3, np.abs(x).sum(axis=0)
    return {
        "sizes": whole,
        "element_unit": unit,
        "exact": x.sum(axis=0),
        "slack": np.zeros(n),
        "below": bool(((1 + unit / (1 + unit)) ** (P - 1) * whole).max() <= FLOAT8[element][1]),
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


# --- what is drawn ----------------------------------------------------------------------------------------------------


def _others(x: Array, P: int) -> Array:
    """The stack with zeros in place of what owners hold of their parts."""
    others = x.astype(np.float64)
    others[np.repeat(np.arange(P), x.shape[1] // P), np.arange(x.shape[1])] = 0.0
    return others


def _drawn_stack(P: int, share: int, data: str, seed: int) -> Array:
    if data == "worst":  # just above a power of two, where all words round up that are not zero
        above = np.nextafter(np.float32(1), np.float32(2))
        worst: Array = (_others(np.ones((P, P * share)), P) * above).astype(np.float32)
        return worst
    scale = {"subnormal": 2.0**-140, "beyond": 2.0**126}.get(data, 1.0)
    stack = stack_like("normal" if scale != 1.0 else data, P, P * share, seed, "float64") * scale
    largest = np.finfo(np.float32).max
    return stack.clip(-largest, largest).astype(np.float32)


def _drawn_facts(x: Array, P: int) -> dict[str, Any]:
    others, sizes_of = _others(x, P), np.abs(x.astype(np.float64)).sum(axis=0)
    return {
        "others": np.abs(others).sum(axis=0),
        "exact": x.astype(np.float64).sum(axis=0),
        "slack": (P + 1) * EPS * sizes_of,
        "normal": _least(np.abs(others)) >= 2.0**-126,
        "within": bool(2 * sizes_of.max() <= 255 / 256 * 2.0**128),
    }


def _drawn_run(implementation: Any, x: Array, word: str, seed: int) -> Array:
    words = None if word == "Philox" else np.full(x.shape, int(word))
    return implementation(x, seed, words=words)[0].reshape(1, -1)  # type: ignore[no-any-return]


TORCHCOMMS = Family(
    _C,
    "torchcomms_reduce_scatter",
    Space(
        _drawn_stack,
        {
            "P": RANKS,
            "share": (1, 3, 9),
            "data": (*DATA, "worst", "subnormal", "beyond"),
            "word": ("Philox", "0", "32768", "65535"),
        },
        options=("word", "data"),
    ),
    facts=_drawn_facts,
    run=_drawn_run,
    exact=False,
)


def _bits_run(P: int) -> int:
    """Upper bits of words that are run in all combinations: what entries have besides is zero."""
    return 16 if P == 2 else 12 // (P - 1) if P > 1 else 0


@cache
def _enumerated(P: int) -> Array:
    """In every combination, the word of the first, the second, ... rank behind the owner; not to be changed."""
    bits = _bits_run(P)
    combinations = np.array(list(product(range(2**bits), repeat=P - 1)), np.int64)
    return combinations.reshape(2 ** (bits * (P - 1)), P - 1) << (16 - bits)


def _steps_stack(P: int, share: int, data: str, seed: int) -> Array:
    """Every entry as often as there are combinations: 128 to 255 steps of bfloat16, and a share of one."""
    rng, bits = np.random.default_rng([seed, P, share]), _bits_run(P)
    whole, rest = rng.integers(128, 256, (P, P * share)), rng.integers(2**bits, size=(P, P * share))
    step = 2.0 ** rng.integers(-3, 4, (P, P * share))
    if data == "half":
        whole, rest, step = np.full_like(whole, 128), np.full_like(rest, 2**bits // 2), np.ones_like(step)
    if data == "worst":
        whole, rest, step = np.full_like(whole, 128), np.full_like(rest, 2**bits * 128 // 257), np.ones_like(step)
    if data == "subnormal":
        whole, step = whole // 2, np.full_like(step, 2.0**-133)
    entries = rng.choice((-1.0, 1.0), step.shape) * (whole + rest / 2**bits) * step
    own = _others(np.ones_like(entries), P) == 0
    entries = np.where(own, np.trunc(entries / step) * step, entries).astype(np.float32)
    return np.repeat(entries, len(_enumerated(P)), axis=1)


def _steps_facts(x: Array, P: int) -> dict[str, Any]:
    each = x[:, :: len(_enumerated(P))]
    others = _others(each, P)
    return {
        "sums": [sum(map(Fraction, column)) for column in each.T.tolist()],
        "each_squares": [sum(Fraction(v) ** 2 for v in column) for column in others.T.tolist()],
        "normal": _least(np.abs(others)) >= 2.0**-126,
        "within": True,
    }


def _steps_run(implementation: Any, x: Array, P: int) -> list[list[tuple[Fraction, Fraction]]]:
    """Of every entry the sums over all words, each with its share of them."""
    combinations = _enumerated(P)
    words, part = np.zeros(x.shape, np.int64), x.shape[1] // P
    for owner in range(P):
        for behind in range(P - 1):
            rank = (owner + 1 + behind) % P
            at = slice(owner * part, (owner + 1) * part)
            words[rank, at] = np.tile(combinations[:, behind], part // len(combinations))
    results = implementation(x, words=words)[0].reshape(-1, len(combinations))
    laws = [np.unique(row, return_counts=True) for row in results]
    return [
        [(Fraction(float(v)), Fraction(int(often), len(combinations))) for v, often in zip(*law, strict=True)]
        for law in laws
    ]


TORCHCOMMS_LAW = Family(
    _C,
    "torchcomms_reduce_scatter",
    Space(
        _steps_stack,
        {"P": RANKS, "share": (1, 2), "data": ("steps", "half", "worst", "subnormal")},
    ),
    facts=_steps_facts,
    run=_steps_run,
    searched=False,
)

# --- what is fed back -------------------------------------------------------------------------------------------------


def _rounds_stack(P: int, n: int, rounds: int, data: str, seed: int) -> Array:
    """Gradients of one round after another; the worst ones again and again; those kept make later groups larger."""
    if data in ("worst", "kept"):
        stack = np.zeros((P, rounds, n))
        stack[0, :, :2], stack[-1, :, :2] = (448, 432), (63.99, 304 / 448 * 63.99 + 1e-4)
        if data == "kept" and rounds > 1:
            stack[:, 2:], larger = 0, 464 / 448
            stack[0, 1, :3] = 0, -448, 432.0001 * larger
            stack[-1, 1, :3] = 0, -63.99, 432.0001 / 448 * 63.99 * larger
        return stack.reshape(P, -1).astype(np.float32)
    if data == "least":
        return stack_like("normal", P, rounds * n, seed) * np.float32(2.0**-120)
    return stack_like(data, P, rounds * n, seed)


def _rounds_facts(x: Array, P: int, n: int, rounds: int, group: int) -> dict[str, Any]:
    gradients, parts = x.astype(np.float64).reshape(P, rounds, n), np.arange(n) // group
    filled = np.pad(x.reshape(P, rounds, n)[:, 0], ((0, 0), (0, -n % group)))
    read = flashinfer_read(loongforge_code(filled, group), filled.shape[1], group)
    sums = read.sum(axis=0, keepdims=True, dtype=np.float32)[:, :n].astype(np.float64)
    own, whole = _largest(np.abs(gradients).max(axis=1), parts), _largest(sums, parts)[0]
    maxima = own.sum(axis=0)
    due = (28 / 27) ** 2  # with what is kept of gradients 28/27 of them, and of their mean as much of that
    return {
        "maxima": maxima,
        "total": whole,
        "exact": gradients.sum(axis=1).mean(axis=0),
        "slack": due * rounds * (P + 8) * EPS * (maxima + whole) / P,
        "above_least": _least(own, whole / P) >= 2.0**-117,
        "far_above_least": _least(own) >= 2.0**-100 and P <= 4096,
        "turns": rounds,
        "eights": -(-n // (8 * P * group)),
    }


def _rounds_run(implementation: Any, x: Array, rounds: int, group: int, feedback: str) -> Array:
    means = implementation(x, rounds, group, feedback)[0].astype(np.float64)
    return means.reshape(len(x), rounds, -1).sum(axis=1)  # type: ignore[no-any-return]


_ROUNDS = Space(
    _rounds_stack,
    {
        "P": RANKS,
        "n": sizes(40, least=3),
        "rounds": (1, 2, 5),
        "data": (*DATA, "worst", "kept", "least"),
        "group": (4, 8, 16),
        "feedback": ("both", "none", "allgather"),
    },
    options=("rounds", "group", "feedback", "data"),
)
_ROUNDS = _ROUNDS.including(_ROUNDS.at(P=2, n=40, rounds=2, data="kept", feedback="both"))
LOONGFORGE = Family(
    _L,
    "loongforge_hook",
    _ROUNDS,
    facts=_rounds_facts,
    run=_rounds_run,
    exact=False,
)

# --- bytes -----------------------------------------------------------------------------------------------------------

QUICK_BYTES = Family(
    _Q,
    "quickreduce",
    Space(
        lambda P, n: np.ones((P, n)), {"P": RANKS, "n": (1, 512, 513, 2048), "width": (8, 4, 6, 3), "tile": (512, 1024)}
    ).without(NO_ATOMS, no_atoms),
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
            **GROUPS,
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
TORCHCOMMS_BYTES = Family(
    _C,
    "torchcomms_reduce_scatter",
    Space(
        lambda P, n: np.ones((P, n), np.float32), {"P": RANKS, "n": (Of("P", lambda P: P), Of("5 P", lambda P: 5 * P))}
    ),
    run=lambda implementation, x: implementation(x)[1],
)
LOONGFORGE_BYTES = Family(
    _L,
    "loongforge_hook",
    Space(
        lambda P, n, rounds: np.ones((P, n * rounds), np.float32),
        {"P": RANKS, "n": (*sizes(16), 2048), "rounds": (1, 3), "group": (1, 4, 32)},
    ),
    facts=lambda P, n, rounds, group: {"turns": rounds, "eights": -(-n // (8 * P * group))},
    run=lambda implementation, x, rounds, group: implementation(x, rounds, group)[1],
)
