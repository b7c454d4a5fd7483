"""Broken twins of the column feedback, each by one defect."""

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
from zoo.right import RECOVERS, mechanism

from commbounds import compressors as c
from commbounds.collectives import ArcRows, FeedbackSGD
from commbounds.compressors import EF14, EF21, EF21M, EControl, FeedbackState, Plain
from commbounds.compressors.feedback.state import plus
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import book_bound as bound
from mutants.record import Mutant


class ForgetsTheResidual(EF14):
    """Keeps no residual of its own: the vector that was offered, whole."""

    def after(self, state, offered, momentum, sent):
        return FeedbackState(offered)


class AddsTheMessageToTheResidual(EF14):
    """Adds what was sent to the residual, where it should be subtracted."""

    def after(self, state, offered, momentum, sent):
        return FeedbackState(plus(offered, 1, sent))


class DoublesTheResidual(EF14):
    """Offers twice the residual."""

    def offered(self, state, gradient):
        return 2 * state.memory + gradient, None


class NegatesTheResidual(EF14):
    """Keeps what was left out with the wrong sign."""

    def after(self, state, offered, momentum, sent):
        return FeedbackState(-super().after(state, offered, momentum, sent).memory)


class ReplacesTheEstimate(EF21):
    """Takes the compressed correction for the new estimate."""

    def after(self, state, offered, momentum, sent):
        return FeedbackState(plus(np.zeros_like(offered), 1, sent))


class SubtractsTheCorrection(EF21):
    """Subtracts the compressed correction from the estimate."""

    def after(self, state, offered, momentum, sent):
        return FeedbackState(plus(state.memory, -1, sent))


class SendsTheGradient(EF21):
    """Compresses the gradient, where it should be the gradient less the estimate."""

    def offered(self, state, gradient):
        return gradient.copy(), None


class HeavyBall(EF21M):
    """Keeps (1 - eta) h + grad, as published scripts do, where the average weighs the gradient by eta."""

    def offered(self, state, gradient):
        blended = (1 - self.eta) * state.momentum + gradient
        return blended - state.memory, blended


class SwapsTheWeights(EF21M):
    """Weighs the old momentum by eta and the new gradient by 1 - eta."""

    def offered(self, state, gradient):
        blended = self.eta * state.momentum + (1 - self.eta) * gradient
        return blended - state.memory, blended


class CorrectsByTheGradient(EF21M):
    """Compresses the gradient less the estimate, while the momentum goes on beside it."""

    def offered(self, state, gradient):
        _, blended = super().offered(state, gradient)
        return 2 * gradient - state.memory, blended


class SendsTheWholeError(EControl):
    """Sends the whole error, as EF14 does, whatever its weight."""

    def offered(self, state, gradient):
        missing = super().offered(state, gradient)[1]
        return missing.copy(), missing


class WeighsTheCorrection(EControl):
    """Weighs the correction too."""

    def offered(self, state, gradient):
        missing = super().offered(state, gradient)[1]
        return gradient.dtype.type(self.eta) * missing, missing


class KeepsTheOldError(EControl):
    """Keeps the error of the step before, less what was sent."""

    def after(self, state, offered, beside, sent):
        return super().after(state, offered, state.error, sent)


class ForgetsTheError(EControl):
    """Keeps what was left out of the last message for the error, and not of the others."""

    def after(self, state, offered, beside, sent):
        return super().after(state, offered, beside - state.error, sent)


class SubtractsTheError(EControl):
    """Subtracts the error's share, where it should be added."""

    def offered(self, state, gradient):
        vector, missing = super().offered(state, gradient)
        return vector - gradient.dtype.type(2 * self.eta) * state.error, missing


class SumsInPlaceOfAverages(FeedbackSGD):
    """Moves by the sum over the workers."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        weights = state.weights + len(gradients) * (after.weights - state.weights)
        return replace(after, weights=weights), traffic


class DoublesTheStep(FeedbackSGD):
    """Moves twice as far."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        return replace(after, weights=2 * after.weights - state.weights), traffic


class LengthensTheStep(FeedbackSGD):
    """Moves an eighth farther where workers differ."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        if (gradients == gradients[0]).all():
            return after, traffic
        return replace(after, weights=after.weights + (after.weights - state.weights) / 8), traffic


class QuartersTheStep(FeedbackSGD):
    """Moves a quarter as far."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        return replace(after, weights=state.weights + (after.weights - state.weights) / 4), traffic


