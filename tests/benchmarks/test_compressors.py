"""The cases of ``commbounds bench``, ours beside every peer, under pytest-benchmark: it has its own statistics."""

import numpy as np
import pytest

from commbounds.compressors import COMPRESSORS, QSGD, RandK, TopK
from commbounds.verify import bench, peers
from commbounds.verify.experiments.setups import SETUPS

N = 4_000_000
ROUNDS = {"rounds": 9, "iterations": 1, "warmup_rounds": 1}
NORMAL = np.random.default_rng(1).standard_normal(N, np.float32)
TOP_K_PEERS = list(peers.top_k_peers(NORMAL[:10], 1))


@pytest.mark.parametrize("contender", ["ours", *TOP_K_PEERS])
@pytest.mark.parametrize("divisor", [1000, 100, 10])
def test_top_k(benchmark, divisor, contender):
    k = N // divisor
    benchmark.group = f"Top-K, k = n/{divisor}"
    work = {"ours": lambda: TopK(k).compress(NORMAL), **peers.top_k_peers(NORMAL, k)}[contender]
    benchmark.pedantic(work, **ROUNDS)


@pytest.mark.parametrize("contender", ["ours", *TOP_K_PEERS])
@pytest.mark.parametrize("name", bench.adversarial(10))
def test_top_k_on_adversarial_inputs(benchmark, name, contender):
    x, k = bench.adversarial(N)[name](), N // 100
    benchmark.group = f"Top-K, {name}"
    work = {"ours": lambda: TopK(k).compress(x), **peers.top_k_peers(x, k)}[contender]
    benchmark.pedantic(work, **ROUNDS)


@pytest.mark.parametrize("contender", ["ours", "numpy sorted choice"])
def test_rand_k(benchmark, contender):
    rng, k = np.random.default_rng(4), N // 10
    benchmark.group = "Rand-K, k = n/10"
    work = {"ours": lambda: RandK(k).compress(NORMAL, rng), **peers.rand_k_peers(NORMAL, k, rng)}[contender]
    benchmark.pedantic(work, **ROUNDS)


@pytest.mark.parametrize("contender", ["ours", *peers.qsgd_peers(NORMAL[:10], 127, np.random.default_rng(4))])
def test_qsgd(benchmark, contender):
    rng = np.random.default_rng(4)
    benchmark.group = "QSGD, there and back"
    work = {"ours": lambda: QSGD(127)(NORMAL, rng), **peers.qsgd_peers(NORMAL, 127, rng)}[contender]
    benchmark.pedantic(work, **ROUNDS)


@pytest.mark.parametrize("name", [name for name, cls in COMPRESSORS.items() if cls.ndim == 1])
def test_every_compressor_of_vectors(benchmark, name):
    c = SETUPS[name](COMPRESSORS[name], NORMAL.size)[0]
    benchmark.group = "there and back"
    benchmark.pedantic(lambda: c(NORMAL, np.random.default_rng(6)), **ROUNDS)
