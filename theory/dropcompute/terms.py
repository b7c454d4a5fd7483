"""Symbols, quantities, hypotheses and works of the column dropcompute."""

from fractions import Fraction
from typing import Any

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Hypothesis, Le, Source
from commbounds.theory.quantities import Quantity
from commbounds.theory.sources import Repository, Work, derived
from commbounds.theory.symbols import Symbol

M = Symbol("M", example=4, integer=True, positive=True)
"""Micro-batches of a worker in a step."""
N = Symbol("N", example=8, integer=True, positive=True)
"""Workers."""
tau = Symbol("tau", example=Fraction(5, 2), positive=True)
"""Threshold, in seconds."""
overhead = Symbol("overhead", "T_c", Fraction(1, 2), nonnegative=True)
"""T_c, the seconds of a step that do not depend on latencies."""
latency = Symbol("latency", r"\mu", Fraction(1), positive=True)
"""Mean latency of a micro-batch, in seconds."""
jitter = Symbol("jitter", r"\sigma", Fraction(1, 3), nonnegative=True)
"""Standard deviation of the latency of a micro-batch, in seconds."""
skewness = Symbol("skewness", r"\gamma_3", Fraction(2), real=True)
"""Skewness of the latency of a micro-batch."""
slowest = Symbol("slowest", "T", Fraction(4), nonnegative=True)
"""Time of the slowest worker without a threshold, in seconds; its expectation where the claim is about one."""
capped = Symbol("capped", r"\mathbb{E}\min(\tau,T)", Fraction(2), nonnegative=True)
"""E[min(tau, T)]; of a single worker's time where the claim is about one."""
late = Symbol("late", r"\Pr[T_n\ge\tau]", Fraction(1, 4), nonnegative=True)
"""P(T_n >= tau), that a worker is stopped."""
below = Symbol("below", r"\textstyle\sum_m\Pr[S_m<\tau]", Fraction(3, 2), nonnegative=True)
"""Micro-batches that end before tau, of an average worker; sum over m of P(S_m < tau) where expected."""
begun = Symbol("begun", example=Fraction(7, 4), nonnegative=True)
"""Micro-batches that begin at tau or before, of a worker where expected, else of all; M of a worker at most."""
timejitter = Symbol("timejitter", r"\sigma_{T_n}", Fraction(2, 3), nonnegative=True)
"""Standard deviation of a worker's time T_n without a threshold, in seconds."""
slowestvariance = Symbol("slowestvariance", r"\operatorname{Var}T", Fraction(1), nonnegative=True)
"""Variance of the slowest worker's time without a threshold, in seconds squared."""
later = Symbol("later", example=2, nonnegative=True)
"""What is completed with a larger threshold."""
longest = Symbol("longest", "b", Fraction(3), nonnegative=True)
"""Longest latency of a micro-batch of the step, in seconds; the largest there can be where the law is bounded."""
shortest = Symbol("shortest", "a", Fraction(1, 2), nonnegative=True)
"""Smallest latency there can be, in seconds."""
synchronised = Symbol("synchronised", example=Fraction(5), nonnegative=True)
"""Sum, over the micro-batches or local steps, of the slowest worker's time for it, in seconds."""
spare = Symbol("spare", example=1, integer=True, nonnegative=True)
"""Backup workers."""
best = Symbol("best", example=Fraction(6, 5), nonnegative=True)
"""Gain at the threshold that was chosen."""
truth = Symbol("truth", example=Fraction(5, 4), nonnegative=True)
"""S_eff(tau), the ratio of long-run throughputs."""
model = Symbol("model", example=Fraction(11, 10), nonnegative=True)
"""The model's objective at the same threshold."""
fewer = Symbol("fewer", example=Fraction(7, 2), nonnegative=True)
"""Expected time of the slowest with one worker less, in seconds."""
evenness = Symbol("evenness", "F^{-1}(1-e^{-H_N})", Fraction(9, 2), nonnegative=True)
"""Of one worker's time T_n: its quantile at 1 - exp(-H_N), in seconds."""
upper = Symbol("upper", r"F^{-1}(1-\frac1N)", Fraction(3), nonnegative=True)
"""Quantile of T_n at 1 - 1/N, in seconds."""
outer = Symbol("outer", r"F^{-1}(1-\frac1{eN})", Fraction(7, 2), nonnegative=True)
"""Quantile of T_n at 1 - 1/(e N), in seconds."""
square_top = Symbol("square_top", r"\mathbb{E}\,Z_{(N)}^2", Fraction(3, 2), nonnegative=True)
"""E of the squared largest of N standard normals."""
top = Symbol("top", r"\mathbb{E}\,Z_{(N)}", Fraction(1), real=True)
"""E of the largest of N standard normals."""
location = Symbol("location", "m", Fraction(1, 10), real=True)
"""Mean of the logarithm of a lognormal latency."""
logwidth = Symbol("logwidth", "s", Fraction(1, 2), positive=True)
"""Standard deviation of the logarithm of a lognormal latency."""
shape = Symbol("shape", "k", Fraction(2), positive=True)
"""Shape of a gamma latency."""
gammascale = Symbol("gammascale", r"\theta", Fraction(1, 2), positive=True)
"""Scale of a gamma latency, in seconds."""
share = Symbol("share", example=Fraction(3, 4), nonnegative=True)
"""Expected share of the micro-batches that are completed; where said, probability that a worker completes one."""
stepsize = Symbol("stepsize", r"\gamma", Fraction(1, 8), positive=True)
"""Step size of SGD, gamma."""
noise = Symbol("noise", r"\sigma", Fraction(2), nonnegative=True)
"""Standard deviation of a sample's gradient, sigma."""
smoothness = Symbol("smoothness", "L", Fraction(1), positive=True)
"""Lipschitz constant of the gradient."""
leastcurvature = Symbol("leastcurvature", r"\inf f''", Fraction(-1, 2), real=True)
"""Smallest curvature of the objective: not negative where it is convex."""
distance = Symbol("distance", r"\lVert\theta^0-\theta^*\rVert", Fraction(3), nonnegative=True)
"""Distance of the start from a minimiser, R."""
excess = Symbol("excess", r"\Delta_f", Fraction(4), nonnegative=True)
"""f at the start, less its infimum: Delta."""
samples = Symbol("samples", "K", Fraction(12), positive=True)
"""Samples used in all steps together, K."""
largest_batch = Symbol("largest_batch", "B", 3, integer=True, positive=True)
"""Samples of a step in which nothing is dropped, B."""
sgdsteps = Symbol("sgdsteps", r"n_{\mathrm{steps}}", 6, integer=True, positive=True)
"""Steps of SGD."""

