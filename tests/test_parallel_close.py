"""`commbounds.testing.assert_parallel_close`: right plans are accepted, mistakes are refused and named."""

import numpy as np
import parallel_runs as run
import pytest
from parallel_runs import BFLOAT16

from commbounds.testing import Accumulate, Adam, CrossEntropy, Matmul, Norm, assert_parallel_close

RANKS = range(1, 10)
F32 = np.float32


def rng_of(*numbers):
    return np.random.default_rng(numbers)


def named(plan, wrong):
    with pytest.raises(AssertionError) as refused:
        assert_parallel_close(None, wrong, plan)
    return str(refused.value).split("what fits: ")[1]


# --- right ones ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("P", RANKS)
@pytest.mark.parametrize("inputs", [F32, BFLOAT16])
def test_products_that_are_split_are_accepted(P, inputs):
    rng = rng_of(P, 1)
    a, b = rng.standard_normal((3, 37)).astype(inputs), rng.standard_normal((37, 5)).astype(inputs)
    bias = rng.standard_normal(5).astype(F32)
    parts = run.parts_of(a, b, P)
    whole = run.parts_of(a, b, 1)[0]
    assert_parallel_close(whole, run.added(parts, F32), Matmul(a, b, P))
    assert_parallel_close(None, run.added(parts, F32, rng.permutation(P)) + bias, Matmul(a, b, P, bias=bias))
    sent = run.added([part.astype(BFLOAT16) for part in parts], BFLOAT16)
    assert_parallel_close(whole.astype(BFLOAT16), sent, Matmul(a, b, P, wire="bfloat16"))
    wide = run.added([part.astype(BFLOAT16) for part in parts], F32).astype(BFLOAT16)
    assert_parallel_close(None, wide, Matmul(a, b, P, wire="bfloat16", reduce="float32", schedule="direct"))
    narrow = run.added(run.parts_of(a, b, P, BFLOAT16), BFLOAT16)
    assert_parallel_close(None, narrow, Matmul(a, b, P, accumulate="bfloat16", wire="bfloat16"), allow_vacuous=True)
    rounded = run.added(run.parts_of(run.tf32(a), run.tf32(b), P), F32)
    assert_parallel_close(None, rounded, Matmul(a, b, P, tf32=True))


@pytest.mark.parametrize("P", RANKS)
@pytest.mark.parametrize("kind", ["normal", "wide", "equal", "ties", "one"])
def test_losses_split_by_vocabulary_are_accepted(P, kind):
    rng = rng_of(P, 2)
    x = rng.standard_normal((6, 53)).astype(F32)
    x = {"normal": x, "wide": 60 * x, "equal": 0 * x, "ties": np.round(x), "one": np.where(np.arange(53) == 7, 90, x)}[
        kind
    ]
    x, targets = x.astype(F32), rng.integers(0, 53, 6)
    for smoothing in (0.0, 0.1):
        plan = CrossEntropy(x, targets, P, smoothing)
        assert_parallel_close(
            run.losses(x, targets, 1, smoothing), run.losses(x, targets, P, smoothing), plan, allow_vacuous=True
        )
        sent = run.losses(x, targets, P, smoothing, wire=BFLOAT16)
        assert_parallel_close(None, sent, CrossEntropy(x, targets, P, smoothing, wire="bfloat16"), allow_vacuous=True)


@pytest.mark.parametrize("P", RANKS)
def test_norms_behind_an_all_reduce_are_accepted(P):
    rng = rng_of(P, 3)
    parts, residual = rng.standard_normal((P, 4, 48)).astype(BFLOAT16), rng.standard_normal((4, 48)).astype(BFLOAT16)
    weight = rng.standard_normal(48).astype(F32)
    total = run.added(list(parts), BFLOAT16, rng.permutation(P))
    hidden = (total + residual).astype(BFLOAT16)
    plan = Norm(parts, residual, weight, 1e-5)
    assert_parallel_close(None, run.normed(hidden, weight, 1e-5, BFLOAT16), plan)
    wide = parts.astype(F32)
    hidden = run.added(list(wide), F32) + residual.astype(F32)
    assert_parallel_close(None, run.normed(hidden, weight, 1e-5, F32), Norm(wide, residual.astype(F32), weight, 1e-5))


