"""The models of claims about Ok-Topk, beside what its kernels do: they cover every run, their conditions are met."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from goal_values import confirm, goals, met, value

from commbounds.collectives.dense.gathering import gather_blocks, gather_counts
from commbounds.collectives.oktopk.allreduce import oktopk_allreduce
from commbounds.collectives.oktopk.winners import equal_shares, evened_out
from commbounds.theory import claims
from commbounds.verify.experiment import budgets
from commbounds.verify.experiments.oktopk.runs import OkTopkRun
from commbounds.verify.experiments.oktopk.studies import EXPERIMENTS
from commbounds.verify.study import Outcome

COUNTED = (
    "oktopk.balance.always",
    "oktopk.balance.equal_blocks",
    "oktopk.balance.moves_in",
    "oktopk.balance.moves_out",
    "oktopk.balance.never",
    "oktopk.balance.quarter",
    "oktopk.both.even_split",
    "oktopk.both.perfect",
    "oktopk.received.any_split",
    "oktopk.received.even_split",
    "oktopk.received.global_count",
    "oktopk.received.limited_inbound",
    "oktopk.received.worst",
    "oktopk.sent.any_split",
    "oktopk.sent.even_split",
    "oktopk.sent.general",
    "oktopk.sent.ring",
)
"""Claims whose models count what single ranks send and receive."""


def runs(claim, most=8):
    """Some of the book's cases that the claim's hypotheses admit, each with its run and what was measured."""
    study = EXPERIMENTS[claim]
    sources = [found(budgets["quick"]) for found in (study.extremal, study.corpus) if found is not None]
    cases = [*itertools.islice(itertools.chain(*sources), 60), *itertools.islice(study.grid(0), 0, 3000, 97)]
    rng, found = np.random.default_rng(13), 0
    for number in rng.permutation(len(cases)):
        outcome = study.admitted(oktopk_allreduce, cases[number])
        if isinstance(outcome, Outcome):
            yield OkTopkRun.of(oktopk_allreduce, cases[number]), outcome
            found += 1
        if found == most:
            return
    assert found


def sizes(run, outcome):
    """The numbers that bounds speak of."""
    return {name: v for name, v in outcome.values.items() if isinstance(v, int)}


def bound_at(claim, outcome):
    """The claim's bound on a run."""
    return Fraction(claims()[claim].bound(**{name: outcome.values[name] for name in claims()[claim].parameters}))


def counts(run, p):
    """What rank p sends and receives in each phase, in entries, and where its winners lie."""
    phases, winners = run.traffic.phases, np.asarray(run.winners)
    shares, held, targets = equal_shares(winners)
    return {
        "split": phases["split"].sent[p] // 2,
        "entered": phases["split"].received[p] // 2,
        "leaves": phases["balance"].sent[p] // 2,
        "enters": phases["balance"].received[p] // 2,
        "gathered": phases["allgather"].sent[p] // 2,
        "heard": phases["allgather"].received[p] // 2,
        "begin": held[p],
        "end": held[p + 1],
        "low": targets[p],
        "share": shares[p],
        "stays": max(0, min(held[p + 1], targets[p] + shares[p]) - max(held[p], targets[p])),
        "quotient": winners.sum() // run.P,
        "remainder": winners.sum() % run.P,
        "bits": (run.P - 1).bit_length(),
    }


@pytest.mark.parametrize("claim", COUNTED)
def test_counts_of_every_rank(claim):
    for run, outcome in runs(claim):
        traffic = run.counted(claims()[claim])
        measured = {
            "most_sent": traffic.sent,
            "most_received": traffic.received,
            "sent_and_received": traffic.sent + traffic.received,
        }[claims()[claim].quantity.name]
        assert max(measured) == outcome.measured
        bound = bound_at(claim, outcome)
        steps = gather_counts(2 * np.asarray(run.winners), run.option("allgather"))[0] // 2
        for p in range(run.P):
            values = {name: int(v) for name, v in {**sizes(run, outcome), **counts(run, p)}.items()}
            if claim == "oktopk.balance.quarter" and not evened_out(np.asarray(run.winners), "4x-mean"):
                sent = steps[:, p].tolist()
                values |= (
                    {"early": sum(sent[:-2]), "late": sent[-2], "last": sent[-1]} if run.P > 2 else {"block": sent[0]}
                )
            confirm(claim, values, bound, int(measured[p]))


