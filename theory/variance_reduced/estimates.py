"""Claims about MARINA and DASHA: estimates that follow the gradient by its compressed changes."""

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing, for_one_reason
from commbounds.theory.feedback.terms import stepsize
from commbounds.theory.quantities import P, k, n
from commbounds.theory.sources import FOLKLORE, derived
from commbounds.theory.variance_reduced import terms as t

_IN_MARINA = "MarinaMasterAlgorithm in code/distributed_optimization_library/algorithm.py, by an author of DASHA: "
_IN_DASHA = "ZeroMarinaMasterAlgorithm and BaseZeroMarinaNodeAlgorithm in algorithm.py of the authors: "
_DESCENT = (
    "f+ <= f - gamma/2 ||grad f||^2 - (1/(2 gamma) - L/2)||x+ - x||^2 + gamma/2 ||g - grad f||^2, and the mean squared "
    "turn is at most L~^2 ||x+ - x||^2. "
)
_p = t.full_probability
_tracked = t.excess_before + stepsize / (2 * _p) * t.estimate_gap - stepsize / 2 * t.squared_slope
_c1 = stepsize * (2 * t.omega + 1) ** 2 / (2 * (4 * t.omega + 1))
_c2 = stepsize * t.omega * (2 * t.omega + 1) / ((4 * t.omega + 1) * P)
_dasha = t.excess_before + _c1 * t.estimate_gap + _c2 * t.part_gap - stepsize / 2 * t.squared_slope
_DASHA_PROOF = (
    _DESCENT
    + "The estimate's error becomes (1 - a)^2 of itself and omega/P times what is compressed, M; the parts' error (1 - "
    "a)^2 of itself and omega M; M <= 2 turns + 2 a^2 times the parts' error. With a = 1/(2 omega + 1), c_1 = "
    "gamma/(2 a (2 - a)) and c_2 = 2 a omega c_1/P, both errors pay for themselves, and ||x+ - x||^2 costs gamma omega "
    "(2 omega + 1)/P L~^2."
)