@pytest.mark.parametrize("P", RANKS)
@pytest.mark.parametrize("wire", [F32, BFLOAT16])
def test_gradients_of_micro_batches_are_accepted(P, wire):
    rng = rng_of(P, 4)
    for M in (1, 2, 5):
        g, tokens = rng.standard_normal((P, M, 30)).astype(F32), rng.integers(1, 9, (P, M))
        name = np.dtype(wire).name
        for replicas in (r for r in range(1, P + 1) if P % r == 0):
            for given in (None, tokens):
                plan = Accumulate(g, given, wire=name, replicas=replicas, divisions=2)
                whole = g.reshape(1, P * M, 30)
                reference = run.gradient(whole, None if given is None else given.reshape(1, P * M))
                assert_parallel_close(reference, run.gradient(g, given, wire, replicas), plan)


@pytest.mark.parametrize("P", RANKS)
def test_steps_of_adam_are_accepted(P):
    rng = rng_of(P, 5)
    g = rng.standard_normal((P, 3, 40)).astype(F32)
    p, m = rng.standard_normal(40).astype(F32), (0.1 * rng.standard_normal(40)).astype(F32)
    v = (0.1 * rng.random(40)).astype(F32)
    for step, state in ((1, (0 * m, 0 * v)), (2, (m, v)), (100, (m, v))):
        taken = run.adam(p, run.gradient(g), 1e-2, (0.9, 0.999), 1e-8, 0.1, *state, step)
        known = {} if step == 1 else {"first": state[0], "second": state[1]}
        plan = Adam(p, Accumulate(g), 1e-2, decay=0.1, step=step, **known)
        assert_parallel_close(None, taken, plan)


def test_uneven_parts_and_other_formats_are_accepted():
    rng = rng_of(12)
    a, b = rng.standard_normal((2, 40)).astype(BFLOAT16), rng.standard_normal((40, 3)).astype(BFLOAT16)
    whole, bias = run.parts_of(a, b, 1)[0], rng.standard_normal(3)
    once = (whole.astype(BFLOAT16).astype(F32) + bias.astype(BFLOAT16).astype(F32)).astype(BFLOAT16)
    assert_parallel_close(None, once, Matmul(a, b, [40, 0], wire="bfloat16", reduce="float32", bias=bias))
    x, targets = rng.standard_normal((4, 60)).astype(F32), np.arange(4)
    assert (CrossEntropy(x, targets, [1, 59]).allowed > CrossEntropy(x, targets, [30, 30]).allowed).all()
    assert (CrossEntropy(x, targets, 2, 0.1, wire="bfloat16").allowed > 2.0**-9).all()
    assert_parallel_close(None, run.losses(x, targets, 1), CrossEntropy(x, targets, [1, 59]))


def test_norms_of_sums_that_cancel_and_weights_behind_a_rounding_are_accepted():
    rng = rng_of(13)
    parts, weight = rng.standard_normal((4, 64, 8)).astype(BFLOAT16), rng.standard_normal(8).astype(BFLOAT16)
    residual = (-parts.astype(np.float64).sum(axis=0) * (1 + 0.05 * rng.standard_normal((64, 8)))).astype(BFLOAT16)
    plan = Norm(parts, residual, weight, 1e-5)
    for order in (range(4), range(3, -1, -1)):
        hidden = (run.added([parts[p] for p in order], BFLOAT16).astype(F32) + residual.astype(F32)).astype(BFLOAT16)
        normal = run.normed(hidden, np.ones(8), 1e-5, BFLOAT16)
        for got in (run.normed(hidden, weight, 1e-5, BFLOAT16), (normal * weight).astype(BFLOAT16)):
            assert_parallel_close(None, got, plan, allow_vacuous=True)