class QuadruplesTheStep(FeedbackSGD):
    """Moves four times as far."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        return replace(after, weights=4 * after.weights - 3 * state.weights), traffic


class OctuplesTheStep(FeedbackSGD):
    """Moves eight times as far."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        return replace(after, weights=8 * after.weights - 7 * state.weights), traffic


class SameDrawsInEveryStep(FeedbackSGD):
    """Begins every step with the same seed, so that one sketch serves for ever."""

    def step(self, gradients, state, rng=None):
        return super().step(gradients, state, None if rng is None else np.random.default_rng(0))


class SketchesOfOneColumn(FeedbackSGD):
    """Ignores the rank of the sketch."""

    def step(self, gradients, state, rng=None):
        if isinstance(self.aggregator, ArcRows) and self.aggregator.rank > 1:
            narrow = replace(self.aggregator, rank=1)
            return FeedbackSGD(self.mechanism, self.step_size, narrow).step(gradients, state, rng)
        return super().step(gradients, state, rng)


class LastWorkerForgets(FeedbackSGD):
    """Drops what the last worker remembers, in every step."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        *others, last = after.workers
        return replace(after, workers=(*others, replace(last, memory=-last.memory))), traffic


class SwapsTheMemories(FeedbackSGD):
    """Gives every worker what the one before it remembers, after every step."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        return replace(after, workers=(after.workers[-1], *after.workers[:-1])), traffic


class LosesTheLastResidual(FeedbackSGD):
    """Drops what the last worker left out, unless it is alone."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        *others, last = after.workers
        kept = last if not others else replace(last, memory=-last.memory)
        return replace(after, workers=(*others, kept)), traffic


class ShortensTheStep(FeedbackSGD):
    """Moves nine tenths as far."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        return replace(after, weights=0.1 * state.weights + 0.9 * after.weights), traffic


class HalvesTheMemories(FeedbackSGD):
    """Halves what every worker remembers, after every step."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        return replace(after, workers=tuple(replace(w, memory=w.memory / 2) for w in after.workers)), traffic


class HalvesTheLastMemory(FeedbackSGD):
    """Halves what the last worker remembers, after every step."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        *others, last = after.workers
        return replace(after, workers=(*others, replace(last, memory=last.memory / 2))), traffic


class LosesATenthOfTheLastStep(FeedbackSGD):
    """Moves nine tenths as far where the last worker remembers anything."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        share = 0.9 if state.workers[-1].memory.any() else 1.0
        return replace(after, weights=(1 - share) * state.weights + share * after.weights), traffic


class LosesTheErrors(FeedbackSGD):
    """Drops the errors of EControl's workers, after every step."""

    def step(self, gradients, state, rng=None):
        after, traffic = super().step(gradients, state, rng)
        kept = (replace(w, error=None if w.error is None else np.zeros_like(w.error)) for w in after.workers)
        return replace(after, workers=tuple(kept)), traffic


class ForgetsTheEstimate(FeedbackSGD):
    """Takes the average correction for the estimate."""

    def step(self, gradients, state, rng=None):
        return super().step(gradients, replace(state, estimate=np.zeros_like(state.estimate)), rng)


class ForgetsTheWorkers(FeedbackSGD):
    """Begins every step with fresh memories."""

    def step(self, gradients, state, rng=None):
        return super().step(gradients, replace(state, workers=()), rng)


class FirstWorkerDecides(FeedbackSGD):
    """Gives every worker the first one's gradient."""

    def step(self, gradients, state, rng=None):
        return super().step(np.repeat(np.asarray(gradients)[:1], len(gradients), axis=0), state, rng)


class CompressesTheAverage(FeedbackSGD):
    """Gives every worker the average gradient, without feedback: then nothing diverges."""

    def step(self, gradients, state, rng=None):
        if isinstance(self.mechanism, Plain):
            gradients = np.repeat(np.asarray(gradients).mean(axis=0, keepdims=True), len(gradients), axis=0)
        return super().step(gradients, state, rng)


_SGD = "FeedbackSGD"
EXACT, SEARCH = Method.EXACT, Method.SEARCH

