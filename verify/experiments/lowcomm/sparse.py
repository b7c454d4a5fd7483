"""SparseLoCo and DeMo: the claims bound to their rounds, their bins and their bits."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from commbounds.collectives.lowcomm.sparse_rounds import demo_round
from commbounds.collectives.lowcomm.transform import dct_matrix
from commbounds.verify.experiments.lowcomm.outer import exact, family, square
from commbounds.verify.family import Family, Rounded
from commbounds.verify.gradients import KINDS, trace
from commbounds.verify.space import RANKS, Of, Space, nothing, rationals
from commbounds.verify.study import Outcome

_EPS = float(np.finfo(np.float64).eps)
_KEPT = (1, Of("chunk", lambda chunk: chunk), Of("half of it", lambda chunk: max(chunk // 2, 1)))
_BLOCKS = (Of("2 chunk", lambda chunk: 2 * chunk), Of("chunk", lambda chunk: chunk))


def _run(
    implementation: Any, P: int, n: int, k: int, chunk: int, decay: Fraction, outerrounds: int, data: str, seed: int
) -> tuple[Any, list[Any], list[Any]]:
    """Changes and residuals of all workers, and the update, in every round.

    Changes are small integers, or all equal, times P, so that averages are exact.
    """
    drawn = np.random.default_rng([seed, outerrounds, n]).integers(-4, 5, (outerrounds, P, n)).astype(np.float64)
    changes = P * (np.ones_like(drawn) if data == "equal" else drawn)
    state, residuals, sent = np.zeros((P, n)), [], []
    for change in changes:
        after, _ = implementation(np.stack([change, state], axis=1), k, chunk, float(decay))
        state = after[:, 1]
        sent.append(after[-1, 0])
        residuals.append(state)
    return changes, residuals, sent


def _residual(found: Any) -> Outcome:
    """Of the worker whose residual reaches furthest."""
    changes, residuals, _ = found
    largest = [max(map(square, rows)) for rows in changes.swapaxes(0, 1)]
    reach = max(square(e) / most if most else Fraction(0) for e, most in zip(residuals[-1], largest, strict=True))
    return Outcome(sp.sqrt(sp.Rational(reach)), {}, active=any(largest))


def _missing(found: Any, P: int) -> Outcome:
    """Summed over workers: what all have sent is the number of workers times the update."""
    changes, residuals, sent = found
    out = P * sum(exact(sent), Fraction(0))
    total = sum(exact(changes), Fraction(0)) - out - sum(exact(residuals[-1]), Fraction(0))
    before = sum((sum(exact(e), Fraction(0)) for e in residuals[:-1]), Fraction(0))
    return Outcome(total, {"residualsum": before}, active=before != 0)


_ROUNDS = family(
    "sparseloco_round",
    Space(
        nothing,
        {
            "P": RANKS,
            "chunk": (4, 2, 3),
            "k": _KEPT,
            "n": _BLOCKS,
            "decay": rationals("1/2", 1, "3/4", 0),
            "outerrounds": (1, 2, 3),
            "data": ("equal", "drawn"),
        },
        options=("decay", "outerrounds"),
    ),
    run=_run,
    arrays=2,
)
_THREE_QUARTERS = {"P": (1, 3), "decay": rationals("3/4")}
_LEVEL_CHANGES = [
    *_ROUNDS.space.every(chunk=(4, 2), **_THREE_QUARTERS),
    *_ROUNDS.space.every(chunk=[3], k=[2], **_THREE_QUARTERS),
]


def _weak(implementation: Any, P: int, decay: Fraction, weak: Fraction, outerrounds: int) -> int:
    """How often the weaker of two entries is sent, by workers that are all alike."""
    state, change, count = np.zeros((P, 2)), np.array([[1.0, float(weak)]] * P), 0
    for _ in range(outerrounds):
        after, _ = implementation(np.stack([change, state], axis=1), 1, 2, float(decay))
        count += bool(after[-1, 0, 1])
        state = after[:, 1]
    return count


_WEAKNESSES = family(
    "sparseloco_round",
    Space(
        nothing,
        {
            "P": RANKS,
            "decay": rationals(1, "1/2", "3/4", "7/8"),
            "weak": rationals("1/8", "1/2", "1/4", "3/8", "3/4", "15/16"),
            "outerrounds": (1, 2, 3, 4, 7, 12, 29),
        },
        options=("decay",),
        combined=(("decay", "weak", "outerrounds"),),
    ),
)


def _words(implementation: Any, P: int, n: int, k: int, chunk: int) -> int:
    return int(implementation(np.ones((P, 2, n)), k, chunk)[1].sent.max())


_SENT = family("sparseloco_round", Space(nothing, {"P": RANKS, "chunk": (4, 2, 3), "k": _KEPT, "n": _BLOCKS}))


def _bits(positions: str, implementation: Any, n: int, k: int, chunk: int, valuebits: int) -> int:
    return int(implementation(n, k, chunk, valuebits, positions))


_CODED = family(
    "sparse_bits",
    Space(
        nothing,
        {
            "chunk": (5, 1, 2, 3, 8, 9, 16, 64),
            "k": (*_KEPT, 2, 3),
            "n": (Of("2 chunk", lambda chunk: 2 * chunk), *_BLOCKS[1:], Of("3 chunk", lambda chunk: 3 * chunk)),
            "valuebits": (2, 1, 4),
        },
    ).without("More entries than a chunk has.", lambda k, chunk: k > chunk),
    arrays=3,
)

# --- bins --------------------------------------------------------------------------------------------------------

_BY_HAND = (
    [-12.0, -5.0, *[0.0] * 18],
    [12.0, 5.0, *[0.0] * 18],
    [-5.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0, 1.0],
    [2.0],
    [1.0, 1.0, 1.0],
    [1.0, -1.0, 4.0, -4.0, 0.5, 9.0, -2.0],
    [1e-300, 2e-300, 9e-300, 0.0],
)


def _values(values: Any, n: int, tail: float, seed: int) -> Any:
    """The vector by hand of this number, the largest entries of a recorded gradient, or normal numbers of all sizes."""
    if isinstance(values, int):
        return np.array(_BY_HAND[values])
    if values in KINDS:
        x = trace().vectors[values][0, 0].astype(np.float64)
        return x[np.argsort(-abs(x))[:64]]
    rng = np.random.default_rng(seed)
    return rng.standard_normal(n) * 2.0 ** (tail * rng.integers(-4, 5, n))


def _shift(implementation: Any, x: Any, bins: int) -> Rounded:
    # a mean of n values is off by n roundings, what it is added to by one, and so are n entries: of |x| all
    slack = 4 * (x.size + 4) * _EPS * float(abs(x).sum())
    return Rounded(float(abs(implementation(x, bins).sum() - x.sum())), slack)


def _energy(implementation: Any, x: Any, bins: int) -> Rounded:
    x = x / abs(x).max()
    kept, whole_square = implementation(x, bins), float(np.square(x).sum())
    found = (float(np.square(kept).sum()) + float(np.square(x - kept).sum())) / whole_square
    # kept is off by (n + 4) roundings of |x| <= 1 an entry, in each of two sums of n squares
    return Rounded(found, 8 * (x.size + 4) * x.size * _EPS / whole_square)


def _signs(implementation: Any, x: Any, bins: int) -> float:
    return float(abs(implementation(-x, bins) + implementation(x, bins)).max())


_BINS = Family(
    "lowcomm.binned",
    "binned",
    Space(
        _values,
        {
            "values": ("drawn", *range(len(_BY_HAND)), *KINDS),
            "n": (1, 2, 7, 16, 40),
            "tail": (0.0, 1.0, 3.0),
            "bins": (4, 3, 5, 2, 16, 255, 256),
        },
    ).search(n=(1, 40)),
    lambda x: {"n": x.size},
    exact=False,
)

# --- DeMo --------------------------------------------------------------------------------------------------------


def _momenta(data: str, chunk: int, seed: int) -> Any:
    """Of one worker: normal, one entry, with amplitudes of one size, or recorded."""
    if data in KINDS:
        return trace().vectors[data][0, 0][:2048].astype(np.float64)
    signs = np.where(np.arange(2 * chunk) % 3 == 0, -1.0, 1.0).reshape(2, chunk)
    made = {"normal": np.random.default_rng(seed).standard_normal(3 * chunk), "spike": np.eye(2 * chunk)[0]}
    return made[data] if data in made else (signs @ dct_matrix(chunk)).ravel()


def _amplitudes(implementation: Any, x: Any, k: int, chunk: int) -> Outcome:
    """Of the worst of three workers, whose momenta are multiples of one."""
    momenta = np.outer([1.0, -2.0, 0.5], x)
    after, _ = implementation(np.stack([momenta, 0 * momenta], axis=1), k, chunk)
    # an entry comes back from 2 chunk products, each off by two roundings of the chunk's norm
    slack = 8 * (chunk + 4) * np.sqrt(chunk) * _EPS
    left = float((np.square(after[:, 1]).sum(axis=1) / np.square(momenta).sum(axis=1)).max())
    return Outcome(left, {"n": x.size}, float(slack), active=k < chunk)


_LEVEL = "amplitudes of one size"
_MOMENTA = Space(
    _momenta, {"data": (_LEVEL, "normal", "spike"), "chunk": (8, 2, 3, 4, 5, 6, 16), "k": (*_KEPT, 2, 3)}
).without("More amplitudes than a chunk has.", lambda k, chunk: k > chunk)
_CONTRACTION = family("demo_round", _MOMENTA.including(*_MOMENTA.every(data=KINDS[:2], chunk=[32], k=[8])), exact=False)


def _demo_missing(
    implementation: Any, P: int, n: int, k: int, chunk: int, decay: Fraction, outerrounds: int, seed: int
) -> Outcome:
    """Sums over all entries and workers of what they put in, send and keep: P times the update is what they send."""
    rng = np.random.default_rng([seed, n])
    state, total, before, size = np.zeros((P, n)), 0.0, 0.0, 0.0
    for _ in range(outerrounds):
        before += float(state.sum())
        gradient = rng.integers(-4, 5, (P, n)).astype(np.float64)
        after, _ = implementation(np.stack([gradient, state], axis=1), k, chunk, float(decay), share="ranks")
        size += float(abs(gradient).sum() + abs(state).sum())
        state = after[:, 1]
        total += float(gradient.sum() - P * after[-1, 0].sum())
    # a message comes back from 2 chunk products, and n entries of P workers and T rounds are added up
    slack = 8 * (P * n + outerrounds + chunk) * _EPS * size
    return Outcome(total - float(state.sum()), {"residualsum": before}, slack)


_DESCENTS = family(
    "demo_round",
    Space(
        nothing,
        {
            "P": RANKS,
            "chunk": (4, 2),
            "k": (1, 2),
            "n": (8, 12),
            "decay": rationals("1/2", "7/8", 1),
            "outerrounds": (1, 2, 5),
        },
        options=("decay", "outerrounds"),
    ),
    exact=False,
)


def _gain(share: str, implementation: Any, P: int, amplitude_senders: int) -> Rounded:
    """The constant's amplitude, which some workers send, and the others another."""
    momenta = np.where(np.arange(P)[:, None] < amplitude_senders, [[3.0, 3.0]], [[1.0, -1.0]])
    after, _ = implementation(np.stack([momenta, 0 * momenta], axis=1), 1, 2, share=share)
    # two transforms of two entries: 16 roundings
    gain = float(after[-1, 0].sum() / 2 / (3.0 * amplitude_senders / P))
    return Rounded(gain, 16 * _EPS * P / amplitude_senders)


