"""Claims about DiLoCo and Streaming DiLoCo: words, the outer step, its stability."""

import sympy as sp

from commbounds.theory.claim import Claim, Code, Eq, Ge, Kind, Le, Standing
from commbounds.theory.lowcomm.terms import (
    ANY_FRAGMENTS,
    AVERAGE_GAP,
    BALL,
    BLENDED_SPREAD,
    CYCLE_SENT,
    EVEN_FRAGMENTS,
    FIRST_ROUND,
    INNER_CONTRACTS,
    LOCAL_FROM_ANCHOR,
    MODERATE_OUTER,
    MOMENTUM_BELOW_ONE,
    NESTEROV,
    NO_OVERSHOOT,
    NOLOCO_AT,
    NOLOCO_CODE,
    ONE_QUADRATIC,
    OUTER_MOVE,
    OUTER_RADIUS,
    OUTER_STABLE,
    PEAK_SENT,
    PLAIN_OUTER,
    PROGRESS,
    RANKS_DIVIDE,
    REVERSED,
    SAME_CHANGE,
    TORCHFT,
    TORCHFT_AT,
    TORCHFT_FIRST,
    blendweight,
    fragments,
    innershare,
    outerlr,
    outermu,
    outerrounds,
)
from commbounds.theory.quantities import P, n
from commbounds.theory.sources import derived
from commbounds.theory.traffic import MOST_SENT

_ring = 2 * (P - 1) / P
_taken = outerlr * innershare
_trace = (1 + outermu) * (1 - _taken)
_det = outermu * (1 - _taken)
_disc = _trace**2 - 4 * _det
_LIMIT = 2 * (1 + outermu) / (1 + 2 * outermu)
_MAP = (
    "A worker ends at (1 - c) theta, so g = c theta. With m' = mu m + g and theta' = theta - eta (g + mu m') the map "
    "has trace 1 + mu - eta c (1 + mu) and determinant mu (1 - eta c). "
)
_FIXED_SHARE = (
    "It is about one quadratic and a share c that is the same in every round. If c changes, shares that are stable "
    "alone can diverge together: with the defaults, 0.7 and 0.9, repeating six rounds of c = 1/50 and one of c = 1 "
    "multiplies the distance by 1.12 per round."
)
_JURY = (
    f"{_MAP}1 - trace + det = eta c > 0 and |det| < 1 wherever 1 + trace + det = 2 (1 + mu) - eta c (1 + 2 mu) > 0, "
    "which is what stability asks for."
)


def _torchft(lines: str, default: bool | str = True) -> Code:
    return TORCHFT_AT.at("torchft/local_sgd.py", lines, default)