cv = jitter / latency
ideal = (slowest + overhead) / (M * latency + overhead)
"""The gain if every worker took its mean time."""


class upper_normal(sp.Function):  # type: ignore[misc]
    """The point that a standard normal passes with probability `q`: Phi^{-1}(1 - q), precise for small q."""

    nargs = 1
    is_real = True

    def _eval_evalf(self, prec: int) -> Any:
        # twice the digits: 1 - 2 q loses as many as q has zeros
        return sp.Float((sp.sqrt(2) * sp.erfinv(1 - 2 * self.args[0])).evalf(80), precision=prec)

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"\Phi^{{-1}}\!\left(1-{printer.parenthesize(self.args[0], 45)}\right)"

    @staticmethod
    def _imp_(q: Any) -> Any:
        from scipy.special import ndtri

        return -ndtri(q)


class expected_ends(sp.Function):  # type: ignore[misc]
    """Sum over m = 1 .. M of Phi((tau - m mean)/sqrt(m sd^2)), for (M, tau, mean, sd)."""

    nargs = 4
    is_nonnegative = True

    def _eval_evalf(self, prec: int) -> Any:
        count, time, mean, sd = self.args
        if not count.is_Integer:
            return None
        terms = (sp.erfc((m * mean - time) / (sd * sp.sqrt(2 * m))) / 2 for m in range(1, int(count) + 1))
        return sp.Add(*terms)._eval_evalf(prec)

    def _latex(self, printer: Any, **_: Any) -> str:
        count, time, mean, sd = (printer.doprint(a) for a in self.args)
        return rf"\sum_{{m=1}}^{{{count}}}\Phi\!\left(\frac{{{time}-m {mean}}}{{\sqrt{{m}}\,{sd}}}\right)"

    @staticmethod
    def _imp_(count: Any, time: Any, mean: Any, sd: Any) -> Any:
        import numpy as np
        from scipy.special import ndtr

        def one(c: float, t: float, a: float, s: float) -> float:
            m = np.arange(1.0, c + 1.0)
            return float(ndtr((t - m * a) / (s * np.sqrt(m))).sum())

        return np.vectorize(one, otypes=[np.float64])(count, time, mean, sd)


