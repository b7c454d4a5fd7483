"""Error-feedback descent rank by rank: the bits and words of one process; bad input is refused on all ranks."""

from dataclasses import replace

import numpy as np
import pytest
from rank_refusals import differences_with
from samples import first_of_each

from commbounds.collectives import ArcRows, FeedbackSGD, GatheredTopK, OkTopK, ring_allreduce
from commbounds.collectives.feedback.on_rank import feedback_sgd_start, feedback_sgd_step
from commbounds.collectives.ranks import LockstepWorld, ThreadWorld, parcel
from commbounds.compressors import EF14, EF21, EF21M, GroupQuantizer, RandK, TopK
from commbounds.verify.experiments.feedback.pairings import PAIRINGS, _descent, _first_weights, _seen
from commbounds.verify.pairing import compared

pytestmark = pytest.mark.kernels
(PAIRING,) = PAIRINGS
SGD = FeedbackSGD(EF14(TopK(1)), 0.5)
ONES = np.ones(4)


def differences(program, P=3):
    return differences_with(PAIRING, program, P)


def refused(program, error, message):
    """All three ranks raise the same."""

    def refusal(comm):
        with pytest.raises(error, match=message) as raised:
            program(comm)
        return str(raised.value)

    texts, _ = ThreadWorld().run(refusal, 3)
    assert len(set(texts)) == 1


def first_step(comm, gradient=ONES, sgd=SGD, rng=None):
    return feedback_sgd_step(comm, sgd, gradient, feedback_sgd_start(comm, sgd, np.ones(4)), rng)


@pytest.mark.parametrize("P", first_of_each((3, 4, 5, 2, 1), lambda _: "any number"))
def test_bits_and_words_are_those_of_one_process(P):
    found = compared(PAIRING, P, ThreadWorld())
    assert sum(not case.unlike for case in PAIRING.cases(P)) == 32
    assert len(found) == len(list(PAIRING.cases(P)))
    assert [agreement for agreement in found if agreement.difference] == []


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize(
    "sgd",
    [
        SGD,
        FeedbackSGD(EF21(TopK(1)), 0.5),
        FeedbackSGD(EF21M(), 0.5, ArcRows(1)),
        FeedbackSGD(EF14(), 0.5, GatheredTopK(1)),
        FeedbackSGD(EF14(), 0.5, OkTopK(1)),
    ],
    ids=["compressor", "dense", "arc", "gathered", "oktopk"],
)
@pytest.mark.parametrize(
    ("gradient", "error", "message"),
    [
        (np.array([1.0, np.inf, 0.0, 0.0]), ValueError, "must be finite"),
        (np.ones(4, np.float32), TypeError, "gradient must be float64, as the weights, got float32"),
        (np.ones(5), ValueError, r"gradient must have the shape of the weights, \(4,\), got \(5,\)"),
        (np.ones((4, 1)), ValueError, "gradient must have the shape of the weights"),
    ],
)
def test_a_bad_gradient_on_one_rank_is_refused_on_all(bad, sgd, gradient, error, message):
    refused(lambda comm: first_step(comm, gradient if comm.rank == bad else ONES, sgd), error, message)


@pytest.mark.parametrize("bad", [0, 2])
def test_a_step_that_overflows_is_refused_on_all_as_in_one_process(bad):
    sgd, gradients = replace(SGD, step_size=8.0), np.ones((3, 4))
    gradients[bad, 1] = -1e308
    message = "step_size times gradients must be finite, got an overflow at step_size = 8.0"
    refused(lambda comm: first_step(comm, gradients[comm.rank], sgd), ValueError, message)
    with pytest.raises(ValueError, match=message):
        sgd.step(gradients, sgd.start(np.ones(4), 3))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (replace(SGD, step_size=0.25), "step_size must be the same on all ranks"),
        (replace(SGD, mechanism=EF14(TopK(2))), "mechanism must be the same on all ranks"),
        (replace(SGD, allgather="ring"), "allgather must be the same on all ranks"),
        (replace(SGD, shared=True), "shared must be the same on all ranks"),
    ],
)
def test_the_descent_must_be_the_same(other, message):
    refused(lambda comm: feedback_sgd_start(comm, other if comm.rank == 2 else SGD, ONES), ValueError, message)


def test_the_aggregator_must_be_the_same():
    kinds = [ArcRows(1), ArcRows(1), GatheredTopK(1)]
    refused(
        lambda comm: feedback_sgd_start(comm, FeedbackSGD(EF14(), 0.5, kinds[comm.rank]), ONES),
        ValueError,
        "the kind of aggregator must be the same on all ranks",
    )
    refused(
        lambda comm: first_step(
            comm, ONES, FeedbackSGD(EF14(), 0.5, ArcRows(1 + (comm.rank > 1))), np.random.default_rng(0)
        ),
        ValueError,
        "K must be the same on all ranks, got 1, 1, 2",
    )


