"""What runs of error feedback say of the symbols of their models, entry by entry."""

import itertools
from fractions import Fraction

import numpy as np

from commbounds.compressors import EControl, TopK
from commbounds.verify.experiments.feedback.noise import SEED, _descent, _problem, divisible
from commbounds.verify.experiments.feedback.runs import FeedbackRun, Quadratics, lifted


def residuals(found, problem, size, settings, exact):
    """Step by step, and worker by worker: residuals, messages and weights, beside those of plain descent."""
    if not exact:
        return
    P, n, plain = settings["P"], settings["n"], lifted(found.x(0), True)
    before = np.full((P, n), Fraction(0), object)
    for t in range(settings["steps"]):
        step, after = problem.own(found.x(t)) * size, found.memory(t, True)
        message = before + step - after
        weights, weights_after = (lifted(found.x(s), True) for s in (t, t + 1))
        plain_after = plain - step.sum(axis=0) / P
        for j in range(n):
            means = {"mean_error": before, "mean_error_after": after, "mean_message": message, "mean_step": step}
            known = {name: v[:, j].sum() / P for name, v in means.items()}
            known |= {"weights": weights[j], "weights_after": weights_after[j], "plain": plain[j],
                      "plain_after": plain_after[j]}  # fmt: skip
            for p in range(P):
                sums = {"errors": before, "errors_after": after, "messages": message, "steps": step}
                known |= {name: v[:p, j].sum() for name, v in sums.items()}
                own = {"own_error": before, "own_error_after": after, "own_message": message, "own_step": step}
                yield {**known, **{name: v[p, j] for name, v in own.items()}}
        before, plain = after, plain_after


def estimates(implementation, settings):
    """Step by step, and worker by worker: estimates of workers and of the server, which the weights move by."""
    s = settings
    if not s["exact"]:
        return
    P, n, T, gamma = s["P"], s["n"], s["steps"], Fraction(1, 8)
    problem = _problem(P, n, T, s["family"], 1.0, True, s[SEED])
    descent = _descent(implementation, s["arc"], s["k"], s["eta"], float(gamma), s["dense"])
    noise = np.random.default_rng(s[SEED]).integers(-2, 3, (T, P, n)) * divisible(P, T)
    run = FeedbackRun.of(descent, problem, np.zeros(n), T, noise)
    before, server = np.full((P, n), Fraction(0), object), np.full(n, Fraction(0), object)
    for t in range(T):
        after, moved = run.memory(t, True), lifted(run.x(t), True) - lifted(run.x(t + 1), True)
        server_after = moved / gamma  # what the server steps by
        for j in range(n):
            change = after[:, j] - before[:, j]
            known = {"P": P, "stepsize": gamma, "server": server[j], "server_after": server_after[j],
                     "mean_correction": server_after[j] - server[j]}  # fmt: skip
            last = {"total": before[:, j].sum(), "total_after": after[:, j].sum(), "corrections": change.sum()}
            yield {**known, **last}
            yield {"P": P, "stepsize": gamma, "total": after[:, j].sum(), "server": server_after[j], "moved": moved[j]}
            for p in range(P):
                sums = {"total": before, "total_after": after}
                yield {**{name: v[:p, j].sum() for name, v in sums.items()}, "corrections": change[:p].sum(),
                       "correction": change[p], "own": before[p, j], "own_after": after[p, j]}  # fmt: skip
        before, server = after, server_after


def controlled(implementation, settings):
    """Step by step the mean error, estimate and gradient."""
    s = settings
    if not s["exact"]:
        return
    P, T, gamma = s["P"], s["steps"], Fraction(1, 8)
    problem = Quadratics.drawn(P, s["n"], s[SEED], True, steps=T)
    run = FeedbackRun.of(implementation(EControl(TopK(s["k"]), eta=s["eta"], dense=s["dense"]), float(gamma)), problem,
                         np.zeros(s["n"]), T)  # fmt: skip
    error = np.full(s["n"], Fraction(0), object)
    for t in range(T):
        after = lifted([worker.error for worker in run.states[t + 1].workers], True).sum(axis=0) / P
        estimate, gradient = run.memory(t, True).sum(axis=0) / P, problem.mean(run.x(t))
        for named in zip(error, estimate, gradient, after, strict=True):
            assert named[3] == named[0] + named[2] - named[1]
            yield {"stepsize": gamma, **dict(zip(("error", "estimate", "gradient"), named[:3], strict=True))}
        error = after


def three_workers(problem, start, gamma):
    """What the workers' gradients are at the start, where all entries are one number."""
    slopes = problem.gradients(problem.start)
    for p, q in itertools.permutations(range(3), 2):
        assert abs(slopes[p, p]) > abs(slopes[p, q])
    yield {"u": Fraction(start), "stepsize": Fraction(gamma)}


RUNS = {
    "feedback.ef14.telescoping": residuals,
    "feedback.ef21m.step": estimates,
    "feedback.econtrol.telescoping": controlled,
    "feedback.plain.growth": three_workers,
}