bracket = (1 - sp.EulerGamma) * upper_normal(1 / N) + sp.EulerGamma * upper_normal(1 / (sp.E * N))
"""The published approximation of the largest of N standard normals, expected."""


STEP_TIME = Quantity("step_time", r"t_{\mathrm{step}}", "time of a step, in seconds")
COMPLETED = Quantity(
    "completed", r"\mathbb{E}\,\tilde M(\tau)", "micro-batches that count, of an average worker, in a step"
)
ALL_COMPLETED = Quantity("all_completed", r"N\tilde M(\tau)", "micro-batches that count, of all workers together")
TIME_VARIANCE = Quantity(
    "time_variance", r"\operatorname{Var}t_{\mathrm{step}}", "variance of the time of a step, in seconds squared"
)
THRESHOLD_DEFECT = Quantity(
    "threshold_defect",
    r"\max_n\lvert\tau_n-\tau_1\rvert",
    "largest difference between the thresholds that two workers choose, in seconds",
)
MEAN_TIME = Quantity("mean_time", r"\mathbb{E}\,T", "time of the slowest of N workers, in seconds, expected")
WORK = Quantity(
    "work", r"\mathbb{E}\,S_B", "time at which a worker stops that tests after each micro-batch, in seconds"
)
PERIOD = Quantity("period_time", r"t_{\mathrm{period}}", "time of a period of local steps with one average, in seconds")
PASSED = Quantity("passed", r"\Pr[S_m<\tau]", "probability that a worker ends its M-th micro-batch before tau")
GAIN = Quantity(
    "gain",
    r"S_{\mathrm{eff}}(\tau)",
    "micro-batches per second with a threshold over those without one, in the long run or on calibration steps",
)
TOP = Quantity("largest_normal", r"\mathbb{E}\max_{n\le N}Z_n", "largest of N independent standard normals, expected")
GAP = Quantity(
    "formula_gap", r"\left|\frac{\mathrm{approximation}}{\mathrm{exact}}-1\right|", "relative error of a formula"
)
REGRET = Quantity(
    "regret", r"1-\frac{S_{\mathrm{eff}}(\tau)}{\max S_{\mathrm{eff}}}", "share of the best gain that is lost"
)
MEAN_GRADIENT = Quantity(
    "mean_gradient",
    r"\frac{\mathbb{E}\,g}{\nabla f}",
    "expected gradient of a step, as a multiple of the full gradient",
)
SQUARED_GRADIENT = Quantity(
    "squared_gradient",
    r"\mathbb{E}\,\lVert\nabla f(\bar x)\rVert^2",
    "squared norm of the gradient at a visited point picked with probability proportional to its step's batch",
)
PICKED_SUBOPTIMALITY = Quantity(
    "picked_suboptimality",
    r"\mathbb{E}\,f(\bar x)-f^*",
    "suboptimality of a visited point, picked in proportion to batches",
)
TRIAL_DEFECT = Quantity(
    "trial_defect",
    r"\max|t-t'|",
    "largest difference between a trial drawn among others and drawn alone, in seconds or micro-batches",
)