@pytest.mark.parametrize("size", [0.0, 1.0, 3e3, 1e6])
def test_losses_whose_log_is_added_to_the_maximum_first(size):
    rng = rng_of(14)
    x, targets = (size + rng.standard_normal((64, 60))).astype(F32), rng.integers(0, 60, 64)
    most = x.max(axis=1)
    first = (most + np.log(np.exp(x - most[:, None]).sum(axis=1, dtype=F32))) - x[np.arange(64), targets]
    assert_parallel_close(None, first, CrossEntropy(x, targets, 4, log_first=True), allow_vacuous=True)
    if size >= 3e3:
        plan = CrossEntropy(x, targets, 4)
        assert named(plan, first).startswith("the maximum and the log are added before the logit is subtracted")
    with pytest.raises(ValueError, match="without smoothing"):
        assert_parallel_close(None, first, CrossEntropy(x, targets, 4, 0.1, log_first=True))


def test_where_the_sign_of_a_tiny_gradient_decides_it_says_so():
    g = np.zeros((2, 1, 8), F32)
    g[0], g[1] = 1.0, -1.0  # cancel to nothing, as far as anyone can tell in bfloat16
    g[0, 0, :2] = 2.0
    plan = Adam(np.ones(8, F32), Accumulate(g + F32(2.0**-12), wire="bfloat16"))
    assert plan.undecided.sum() == 6
    assert "rounding decides the sign of 6 of 8 steps" in str(plan)
    steps = np.ones(8, F32) - F32(1e-3) * np.where(np.arange(8) < 2, F32(1), F32(-1))
    with pytest.raises(ValueError, match="rounding decides the sign of 6 of 8 steps of Adam"):
        assert_parallel_close(None, steps, plan)
    assert_parallel_close(None, steps, plan, allow_vacuous=True)
    assert "gradient: all signs are inverted" in named(plan, 2 - plan.exact)


# --- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("P", range(2, 10))
def test_mistakes_of_products_are_named(P):
    rng = rng_of(P, 6)
    a, b = rng.standard_normal((4, 96)).astype(F32), rng.standard_normal((96, 6)).astype(F32)
    bias, parts = rng.standard_normal(6).astype(F32), run.parts_of(a, b, P)
    whole, last = run.added(parts, F32), P - 1
    plan = Matmul(a, b, P, bias=bias)
    assert named(plan, parts[last] + 0 * bias) == f"the result is the part of rank {last}, not reduced"
    assert f"the part of rank {last} is missing" in named(plan, run.added(parts[:-1], F32) + bias)
    assert named(plan, whole + parts[0] + bias).startswith("the part of rank 0 is counted twice")
    assert f"every one of {P} ranks adds the bias" in named(plan, whole + F32(P) * bias)
    assert named(plan, whole) == "the bias is missing"
    assert named(plan, F32(P) * (whole + bias)).startswith(f"multiplied by P = {P}")
    sent = run.added([part.astype(BFLOAT16) for part in parts], BFLOAT16).astype(F32)
    assert named(Matmul(a, b, P), sent) == "the parts are reduced in bfloat16"
    assert named(Matmul(a, b), run.parts_of(run.tf32(a), run.tf32(b), 1)[0]) == "the operands are rounded to tf32"