def test_weights_and_steps_must_be_the_same():
    refused(
        lambda comm: feedback_sgd_start(comm, SGD, np.full(4, comm.rank / 2)),
        ValueError,
        "the checksum of weights must be the same on all ranks",
    )
    refused(
        lambda comm: feedback_sgd_start(comm, SGD, np.zeros(4 + comm.rank)),
        ValueError,
        "the shape and dtype of weights",
    )

    def ahead(comm):
        state = feedback_sgd_start(comm, SGD, ONES)
        return feedback_sgd_step(comm, SGD, ONES, replace(state, t=comm.rank))

    refused(ahead, ValueError, "the number of steps so far must be the same on all ranks, got 0, 1, 2")


def test_a_message_that_one_rank_cannot_make_is_refused_on_all():
    sgd = FeedbackSGD(EF14(GroupQuantizer(3, 4, "float16")), 1.0)
    wide = np.array([0.0, 1e6, 0.0, 0.0])
    refused(lambda comm: first_step(comm, wide if comm.rank else ONES, sgd), ValueError, "too large for float16")


def test_what_draws_needs_a_generator_on_all_ranks():
    sgd = FeedbackSGD(EF14(RandK(1)), 1.0)
    rngs = [np.random.default_rng(0), None, np.random.default_rng(0)]
    refused(lambda comm: first_step(comm, ONES, sgd, rngs[comm.rank]), TypeError, "rng must be a numpy")
    shared = replace(sgd, shared=True)
    refused(
        lambda comm: first_step(comm, ONES, shared, np.random.default_rng(comm.rank)),
        ValueError,
        "the shared seed must be the same on all ranks",
    )


def test_what_does_not_run_rank_by_rank_is_refused():
    def custom(stack, state, rng):
        raise NotImplementedError

    for aggregator, error, message in (
        (custom, TypeError, "aggregator must be one of ArcRows, GatheredTopK, OkTopK, got"),
        (ArcRows(1, 1, {"agree": False}), ValueError, "ArcRows must let the ranks agree"),
        (ArcRows(1, 1, {"allreduce": lambda stack: ring_allreduce(stack)}), ValueError, "allreduce must be one that"),
    ):
        sgd = FeedbackSGD(EF14(), 0.5, aggregator)
        refused(lambda comm, sgd=sgd: feedback_sgd_start(comm, sgd, ONES), error, message)


def test_messages_count_what_they_claim():
    sgd = FeedbackSGD(EF14(TopK(3)), 1.0, allgather="ring")
    weights = np.ones(40, np.float32)

    def program(comm):
        state = feedback_sgd_start(comm, sgd, weights)
        return feedback_sgd_step(comm, sgd, weights, state)

    _, traffic = ThreadWorld().run(program, 3)
    words = -(-3 * (6 + 32) // 32)  # a position among 40 takes six bits
    assert traffic.sent.tolist() == [2 * words] * 3


def test_a_rank_looks_at_no_gradient_but_its_own():
    def alone(comm, case):
        return PAIRING.program(comm, replace(case, stack=np.repeat(case.stack[comm.rank][None], 3, axis=0)))

    assert not any(differences(alone))


def test_a_residual_that_is_forgotten_is_found():
    def forgetful(comm, case):
        state = feedback_sgd_start(comm, _descent(case.settings), _first_weights(case))
        seen = []
        for t, gradient in enumerate(case.stack[comm.rank]):
            with comm.within(f"step {t}"):
                state = feedback_sgd_step(comm, _descent(case.settings), gradient, replace(state, worker=None))
            seen.append(_seen(state.t, state.weights, state.estimate, state.worker, None))
        return {"steps": tuple(seen), "drawn next": 0}

    chosen = [
        c for c in PAIRING.cases(3) if (c.settings["mechanism"], c.settings.get("compressor")) == ("EF14", "topk")
    ]
    pairing = replace(PAIRING, program=forgetful, cases=lambda P: iter(chosen[:1]))
    (found,) = compared(pairing, 3, LockstepWorld())
    assert "rank 0, steps[1], weights" in found.difference  # the first step has nothing to remember


def test_streams_of_their_own_are_found():
    def program(comm, case):
        seed = case.settings.get("seed")
        settings = {**case.settings, "seed": seed + 1} if seed else case.settings
        return PAIRING.program(comm, replace(case, settings=settings))

    for case, difference in zip(PAIRING.cases(3), differences(program), strict=True):
        assert bool(difference) == ("seed" in case.settings) or case.unlike


def test_a_word_too_many_is_found():
    def chatty(comm, case):
        outcome = PAIRING.program(comm, case)
        with comm.within("step 0"):
            comm.phase("more")
            comm.step({(comm.rank + 1) % 3: parcel(np.zeros(1))}, [(comm.rank - 1) % 3])
        return outcome

    only_dense = [c for c in PAIRING.cases(3) if c.settings["mechanism"] == "EF21" and c.settings.get("dense", True)]
    pairing = replace(PAIRING, program=chatty, cases=lambda P: iter(only_dense))
    found = compared(pairing, 3, LockstepWorld())
    assert found
    assert all("traffic" in agreement.difference for agreement in found)