OUTER_CLAIMS = (
    Claim(
        name="lowcomm.diloco.words",
        title="An outer round of DiLoCo sends 2 n (P - 1)/P words, for any number of inner steps",
        relation=Eq(MOST_SENT, _ring * n),
        assumes=(RANKS_DIVIDE,),
        source=TORCHFT.official_code(
            "one all-reduce of all pseudo-gradients every `sync_every` steps",
            "Counted: a ring all-reduce of n words; with H inner steps 1/H of what SGD sends.",
            code=_torchft("489-497"),
        ),
    ),
    Claim(
        name="lowcomm.streaming.cycle",
        title="Streaming DiLoCo sends the words of one round of DiLoCo to synchronise every fragment once",
        relation=Eq(CYCLE_SENT, _ring * n),
        assumes=(EVEN_FRAGMENTS,),
        source=TORCHFT.official_code(
            "every H/F steps one fragment is all-reduced, in turn",
            "Counted: F ring all-reduces of n/F words.",
            code=_torchft("629-636"),
        ),
    ),
    Claim(
        name="lowcomm.streaming.peak",
        title="A fragment of Streaming DiLoCo takes 1/F of the words of a round of DiLoCo",
        relation=Eq(PEAK_SENT, _ring * n / fragments),
        assumes=(EVEN_FRAGMENTS,),
        source=TORCHFT.official_code(
            "one fragment is all-reduced at a time",
            "Counted: one ring all-reduce of n/F words.",
            code=_torchft("403-421"),
        ),
    ),
    Claim(
        name="lowcomm.streaming.peak_any",
        title="A fragment of Streaming DiLoCo takes 1/F of the words, for any lengths",
        relation=Le(PEAK_SENT, _ring * n / fragments),
        assumes=(ANY_FRAGMENTS,),
        source=derived(
            "Refuted by two ranks, two fragments of three entries: the longer has two entries, of which a rank sends "
            "two words; the claim is 3/2.",
            "the same with the hypothesis left out",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.streaming.peak_longest",
        extremal="two ranks, three entries, two fragments",
        axis="fragments",
        note="The longest fragment causes the peak. Fragments of whole layers differ by more than one entry.",
    ),
    Claim(
        name="lowcomm.streaming.peak_longest",
        title="A fragment of Streaming DiLoCo takes at most 2 (P - 1) blocks of its longest length",
        relation=Le(PEAK_SENT, 2 * (P - 1) * sp.ceiling(sp.ceiling(n / fragments) / P)),
        assumes=(ANY_FRAGMENTS,),
        source=derived(
            "The longest fragment has ceil(n/F) entries; in each of 2 (P - 1) steps a rank sends one block of at most "
            "ceil(ceil(n/F)/P) of them."
        ),
        tightness=1,
        extremal="a number of ranks that divides the longest fragment",
        axis="fragments",
        unpinned=(
            ("P + 1 for P", "still true: it counts more words where blocks have one length, and enough elsewhere"),
        ),
    ),
    Claim(
        name="lowcomm.streaming.blend",
        title="In Streaming DiLoCo workers that keep a share b of their own fragment end at b times their distance",
        relation=Eq(BLENDED_SPREAD, blendweight**2),
        assumes=(ANY_FRAGMENTS,),
        source=TORCHFT.official_code(
            "`_merge_parameters` interpolates with `fragment_update_alpha`",
            "The new anchor is the same for all: differences are multiplied by b. With the default b = 0 a worker's "
            "progress during the transfer of the fragment is dropped.",
            code=_torchft("367-385", "fragment_update_alpha, which is 0 by default"),
        ),
        axis="blendweight",
    ),
    Claim(
        name="lowcomm.diloco.average",
        title="With an outer step of 1 and no momentum DiLoCo averages parameters",
        relation=Eq(AVERAGE_GAP, 0),
        assumes=(PLAIN_OUTER,),
        source=derived("theta - (1/P) sum (theta - x_p) = (1/P) sum x_p."),
    ),
    Claim(
        name="lowcomm.diloco.first_round",
        title="DiLoCo's first round ends |1 - eta (1 + mu)| times as far from the average of parameters",
        relation=Eq(AVERAGE_GAP, (1 - outerlr * (1 + outermu)) ** 2),
        assumes=(NESTEROV, FIRST_ROUND, LOCAL_FROM_ANCHOR),
        source=derived(
            "The momentum is g, so the step is eta (1 + mu) g. It is the average exactly where eta (1 + mu) = 1; with "
            "0.7 and 0.9 it goes a third beyond it."
        ),
        axis="outerlr",
    ),
    Claim(
        name="lowcomm.diloco.progress",
        title="DiLoCo's first outer step covers eta (1 + mu) of the way to the average of the workers' parameters",
        relation=Eq(PROGRESS, outerlr * (1 + outermu)),
        assumes=(NESTEROV, FIRST_ROUND, LOCAL_FROM_ANCHOR),
        source=TORCHFT.official_code(
            "the pseudo-gradient is the original parameter less the local one",
            "g = theta - average; the optimiser subtracts eta (1 + mu) g.",
            code=_torchft("335-338"),
        ),
        axis="outerlr",
    ),
    Claim(
        name="lowcomm.diloco.reversed",
        title=(
            "With the pseudo-gradient of torchft's first versions DiLoCo's outer step goes towards the average of the "
            "workers' parameters"
        ),
        relation=Ge(PROGRESS, 0),
        assumes=(NESTEROV, FIRST_ROUND, REVERSED),
        source=TORCHFT.official_code(
            "the pseudo-gradient is the local parameter less the backup, and `torch.optim.SGD` subtracts it",
            "Refuted by every input: the step is - eta (1 + mu) of the way.",
            code=TORCHFT_FIRST.at(
                "torchft/local_sgd.py",
                "214",
                upstream="corrected in 8170a4b, pull request 233, on 15 July 2025; present from 30 January 2025 on",
            ),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.diloco.progress",
        extremal="any workers that moved",
        axis="outerlr",
        note="The outer optimiser ascends: it undoes the workers' progress and moves back as far again. Corrected in "
        "torchft pull request 233, after torchtitan pull request 1507 reported that outer steps go the wrong way.",
    ),
    Claim(
        name="lowcomm.diloco.effective_step",
        title="Under a constant pseudo-gradient round t of DiLoCo moves by eta (1 - mu^(t + 1))/(1 - mu) of it",
        relation=Eq(OUTER_MOVE, outerlr * (1 - outermu ** (outerrounds + 1)) / (1 - outermu)),
        assumes=(NESTEROV, SAME_CHANGE, MOMENTUM_BELOW_ONE),
        source=derived(
            "m_t = (1 - mu^t)/(1 - mu) g, and g + mu m_t = (1 - mu^(t + 1))/(1 - mu) g: seven times g in the limit, "
            "with 0.7 and 0.9."
        ),
        axis="outerrounds",
    ),
    Claim(
        name="lowcomm.diloco.ball_step",
        title="Under a constant pseudo-gradient round t with Polyak's momentum moves by eta (1 - mu^t)/(1 - mu) of it",
        relation=Eq(OUTER_MOVE, outerlr * (1 - outermu**outerrounds) / (1 - outermu)),
        assumes=(BALL, SAME_CHANGE, MOMENTUM_BELOW_ONE),
        source=NOLOCO_CODE.official_code(
            "the momentum times mu, less eta times the pseudo-gradient, is added to the global parameters; the DiLoCo "
            "that it is compared with, pipeline_diloco_optimizer.py, has the same lines",
            "m_t = (1 - mu^t)/(1 - mu) g: one round behind Nesterov's.",
            code=NOLOCO_AT.at("src/noloco/sparce_loco_optimizer.py", "113-114"),
        ),
        axis="outerrounds",
    ),
    Claim(
        name="lowcomm.diloco.ball_is_nesterov",
        title="An outer step by the momentum times mu less eta times the pseudo-gradient is Nesterov's",
        relation=Eq(OUTER_MOVE, outerlr * (1 - outermu ** (outerrounds + 1)) / (1 - outermu)),
        assumes=(BALL, SAME_CHANGE, MOMENTUM_BELOW_ONE),
        source=NOLOCO_CODE.official_code(
            "a comment, `Nesterov momentum optimizer`, above these lines, here and in pipeline_diloco_optimizer.py",
            "Refuted in the first round: eta, and not eta (1 + mu).",
            code=NOLOCO_AT.at("src/noloco/sparce_loco_optimizer.py", "111"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.diloco.ball_step",
        extremal="the first round, any momentum",
        axis="outerrounds",
        note="It is Polyak's: the file's DiLoCo begins with 0.7 where PyTorch's Nesterov begins with 1.33. Only the "
        "comment is wrong; the code is sound.",
    ),
    Claim(
        name="lowcomm.diloco.radius",
        title=(
            "On a quadratic a round of DiLoCo has spectral radius sqrt(mu (1 - eta c)), or that of two real eigenvalues"
        ),
        relation=Eq(
            OUTER_RADIUS,
            sp.Piecewise((sp.sqrt(sp.Abs(_det)), _disc < 0), ((sp.Abs(_trace) + sp.sqrt(sp.Abs(_disc))) / 2, True)),
        ),
        assumes=(NESTEROV, ONE_QUADRATIC, MOMENTUM_BELOW_ONE),
        source=derived(f"{_MAP}The eigenvalues are (trace +- sqrt(trace^2 - 4 det))/2."),
        axis="innershare",
    ),
    Claim(
        name="lowcomm.diloco.stable",
        title="DiLoCo's outer optimiser is stable on a quadratic exactly for 0 < eta c < 2 (1 + mu)/(1 + 2 mu)",
        relation=Eq(OUTER_STABLE, sp.Piecewise((1, (_taken > 0) & (_taken < _LIMIT)), (0, True))),
        kind=Kind.LAW,
        assumes=(NESTEROV, ONE_QUADRATIC, MOMENTUM_BELOW_ONE),
        source=derived(_JURY),
        axis="innershare",
        note=_FIXED_SHARE,
    ),
    Claim(
        name="lowcomm.diloco.contraction_suffices",
        title="DiLoCo is stable if its inner steps contract and its outer step is at most 4/3",
        relation=Eq(OUTER_STABLE, 1),
        assumes=(NESTEROV, ONE_QUADRATIC, MOMENTUM_BELOW_ONE, INNER_CONTRACTS, MODERATE_OUTER),
        source=derived(
            "Refuted by the defaults, 0.7 and 0.9, and one inner step with gamma a = 1.95: c = 1.95, eta c = 1.365 and "
            "the limit is 3.8/2.8 = 1.357, though the inner step contracts by 0.95.",
            "the same with a hypothesis left out",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.diloco.moderate",
        extremal="step 0.7, momentum 0.9, c = 1.95: an odd number of inner steps that overshoot",
        axis="innershare",
        note="An even number of inner steps cannot cause it: then c <= 1.",
    ),
    Claim(
        name="lowcomm.diloco.moderate",
        title="If inner steps do not overshoot, an outer step of at most 4/3 is stable with any momentum below one",
        relation=Eq(OUTER_STABLE, 1),
        assumes=(NESTEROV, ONE_QUADRATIC, MOMENTUM_BELOW_ONE, NO_OVERSHOOT, MODERATE_OUTER),
        source=derived(
            f"{_JURY} 2 (1 + mu)/(1 + 2 mu) falls with mu, to 4/3 at mu = 1, which is not reached. An even number of "
            "inner steps has c = 1 - (1 - gamma a)^H <= 1."
        ),
        axis="innershare",
        note=_FIXED_SHARE,
    ),
)
