"""Symbols, quantities, hypotheses and works of the columns about averaging among peers: moshpit and gossip."""

from fractions import Fraction
from math import comb
from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Hypothesis, Le
from commbounds.theory.functions import ExactFunction
from commbounds.theory.quantities import Quantity, n
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

N = Symbol("N", example=8, integer=True, positive=True)
"""Peers."""
M = Symbol("M", example=4, integer=True, positive=True)
"""Members of a full group: the side of the grid."""
r = Symbol("r", example=2, integer=True, positive=True)
"""Groups of a round, r <= N; all of which have members, unless labels are drawn freely."""
dims = Symbol("dims", "d", 3, integer=True, positive=True)
"""Dimensions of the grid."""
rounds = Symbol("rounds", "T", 1, integer=True, nonnegative=True)
"""Rounds of averaging."""
failure = Symbol("failure", "p", Fraction(1, 2), nonnegative=True)
"""Probability that a peer fails in a round or an attempt, independently of all else."""
deaf = Symbol("deaf", "q", Fraction(1, 4), nonnegative=True)
"""Probability that a peer gives its vector to the average, but does not get the result."""
blocks = Symbol("blocks", r"\mathbb{E}R", Fraction(7, 2), positive=True)
"""Expected number of groups that are not empty, peers by themselves included."""
survivors = Symbol("survivors", "n'", 2, integer=True, positive=True)
"""Peers that stay, N at most."""
spread = Symbol("spread", "V", Fraction(3, 2), nonnegative=True)
"""Distortion before the step or the round at hand, expected."""
loss = Symbol("loss", r"\ell", Fraction(1, 4), nonnegative=True)
"""Probability that a link does not deliver in a round, each way independently of all else."""
oneway = Symbol("oneway", example=0, integer=True, nonnegative=True)
"""Links that do not deliver while the same link the other way does."""
roughness = Symbol("roughness", r"\frac1N\sum_{i\to j}\lVert x_i-x_j\rVert^2", Fraction(5, 3), nonnegative=True)
"""Squared distances of the peers' vectors from those of their neighbours, over the neighbours; mean over the peers."""
cap = Symbol("cap", "c", 4, integer=True, positive=True)
"""Most attempts."""
mixing = Symbol("mixing", r"\rho", Fraction(1, 3), nonnegative=True)
"""Factor by which one average takes the expected distortion down; 1 where none is taken."""
stepsize = Symbol("stepsize", r"\gamma", Fraction(1, 8), positive=True)
"""Step size of SGD."""
noise = Symbol("noise", r"\sigma", Fraction(2), nonnegative=True)
"""Largest standard deviation of a stochastic gradient: E ||g - grad f||^2 <= noise^2."""
smoothness = Symbol("smoothness", "L", Fraction(1), positive=True)
"""Lipschitz constant of the gradient."""
convexity = Symbol("convexity", r"\mu", Fraction(1, 2), positive=True)
"""Strong convexity."""
curvature = Symbol("curvature", "h", Fraction(3, 4), nonnegative=True)
"""h in f(x) = h ||x||^2 / 2."""
period = Symbol("period", r"\tau", 2, integer=True, positive=True)
"""Steps from one average to the next."""
periods = Symbol("periods", "a", 3, integer=True, positive=True)
"""Averages taken so far."""
iterations = Symbol("iterations", "K", 6, integer=True, positive=True)
"""Steps of SGD."""
quality = Symbol("quality", r"\delta", Fraction(1, 2), nonnegative=True)
"""Largest E V after an average, over the squared step size; the square root of that."""
distance = Symbol("distance", r"\lVert\theta^0-\theta^*\rVert", Fraction(3), nonnegative=True)
"""Distance of the common start from a minimiser."""
excess = Symbol("excess", r"\Delta_f", Fraction(4), nonnegative=True)
"""f at the common start, less its infimum."""
square = Symbol("square", r"\lVert\theta^k\rVert^2", Fraction(5, 2), nonnegative=True)
"""E ||mean||^2 before the step."""


def _bell(size: int) -> int:
    row = [1]
    for _ in range(size):
        following = [row[-1]]
        for value in row:
            following.append(following[-1] + value)
        row = following
    return row[0]


class mean_blocks(ExactFunction):
    """Expected number of blocks of a uniformly random set partition of N: Bell(N + 1)/Bell(N) - 1."""

    nargs = 1

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """Bell numbers by their triangle."""
        return Fraction(_bell(int(arguments[0]) + 1), _bell(int(arguments[0]))) - 1

    def _latex(self, printer: Any, **_: Any) -> str:
        size = printer.doprint(self.args[0])
        return rf"\left(\frac{{B_{{{size}+1}}}}{{B_{{{size}}}}}-1\right)"


