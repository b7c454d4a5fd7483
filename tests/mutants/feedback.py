"""Broken twins of the column feedback, each by one defect."""

from dataclasses import replace

import numpy as np

from commbounds.collectives import FeedbackSGD
from commbounds.compressors import EF14, EF21, EF21M, FeedbackState, Plain
from commbounds.verify import Method
from mutants.record import Mutant


class ForgetsTheResidual(EF14):
    """Keeps no residual of its own: the vector that was offered, whole."""

    def after(self, state, offered, momentum, sent):
        return FeedbackState(offered)


class AddsTheMessageToTheResidual(EF14):
    """Adds what was sent to the residual, where it should be subtracted."""

    def after(self, state, offered, momentum, sent):
        return FeedbackState(offered + self.compressor.decompress(sent))


class DoublesTheResidual(EF14):
    """Offers twice the residual."""

    def offered(self, state, gradient):
        return 2 * state.memory + gradient, None


class ReplacesTheEstimate(EF21):
    """Takes the compressed correction for the new estimate."""

    def after(self, state, offered, momentum, sent):
        return FeedbackState(self.compressor.decompress(sent))


class SubtractsTheCorrection(EF21):
    """Subtracts the compressed correction from the estimate."""

    def after(self, state, offered, momentum, sent):
        return FeedbackState(state.memory - self.compressor.decompress(sent))


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
    Mutant(ReplacesTheEstimate, "EF21", "feedback.ef21.contraction", EXACT),
    Mutant(SubtractsTheCorrection, "EF21", "feedback.ef21.contraction", SEARCH),
    Mutant(SendsTheGradient, "EF21", "feedback.ef21.contraction", EXACT),
    Mutant(HeavyBall, "EF21M", "feedback.ef21m.momentum", EXACT),
    Mutant(SwapsTheWeights, "EF21M", "feedback.ef21m.momentum", EXACT),
    Mutant(CorrectsByTheGradient, "EF21M", "feedback.ef21m.lag", SEARCH),
    Mutant(SumsInPlaceOfAverages, _SGD, "feedback.ef14.telescoping", EXACT),
    Mutant(DoublesTheStep, _SGD, "feedback.ef21.descent", EXACT),
    Mutant(ForgetsTheEstimate, _SGD, "feedback.ef21.rate", SEARCH),
    Mutant(ForgetsTheWorkers, _SGD, "feedback.ef14.telescoping", SEARCH),
    Mutant(FirstWorkerDecides, _SGD, "feedback.arc.single_node", EXACT),
    Mutant(CompressesTheAverage, _SGD, "feedback.plain.growth", EXACT),
)
