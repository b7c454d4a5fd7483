"""Claims about what workers do together: Perm-K, Rand-K with one seed, and Deep Gradient Compression."""

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.quantities import P, k, n, norm2bar, sumsq
from commbounds.theory.shipped.terms import (
    ALL_SENT,
    ANY_OWNERS,
    APPLIED,
    DYADIC,
    FOLLOWS,
    FROM_MOMENTUM,
    FROM_PLAIN,
    GRACE,
    GRACE_AT,
    LIN_2018,
    MASKED,
    MEAN_BIAS,
    MEAN_ERROR,
    ONE_GRADIENT,
    SAME_VECTORS,
    SZLENDAK_2021,
    TOTAL_WORDS,
    UNIFORM_OWNERS,
    UNIFORM_PLACES,
    UNMASKED,
    UNSENT_MASS,
    delay,
    dgcsteps,
    momentum,
)
from commbounds.theory.sources import FOLKLORE, derived

_OWNER = "Every entry of the result is that of a uniformly drawn worker"
_SEED = "compressor/randomk.py: one seed for all workers, from the tensor's name and the step; values without indices"
_SEEDED = GRACE_AT.at("grace_dl/torch/compressor/randomk.py", "23-40")

PERMK: tuple[Claim, ...] = (
    Claim(
        name="shipped.permk_mean.unbiased",
        title="Perm-K's mean is unbiased for any P and n",
        relation=Eq(MEAN_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(UNIFORM_OWNERS,),
        source=SZLENDAK_2021.recalled(
            "Perm-K, for P that divides n",
            f"{_OWNER}, as the turn is uniform: its mean is theirs.",
            reading="It is read with randomly rotated blocks, for any P and n.",
        ),
    ),
    Claim(
        name="shipped.permk_mean.error",
        title="The exact error of Perm-K's mean: the variance among the workers",
        relation=Eq(MEAN_ERROR, sumsq / P - norm2bar**2),
        kind=Kind.EXPECTED,
        assumes=(UNIFORM_OWNERS,),
        source=SZLENDAK_2021.recalled(
            "the AB-inequality with A = B = 1",
            f"{_OWNER}: its variance is that among the workers' entries, and sums to (1/P) sum ||x_i||^2 - ||mean||^2.",
            reading="It is read as an equality; the paper's inequality is an upper bound.",
        ),
        axis="P",
    ),
    Claim(
        name="shipped.permk_mean.identical",
        title="Perm-K is exact if all workers hold the same vector",
        relation=Eq(MEAN_ERROR, 0),
        assumes=(SAME_VECTORS, ANY_OWNERS),
        source=SZLENDAK_2021.read(
            "Abstract: the improvement is largest in the low Hessian variance regime",
            "The owner of an entry holds the mean's entry.",
            reading="It is the extreme case of that regime.",
        ),
        axis="P",
    ),
    Claim(
        name="shipped.permk_mean.never_worse",
        title="Perm-K's error is at most that of independent Rand-K of n/P values, (P - 1)/P of the mean square",
        relation=Le(MEAN_ERROR, (P - 1) * sumsq / P**2),
        kind=Kind.EXPECTED,
        assumes=(UNIFORM_OWNERS,),
        source=FOLKLORE.recalled(
            "correlated compressors as an improvement over independent ones",
            "Independent Rand-K with k = n/P has omega = P - 1, and the mean (P - 1)/P^2 sum ||x_i||^2. Perm-K's "
            "sumsq/P - ||mean||^2 is more iff ||mean||^2 < sumsq/P^2.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.permk_mean.error",
        tightness=P / (P - 1),
        extremal="workers whose vectors add up to zero: x and -x",
        axis="P",
        note="If workers cancel, independent draws are better by at most (P - 1)/P, a factor of 2 for two workers, "
        "1.14 for eight and 1.001 for a thousand; if they agree, Perm-K is exact. The two errors are equal at "
        "||mean||^2 = sumsq/P^2.",
    ),
    Claim(
        name="shipped.permk_mean.words",
        title="All ranks together send every entry P - 1 times",
        relation=Eq(TOTAL_WORDS, (P - 1) * n),
        assumes=(ANY_OWNERS,),
        source=derived("An all-gather of n values in all: each is passed on P - 1 times. Owners follow from the seed."),
        axis="P",
        note="It is half of the words of a ring all-reduce of the vectors.",
    ),
)

SHARED: tuple[Claim, ...] = (
    Claim(
        name="shipped.shared_randk_mean.error",
        title="The exact error of the mean by Rand-K with one seed: (n/k - 1) of the squared mean",
        relation=Eq(MEAN_ERROR, (n / k - 1) * norm2bar**2),
        kind=Kind.EXPECTED,
        assumes=(UNIFORM_PLACES,),
        source=GRACE.official_code(
            _SEED,
            "With one set C is linear: the mean of the messages is the message of the mean.",
            f"{FOLLOWS} It sends unscaled values: the factor n/k is ours.",
            _SEEDED,
        ),
        axis="k",
    ),
    Claim(
        name="shipped.shared_randk_mean.divided",
        title="With P workers the variance of Rand-K is divided by P, also with one seed",
        relation=Le(MEAN_ERROR, (n / k - 1) * sumsq / P**2),
        kind=Kind.EXPECTED,
        assumes=(UNIFORM_PLACES,),
        source=FOLKLORE.recalled(
            "omega/P in rates of distributed methods",
            "Equal vectors: (n/k - 1) ||x||^2 with one seed, a P-th of that with separate seeds.",
            reading="It is read with one seed for all.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.shared_randk_mean.error",
        tightness=P,
        extremal="all workers hold the same vector",
        axis="P",
        note="Division by P needs independent draws. One seed saves the indices and keeps the contraction, but does "
        "not average; if workers cancel it is better.",
    ),
    Claim(
        name="shipped.shared_randk_mean.words",
        title="Rand-K with one seed sends 2 (P - 1) k words in all",
        relation=Eq(TOTAL_WORDS, 2 * (P - 1) * k),
        source=GRACE.official_code(_SEED, "A ring all-reduce of k values: counted.", FOLLOWS, _SEEDED),
        axis="P",
        note="With separate sets, k values and k indices from each rank go to all: 2 P (P - 1) k.",
    ),
)

_MEMORY = "memory/dgc.py: residual = momentum residual + gradient; both memories are multiplied by what was not sent"
_MASKS = GRACE_AT.at("grace_dl/torch/memory/dgc.py", "14-38")

DGC: tuple[Claim, ...] = (
    Claim(
        name="shipped.dgc_steps.conserved",
        title="Momentum correction loses nothing: unsent values are kept",
        relation=Eq(UNSENT_MASS, 0),
        assumes=(UNMASKED, DYADIC),
        source=LIN_2018.read(
            "Abstract names momentum correction among what preserves accuracy",
            "v changes by u and by the message: summed over the steps nothing is lost.",
            reading="It is read as a conservation law.",
        ),
        axis="dgcsteps",
    ),
    Claim(
        name="shipped.dgc_steps.conserved_masked",
        title="With momentum factor masking nothing is lost either",
        relation=Eq(UNSENT_MASS, 0),
        assumes=(DYADIC,),
        source=derived(
            "n = k = 1, m = 1/2, gradients 1 and 0: one is sent, where momentum SGD moves by 3/2.", code=_MASKS
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.dgc_steps.conserved",
        extremal="every entry is sent: gradients 1 and 0, factor 1/2",
        axis="dgcsteps",
        note="Masking stops the momentum of entries just sent: each time it drops the tail of a geometric series.",
    ),
    Claim(
        name="shipped.dgc_steps.dense_unmasked",
        title="Without masking and with all entries sent, DGC is SGD with momentum",
        relation=Eq(FROM_MOMENTUM, 0),
        assumes=(UNMASKED, ALL_SENT, DYADIC),
        source=LIN_2018.transcribed(
            "equations 3 and 7: momentum correction, at full density", "v = u is sent and cleared in every step."
        ),
        axis="dgcsteps",
    ),
    Claim(
        name="shipped.dgc_steps.dense_momentum",
        title="With all entries sent, DGC is SGD with momentum",
        relation=Eq(FROM_MOMENTUM, 0),
        assumes=(ALL_SENT, DYADIC),
        source=derived(
            "With masking u is cleared in every step: gradients 1 and 0 make updates 1 and 0, not 1 and 1/2.",
            code=_MASKS,
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.dgc_steps.dense_unmasked",
        extremal="k = n, gradients 1 and 0, factor 1/2, masking",
        axis="dgcsteps",
        note="With masking it is SGD without momentum: denser messages have less momentum.",
    ),
    Claim(
        name="shipped.dgc_steps.dense_plain",
        title="With masking and all entries sent, DGC is SGD without momentum",
        relation=Eq(FROM_PLAIN, 0),
        assumes=(MASKED, ALL_SENT, DYADIC),
        source=GRACE.official_code(
            _MEMORY, "u and v are cleared in every step: both are the gradient.", FOLLOWS, _MASKS
        ),
        axis="dgcsteps",
    ),
    Claim(
        name="shipped.dgc_steps.delayed",
        title="With masking a gradient that waits d steps has the weight (1 - m^(d + 1))/(1 - m)",
        relation=Eq(APPLIED, (1 - momentum ** (delay + 1)) / (1 - momentum)),
        assumes=(MASKED, ONE_GRADIENT, DYADIC),
        source=GRACE.official_code(
            _MEMORY, "v grows by m^t a step until it is sent, and then u is cleared.", FOLLOWS, _MASKS
        ),
        axis="delay",
        note="SGD with momentum counts it 1/(1 - m) times: the effective step size depends on the waiting time.",
    ),
    Claim(
        name="shipped.dgc_steps.words",
        title="DGC sends 2 k P (P - 1) words per step in total",
        relation=Eq(TOTAL_WORDS, 2 * k * P * (P - 1) * dgcsteps),
        source=derived("An all-gather of k indices and k values from each rank, in every step."),
        axis="P",
    ),
)

WORKERS = (*PERMK, *SHARED, *DGC)