CONTINUOUS = Hypothesis(
    "all_the_time", "Elapsed time is tested continuously: variant A.", lambda preemption: preemption == "A"
)
AFTER_BACKWARD = Hypothesis(
    "after_backward", "Elapsed time is tested after every micro-batch: variant B.", lambda preemption: preemption == "B"
)
BETWEEN = Hypothesis(
    "between_halves",
    "Elapsed time is tested before every forward and every backward: variant C.",
    lambda preemption: preemption == "C",
)
ENDS_AT_TAU = Hypothesis(
    "ends_at_tau", "A micro-batch that ends exactly at tau counts.", lambda at_threshold: at_threshold
)
ENDS_BEFORE_TAU = Hypothesis(
    "ends_before_tau", "A micro-batch that ends exactly at tau does not count.", lambda at_threshold: not at_threshold
)
TAKES_TIME = Hypothesis(
    "first_takes_time",
    "The first micro-batch of every worker and step takes time.",
    lambda x: bool((x[:, 0] > 0).all()),
)
ALL_CANDIDATES = Hypothesis(
    "all_candidates",
    "The share of dropped micro-batches is not limited: every elapsed time is a candidate.",
    ensured="Thresholds are chosen with drop_rate = 1.",
)
SOME_TIME = Hypothesis(
    "some_time",
    "At least one micro-batch takes time: otherwise there is no positive threshold.",
    lambda x: bool(x.any()),
)
INDEPENDENT = Hypothesis(
    "independent_latencies",
    "Latencies are independent, of one law with mean mu and standard deviation sigma.",
    ensured="A case names one law; its latencies are enumerated with the products of their probabilities, drawn each "
    "from its own counter, or their sums have the law's convolutions.",
)
IDENTICAL = Hypothesis(
    "identical_times",
    "The workers' times have one law each, which need not be independent.",
    ensured="The slow worker is enumerated; every worker is slow equally often.",
)
UNCORRELATED = Hypothesis(
    "uncorrelated_within",
    "The variance of a worker's time is at most M sigma^2, as it is if a worker's latencies are uncorrelated with one "
    "another.",
    Le(timejitter**2, M * jitter**2),
)
SHARED = Hypothesis(
    "shared_calibration",
    "Every worker has gathered all workers' latencies of all calibration steps, and uses the same overheads.",
    ensured="All workers search in one array of latencies with one overhead; each lists itself first.",
)
NORMAL_TIMES = Hypothesis(
    "normal_times",
    "The workers' times are independent and normal.",
    ensured="The trial computes the largest of N independent standard normals.",
)
IFR = Hypothesis(
    "increasing_failure_rate",
    "The latency has an increasing failure rate; sums keep that.",
    lambda failure_rate: failure_rate in ("increasing", "constant"),
)
ONE_MICRO_BATCH = Hypothesis("one_micro_batch", "M = 1.", Eq(M, 1))
DFR = Hypothesis(
    "decreasing_failure_rate",
    "The latency has a decreasing failure rate.",
    lambda failure_rate: failure_rate in ("decreasing", "constant"),
)
NBUE = Hypothesis(
    "new_better_than_used",
    "The latency is new better than used: E[t - x | t > x] <= E[t] for every x >= 0.",
    lambda new_better: new_better,
)
NWUE = Hypothesis(
    "new_worse_than_used",
    "The latency is new worse than used: E[t - x | t > x] >= E[t] for every x.",
    lambda new_worse: new_worse,
)
EXPONENTIAL = Hypothesis(
    "exponential_latency", "The latency is exponential.", lambda family, shape: family == "gamma" and shape == 1
)
GAMMA = Hypothesis("gamma_latency", "The latency is gamma distributed.", lambda family: family == "gamma")
LOGNORMAL = Hypothesis("lognormal_latency", "The latency is lognormal.", lambda family: family == "lognormal")
NARROW_LOGNORMAL = Hypothesis(
    "narrow_lognormal", "The lognormal's width is at most sqrt(2 ln N).", Le(logwidth, sp.sqrt(2 * sp.log(N)))
)
BOUNDED = Hypothesis(
    "bounded_latency",
    "The latency lies between its smallest and its longest value.",
    lambda longest: longest < float("inf"),
)
BEYOND_MEAN = Hypothesis("beyond_the_mean", "tau exceeds M mu.", sp.Gt(tau, M * latency))
AT_THE_MEAN = Hypothesis("threshold_at_the_mean", "tau is M mu.", Eq(tau, M * latency))
ONE_WORKER = Hypothesis("one_worker", "There is one worker.", Eq(N, 1))
TWO_WORKERS = Hypothesis("at_least_two", "There are two workers or more.", Ge(N, 2))
SOME_WORKERS = Hypothesis("at_least_three", "There are three workers or more.", Ge(N, 3))
FREE_STEP = Hypothesis("no_overhead", "A step has no overhead, T_c = 0.", Eq(overhead, 0))
BEST_TAU = Hypothesis(
    "best_threshold",
    "tau maximises S_eff.",
    ensured="The trial measures the largest gain of all thresholds between the smallest and the largest elapsed time.",
)
OF_LATENCY_ALONE = Hypothesis(
    "independent_of_data", "Latencies do not depend on the data.", lambda gradients: gradients == "free"
)
FIXED_DIVISOR = Hypothesis(
    "fixed_divisor", "The sum of the gradients is divided by N M.", lambda normalisation: normalisation == "fixed"
)
COMPUTED_DIVISOR = Hypothesis(
    "computed_divisor",
    "It is divided by what was computed, given that something was.",
    lambda normalisation: normalisation == "computed",
)
SOME_COMPUTED = Hypothesis(
    "some_computed", "Something can be computed: tau exceeds the smallest latency.", sp.Gt(tau, shortest)
)
WORKER_DIVISOR = Hypothesis(
    "worker_divisor",
    "Every worker takes the mean of what it computed, then all average.",
    lambda normalisation: normalisation == "worker",
)
SMOOTH = Hypothesis(
    "smooth_objective",
    "The gradient is Lipschitz with constant L; samples are unbiased with variance sigma^2, and independent of the "
    "batches.",
    ensured="Objectives are functions on the line whose curvature is L at most; every sample adds sigma or -sigma with "
    "equal chances, for any batches.",
)
CONVEX = Hypothesis("convex_objective", "f is convex.", Ge(leastcurvature, 0))
SOME_SAMPLE = Hypothesis("some_sample", "At least one sample is computed in all steps together.", Ge(samples, 1))
SMALL_STEP = Hypothesis("step_at_most_inverse", "gamma <= 1/L.", Le(stepsize * smoothness, 1))
ELSEWHERE = Hypothesis(
    "begins_elsewhere", "The run does not begin at a minimiser, for which the tuned step is none.", sp.Gt(excess, 0)
)
TUNED = Hypothesis(
    "tuned_step",
    "gamma = min(1/L, B sqrt(2 Delta/(K L sigma^2))), with Delta = f(x_1) - f*.",
    ensured="The trial computes the step size by this formula.",
)
TUNED_CONVEX = Hypothesis(
    "tuned_convex_step",
    "gamma = min(1/L, B R/(sigma sqrt(K))), with R = ||x_1 - x*||.",
    ensured="The trial computes the step size by this formula.",
)