@pytest.mark.parametrize("P", range(2, 10))
def test_mistakes_of_losses_are_named(P):
    rng = rng_of(P, 7)
    x, targets = (3 * rng.standard_normal((8, 60))).astype(F32), rng.integers(0, 60, 8)
    plan = CrossEntropy(x, targets, P)
    right = run.losses(x, targets, P)
    assert named(plan, right + F32(np.log(P))).startswith("log P too much")
    assert named(plan, F32(P) * right) == "the sum of the losses of all ranks"
    assert named(plan, -right) == "the sign is inverted"
    own = x.copy()
    own[:, 60 // P + (60 % P > 0) :] = -np.inf
    alone = np.log(np.exp(own - x.max(axis=1, keepdims=True)).sum(axis=1)) - (x[np.arange(8), targets] - x.max(axis=1))
    assert named(plan, alone.astype(F32)) == "the sum of exponentials is that of rank 0 alone"
    assert named(CrossEntropy(x, targets, P, 0.2), right) == "labels are not smoothed"


@pytest.mark.parametrize("P", range(2, 10))
def test_mistakes_of_norms_are_named(P):
    rng = rng_of(P, 8)
    parts, residual = rng.standard_normal((P, 4, 48)).astype(F32), rng.standard_normal((4, 48)).astype(F32)
    weight, total = (1 + 0.1 * rng.standard_normal(48)).astype(F32), run.added(list(parts), F32)
    plan = Norm(parts, residual, weight, 1e-5)

    def of(hidden, **how):
        return run.normed(hidden, weight, **{"eps": 1e-5, "dtype": F32, **how})

    assert f"every one of {P} ranks adds the residual" in named(plan, of(total + F32(P) * residual))
    assert named(plan, of(total)) == "the residual is missing"
    assert named(plan, of(total) + residual) == "the residual is added behind the norm"
    assert "the part of rank 1 is missing" in named(plan, of(total + residual - parts[1]))
    halves = np.concatenate(
        [run.normed(h, weight[:24], 1e-5, F32) for h in np.split(total + residual, 2, axis=1)], axis=1
    )
    halves[:, 24:] *= weight[24:] / weight[:24]
    assert named(plan, halves) == "the mean square is of 1/2 of the entries"
    sent = run.added([part.astype(BFLOAT16) for part in parts], BFLOAT16).astype(F32)
    assert named(plan, of(sent + residual)) == "the parts are reduced in bfloat16"


@pytest.mark.parametrize("P", range(2, 10))
def test_mistakes_of_gradients_are_named(P):
    rng = rng_of(P, 9)
    g, tokens = rng.standard_normal((P, 3, 64)).astype(F32), rng.integers(1, 20, (P, 3))
    plan, right = Accumulate(g, tokens), run.gradient(g, tokens)
    own = np.mean([g[p].sum(axis=0) / tokens[p].sum() for p in range(P)], axis=0)
    assert named(plan, own.astype(F32)) == "divided by the ranks' own token counts: the mean of their means"
    assert f"multiplied by P = {P}" in named(plan, F32(P) * right)
    assert f"divided by P = {P} twice" in named(plan, right / F32(P))
    assert "rank 1 is missing" in named(plan, right - g[1].sum(axis=0) / F32(tokens.sum()))
    assert named(plan, run.gradient(g, tokens, BFLOAT16).astype(F32)) == "gradients are reduced in bfloat16"
    assert "micro-batch 2 is missing on all ranks" in named(plan, right - g[:, 2].sum(axis=0) / F32(tokens.sum()))
    shards = Accumulate(g, replicas=P)
    assert "replica 0 alone" in named(shards, g[0].sum(axis=0) / F32(3 * P))


def test_mistakes_of_adam_are_named():
    rng = rng_of(10)
    g, p = rng.standard_normal((4, 2, 64)).astype(F32), rng.standard_normal(64).astype(F32)
    m, v = (0.1 * rng.standard_normal(64)).astype(F32), (0.1 * rng.random(64)).astype(F32)
    plan = Adam(p, Accumulate(g), 1e-2, decay=0.1, first=m, second=v, step=3)

    def step(gradient, **how):
        settings = {"rate": 1e-2, "betas": (0.9, 0.999), "eps": 1e-8, "decay": 0.1, "m": m, "v": v, "step": 3, **how}
        return run.adam(p, gradient, **settings)

    right = run.gradient(g)
    assert named(plan, step(right, decay=0.0)) == "parameters do not decay"
    assert named(plan, step(F32(4) * right)).startswith("gradient: multiplied by P = 4")
    assert named(plan, step(right, step=4)) == "corrected as one step later"
    assert named(plan, p) == "the step is not made"


def test_which_of_the_two_is_wrong_is_said():
    a, b = np.ones((1, 8), F32), np.ones((8, 1), F32)
    with pytest.raises(AssertionError, match="of the reference are beyond"):
        assert_parallel_close(np.full((1, 1), 9, F32), a @ b, Matmul(a, b, 2))
    with pytest.raises(AssertionError, match="of the result are beyond"):
        assert_parallel_close(a @ b, np.full((1, 1), 9, F32), Matmul(a, b, 2))
    with pytest.raises(AssertionError, match="not finite"):
        assert_parallel_close(None, np.full((1, 1), np.nan, F32), Matmul(a, b, 2))


def test_a_bound_that_says_nothing_is_refused():
    rng = rng_of(11)
    a, b = rng.standard_normal((2, 4096)).astype(BFLOAT16), rng.standard_normal((4096, 2)).astype(BFLOAT16)
    zeros = np.zeros((2, 2), F32)
    with pytest.raises(ValueError, match="the bound says nothing"):
        assert_parallel_close(None, zeros, Matmul(a, b, 4, accumulate="bfloat16"))
    assert_parallel_close(None, zeros, Matmul(a, b, 4, accumulate="bfloat16"), allow_vacuous=True)


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (lambda x: Matmul(x, x), r"a and b must be \(m, K\)"),
        (lambda x: Matmul(x, x.T, 0), "parts must be at least 1"),
        (lambda x: Matmul(x, x.T, [1, 1]), "parts must add up to 3"),
        (lambda x: Matmul(x, x.T, bias=x), "bias must be"),
        (lambda x: Matmul(x * np.nan, x.T), "a must be finite"),
        (lambda x: Matmul(x, x.T, rounding="upwards"), "rounding must be one of"),
        (lambda x: Matmul(x, x.T, wire="float17"), "must be one of"),
        (lambda x: Matmul(x, x.T, additions=3), r"additions must be in \[0, 2\]"),
        (lambda x: Matmul(x, 1e5 * x.T, wire="float16"), "may overflow in float16"),
        (lambda x: Adam(x[0], Accumulate(x[None, :]), eps=0.0), "eps above 0"),
        (lambda x: Accumulate(np.ones((2, 3, 2, 2), F32), divisions=-1), "divisions must be at least 0"),
        (lambda x: CrossEntropy(x, [0, 3]), "targets must be integers"),
        (lambda x: CrossEntropy(x, [0, 1], smoothing=1.0), "smoothing must be in"),
        (lambda x: Norm(x), "parts must be"),
        (lambda x: Accumulate(x[:, :, None], replicas=3), "replicas must divide"),
        (lambda x: Accumulate(x[:, :, None], [[1, 1, 1]]), "tokens must be"),
        (lambda x: Adam(x, Accumulate(x[:, :, None])), "must have one shape"),
        (lambda x: Adam(np.ones(1, F32), Accumulate(x[:, :, None]), step=0), "step must be at least 1"),
    ],
)
def test_what_does_not_fit_is_refused(plan, says):
    with pytest.raises(ValueError, match=says):
        assert_parallel_close(None, np.ones((2, 2), F32), plan(np.ones((2, 3), F32)))


@pytest.mark.parametrize(
    ("got", "plan", "says"),
    [
        (np.zeros((2, 2), np.int64), lambda x: Matmul(x, x.T), "result must be of one of"),
        (np.zeros((2, 2), BFLOAT16), lambda x: Matmul(x, x.T), "in bfloat16, and the plan's in float32"),
        (np.zeros((2, 2), F32), lambda x: Matmul(x, x.T, 2.5), "parts must be an integer"),
        (np.zeros((2, 2), F32), lambda x: Matmul(x.astype(int), x.T), "a must be of one of"),
        (np.zeros((2, 2), F32), lambda x: "ring", "plan must be Matmul"),
        (np.zeros((2, 2), F32), lambda x: Adam(x, x), "gradient must be a plan"),
    ],
)
def test_what_is_of_another_kind_is_refused(got, plan, says):
    x = np.ones((2, 3), F32)
    with pytest.raises(TypeError, match=says):
        assert_parallel_close(None, got, plan(x))
