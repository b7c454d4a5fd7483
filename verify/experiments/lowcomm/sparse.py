"""SparseLoCo and DeMo: the claims bound to their rounds, their bins and their bits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy as sp
from hypothesis import strategies as st

from commbounds.collectives.lowcomm.sparse_rounds import demo_round
from commbounds.collectives.lowcomm.transform import dct_matrix
from commbounds.verify.experiments.lowcomm.outer import exact, square, study
from commbounds.verify.experiments.moshpit.averaging import settings
from commbounds.verify.gradients import KINDS, trace
from commbounds.verify.inputs import among, whole
from commbounds.verify.study import Case, Outcome, Study, over

_EPS = float(np.finfo(np.float64).eps)


def _changes(case: Case) -> Any:
    """Changes of all rounds and workers, (T, P, n): small integers, times P, so that averages are exact."""
    given = case.settings
    T, P, n = given["outerrounds"], given["P"], given["n"]
    if given.get("seed") == "equal":
        return np.full((T, P, n), float(P))
    return P * np.random.default_rng([given["seed"], T, n]).integers(-4, 5, (T, P, n)).astype(np.float64)


def _run(implementation: Any, case: Case) -> tuple[Any, list[Any], list[Any]]:
    """Changes and residuals of all workers, and the update, in every round."""
    given, changes = case.settings, case.once(_changes)
    state, residuals, sent = np.zeros((given["P"], given["n"])), [], []
    for change in changes:
        after, _ = implementation(np.stack([change, state], axis=1), given["k"], given["chunk"], given["decay"])
        state = after[:, 1]
        sent.append(after[-1, 0])
        residuals.append(state)
    return changes, residuals, sent


def _residual(implementation: Any, case: Case) -> Outcome:
    """Of the worker whose residual reaches furthest."""
    given = case.settings
    changes, residuals, _ = case.once(_run, implementation)
    largest = [max(map(square, rows)) for rows in changes.swapaxes(0, 1)]
    values: dict[str, Any] = {key: given[key] for key in ("n", "k", "chunk", "outerrounds")}
    reach = max(square(e) / most if most else Fraction(0) for e, most in zip(residuals[-1], largest, strict=True))
    values["decay"] = Fraction(given["decay"])
    return Outcome(sp.sqrt(sp.Rational(reach)), values, active=any(largest))


def _missing(implementation: Any, case: Case) -> Outcome:
    """Summed over workers: what all have sent is the number of workers times the update."""
    changes, residuals, sent = case.once(_run, implementation)
    out = case.settings["P"] * sum(exact(sent), Fraction(0))
    total = sum(exact(changes), Fraction(0)) - out - sum(exact(residuals[-1]), Fraction(0))
    before = sum((sum(exact(e), Fraction(0)) for e in residuals[:-1]), Fraction(0))
    return Outcome(total, {"decay": Fraction(case.settings["decay"]), "residualsum": before}, active=before != 0)


def _runs(level: int) -> Iterator[Case]:
    for decay, T in itertools.product((0.5, 1.0, 0.75, 0.0), range(1, 4 + level)):
        for n, k, chunk in ((2, 1, 2), (4, 1, 2), (4, 1, 4), (6, 2, 3), (3, 3, 3)):
            for seed in (0, 1, "equal"):
                yield settings(decay=decay, outerrounds=T, n=n, k=k, chunk=chunk, seed=seed, P=1)
    for P, decay in itertools.product((2, 3, 5), (0.5, 1.0)):
        for seed in (0, "equal"):
            yield settings(decay=decay, outerrounds=3, n=6, k=2, chunk=3, seed=seed, P=P)


def _one_round(_budget: Any) -> Iterator[Case]:
    for n, k, chunk, P in ((4, 1, 4, 1), (6, 2, 3, 1), (4, 1, 2, 3)):
        yield settings(decay=0.75, outerrounds=1, n=n, k=k, chunk=chunk, seed="equal", P=P)


def _weak(implementation: Any, case: Case) -> Outcome:
    """How often the weaker of two entries is sent, by workers that are all alike."""
    given = case.settings
    state, change, count = np.zeros((given["P"], 2)), np.array([[1.0, given["weak"]]] * given["P"]), 0
    for _ in range(given["outerrounds"]):
        after, _ = implementation(np.stack([change, state], axis=1), 1, 2, given["decay"])
        count += bool(after[-1, 0, 1])
        state = after[:, 1]
    values = {"weak": Fraction(given["weak"]), "decay": Fraction(given["decay"])}
    return Outcome(count, {**values, "outerrounds": given["outerrounds"]})


def _weaknesses(level: int) -> Iterator[Case]:
    for decay in (1.0, 0.5, 0.75, 0.875):
        for d in (0.5, 0.25, 0.125, 0.375, 0.75, 0.9375):
            for T in (1, 2, 3, 4, 7, 12, 29 + 10 * level):
                yield settings(decay=decay, weak=d, outerrounds=T, P=1)
    for P, decay, d in itertools.product((3, 8), (1.0, 0.75), (0.25, 0.75)):
        yield settings(decay=decay, weak=d, outerrounds=12, P=P)


def _words(implementation: Any, case: Case) -> Outcome:
    P, n, k, chunk = (case.settings[key] for key in ("P", "n", "k", "chunk"))
    _, traffic = implementation(np.ones((P, 2, n)), k, chunk)
    return Outcome(int(traffic.sent.max()), {"P": P, "n": n, "k": k, "chunk": chunk})


def _sizes(_level: int) -> Iterator[Case]:
    for P, (n, k, chunk) in itertools.product((1, 2, 3, 5), ((2, 1, 2), (6, 2, 3), (8, 1, 4), (4, 4, 4))):
        yield settings(P=P, n=n, k=k, chunk=chunk)


def _bits(positions: str, sparse_bits: Any, case: Case) -> Outcome:
    values = {key: case.settings[key] for key in ("n", "k", "chunk", "valuebits")}
    found = sparse_bits(values["n"], values["k"], values["chunk"], values["valuebits"], positions)
    return Outcome(int(found), values)


def _coded(level: int) -> Iterator[Case]:
    for chunk in (1, 2, 3, 5, 8, 9, 16, *((64, 4096) if level else (64,))):
        for k in sorted({1, 2, 3, chunk // 2, chunk} - {0}):
            for blocks, bits in ((1, 2), (3, 1), (2, 4)):
                if k <= chunk:
                    yield settings(n=blocks * chunk, k=k, chunk=chunk, valuebits=bits)


def _single(_budget: Any) -> Iterator[Case]:
    return (settings(n=2 * chunk, k=1, chunk=chunk, valuebits=2) for chunk in (2, 5, 64))


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


def _values_by_hand(_budget: Any) -> Iterator[Case]:
    for number, values in enumerate(_BY_HAND):
        for bins in (4, 3, 5, 2, 256):
            yield Case({"values": number, "bins": bins}, np.array(values))
    for kind in KINDS:
        x = trace().vectors[kind][0, 0].astype(np.float64)
        for bins in (4, 5):
            yield Case({"gradient": kind, "bins": bins}, x[np.argsort(-abs(x))[:64]])


def _drawn_values() -> st.SearchStrategy[Case]:
    def made(n: int, bins: int, seed: int, tail: float) -> Case:
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(n) * 2.0 ** (tail * rng.integers(-4, 5, n))
        return Case({"n": n, "bins": bins, "seed": seed}, x)

    return st.builds(made, whole(1, 40), among((4, 3, 5, 16, 255)), whole(0, 2**20), among((0.0, 1.0, 3.0)))


def _shift(binned: Any, case: Case) -> Outcome:
    x = case.array
    kept = binned(x, case.settings["bins"])
    # a mean of n values is off by n roundings, what it is added to by one, and so are n entries: of |x| all
    slack = 4 * (x.size + 4) * _EPS * float(abs(x).sum())
    return Outcome(float(abs(kept.sum() - x.sum())), {"n": x.size}, slack)


def _energy(binned: Any, case: Case) -> Outcome:
    x = case.array / abs(case.array).max()
    kept = binned(x, case.settings["bins"])
    whole_square = float(np.square(x).sum())
    found = (float(np.square(kept).sum()) + float(np.square(x - kept).sum())) / whole_square
    # kept is off by (n + 4) roundings of |x| <= 1 an entry, in each of two sums of n squares
    return Outcome(found, {"n": x.size}, 8 * (x.size + 4) * x.size * _EPS / whole_square)


def _signs(binned: Any, case: Case) -> Outcome:
    x, bins = case.array, case.settings["bins"]
    return Outcome(float(abs(binned(-x, bins) + binned(x, bins)).max()), {"n": x.size})


def _of_bins(statement: str, trial: Any) -> Study:
    return Study(f"lowcomm.binned.{statement}", "binned", trial, corpus=_values_by_hand, cases=_drawn_values)


# --- DeMo --------------------------------------------------------------------------------------------------------


def _amplitudes(implementation: Any, case: Case) -> Outcome:
    """Of the worst of three workers, whose momenta are multiples of one."""
    given = case.settings
    n, k, chunk, m = case.array.size, given["k"], given["chunk"], case.array
    momenta = np.outer([1.0, -2.0, 0.5], m)
    after, _ = implementation(np.stack([momenta, 0 * momenta], axis=1), k, chunk)
    # an entry comes back from 2 chunk products, each off by two roundings of the chunk's norm
    slack = 8 * (chunk + 4) * np.sqrt(chunk) * _EPS
    left = float((np.square(after[:, 1]).sum(axis=1) / np.square(momenta).sum(axis=1)).max())
    return Outcome(left, {"n": n, "k": k, "chunk": chunk}, float(slack), active=k < chunk)


def _momenta(_budget: Any) -> Iterator[Case]:
    rng = np.random.default_rng(5)
    for chunk, k in ((2, 1), (3, 1), (4, 2), (8, 3), (16, 4), (5, 5)):
        yield Case({"k": k, "chunk": chunk, "family": "normal"}, rng.standard_normal(3 * chunk))
        yield Case({"k": k, "chunk": chunk, "family": "spike"}, np.eye(2 * chunk)[0])
    for kind in KINDS[:2]:
        yield Case({"k": 8, "chunk": 32, "family": kind}, trace().vectors[kind][0, 0][:2048].astype(np.float64))
    yield from _level_amplitudes(_budget)


def _level_amplitudes(_budget: Any) -> Iterator[Case]:
    for chunk, k in ((2, 1), (4, 1), (8, 3), (6, 2)):
        signs = np.where(np.arange(2 * chunk) % 3 == 0, -1.0, 1.0).reshape(2, chunk)
        yield Case({"k": k, "chunk": chunk, "family": "amplitudes of one size"}, (signs @ dct_matrix(chunk)).ravel())


def _level_in_k(chunk: int) -> Iterator[Case]:
    x = (np.ones((2, chunk)) @ dct_matrix(chunk)).ravel()
    return (Case({"k": k, "chunk": chunk}, x) for k in range(1, chunk + 1))


def _demo_missing(implementation: Any, case: Case) -> Outcome:
    """Sums over all entries and workers of what they put in, send and keep: P times the update is what they send."""
    given = case.settings
    P, T, n, beta = given["P"], given["outerrounds"], given["n"], given["decay"]
    rng = np.random.default_rng([given["seed"], n])
    state, total, before, size = np.zeros((P, n)), 0.0, 0.0, 0.0
    for _ in range(T):
        before += float(state.sum())
        gradient = rng.integers(-4, 5, (P, n)).astype(np.float64)
        workers = np.stack([gradient, state], axis=1)
        after, _ = implementation(workers, given["k"], given["chunk"], beta, share="ranks")
        size += float(abs(gradient).sum() + abs(state).sum())
        state = after[:, 1]
        total += float(gradient.sum() - P * after[-1, 0].sum())
    values = {"decay": Fraction(beta), "residualsum": before, "n": n, "k": given["k"], "chunk": given["chunk"]}
    # a message comes back from 2 chunk products, and n entries of P workers and T rounds are added up
    return Outcome(total - float(state.sum()), values, 8 * (P * n + T + given["chunk"]) * _EPS * size)


def _descents(_budget: Any) -> Iterator[Case]:
    for n, k, chunk, beta, T in itertools.product((8,), (1, 2), (2, 4), (0.5, 0.875, 1.0), (1, 2, 5)):
        yield settings(n=n, k=k, chunk=chunk, decay=beta, outerrounds=T, seed=k, P=1)
    for P, beta in itertools.product((2, 3, 5), (0.5, 1.0)):
        yield settings(n=12, k=1, chunk=4, decay=beta, outerrounds=3, seed=P, P=P)


def _gain(share: str, implementation: Any, case: Case) -> Outcome:
    """The constant's amplitude, which some workers send, and the others another."""
    P, s = case.settings["P"], case.settings["amplitude_senders"]
    momenta = np.where(np.arange(P)[:, None] < s, [[3.0, 3.0]], [[1.0, -1.0]])
    after, _ = implementation(np.stack([momenta, 0 * momenta], axis=1), 1, 2, share=share)
    update = after[-1, 0]
    # two transforms of two entries: 16 roundings
    return Outcome(float(update.sum() / 2 / (3.0 * s / P)), {"P": P, "amplitude_senders": s}, 16 * _EPS * P / s)