DROP_AT = Repository("paper-submissions/dropcompute", "77c62e71e3b30761ccbfcdb818c2f1369814b82a")
GILADI_2023 = Work(
    "N. Giladi, S. Gottlieb, M. Shkolnik, A. Karnieli, R. Banner, E. Hoffer, K. Y. Levy, D. Soudry, 2023, DropCompute: "
    "simple and more robust distributed synchronous training via compute variance reduction, arXiv:2306.10598",
    "The abstract, and a public review.",
)
CHEN_2016 = Work(
    "J. Chen, X. Pan, R. Monga, S. Bengio, R. Jozefowicz, 2016, Revisiting distributed synchronous SGD, "
    "arXiv:1604.00981"
)
HARTLEY_1954 = Work(
    "H. O. Hartley, H. A. David, 1954, Universal bounds for mean range and extreme observation, "
    "doi:10.1214/aoms/1177728848",
    "The inequality, as public notes restate and prove it.",
)
KAMATH_2015 = Work("G. Kamath, 2015, Bounds on the expectation of the maximum of samples from a Gaussian")
VAN_ZWET_1964 = Work("W. R. van Zwet, 1964, Convex transformations of random variables")
LORDEN_1970 = Work(
    "G. Lorden, 1970, On excess over the boundary, doi:10.1214/aoms/1177697092",
    "The inequality, as public notes restate it.",
)


def claim(name: str, title: str, relation: Any, source: Source | str, **more: Any) -> Claim:
    """A claim of this column; a source in words is a proof of our own."""
    origin = derived(source) if isinstance(source, str) else source
    assumes = more.pop("assumes", ())
    assumes = assumes if isinstance(assumes, tuple) else (assumes,)
    return Claim(f"dropcompute.{name}", title, relation, origin, assumes=assumes, **{"axis": "N", **more})