MUTANTS = (
    Mutant(ForgetsTheResidual, "EF14", "feedback.ef14.residual", EXACT),
    Mutant(AddsTheMessageToTheResidual, "EF14", "feedback.ef14.residual_simple", EXACT),
    Mutant(DoublesTheResidual, "EF14", "feedback.ef14.residual", SEARCH),
    Mutant(NegatesTheResidual, "EF14", "feedback.ef14.strongly_convex", EXACT),
    Mutant(ReplacesTheEstimate, "EF21", "feedback.ef21.contraction", EXACT),
    Mutant(SubtractsTheCorrection, "EF21", "feedback.ef21.contraction", SEARCH),
    Mutant(SendsTheGradient, "EF21", "feedback.ef21.contraction", EXACT),
    Mutant(HeavyBall, "EF21M", "feedback.ef21m.momentum", EXACT),
    Mutant(SwapsTheWeights, "EF21M", "feedback.ef21m.momentum", EXACT),
    Mutant(CorrectsByTheGradient, "EF21M", "feedback.ef21m.lag", SEARCH),
    Mutant(SendsTheWholeError, "EControl", "feedback.econtrol.rate", EXACT),
    Mutant(WeighsTheCorrection, "EControl", "feedback.econtrol.rate", EXACT),
    Mutant(KeepsTheOldError, "EControl", "feedback.econtrol.rate", EXACT),
    Mutant(ForgetsTheError, "EControl", "feedback.econtrol.growth", EXACT),
    Mutant(SubtractsTheError, "EControl", "feedback.econtrol.growth", SEARCH),
    Mutant(LosesTheErrors, _SGD, "feedback.econtrol.telescoping", EXACT),
    Mutant(SumsInPlaceOfAverages, _SGD, "feedback.ef14.telescoping", EXACT),
    Mutant(DoublesTheStep, _SGD, "feedback.ef21.descent", EXACT),
    Mutant(LengthensTheStep, _SGD, "feedback.ef21.descent_sharp", SEARCH),
    Mutant(QuartersTheStep, _SGD, "feedback.ef14.rate", SEARCH),
    Mutant(QuadruplesTheStep, _SGD, "feedback.ef14.rate_noisy", EXACT),
    Mutant(OctuplesTheStep, _SGD, "feedback.ef21m.step", EXACT),
    Mutant(LastWorkerForgets, _SGD, "feedback.arc.bound", SEARCH),
    Mutant(SameDrawsInEveryStep, _SGD, "feedback.arc.single_node", EXACT),
    Mutant(SketchesOfOneColumn, _SGD, "feedback.arc.speedup", SEARCH),
    Mutant(LosesTheLastResidual, _SGD, "feedback.ef14.strongly_convex_workers", SEARCH),
    Mutant(SwapsTheMemories, _SGD, "feedback.ef21.strongly_convex_workers", SEARCH),
    Mutant(ShortensTheStep, _SGD, "feedback.ef21.rate_share", SEARCH),
    Mutant(HalvesTheMemories, _SGD, "feedback.ef14.rate_share", SEARCH),
    Mutant(LosesATenthOfTheLastStep, _SGD, "feedback.ef21.rate_share_workers", SEARCH),
    Mutant(HalvesTheLastMemory, _SGD, "feedback.ef14.rate_share_workers", SEARCH),
    Mutant(ForgetsTheEstimate, _SGD, "feedback.ef21.rate", SEARCH),
    Mutant(ForgetsTheWorkers, _SGD, "feedback.ef14.telescoping", SEARCH),
    Mutant(FirstWorkerDecides, _SGD, "feedback.arc.single_node", EXACT),
    Mutant(CompressesTheAverage, _SGD, "feedback.plain.growth", EXACT),
)


def held_by_ef14(alpha):
    """The norm of the residual of error feedback by the book, for gradients of norm at most G."""
    return lambda n, G: sqrt(bound("feedback.ef14.residual", ("n", "reach"), alpha=alpha(n))(n, G))


def share_of_top3(n):
    """The contraction of Top-3."""
    return Fraction(3, n)


CONTROLS = (
    mechanism(
        c.EF14(c.TopK(3)),
        cf.Telescopes(),
        cf.MemoryBounded(held_by_ef14(share_of_top3)),
        RECOVERS,
        shows=True,
        admits=lambda x: x.shape[-1] >= 3,
    ),
    mechanism(c.EF14(c.ScaledSign()), cf.Telescopes(), cf.MemoryBounded(), RECOVERS),
    mechanism(c.EF21(c.TopK(3), dense=False), RECOVERS, admits=lambda x: x.shape[-1] >= 3),
    mechanism(c.EF21M(c.NearestPower(), eta=0.5), RECOVERS),
    # q^2 = 1/2: the weight is below 2(1 - q)/(1 + q) = 0.34, at any length
    mechanism(c.EControl(c.ChunkTopK(1, chunk=2), eta=0.25), RECOVERS),
)
"""Right ones, with what the book says of them, for the conformance kit."""