class regrouped(ExactFunction):
    """E of the groups that A ~ Binomial(N, 1 - p) peers form in groups of M: floor(A/M), or A where A < M."""

    nargs = 3

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """The sum over A."""
        size, members, p = int(arguments[0]), int(arguments[1]), Fraction(arguments[2])
        chances = (cls.chance(size, a, p, comb(size, a)) for a in range(size + 1))
        return sum((chance * (a // members or a) for a, chance in enumerate(chances)), Fraction(0))

    @staticmethod
    def chance(size: Any, present: Any, p: Any, ways: Any) -> Any:
        """The probability that so many of `size` peers are present, which can be in so many ways."""
        return ways * (1 - p) ** present * p ** (size - present)

    def _latex(self, printer: Any, **_: Any) -> str:
        members = printer.doprint(self.args[1])
        return rf"\mathbb{{E}}\left[\lfloor A/{members}\rfloor + A\,1_{{A<{members}}}\right]"


class mean_overlap(ExactFunction):
    """E[1/(n_row n_col)]: sizes of a peer's row and column, N peers in random cells of an M x M grid."""

    nargs = 2

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """The sum over the numbers a and b of other peers in row and column, jointly hypergeometric."""
        size, side = int(arguments[0]), int(arguments[1])
        ways = Fraction(comb(side * side - 1, size - 1))
        return sum(
            (
                cls.share(comb(side - 1, a), comb(side - 1, b), comb((side - 1) ** 2, size - 1 - a - b), ways, a, b)
                for a in range(side)
                for b in range(side)
                if a + b <= size - 1
            ),
            Fraction(0),
        )

    @staticmethod
    def share(row: Any, column: Any, elsewhere: Any, ways: Any, a: Any, b: Any) -> Any:
        """What a and b others in row and column add: they are there in row column elsewhere ways of all."""
        return row * column * elsewhere / ways / (1 + a) / (1 + b)

    def _latex(self, _printer: Any, **_: Any) -> str:
        return r"\mathbb{E}\left[\frac{1}{n_\mathrm{row}\,n_\mathrm{col}}\right]"


class ring_walks(ExactFunction):
    """Probability that a walk of t steps -1, 0, +1, all equally likely, on a ring of N ends where it began."""

    nargs = 2

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """The walk's law, step by step."""
        size, length = int(arguments[0]), int(arguments[1])
        ways = [1] + [0] * (size - 1)
        for _ in range(length):
            ways = [ways[i - 1] + ways[i] + ways[(i + 1) % size] for i in range(size)]
        return Fraction(ways[0], 3**length)

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"\Pr[S_{{{printer.doprint(self.args[1])}}}\equiv 0 \bmod {printer.doprint(self.args[0])}]"


DISTORTION = Quantity(
    "distortion", r"D_T", "distortion at the end: mean over the peers of their squared distance from their mean"
)
FACTOR = Quantity(
    "distortion_factor",
    r"\frac{\mathbb{E}\,D_T}{D_0}",
    "distortion about the initial mean at the end, expected over groups and failures, over that at the start",
)
IID_FACTOR = Quantity(
    "iid_factor",
    r"\frac{\mathbb{E}\,D_T}{\mathbb{E}\,D_0}",
    "expected distortion at the end over that at the start, both expected over inputs that are independent among peers",
)
IID_DISTORTION = Quantity(
    "iid_distortion", r"\mathbb{E}\,D_T", "distortion at the end, expected over independent inputs of unit variance"
)
RELATIVE_DISTORTION = Quantity(
    "relative_distortion", r"\frac{D_T}{D_0}", "distortion at the end over that at the start, which is not zero"
)
MEAN_SHIFT = Quantity(
    "mean_shift", r"\mathbb{E}\,\lVert\bar\theta_T-\bar\theta_0\rVert^2", "squared distance that the peers' mean moves"
)
GROUP_ERROR = Quantity(
    "group_error",
    r"\max_i\lVert\theta_i-\bar\theta_{G(i)}\rVert^2",
    "squared distance of a peer's vector after a round from the mean of its group before, of the peer where it is "
    "largest; a peer that sits out is a group of its own",
)
REPEATS = Quantity(
    "repeats",
    r"\max_{i\neq j}\#\{t\le d: i,j \text{ in one group}\}",
    "rounds among d consecutive ones in which two peers share a group, of the pair that does so most often",
)
ATTEMPTS = Quantity("attempts", r"\mathbb{E}\,\mathrm{attempts}", "attempts made, the successful one included")
RESTARTS = Quantity("restarts", r"\mathbb{E}\,\mathrm{restarts}", "attempts after the first")
RANGE_RATIO = Quantity(
    "range_ratio",
    r"\frac{\max_i z_i-\min_i z_i \text{ at the end}}{\max_i z_i-\min_i z_i \text{ at the start}}",
    "range of the peers' estimates at the end over that at the start, which is not zero",
)
SUBOPTIMALITY = Quantity(
    "suboptimality", r"\mathbb{E}\,f(\bar\theta^K)-f^*", "f at the weighted average of the means, less its minimum"
)
REMAINING_ERROR = Quantity(
    "remaining_error",
    r"\mathbb{E}\,f(\bar\theta^K)-f^*+\frac{\mathbb{E}\,\lVert\theta^K-\theta^*\rVert^2}{\gamma K}",
    "f at the average of the K means before the steps, less its minimum; and the squared distance of the mean of those "
    "that stay from a minimiser, at the end, over gamma K",
)
GRADIENT_NORM = Quantity(
    "gradient_norm",
    r"\frac1K\sum_{k<K}\mathbb{E}\,\lVert\nabla f(\theta^k)\rVert^2",
    "squared norm of the gradient at the peers' mean, averaged over the steps",
)
NEXT_SPREAD = Quantity("next_spread", r"\mathbb{E}\,V_{k+1}", "distortion after the step, average included")
NEXT_SQUARE = Quantity("next_square", r"\mathbb{E}\,\lVert\theta^{k+1}\rVert^2", "squared norm of the mean after it")
AVERAGED_SPREAD = Quantity(
    "averaged_spread",
    r"\frac{\mathbb{E}\,V_{a\tau}}{\gamma^2}",
    "distortion after an average, over the squared step size",
)

FULL_GRID = Hypothesis("full_grid", "There are as many peers as cells, and every key has M of them.", Eq(N, M**dims))
NO_FAILURES = Hypothesis("no_failures", "No peer fails.", ensured="All peers are present in all rounds.")
KEYS_ONE_SHORT = Hypothesis(
    "keys_one_short",
    "Keys have d - 1 digits: the last d - 1 chunk indices.",
    ensured="Runs begin with such keys, and rounds keep their length.",
)
KEYS_OF_D_DIGITS = Hypothesis(
    "keys_of_d_digits",
    "Keys have d digits: the last d chunk indices.",
    ensured="Runs begin with such keys, and rounds keep their length.",
)
ONE_ROUND_MORE = Hypothesis(
    "one_round_more",
    "There are d + 1 rounds; chunk indices are ranks in the group.",
    ensured="The trial runs this many rounds, with ranks as indices.",
)
FIRST_SWEEP = Hypothesis("first_sweep", "No axis is used twice.", Le(rounds, dims))
ONE_SWEEP = Hypothesis("one_sweep", "Every axis of the grid is used once.", ensured="There are as many rounds as axes.")
RECTANGULAR = Hypothesis(
    "rectangular", "M groups of N/M <= M peers each; chunk indices are ranks in the group; d = 2.", Le(N, M**2)
)
SKIPPED = Hypothesis(
    "skipped",
    "A peer that fails keeps its vector, and its group goes on without it.",
    ensured="The trial uses this rule for failures, which is the default.",
)
ABORTED = Hypothesis(
    "aborted", "If a member fails, the whole group does nothing in that round.", lambda rule: rule == "abort"
)
REGROUPED = Hypothesis(
    "regrouped",
    "The A peers present form floor(A/M) groups of M, and the rest join these; if A < M no peer averages.",
    ensured="Groups are formed of the peers present, in all their orders.",
)
FIXED_CELLS = Hypothesis(
    "fixed_cells",
    "Every peer keeps its cell of the grid; lines along one axis after another.",
    ensured="Cells are given at the start, for all rounds.",
)
RANDOM_CELLS = Hypothesis(
    "random_cells",
    "Peers are in random cells of an M x M grid, at most one in each.",
    ensured="All choices of N cells are enumerated, each once.",
)
EQUAL_GROUPS = Hypothesis(
    "equal_groups",
    "A random permutation is cut into groups of M members each.",
    lambda N, r, reading: reading == "cut" and N % r == 0,
)
CUT_GROUPS = Hypothesis(
    "cut_groups",
    "In every round, independently, the peers are split into r groups, none empty: a random permutation cut into any "
    "prescribed sizes, a uniformly random set partition into r blocks, or uniform labels given that all occur.",
    Le(r, N),
)
FREE_LABELS = Hypothesis(
    "free_labels",
    "Every peer draws its group independently and uniformly; groups may be empty.",
    lambda reading: reading == "labels",
)
ANY_PARTITION = Hypothesis(
    "any_partition", "Groups are a set partition, all equally likely.", lambda reading: reading == "partitions"
)
REFILLED_SLOTS = Hypothesis(
    "refilled_slots", "N slots are filled with peers, drawn with replacement.", lambda reading: reading == "slots"
)
EXCHANGEABLE = Hypothesis(
    "exchangeable",
    "The law of the groups does not change if peers are renamed; single peers are groups.",
    lambda reading: reading != "slots",
)
SEVERAL_PEERS = Hypothesis("several_peers", "There are at least two peers.", sp.Gt(N, 1))
ONE_ROUND = Hypothesis("one_round", "One round of random groups is averaged.", Eq(rounds, 1))
RANDOM_SURVIVORS = Hypothesis(
    "random_survivors",
    "After the rounds a uniformly random set of peers stays.",
    ensured="All sets of that size are enumerated, each equally often.",
)
DIVISIBLE = Hypothesis("divisible", "The members of a full group divide the vector into equal chunks.", Eq(n % M, 0))
EQUAL_STARTS = Hypothesis(
    "equal_starts", "All peers start at the same point, and none leaves.", ensured="All runs begin like this."
)
LEAVING = Hypothesis(
    "leaving",
    "All peers start at the same point; after an average some leave for good, a uniformly random set whose size does "
    "not depend on anything, and n' stay to the end.",
    Le(survivors, N),
)
CONVEX = Hypothesis("convex", "f is convex and smooth.", lambda convexity: convexity >= 0)
STRONGLY_CONVEX = Hypothesis("strongly_convex", "f is strongly convex and smooth.", lambda convexity: convexity > 0)
SMOOTH = Hypothesis(
    "smooth",
    "f is smooth and bounded below; it need not be convex.",
    ensured="Functions are quadratics, or their slope is bounded; their infimum is 0.",
)
SMALL_STEP = Hypothesis("small_step", "gamma is at most 1/(4 L).", Le(4 * stepsize * smoothness, 1))
SMALLER_STEP = Hypothesis(
    "smaller_step",
    "gamma is at most 1/(2 L) and 1/(2 L (tau - 1)).",
    Le(2 * stepsize * smoothness * sp.Max(1, period - 1), 1),
)
QUADRATIC = Hypothesis(
    "quadratic",
    "f(x) = h ||x||^2 / 2, and noise is added, of variance sigma^2 at every peer.",
    ensured="Every peer's noise is sigma or -sigma in one direction, in all combinations.",
)
FLAT = Hypothesis(
    "flat", "f is constant, and noise of variance sigma^2 is added at every peer.", lambda smoothness: smoothness == 0
)
STABLE_STEP = Hypothesis(
    "stable_step",
    "gamma is at most 2/L, so that a gradient step does not expand distances.",
    Le(stepsize * smoothness, 2),
)
SHORT_STEP = Hypothesis("short_step", "gamma is at most 1/L.", Le(stepsize * smoothness, 1))
SHORTER_THAN_STABLE = Hypothesis(
    "shorter_than_stable", "gamma is below 2/L.", lambda stepsize, smoothness: stepsize * smoothness < 2
)
NOISELESS = Hypothesis("noiseless", "Gradients have no noise.", lambda noise: noise == 0)
MIXES = Hypothesis(
    "mixes", "An average reduces the expected distortion, rho < 1: not all peers are alone.", sp.Lt(mixing, 1)
)

MOSHPIT_AT = Repository("yandex-research/moshpit-sgd", "949b60b8461bf694a3b8e54b57952002eba81de1")
RYABININ_2021 = Work(
    "M. Ryabinin, E. Gorbunov, V. Plokhotnyuk, G. Pekhimenko, 2021, Moshpit SGD: communication-efficient "
    "decentralized training on heterogeneous unreliable devices, arXiv:2103.03239v4"
)
ASSRAN_2019 = Work(
    "M. Assran, N. Loizou, N. Ballas, M. Rabbat, 2019, Stochastic gradient push for distributed deep learning, "
    "arXiv:1811.10792"
)
KEMPE_2003 = Work(
    "D. Kempe, A. Dobra, J. Gehrke, 2003, Gossip-based computation of aggregate information, "
    "doi:10.1109/SFCS.2003.1238221"
)
XIAO_2004 = Work(
    "L. Xiao, S. Boyd, 2004, Fast linear iterations for distributed averaging, doi:10.1016/j.sysconle.2004.02.022"
)
YING_2021 = Work(
    "B. Ying, K. Yuan, Y. Chen, H. Hu, P. Pan, W. Yin, 2021, Exponential graph is provably efficient for "
    "decentralized deep training, arXiv:2110.13363"
)