def paths(run):
    """Critical paths of the phases, and the largest step of the split, in entries."""
    phases, between = run.traffic.phases, run.region_counts.copy()
    np.fill_diagonal(between, 0)
    rotated = [[between[p, (p + s) % run.P] for p in range(run.P)] for s in range(1, run.P)]
    step = max(map(max, rotated), default=0) if run.option("rotation") else between.sum(axis=0).max()
    return {
        "split_path": phases["split"].critical_path // 2,
        "balance_path": phases["balance"].critical_path // 2,
        "gather_path": phases["allgather"].critical_path // 2,
        "step": step,
        "share": run.winners.sum() // run.P,
        "block": run.winners.max(),
    }


@pytest.mark.models(
    "oktopk.balance.quarter_ring", "oktopk.path.even_split", "oktopk.split.rotation", "oktopk.split.unrotated"
)
@pytest.mark.parametrize(
    ("claim", "path"),
    [
        ("oktopk.path.even_split", ""),
        ("oktopk.split.rotation", "split_path"),
        ("oktopk.split.unrotated", "split_path"),
        ("oktopk.balance.quarter_ring", "gather_path"),
    ],
)
def test_paths(claim, path):
    for run, outcome in runs(claim):
        values = {name: int(v) for name, v in {**sizes(run, outcome), **paths(run)}.items()}
        values["path"] = values.get(path)
        if claim == "oktopk.balance.quarter_ring":
            if evened_out(np.asarray(run.winners), "4x-mean"):
                values["moved"] = values["balance_path"]
            else:
                del values["share"]
        confirm(claim, {n: v for n, v in values.items() if v is not None}, bound_at(claim, outcome), outcome.measured)


@pytest.mark.models("oktopk.split.steps")
def test_rounds():
    claim = "oktopk.split.steps"
    for run, outcome in runs(claim):
        phases = run.traffic.phases
        values = {
            **sizes(run, outcome),
            "bits": (run.P - 1).bit_length(),
            "step": phases["split"].steps,
            "moved": phases["balance"].steps,
            "rounds": phases["sizes"].steps + phases["allgather"].steps,
        }
        confirm(claim, values, bound_at(claim, outcome), outcome.measured)


@pytest.mark.models("oktopk.sizes.counted")
@pytest.mark.parametrize("P", range(1, 20))
def test_sizes_come_once(P):
    sizes = np.ones(P, np.int64)
    for algorithm in ("ring", "bruck"):
        received = gather_counts(sizes, algorithm)[1]
        full = P.bit_length() - 1
        brought = [1] * (P - 1) if algorithm == "ring" else [2**j for j in range(full)] + [P - 2**full]
        assert [row.tolist() for row in received if row.any()] == [[b] * P for b in brought if b]
    for run, outcome in runs("oktopk.sizes.counted", 3):
        assert outcome.measured == run.P - 1 == gather_blocks(np.ones(run.P, np.int64), "bruck").received.max()


@pytest.mark.models("oktopk.balance.quarter")
@pytest.mark.parametrize("P", [2, 4, 8, 16])
@pytest.mark.parametrize("algorithm", ["bruck", "recursive-doubling"])
def test_doubling_sends_the_blocks_of_twice_as_many(P, algorithm):
    blocks = 1 << np.arange(P)  # tells them apart
    for step, sent in enumerate(gather_counts(blocks, algorithm)[0].tolist()):
        assert {block.bit_count() for block in sent} == {2**step}


@pytest.mark.models(
    "oktopk.lower.mean",
    "oktopk.lower.most",
    "oktopk.reevaluation.mean",
    "oktopk.reevaluation.mean_worst",
    "oktopk.reevaluation.most",
)
@pytest.mark.parametrize(
    "claim",
    [
        "oktopk.lower.most",
        "oktopk.lower.mean",
        "oktopk.reevaluation.mean",
        "oktopk.reevaluation.mean_worst",
        "oktopk.reevaluation.most",
    ],
)
def test_what_ranks_are_told(claim):
    for run, outcome in runs(claim):
        lower = ".lower." in claim
        received = run.counted(claims()[claim]).received // 2
        owned = run.winners if lower else run.result.nonzero_sums
        values, told = {**sizes(run, outcome), "most": int(max(received))}, {}
        if claim.endswith(("mean", "lower.most")):
            told = {"total": 0, "owned": 0}
            for p in range(run.P):
                one_more = {"ranks": p, "own": int(owned[p]), "received": int(received[p])}
                assert "one more rank" in [goal for _, goal in met(claim, {**values, **told, **one_more})]
                told = {"total": told["total"] + one_more["received"], "owned": told["owned"] + one_more["own"]}
        elif claim.endswith("most"):
            p = int(np.argmax(received))
            told = {"own": int(owned[p]), "received": int(received[p])}
        confirm(claim, {**values, **told}, bound_at(claim, outcome), outcome.measured)