def _senders(_budget: Any) -> Iterator[Case]:
    return (settings(P=P, amplitude_senders=s) for P in (1, 2, 3, 5, 8) for s in range(1, P + 1))


def _flips(implementation: Any, case: Case) -> Outcome:
    """Entries of signed updates that the two divisors disagree on."""
    given, m = case.settings, case.array
    workers = np.stack([m, 0 * m], axis=1)
    first, second = (
        implementation(workers, given["k"], given["chunk"], share=share, signed=True)[0][0, 0]
        for share in ("ranks", "senders")
    )
    values = {"n": m.shape[1], "k": given["k"], "chunk": given["chunk"]}
    return Outcome(int((first != second).sum()), values)


def _several(_budget: Any) -> Iterator[Case]:
    half = 0.5**0.5
    hand = np.array([[half, half], [-0.9 * half, 0.9 * half], [-0.9 * half, 0.9 * half]])
    yield Case({"k": 1, "chunk": 2, "family": "by hand"}, hand)
    rng = np.random.default_rng(11)
    for P, n, k, chunk in ((2, 8, 1, 4), (4, 12, 2, 4), (5, 16, 3, 8)):
        yield Case({"k": k, "chunk": chunk, "family": "normal"}, rng.standard_normal((P, n)))
    for kind in KINDS[:2]:
        yield Case({"k": 4, "chunk": 32, "family": kind}, trace().vectors[kind][0][:, :2048].astype(np.float64))


