"""Claims about spectral ATOMO as sampled by its code, switching, and signs with a memory."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.shipped.terms import (
    ACROSS,
    ALL_PROBABILITIES,
    ATOMO_AT,
    ATOMO_CODE,
    ATOMS,
    DYADIC_STEPS,
    FED_BACK,
    FIRST_RATIO,
    FLPYTORCH,
    FLPYTORCH_AT,
    FOLLOWS,
    GRACE,
    GRACE_AT,
    LATE_SIGNS,
    LEAST_HEIGHT,
    MATRIX_BIAS,
    NOT_TINY,
    SIGNS_ALONE,
    SWITCHED_ERROR,
    TIES_BROKEN,
    TINY,
    TURNED_ONCE,
    UNAPPLIED,
    WANG_2018,
    WITHIN_RANK,
    atombudget,
    efrate,
    firstlargest,
    nonedrawn,
    planned,
    ridgeslope,
    ridgestep,
    ridgesteps,
    statedvariance,
    turning,
    unused,
    usedvariance,
)
from commbounds.theory.sources import KARIMIREDDY_2019, derived

_SAMPLE = "_sample_svd: p = rank s/sum s, cut off at one; if no atom was drawn the function calls itself again"
_SAMPLED = ATOMO_AT.at("src/codings/svd.py", "49-67", "a rank above zero; the default is 0, the released script has 3")
SPECTRAL: tuple[Claim, ...] = (
    Claim(
        name="shipped.spectral_atoms.unbiased",
        title="Spectral ATOMO is unbiased as its code samples for a given rank",
        relation=Eq(MATRIX_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(NOT_TINY,),
        source=WANG_2018.read(
            "Abstract: an unbiased sparsification of the atomic decomposition",
            "The code draws again where no atom was kept, and still divides by p.",
            reading="It is read for the draws of the authors' code, with a rank above zero.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.spectral_atoms.bias",
        extremal="two equal singular values and rank 1: the mean is 4/3 of the matrix",
        axis="nonedrawn",
        note="With its default, rank 0, the code always keeps the largest atom and never draws again: it is unbiased. "
        "With the rank 3 of its released script the mean is at most 1/(1 - 1/e^3) = 1.05 of the matrix; with rank one "
        "and many equal singular values it is 1/(1 - 1/e) = 1.58.",
    ),
    Claim(
        name="shipped.spectral_atoms.bias",
        title="Spectral ATOMO's code divides the mean by the probability that a draw keeps something",
        relation=Eq(MATRIX_BIAS, nonedrawn / (1 - nonedrawn)),
        kind=Kind.EXPECTED,
        assumes=(NOT_TINY,),
        source=ATOMO_CODE.official_code(
            _SAMPLE,
            "An atom is among those of a draw that keeps something with probability p_i/(1 - q).",
            FOLLOWS,
            _SAMPLED,
        ),
        axis="nonedrawn",
    ),
    Claim(
        name="shipped.spectral_atoms.budget",
        title="Spectral ATOMO's code, given a rank, keeps at most that many atoms in expectation",
        relation=Le(ATOMS, atombudget),
        kind=Kind.EXPECTED,
        assumes=(NOT_TINY,),
        source=WANG_2018.read(
            "Abstract: a sparsity budget is given",
            "Two equal singular values, budget 1: 1/(1 - 1/4) = 4/3 atoms.",
            reading="It is read for the draws of the authors' code.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.spectral_atoms.kept",
        tightness=sp.oo,
        extremal="a budget near zero: at least one atom is kept",
        axis="atombudget",
        note="The smaller the budget, the larger the excess: at least one atom is sent.",
    ),
    Claim(
        name="shipped.spectral_atoms.kept",
        title="The expected number of atoms that spectral ATOMO's code keeps",
        relation=Eq(ATOMS, planned / (1 - nonedrawn)),
        kind=Kind.EXPECTED,
        assumes=(NOT_TINY,),
        source=ATOMO_CODE.official_code(_SAMPLE, "The sum of p_i/(1 - q).", FOLLOWS, _SAMPLED),
        axis="nonedrawn",
    ),
    Claim(
        name="shipped.spectral_atoms.tiny",
        title="Spectral ATOMO's code sends one atom of a matrix below 1e-6",
        relation=Eq(ATOMS, 1),
        assumes=(TINY,),
        source=ATOMO_CODE.official_code(
            "_sample_svd: below 1e-6, the first alone",
            "It holds for any budget.",
            FOLLOWS,
            ATOMO_AT.at("src/codings/svd.py", "50-51"),
        ),
        axis="atombudget",
        note="The draw depends on the scale of gradients: late in training only one atom is ever sent.",
    ),
    Claim(
        name="shipped.spectral_atoms.met",
        title="Spectral ATOMO's probabilities add up to the budget if it is at most the rank",
        relation=Eq(ATOMS, atombudget / (1 - nonedrawn)),
        kind=Kind.EXPECTED,
        assumes=(NOT_TINY, WITHIN_RANK),
        source=WANG_2018.recalled(
            "probabilities that solve the problem with a budget",
            "s = (3, 1), budget 2: p = (1, 1/2), where the paper's are both one.",
            reading="It is read for the code's probabilities, before drawing again.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.spectral_atoms.kept",
        extremal="s = (3, 1), budget 2, the rank: 3/2 atoms",
        axis="atombudget",
        note="What is above one is cut off, not redistributed: a budget equal to the rank loses entries.",
    ),
)

_SWITCHES = FLPYTORCH_AT.at("fl_pytorch/utils/compressors.py", "395-432")
_SWITCH = "ProbabilisticSwitchingCompressor: getW divides by the sum of the probabilities, compressVector does not"
SWITCHING: tuple[Claim, ...] = (
    Claim(
        name="shipped.switched.variance",
        title="Switching has the mean of the variances, by probabilities over their sum",
        relation=Eq(SWITCHED_ERROR, statedvariance),
        kind=Kind.EXPECTED,
        source=FLPYTORCH.official_code(
            _SWITCH,
            "Probabilities one and one: the second is never used. Probabilities 1/2 in all: half of the time nothing "
            "is chosen, and the error is one.",
            code=_SWITCHES,
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.switched.variance_whole",
        extremal="two compressors with probability one each: the second, stated with a half, is never used",
        axis="statedvariance",
        note="If the sum exceeds one, the last compressors are used less than stated, or never. If it is below one, "
        "the code returns None when none is chosen, read as zero here. The class does not require probabilities to add "
        "up to one; dividing by their sum helps if they do not.",
    ),
    Claim(
        name="shipped.switched.variance_whole",
        title="Switching with probabilities that add up to one has the mean of the variances",
        relation=Eq(SWITCHED_ERROR, statedvariance),
        kind=Kind.EXPECTED,
        assumes=(ALL_PROBABILITIES,),
        source=FLPYTORCH.official_code(
            _SWITCH, "The mean over the choice, where every error is an equality.", code=_SWITCHES
        ),
        axis="statedvariance",
    ),
    Claim(
        name="shipped.switched.used",
        title="The exact error of switching, for any sum of the probabilities",
        relation=Eq(SWITCHED_ERROR, usedvariance + unused),
        kind=Kind.EXPECTED,
        source=FLPYTORCH.official_code(
            _SWITCH,
            "Cells of [0, 1) of the lengths given, cut off at one; nothing is used beyond them.",
            FOLLOWS + " None is read as zero.",
            _SWITCHES,
        ),
        axis="usedvariance",
    ),
)

_FIRST = "torch/memory/efsignsgd.py: the step size multiplies a gradient where there is a residual; updates are over it"
_RATE = GRACE_AT.at("grace_dl/torch/memory/efsignsgd.py", "9-19")
SIGNED: tuple[Claim, ...] = (
    Claim(
        name="shipped.signum_signs.follows",
        title="Signum's sign is that of the gradient",
        relation=Eq(LATE_SIGNS, 0),
        assumes=(TURNED_ONCE,),
        source=derived("It holds without momentum. Refuted by momentum 3/4 and gradients 1, -1: u = 1/2."),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.signum_signs.late",
        extremal="momentum 3/4, gradients 1, -1, -1: the signs stay +1 for two steps",
        axis="turning",
        note="With momentum of one half or more the sign is at least one step late.",
    ),
    Claim(
        name="shipped.signum_signs.late",
        title="After the gradient turns, Signum keeps the old sign for floor(log 2/log(1/m)) steps",
        relation=Eq(LATE_SIGNS, sp.floor(sp.log(2) / sp.log(1 / turning))),
        assumes=(TURNED_ONCE,),
        source=GRACE.official_code(
            "torch/compressor/signum.py: u = (1 - m) g + m u, from the first gradient on; the sign of zero is +1",
            "d steps after the turn u = 2 m^d - 1, not negative as long as m^d >= 1/2.",
            FOLLOWS,
            GRACE_AT.at("grace_dl/torch/compressor/signum.py", "13-23"),
        ),
        axis="turning",
        note="It is six steps with 0.9 and 68 with 0.99: for that time such workers vote for ascent.",
    ),
    Claim(
        name="shipped.ef_signs.first_step",
        title="The first update of EF-signSGD is the compressed gradient",
        relation=Eq(FIRST_RATIO, 1),
        assumes=(DYADIC_STEPS,),
        source=derived("There is no residual at first: p = g, and the update is C(g)/rate.", code=_RATE),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.ef_signs.first_large",
        extremal="any gradient, step size 1/2: twice as large",
        axis="efrate",
        note="GRACE for TensorFlow begins with a zero residual, and is right.",
    ),
    Claim(
        name="shipped.ef_signs.first_large",
        title="GRACE's first update of EF-signSGD for PyTorch is too large by one over the step size",
        relation=Eq(FIRST_RATIO, 1 / efrate),
        assumes=(DYADIC_STEPS,),
        source=GRACE.official_code(_FIRST, "C(g)/rate, where C(rate g)/rate = C(g).", FOLLOWS, _RATE),
        axis="efrate",
        note="It is ten times as large with the default of 0.1: the optimiser's first step has step size one.",
    ),
    Claim(
        name="shipped.ef_signs.conserved",
        title="EF-signSGD applies the sum of the gradients, up to the residual",
        relation=Eq(UNAPPLIED, 0),
        assumes=(DYADIC_STEPS,),
        source=KARIMIREDDY_2019.recalled(
            "error-corrected iterates follow SGD",
            "The first gradient counts 1/rate times.",
            reading="It is read of GRACE's code.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.ef_signs.excess",
        extremal="one gradient (1), step size 1/2: 1/2 too much",
        axis="efrate",
        note="Residuals lose nothing: only the first gradient has too much weight.",
    ),
    Claim(
        name="shipped.ef_signs.excess",
        title="GRACE's EF-signSGD applies the first gradient with an excess of 1 - rate",
        relation=Eq(UNAPPLIED, (1 - efrate) * firstlargest),
        assumes=(DYADIC_STEPS,),
        source=GRACE.official_code(
            _FIRST, "Sums telescope; the first gradient enters them without the rate.", FOLLOWS, _RATE
        ),
        axis="efrate",
    ),
)

_LOOSE = "It is loose by nature: an upper bound for all subgradients; runs reach at most half of it."
RIDGE: tuple[Claim, ...] = (
    Claim(
        name="shipped.ridge_descent.stuck",
        title="Sign descent never moves along the ridge of slope |x + y| + |x - y|, if ties are broken",
        relation=Eq(ACROSS, 0),
        assumes=(SIGNS_ALONE, TIES_BROKEN),
        source=KARIMIREDDY_2019.read(
            "Abstract: simple convex counter-examples where signSGD does not converge",
            "Gradients are slope (s, s) + (r, -r) with s and r one or minus one, and slope < 1: their signs are "
            "(r, -r).",
            reading="It is the example in two dimensions, as recalled.",
        ),
        axis="ridgesteps",
    ),
    Claim(
        name="shipped.ridge_descent.stuck_any",
        title="Sign descent never moves along the ridge, for any subgradients",
        relation=Eq(ACROSS, 0),
        assumes=(SIGNS_ALONE,),
        source=derived(
            "An earlier version of this book claimed it for every subgradient. Refuted if x = y, as at the start: all "
            "(slope + r, slope - r) with |r| <= 1 are subgradients there, and with |r| < slope both signs are one. The "
            "sign of zero is zero, r = 0, in automatic differentiation."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.ridge_descent.stuck",
        extremal="one step of step size 1/8 with the sign of zero zero: 1/4",
        axis="ridgesteps",
        note="With that subgradient it descends along the ridge, to within the step size of the minimum.",
    ),
    Claim(
        name="shipped.ridge_descent.converges",
        title="Sign descent reaches the subgradient method's bound: 1/(gamma T) + gamma",
        relation=Le(LEAST_HEIGHT, 1 / (ridgestep * ridgesteps) + ridgestep),
        assumes=(SIGNS_ALONE,),
        source=derived(
            "The bound R^2/(2 gamma T) + gamma G^2/2 with R^2 = G^2 = 2, if signs were subgradients. Refuted if ties "
            "are broken: the objective stays at 2 slope or more."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="shipped.ridge_descent.feedback",
        tightness=sp.oo,
        extremal="slope 1/2, step 1/8 and 64 steps: 1, where the bound is 1/4",
        axis="ridgesteps",
        note="A shrinking step size does not help: no step of any size moves along the ridge.",
    ),
    Claim(
        name="shipped.ridge_descent.least",
        title="Sign descent never falls below 2 slope, its initial value",
        relation=Eq(LEAST_HEIGHT, 2 * ridgeslope),
        assumes=(SIGNS_ALONE, TIES_BROKEN),
        source=KARIMIREDDY_2019.read(
            "Abstract: simple convex counter-examples where signSGD does not converge",
            "x + y stays two by shipped.ridge_descent.stuck, and the start lies on x = y.",
            reading="It is the example in two dimensions, as recalled.",
        ),
        axis="ridgeslope",
    ),
    Claim(
        name="shipped.ridge_descent.feedback",
        title="With error feedback sign descent descends along the ridge",
        relation=Le(LEAST_HEIGHT, 1 / (ridgestep * ridgesteps) + 12 * ridgestep),
        assumes=(FED_BACK,),
        source=derived(
            "z = x - e takes subgradient steps: |z'|^2 = |z|^2 - 2 gamma <g, x> + 2 gamma <g, e> + gamma^2 G^2, with "
            "<g, x> the height, G^2 = 2 + 2 slope^2 < 4, |e| <= gamma G q/(1 - q), q^2 = 1 - alpha = 1/2. Over T "
            "steps, and divided by 2 gamma T; |z_0|^2 = 2; 1/2 + q/(1 - q) < 3."
        ),
        axis="ridgesteps",
        unpinned=(
            ("0.9 times the bound", _LOOSE),
            ("0.9 times the term 12*ridgestep", _LOOSE),
            ("0.9 times the term 1/(ridgestep*ridgesteps)", _LOOSE),
            ("ridgesteps + 1 for ridgesteps", _LOOSE),
        ),
    ),
)

MEMORIES = (*SPECTRAL, *SWITCHING, *SIGNED, *RIDGE)