@pytest.mark.models("oktopk.threshold.inclusive", "oktopk.threshold.strict")
@pytest.mark.parametrize("claim", ["oktopk.threshold.inclusive", "oktopk.threshold.strict"])
def test_thresholds(claim):
    for run, outcome in runs(claim):
        for p, limit in enumerate(run.state.local_thresholds):
            size = np.abs(run.x[p])
            values = {"k": run.k, "above": int((size > limit).sum()), "equal": int((size == limit).sum())}
            confirm(claim, values, bound_at(claim, outcome), int(run.result.local_counts[p]))


@pytest.mark.models("oktopk.boundaries.global_count")
def test_cuts_at_equal_counts():
    claim = "oktopk.boundaries.global_count"
    for run, outcome in runs(claim):
        entries, cuts = np.sort(np.concatenate(run.selected)), np.asarray(run.state.boundaries)
        M, worst = entries.size, 0
        for r in range(run.P):
            region = entries[(cuts[r] <= entries) & (entries < cuts[r + 1])]
            bound = bound_at(claim, outcome)
            if region.size == 0:
                assert run.inbound[r] == 0
                continue
            last = region[-1]
            held = [int((s == last).sum()) if p != r else 0 for p, s in enumerate(run.selected)]
            values = {
                **sizes(run, outcome),
                "M": M,
                "number": r,
                "before": int((entries < cuts[r]).sum()),
                "upto": int((entries < last).sum()),
                "quota": -(-(r + 1) * M // run.P),
                "others": sum(held),
                "inside": int(run.inbound[r]) - sum(held),
            }
            assert len(met(claim, values)) == 2 + (values["inside"] == 0)
            assert met(claim, values)[1, "a region"] == bound - int(run.inbound[r])
            worst = max(worst, int(run.inbound[r]))
        assert worst == outcome.measured


@pytest.mark.models("oktopk.sgd.residual", "oktopk.sgd.residual_missed")
@pytest.mark.parametrize("seed", range(8))
def test_residuals(seed):
    rng = np.random.default_rng([13, seed])
    P, n = int(rng.integers(1, 6)), int(rng.integers(1, 12))
    k = int(rng.integers(1, n + 1))
    residuals, gradients = rng.standard_normal((2, P, n)) * rng.choice([0.1, 1.0, 10.0], (2, P, 1))
    accumulated = residuals + gradients
    result, *_ = oktopk_allreduce(accumulated, k)
    after = accumulated.copy()
    for row, used in zip(after, result.selected, strict=True):
        row[used] = 0
    mean = accumulated.mean(axis=0)
    top = np.where(np.argsort(np.argsort(-np.abs(mean))) < k, mean, 0)
    norms = {
        "residual": after.mean(axis=0),
        "rest": mean - top,
        "missed": top - result.update / P,
        "accumulated": mean,
        "before": residuals.mean(axis=0),
        "move": gradients.mean(axis=0),
    }
    values = {name: float(np.linalg.norm(vector)) for name, vector in norms.items()}
    values |= {"gamma": np.sqrt(1 - k / n), "xi": values["missed"] / values["move"]}
    slack = 64 * n * P * 2.0**-53 * float(np.abs(accumulated).max() + np.abs(residuals).max()) * P
    for claim in ("oktopk.sgd.residual", "oktopk.sgd.residual_missed"):
        bound = claims()[claim].bound(**values, n=n, k=k)
        *_, goal = goals(claim).values()
        assert all(value(e, values) >= -slack for e in goal.given.values())
        assert all(abs(value(e, values)) <= slack for e in goal.zero.values())
        assert abs(value(goal.show, values) - Fraction(bound - values["residual"])) <= slack