ESTIMATE_CLAIMS = (
    Claim(
        name="variance_reduced.marina.error",
        title="MARINA's squared error becomes 1 - p times the sum of the old one and that of the compressed changes",
        relation=Eq(t.STEP_VARIANCE, (1 - _p) * (t.estimate_gap + t.omega / P * t.mean_turn)),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE, t.SHARED_COIN),
        source=t.MARINA_2021.recalled(
            "the recursion of the estimator's error",
            "With probability p the error is zero. Else it is the old one, and that of the average of independent "
            "compressed turns, which has no mean.",
            "It is read as an equality, for a compressor of variance exactly omega ||x||^2; a bound is printed.",
        ),
        axis="full_probability",
    ),
    Claim(
        name="variance_reduced.marina.bias",
        title="Given the past, MARINA's estimate is biased: by 1 - p times its old error",
        relation=Eq(t.STEP_BIAS, (1 - _p) ** 2 * t.estimate_gap),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.SHARED_COIN),
        source=t.MARINA_2021.read(
            "abstract and introduction: a biased gradient estimator",
            "The expectation of g + mean C(turn) is grad+ + (g - grad).",
            "The amount is ours.",
        ),
        axis="full_probability",
    ),
    Claim(
        name="variance_reduced.marina.unbiased",
        title="Unbiased compression of differences gives an unbiased estimate",
        relation=Eq(t.STEP_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.SHARED_COIN),
        source=FOLKLORE.recalled(
            "unbiased messages mistaken for an unbiased estimate", "Refuted by any estimate with an error, for p < 1."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.marina.bias",
        extremal="an estimate that is not the gradient",
        axis="n",
        note="The message is unbiased, as an estimate of the change.",
    ),
    Claim(
        name="variance_reduced.marina.mean_error",
        title="Over a whole run that begins with the gradient, MARINA's error has mean zero",
        relation=Eq(t.RUN_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.SHARED_COIN, t.FIRST_FULL),
        source=derived("E[g+ - grad+ | past] = (1 - p)(g - grad): a mean of zero stays zero, for any iterates."),
        axis="n",
        note="So the bias is conditional on the past: errors of many runs average out, that of one run does not.",
    ),
    Claim(
        name="variance_reduced.marina.descent",
        title="At MARINA's step size f plus gamma/(2 p) of the error falls by gamma/2 of the squared gradient",
        relation=Le(t.TRACKED_POTENTIAL, _tracked),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE, t.SHARED_COIN, t.SMOOTH_PARTS, t.MARINA_STEP),
        source=t.DASHA_2022.official_code(
            _IN_MARINA + "the step size; the inequality is recalled from the paper on MARINA",
            _DESCENT + "gamma/(2 p) of variance_reduced.marina.error pays for gamma/2 of the old error.",
            code=t.DASHA_AT.at("code/distributed_optimization_library/algorithm.py", "287-297"),
        ),
        axis="stepsize",
        note="The code has the mean of the workers' constants for L, which is at least L.",
    ),
    Claim(
        name="variance_reduced.marina.descent_sharp",
        title="MARINA's potential descends at every step size with L gamma + (L~ gamma)^2 (1 - p) omega/(p P) <= 1",
        relation=Le(t.TRACKED_POTENTIAL, _tracked),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE, t.SHARED_COIN, t.SMOOTH_PARTS, t.MARINA_LARGEST_STEP),
        source=derived("The proof of variance_reduced.marina.descent needs no more."),
        tightness=1,
        extremal="every worker's function x^2/2 times L, the largest step size",
        axis="stepsize",
        note="The printed step size is smaller by a factor of 5/4 at most, as EF21's is: feedback.ef21.descent_sharp.",
    ),
    Claim(
        name="variance_reduced.marina.words",
        title="A step of MARINA sends 2 (p n/P + (1 - p) k)(P - 1) words in the mean",
        relation=Eq(t.EXPECTED_SENT, 2 * (_p * n / P + (1 - _p) * k) * (P - 1)),
        kind=Kind.EXPECTED,
        assumes=(t.SHARED_COIN, t.EQUAL_BLOCKS),
        source=derived("Counted: a ring all-reduce, or k indices and k values of every rank round a ring."),
        axis="P",
    ),
    Claim(
        name="variance_reduced.marina.words_at_ratio",
        title="With p = k/n MARINA's steps cost 1 + 1/P - k/n times compressed ones: full gradients are nearly free",
        relation=Eq(t.EXPECTED_SENT, 2 * k * (P - 1) * (1 + 1 / P - k / n)),
        kind=Kind.EXPECTED,
        assumes=(t.SHARED_COIN, t.EQUAL_BLOCKS, t.COIN_RATIO),
        source=t.DASHA_2022.official_code(
            _IN_MARINA + "the probability, entries sent over entries",
            "variance_reduced.marina.words at p = k/n.",
            "The cost is that of a ring.",
            code=t.DASHA_AT.at("code/distributed_optimization_library/algorithm.py", "281-285"),
        ),
        axis="P",
        note="With a server it is nearly two compressed messages, as printed; a ring all-reduce sums gradients at "
        "every hop, while compressed messages are gathered.",
    ),
    Claim(
        name="variance_reduced.dasha.error",
        title="DASHA's squared error becomes (1 - a)^2 times the old one plus omega/P times the compressed square",
        relation=Eq(t.STEP_VARIANCE, (1 - t.weight) ** 2 * t.estimate_gap + t.omega / P * t.part_offer),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE, t.AVERAGED_PARTS),
        source=t.DASHA_2022.official_code(
            _IN_DASHA + "the message; the recursion is ours",
            "g+ - grad+ = (1 - a)(g - grad) and the average of independent errors without mean.",
            "The recursion is ours; the code has the step.",
            code=t.DASHA_AT.at("code/distributed_optimization_library/algorithm.py", "589-597"),
        ),
        axis="weight",
    ),
    Claim(
        name="variance_reduced.dasha.part_error",
        title="A worker's part: its squared error becomes (1 - a)^2 times the old one plus omega times the compressed "
        "square",
        relation=Eq(t.PART_ERROR, (1 - t.weight) ** 2 * t.part_gap + t.omega * t.part_offer),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM,),
        source=derived("As variance_reduced.dasha.error, worker by worker."),
        axis="weight",
    ),
    Claim(
        name="variance_reduced.dasha.bias",
        title="Given the past, DASHA's estimate is biased by 1 - a times its old error: a plays the role of MARINA's p",
        relation=Eq(t.STEP_BIAS, (1 - t.weight) ** 2 * t.estimate_gap),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.AVERAGED_PARTS),
        source=derived("The expectation of what is sent adds up to grad+ - grad - a (g - grad)."),
        axis="weight",
    ),
    Claim(
        name="variance_reduced.dasha.part_contracts",
        title="At weights up to 1/(2 omega + 1) the parts' error falls to 1 - a, plus 2 omega times the changes",
        relation=Le(t.PART_ERROR, (1 - t.weight) * t.part_gap + 2 * t.omega * t.mean_turn),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DASHA_WEIGHT),
        source=t.DASHA_2022.official_code(
            _IN_DASHA + "the momentum 1/(2 omega + 1); the inequality is recalled",
            "||turn - a e||^2 <= 2 ||turn||^2 + 2 a^2 ||e||^2, and (1 - a)^2 + 2 omega a^2 = 1 - a - a (1 - a (1 + 2 "
            "omega)).",
            code=t.DASHA_AT.at("code/distributed_optimization_library/algorithm.py", "758-759"),
        ),
        tightness=1,
        extremal="the weight 1/(2 omega + 1), a gradient change that is -a times the part's error",
        axis="weight",
    ),
    Claim(
        name="variance_reduced.dasha.descent",
        title="DASHA's potential falls by gamma/2 of the squared gradient if L gamma + 2 omega (2 omega + 1)(L~ "
        "gamma)^2/P <= 1",
        relation=Le(t.DASHA_POTENTIAL, _dasha),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE, t.AVERAGED_PARTS, t.SMOOTH_PARTS, t.DASHA_OWN_WEIGHT, t.DASHA_STEP),
        source=derived(_DASHA_PROOF),
        tightness=1,
        extremal="quadratics, gradient changes that are -a times the parts' errors, the largest step size",
        axis="stepsize",
    ),
    Claim(
        name="variance_reduced.dasha.mean_step",
        title=(
            "DASHA's potential descends at the code's step size 1/(L_mean + L~ sqrt(omega (4 omega + 1)/P)), for any "
            "workers"
        ),
        relation=Le(t.DASHA_POTENTIAL, _dasha),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE, t.AVERAGED_PARTS, t.SMOOTH_PARTS, t.DASHA_OWN_WEIGHT, t.DASHA_MEAN_STEP),
        source=t.DASHA_2022.official_code(
            _IN_DASHA + "the step size, whose first constant is the mean of the workers'",
            "As variance_reduced.dasha.code_step_alike with L_mean for L, which it is at least: P L~^2, a sum of "
            "squares, is at most P^2 L_mean^2, the square of the sum, so that omega L~^2 <= P (4 omega + 1) L_mean^2.",
            "It is read for this potential; the code only has a step size.",
            code=t.DASHA_AT.at("code/distributed_optimization_library/algorithm.py", "843-853"),
        ),
        axis="stepsize",
        unpinned=for_one_reason(
            "Loose by nature: of ||x+ - x||^2/(2 gamma) the share (L_mean M - M^2/(4 omega + 1))/(L_mean + M)^2 is "
            "left over, M = L~ sqrt(omega (4 omega + 1)/P), and if M is small, so is the cost of the parts' errors.",
            "0.9 times the term omega*part_gap*stepsize*(2*omega + 1)/(P*(4*omega + 1))",
            "10/9 times the term 1",
            "10/9 times the term 4*omega",
            "0.9 times the term 1",
            "0.9 times the term 2*omega",
        ),
    ),
    Claim(
        name="variance_reduced.dasha.code_step",
        title=(
            "DASHA's potential descends at the step size 1/(L + L~ sqrt(omega (4 omega + 1)/P)), with the smoothness "
            "L of f"
        ),
        relation=Le(t.DASHA_POTENTIAL, _dasha),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE, t.AVERAGED_PARTS, t.SMOOTH_PARTS, t.DASHA_OWN_WEIGHT, t.DASHA_CODE_STEP),
        source=derived(
            "Refuted by two workers of opposite curvatures: L = 1, L~^2 = 65, omega = 1.",
            "the step size of the authors' code, with the smoothness of f for the mean of the workers' constants",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.dasha.mean_step",
        extremal="curvatures 1 + c and 1 - c with a large c, and gradient changes that are -a times the parts' errors",
        axis="stepsize",
        note="If the workers' functions differ much, 4 omega + 1 under the root must be 4 omega + 2. The code has the "
        "larger L_mean, 8 for these workers, and is right: variance_reduced.dasha.mean_step.",
    ),
    Claim(
        name="variance_reduced.dasha.code_step_alike",
        title=(
            "DASHA's potential descends at 1/(L + L~ sqrt(omega (4 omega + 1)/P)) if omega L~^2 <= P (4 omega + 1) L^2"
        ),
        relation=Le(t.DASHA_POTENTIAL, _dasha),
        kind=Kind.EXPECTED,
        assumes=(
            t.RANDOM,
            t.DRAWN_ALONE,
            t.AVERAGED_PARTS,
            t.SMOOTH_PARTS,
            t.DASHA_OWN_WEIGHT,
            t.DASHA_CODE_STEP,
            t.ALIKE_ENOUGH,
        ),
        source=derived(
            "With y = gamma L~ sqrt(omega (4 omega + 1)/P) <= 1 - L gamma, variance_reduced.dasha.descent needs y^2 (4 "
            "omega + 2)/(4 omega + 1) <= 1 - L gamma; y <= (4 omega + 1)/(4 omega + 2) is enough, and follows."
        ),
        axis="stepsize",
        note="It also holds for convex functions: <turn_i, x+ - x> >= ||turn_i||^2/(P L), so that the turns' mean "
        "square is at most P L^2 ||x+ - x||^2, for any L~.",
    ),
)