_SENDERS = family(
    "demo_round",
    Space(nothing, {"P": RANKS, "amplitude_senders": RANKS}).without(
        "More senders than workers.", lambda P, amplitude_senders: amplitude_senders > P
    ),
    exact=False,
)


def _workers(data: str, P: int, chunk: int, n: int, senders: int, row: int, seed: int) -> Any:
    """Momenta: normal, or recorded, or one amplitude that some send; or what was found by hand."""
    if data == "by hand":
        half = 0.5**0.5
        return np.array([[half, half], [-0.9 * half, 0.9 * half], [-0.9 * half, 0.9 * half]])
    if data in KINDS:
        return trace().vectors[data][0][:, :2048].astype(np.float64)
    if data == "normal":
        return np.random.default_rng([seed, 11]).standard_normal((P, n))
    sent = np.where(np.arange(P)[:, None] < senders, dct_matrix(chunk)[row][None], 0.0)
    return sent * np.arange(1.0, P + 1)[:, None]


def _flips(implementation: Any, x: Any, k: int, chunk: int) -> Outcome:
    """Entries of signed updates that the two divisors disagree on."""
    workers = np.stack([x, 0 * x], axis=1)
    first, second = (
        implementation(workers, k, chunk, share=share, signed=True)[0][0, 0] for share in ("ranks", "senders")
    )
    return Outcome(int((first != second).sum()), {"n": x.shape[1]})


