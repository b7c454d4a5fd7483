"""Models of the column sparsifiers against its kernels and their exact laws."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from goal_values import check_goals

from commbounds.compressors import AdaptiveSparsification, BlockTopK, ChunkTopK, HardThreshold, RandK, TopK
from commbounds.theory import claims

SEEDS = range(12)


def integers(seed, n):
    """Small integers with ties and zeros, not all zero; float64 sums and squares of them are exact."""
    x = np.random.default_rng(seed).integers(-4, 4, n, endpoint=True).astype(np.float64)
    x[0] += not x.any()
    return x


def parts(compressor, x):
    """Sums of squares: of what the kernel sends, which is sent as it is, and of the rest."""
    sent = compressor(x)
    assert (sent[sent != 0] == x[sent != 0]).all()
    return int(sent @ sent), int((x - sent) @ (x - sent))


def level(squares, k):
    """The smallest of the k largest."""
    return int(sorted(squares)[-k]) if k <= len(squares) else 0


@pytest.mark.models("sparsifiers.topk.ceil_k", "sparsifiers.topk.global_error", "sparsifiers.topk.local_contraction")
@pytest.mark.parametrize("seed", SEEDS)
def test_topk_conditions(seed):
    n = 1 + seed % 7
    for k in range(1, n + 1):
        x = integers(seed, n)
        kept, rest = parts(TopK(k), x)
        values = {"n": n, "k": k, "kept": kept, "rest": rest, "level": level(x**2, k)}
        check_goals("sparsifiers.topk.contraction", ["contraction"], values)
        for mu in (Fraction(k, n), Fraction(2 * k - 1, 2 * n)):
            check_goals("sparsifiers.topk.ceil_k", ["contraction, times n"], {**values, "mu": mu})
        workers = [integers(100 * seed + i, n) for i in range(3)]
        workers[0][0] += not sum(workers).any()
        each = [parts(TopK(k), x) for x in workers]
        sums = [sum(column) for column in zip(*each, strict=True)]
        for x, (own_kept, own_rest) in zip(workers, each, strict=True):
            own = {"n": n, "k": k, "own_kept": own_kept, "own_rest": own_rest, "level": level(x**2, k)}
            check_goals("sparsifiers.topk.local_contraction", ["one worker"], own)
            check_goals("sparsifiers.topk.global_error", ["one worker"], own)
        check_goals("sparsifiers.topk.local_contraction", ["contraction"], {**values, "kept": sums[0], "rest": sums[1]})
        off = sum(TopK(k)(x) - x for x in workers)
        average = sum(workers)
        check_goals(
            "sparsifiers.topk.global_error",
            ["average"],
            {
                **{"n": n, "k": k, "P": 3, "rest": sums[1], "sumsq": sum(sums)},
                "mean_error": Fraction(int(off @ off), 9),
                "norm2bar": sp.sqrt(sp.Rational(int(average @ average), 9)),
            },
        )


def test_topk_of_equal_entries_meets_the_bound():
    kept, rest = parts(TopK(2), np.ones(5))
    values = {"n": 5, "k": 2, "kept": kept, "rest": rest, "level": 1}
    assert check_goals("sparsifiers.topk.contraction", ["contraction"], values) == [0]


@pytest.mark.models(
    "sparsifiers.blocktopk.contraction", "sparsifiers.chunktopk.contraction", "sparsifiers.chunktopk.wire"
)
@pytest.mark.parametrize("seed", SEEDS)
def test_grouped_conditions(seed):
    n = 1 + seed % 9
    x = integers(seed, n)
    for block in range(1, n + 1):
        blocks = -(-n // block)
        for k in range(1, blocks + 1):
            kept, rest = parts(BlockTopK(k, block), x)
            squares = [x[i : i + block] @ x[i : i + block] for i in range(0, n, block)]
            values = {"blocks": blocks, "k": k, "kept": kept, "rest": rest, "level": level(squares, k)}
            check_goals("sparsifiers.blocktopk.contraction", ["contraction"], values)
    for chunk in range(1, n + 3):
        for k in range(1, chunk + 1):
            message = ChunkTopK(k, chunk).compress(x)
            sent, bits = ChunkTopK(k, chunk).decompress(message), 0
            for start in range(0, n, chunk):
                piece, own = x[start : start + chunk], sent[start : start + chunk]
                values = {
                    **{"n": n, "chunk": chunk, "k": k, "length": piece.size, "level": level(piece**2, k)},
                    **{"kept": int(own @ own), "rest": int((piece - own) @ (piece - own))},
                }
                one = "one short chunk" if n < chunk else "a chunk"
                most = "k entries or more" if piece.size >= k else "fewer than k"
                assert piece.size >= k or not values["rest"]
                check_goals("sparsifiers.chunktopk.contraction", [f"{one} of {most}"], values)
                bits += min(k, piece.size) * (64 + (chunk - 1).bit_length())
            assert bits == message.bits  # what the steps of the induction add up to


@pytest.mark.models("sparsifiers.hardthreshold.absolute_error", "sparsifiers.hardthreshold.nonexpansive")
@pytest.mark.parametrize("seed", SEEDS)
def test_threshold_conditions(seed):
    n = 1 + seed % 7
    for threshold in (0.5, 2.0, 3.0, 9.0):
        compressor, x = HardThreshold(threshold), integers(seed, n)
        kept, rest = parts(compressor, x)
        count = int((compressor(x) != x).sum())
        values = {"n": n, "kept": kept, "rest": rest, "lost": rest, "count": count, "threshold": Fraction(threshold)}
        check_goals("sparsifiers.hardthreshold.nonexpansive", ["error"], values)
        check_goals("sparsifiers.hardthreshold.absolute_error", ["error"], values)


@pytest.mark.models("sparsifiers.adaptivesparsification.contraction", "sparsifiers.adaptivesparsification.error")
@pytest.mark.parametrize("seed", SEEDS)
def test_adaptive_conditions(seed):
    n = 2 + seed % 4
    x = [abs(int(v)) for v in integers(seed, n)]
    x[0] += 1
    first, second, third = (sum(v**power for v in x) for power in (1, 2, 3))
    law = AdaptiveSparsification().law(x)
    error = sum(p * sum((v - Fraction(o)) ** 2 for v, o in zip(x, output, strict=True)) for p, output in law)
    assert first * error == sum(v * (second - v**2) for v in x)  # what the induction adds up
    before = {"n": n - 1, "magnitude": x[-1], "first": first - x[-1]}
    before |= {"second": second - x[-1] ** 2, "third": third - x[-1] ** 3}
    (slack,) = check_goals("sparsifiers.adaptivesparsification.contraction", ["one more entry"], before)
    assert slack == ((1 - Fraction(1, n)) * second - error) * first


UNSCALED = ("contraction", "bias", "global_contraction_shared", "global_error_independent")
SCALED = ("unbiased", "variance", "second_moment", "shrunk_contraction", "global_error_scaled")


@pytest.mark.models(
    "sparsifiers.randk.bias",
    "sparsifiers.randk.contraction",
    "sparsifiers.randk.global_contraction_shared",
    "sparsifiers.randk.global_error_independent",
    "sparsifiers.randk.global_error_scaled",
    "sparsifiers.randk.second_moment",
    "sparsifiers.randk.shrunk_contraction",
    "sparsifiers.randk.unbiased",
    "sparsifiers.randk.variance",
)
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 1), (3, 2), (4, 2), (5, 3)])
def test_randk_inclusion(n, k, scaled):
    law = RandK(k, scaled=scaled).law(range(1, n + 1))
    gain = Fraction(n, k) if scaled else 1
    for i in range(n):
        marginal = {}
        for probability, output in law:
            marginal[output[i]] = marginal.get(output[i], 0) + probability
        kept = Fraction(k, n)
        assert marginal == {value: p for value, p in (((i + 1) * gain, kept), (0, 1 - kept)) if p}
    having = sum(output[-1] != 0 for _, output in law)
    values = {"n": n, "k": k, "gain": Fraction(n, k), "total": sum(range(n)), "x": n}
    values |= {"having": having, "without": len(law) - having}
    for claim in SCALED if scaled else UNSCALED:
        if n > 1:
            check_goals(f"sparsifiers.randk.{claim}", ["one more entry"], values)


def test_topk_contracts_all_vectors_of_small_numbers():
    """A second way, from the definition: what sorting by magnitude leaves out, of every vector."""
    contraction = claims()["sparsifiers.topk.contraction"]
    for n in range(1, 6):
        for x in itertools.product(range(4), repeat=n):
            squares = sorted((v * v for v in x), reverse=True)
            for k in range(1, n + 1):
                assert sum(squares[k:]) <= contraction.bound(n=n, k=k) * sum(squares)