def _single_amplitudes(_budget: Any) -> Iterator[Case]:
    for P, s, chunk in ((2, 1, 2), (3, 2, 4), (5, 2, 8), (4, 4, 3)):
        for row in range(1, chunk):
            m = np.where(np.arange(P)[:, None] < s, dct_matrix(chunk)[row][None], 0.0) * np.arange(1.0, P + 1)[:, None]
            yield Case({"k": 1, "chunk": chunk, "row": row, "amplitude_senders": s}, m)


def _entries(chunk_length: Any, case: Case) -> Outcome:
    """What a rank of two sends, with the chunk that is made of the one that is asked for."""
    n, target, k = (case.settings[key] for key in ("n", "chunk", "k"))
    made = chunk_length(n, target)
    _, traffic = demo_round(np.zeros((2, 2, n)), min(k, made), made)
    best = max(d for d in range(1, min(n, target) + 1) if n % d == 0)
    return Outcome(int(traffic.sent[0]) // 2, {"n": n, "chunk": target, "k": k, "madechunk": best})


def _lengths(level: int) -> Iterator[Case]:
    for n in (1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 15, 16, 24, *((29, 36, 48) if level else ())):
        for target, k in ((1, 1), (2, 1), (4, 2), (4, 1), (5, 3), (8, 4)):
            yield settings(n=n, chunk=target, k=k)


_RUNS = "runs of up to 3 rounds, 6 entries, decays 0, 1/2, 3/4 and 1; fewer of 2, 3 and 5 workers"
_WEAKNESSES = "up to 29 rounds, six ratios, decays 1/2, 3/4, 7/8 and 1; fewer of 3 and 8 workers"
_CODED = "chunks of up to 64, five numbers of entries each"
_LENGTHS = "up to 24 entries, chunks of up to 8"


def _of_rounds(statement: str, trial: Any, **options: Any) -> Study:
    return study(f"sparseloco.{statement}", "sparseloco_round", trial, _runs, _RUNS, **options)


def _demo(statement: str, trial: Any, corpus: Any, **options: Any) -> Study:
    return Study(f"lowcomm.demo.{statement}", "demo_round", trial, corpus=corpus, **options)


SPARSE_STUDIES = (
    study("sparseloco.words", "sparseloco_round", _words, _sizes, "up to 5 ranks and 8 entries"),
    _of_rounds(
        "residual",
        _residual,
        extremal=_one_round,
        curves=[
            over(
                "outerrounds",
                "equal entries, k = 1 of 4, decay 3/4",
                (settings(decay=0.75, outerrounds=T, n=4, k=1, chunk=4, seed="equal", P=1) for T in range(1, 11)),
            )
        ],
    ),
    _of_rounds("missing", _missing),
    _of_rounds("keeps", _missing),
    study(
        "sparseloco.turns",
        "sparseloco_round",
        _weak,
        _weaknesses,
        _WEAKNESSES,
        curves=[
            over(
                "outerrounds",
                "d = 1/8",
                (settings(decay=1.0, weak=0.125, outerrounds=T, P=1) for T in range(9, 64, 6)),
            )
        ],
    ),
    study("sparseloco.starved", "sparseloco_round", _weak, _weaknesses, _WEAKNESSES),
    study("sparseloco.gets_through", "sparseloco_round", _weak, _weaknesses, _WEAKNESSES),
    study("sparseloco.bits", "sparse_bits", partial(_bits, "one by one"), _coded, _CODED),
    study("sparseloco.set_bits", "sparse_bits", partial(_bits, "as a set"), _coded, _CODED),
    study(
        "sparseloco.set_saves",
        "sparse_bits",
        partial(_bits, "as a set"),
        _coded,
        _CODED,
        extremal=_single,
        curves=[
            over("k", "chunks of 64", (settings(n=64, k=k, chunk=64, valuebits=2) for k in (1, 2, 4, 8, 16, 32, 64)))
        ],
    ),
    _of_bins("sum", _shift),
    _of_bins("energy", _energy),
    _of_bins("odd", _signs),
    _of_bins("two_bits", _signs),
    _demo(
        "contraction",
        _amplitudes,
        _momenta,
        extremal=_level_amplitudes,
        curves=[over("k", "amplitudes of one size, chunks of 8", _level_in_k(8))],
    ),
    _demo("missing", _demo_missing, _descents),
    _demo("by_ranks", partial(_gain, "ranks"), _senders),
    _demo("by_senders", partial(_gain, "senders"), _senders),
    _demo("any_divisor", _flips, _several),
    _demo("one_amplitude", _flips, _single_amplitudes),
    study("demo.chunk", "chunk_length", _entries, _lengths, _LENGTHS),
    study("demo.rate", "chunk_length", _entries, _lengths, _LENGTHS),
)