_SIGNED = Space(
    _workers,
    {
        "data": ("one amplitude",),
        "P": RANKS,
        "chunk": (2, 3, 4, 8),
        "k": (1,),
        "n": (Of("chunk", lambda chunk: chunk),),
        "senders": (Of("half of P", lambda P: (P + 1) // 2), Of("P", lambda P: P), 1),
        "row": (1, Of("the last", lambda chunk: chunk - 1)),
    },
)
_SEVERAL = _SIGNED.replaced(data=("normal",), k=(1, 2), n=(Of("2 chunk", lambda chunk: 2 * chunk),))
_ONE_AMPLITUDE, _ANY_DIVISOR = (
    family("demo_round", space, exact=False)
    for space in (
        _SIGNED,
        _SEVERAL.including(_SEVERAL.at(data="by hand", P=3), *_SEVERAL.every(data=KINDS[:2], P=[8], chunk=[32], k=[4])),
    )
)


def _entries(implementation: Any, n: int, chunk: int, k: int) -> Outcome:
    """What a rank of two sends, with the chunk that is made of the one that is asked for."""
    made = implementation(n, chunk)
    _, traffic = demo_round(np.zeros((2, 2, n)), min(k, made), made)
    best = max(d for d in range(1, min(n, chunk) + 1) if n % d == 0)
    return Outcome(int(traffic.sent[0]) // 2, {"madechunk": best})


_LENGTHS = family(
    "chunk_length",
    Space(
        nothing,
        {"n": (1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 15, 16, 24), "chunk": (1, 2, 4, 5, 8), "k": (1, 2, 3, 4)},
        combined=(("n", "chunk", "k"),),
    ),
)

SPARSE_STUDIES = (
    *_SENT.studies(_words, "sparseloco.words"),
    *_ROUNDS.studies(
        _residual,
        "sparseloco.residual",
        extremal=_ROUNDS.of(_LEVEL_CHANGES),
        curves=[
            _ROUNDS.over("outerrounds", range(1, 11), "equal entries, k = 1 of 4, decay 3/4", n=4, decay=Fraction(3, 4))
        ],
    ),
    *_ROUNDS.studies(_missing, "sparseloco.missing", "sparseloco.keeps"),
    *_WEAKNESSES.studies(
        _weak, "sparseloco.turns", curves=[_WEAKNESSES.over("outerrounds", range(9, 64, 6), "d = 1/8")]
    ),
    *_WEAKNESSES.studies(_weak, "sparseloco.starved", "sparseloco.gets_through"),
    *_CODED.studies(partial(_bits, "one by one"), "sparseloco.bits"),
    *_CODED.studies(partial(_bits, "as a set"), "sparseloco.set_bits"),
    *_CODED.studies(
        partial(_bits, "as a set"),
        "sparseloco.set_saves",
        extremal=_CODED.every(chunk=(2, 5, 64)),
        curves=[_CODED.over("k", (1, 2, 4, 8, 16, 32, 64), "chunks of 64", n=64, chunk=64)],
    ),
    *_BINS.studies(_shift, "sum"),
    *_BINS.studies(_energy, "energy"),
    *_BINS.studies(_signs, "odd", "two_bits"),
    *_CONTRACTION.studies(
        _amplitudes,
        "demo.contraction",
        extremal=_CONTRACTION.every(chunk=(2, 4, 6, 8)),
        curves=[_CONTRACTION.over("k", range(1, 9), "amplitudes of one size, chunks of 8")],
    ),
    *_DESCENTS.studies(_demo_missing, "demo.missing"),
    *_SENDERS.studies(partial(_gain, "ranks"), "demo.by_ranks"),
    *_SENDERS.studies(partial(_gain, "senders"), "demo.by_senders"),
    *_ANY_DIVISOR.studies(_flips, "demo.any_divisor"),
    *_ONE_AMPLITUDE.studies(_flips, "demo.one_amplitude"),
    *_LENGTHS.studies(_entries, "demo.chunk", "demo.rate"),
)
