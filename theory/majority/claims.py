"""Sign SGD with majority vote: what is claimed of its bits, of the vote's error, of adversaries and of ties."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Kind, Le, Standing, for_one_reason
from commbounds.theory.cost import critical_words
from commbounds.theory.dense.schedules import PRINTED
from commbounds.theory.implementations import defined
from commbounds.theory.majority.terms import (
    A_BIT,
    ALONE,
    ANY_BALLOT,
    ANY_NOISE,
    BROKEN,
    BUSIEST_BYTES,
    DRIFT,
    EVEN,
    FAIR,
    FAIR_OR_OPEN,
    GATHERED,
    GAUSS,
    HALF,
    HONEST,
    INDEPENDENT,
    INVERT,
    LIARS,
    MINORITY,
    NO_ATOM,
    NONZERO_MEAN,
    ONE_NOISE,
    OPEN,
    OVERTURNED,
    PLUS,
    SCALES,
    SERVER,
    SEVERAL,
    SHARDS,
    SUBMISSION,
    UNIMODAL,
    VALUES,
    VOTE_DISTORTION,
    VOTE_ERROR,
    WHOLE_BYTES,
    WORKER_BYTES,
    WORKER_ERROR,
    flip,
    gauss,
    honest,
    inverting,
    lying,
    snr,
    tieloss,
    vote_error,
    votebits,
)
from commbounds.theory.quantities import P, choose, n
from commbounds.theory.sources import BERNSTEIN_2018, FOLKLORE, Repository, Work, derived

# --- claims: bytes -----------------------------------------------------------------------------------------------

_ballot = sp.ceiling(votebits * n / 8)
_ring = 4 * critical_words(next(schedule for schedule in PRINTED if schedule.name == "ring"))
"""Bytes that a rank of a ring all-reduce sends, of float32."""
_short, _over = sp.floor(n / P), sp.Mod(n, P)
_long_bytes, _short_bytes = sp.ceiling(votebits * (_short + 1) / 8), sp.ceiling(votebits * _short / 8)

_BYTES = (
    Claim(
        name="majority.server.worker",
        title="A worker sends and receives one bit per entry; two if zeros abstain",
        relation=Eq(WORKER_BYTES, _ballot),
        assumes=(SERVER, SEVERAL),
        source=SUBMISSION.transcribed(
            "Section 1: all communication to and from the parameter server is compressed to one bit",
            "We count one message each way, of n ballots, eight bits per byte.",
        ),
    ),
    Claim(
        name="majority.server.busiest",
        title="The server sends the vote to P - 1 workers",
        relation=Eq(BUSIEST_BYTES, (P - 1) * _ballot),
        assumes=(SERVER,),
        source=derived("Counted: P - 1 messages of n ballots; a worker sends one."),
    ),
    Claim(
        name="majority.server.thirty_two",
        title="A single server of the majority vote sends 32 times fewer bytes than a rank of a full-precision ring",
        relation=Le(BUSIEST_BYTES, _ring / 32),
        assumes=(SERVER, WHOLE_BYTES, A_BIT),
        source=SUBMISSION.transcribed(
            "Abstract: 32 times less communication per iteration than full-precision, distributed SGD; Section 4 "
            "compares with NCCL's all-reduce",
            "Refuted by four workers: the server sends 3 n/8 bytes, a rank of a ring all-reduce 8 n 3/4 = 32 (3 n/16).",
            "It is read for the busiest link, against a ring; the abstract names neither the link nor the comparison.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="majority.server.busiest",
        tightness=P / 2,
        extremal="every number of workers above two",
        axis="P",
        note="It holds for one worker's link to a parameter server, and for two workers. A single server sends P/2 "
        "times the claimed bytes; beyond P = 64 more than a rank of the full-precision ring. A sharded server avoids "
        "this.",
    ),
    Claim(
        name="majority.shards.busiest",
        title="Shards: a rank sends the votes on its block to all, and ballots on other blocks to their owners",
        relation=Eq(
            BUSIEST_BYTES,
            sp.Piecewise(
                (2 * (P - 1) * _short_bytes, sp.Eq(_over, 0)),
                ((P + _over - 2) * _long_bytes + (P - _over) * _short_bytes, True),
            ),
        ),
        assumes=(SHARDS,),
        unpinned=(("0.9 times the term 1", "equivalent: a tenth of a ballot less fills no byte less"),),
        source=derived(
            "n mod P blocks have an entry more than the others. The owner of such a block, if there is one, sends the "
            "ballots on all other blocks, and the vote on its own to P - 1."
        ),
    ),
    Claim(
        name="majority.shards.thirty_two",
        title="A sharded server sends 32 times fewer bytes than ring all-reduce",
        relation=Le(BUSIEST_BYTES, _ring / 32),
        assumes=(SHARDS, WHOLE_BYTES, A_BIT),
        source=SUBMISSION.transcribed(
            "Section 5 expects a further speed-up of fragmenting the server over all machines; no number is given",
            "2 (P - 1) blocks of n/P bits, against 2 (P - 1) blocks of n/P words of 32 bits.",
            reading="The factor 32 is our reading: the source gives no number for shards.",
        ),
        tightness=1,
        extremal="any vectors",
        axis="P",
    ),
    Claim(
        name="majority.all_gather.busiest",
        title="All-gather: every rank passes on every ballot",
        relation=Eq(BUSIEST_BYTES, (P - 1) * _ballot),
        assumes=(GATHERED,),
        source=derived("Counted: a rank of the ring passes on all ballots but that of the next one."),
    ),
)

# --- claims: the vote --------------------------------------------------------------------------------------------

_LAW = derived(
    "Signs are independent: the honest workers' wrong votes are Bin(H, q), those of adversaries that invert Bin(A, 1 "
    "- q), and a liar's vote is wrong. The vote is wrong where more than half are, and with probability tau where "
    "half are."
)
_CANTELLI = (
    "W counts the wrong votes; each of the P has the variance q (1 - q), and with e = 1/2 - q the mean of P/2 - W is "
    "(P - 2 A) e, A of the workers inverting. By Cantelli's inequality P[W >= P/2] <= 1/(1 + t^2) <= 1/(2 t), where t "
    "= (1 - 2 A/P) sqrt(P) e/sqrt(q (1 - q)). The claim is e/sqrt(q (1 - q)) >= S/2, or 1/(4 e^2) - 1 <= 4/S^2, for q "
    "as large as Gauss allows: where e = S/(2 sqrt 3), 3/S^2 - 1 < 4/S^2; where S^2 > 4/3, e = 1/2 - 2/(9 S^2) and "
    "with u = 4/(9 S^2) < 1/3, 1/(1 - u)^2 - 1 = u (2 - u)/(1 - u)^2 <= 15/4 u < 4/S^2."
)

_HOEFFDING = (
    "Per unit of q the logarithm of P[Bin(H, q) >= k] grows by (E[W|W >= k] - H q)/(q (1 - q)) >= 4 (k - H q): the "
    "tail, over exp(-2 (k - H q)^2/H), is largest where H q is k"
)
_LARGEST_SHARE = (
    "How large a share of the claim: beyond S = 2/sqrt 3 it falls with S, as the tail grows at least like sqrt q. "
    "Below, e = S/(2 sqrt 3). For two workers it is sqrt(6)/4 (3 u - 2 u^2 - u^3) with u = S/sqrt 3, which is largest "
    f"at u = (sqrt(13) - 2)/3. For other P: {_HOEFFDING}. At q = 1/2 the tail is 1/2 for odd P, 1/2 + C(P, P/2)/2^(P + "
    "1) for even P, so the share is at most that times 2 sqrt 3 y exp(-2 y^2) <= 1.051, y = e sqrt(P): less than "
    "0.526 for odd P, than 0.5385 for even P above 1018. For even P from 4 to 1018 it was computed: at most 0.483."
)

_MONOTONE = (
    "The largest error is that of the largest q with all ties lost, since it grows with q: the vote is then wrong "
    "where Bin(H, q) - Bin(A, q) >= c = (H - A)/2. For even P the derivative has the sign of c + (1 + z) m - A z, with "
    "z = q/(1 - q) and m the mean of the weights C(H, c + j) C(A, j) z^(2 j). For these m (m + c) + v (1 - z^2) = z^2 "
    "(A - m)(A - m + c), v their variance; they are a log-concave sequence times C(A, j), so v <= m (A - m)/A. Were m "
    "+ c < z (A - m), then v (1 - z^2) <= A z (1 - z)/(1 + z) < z c (A + c), and the left side were less than the "
    "right. For odd P pair inverting workers with honest ones: the sum of the pairs is symmetric, unimodal and wider "
    "the larger q is, and that of the others leans less to the true side."
)

_VOTE = (
    Claim(
        name="majority.vote.scale",
        title="The vote does not change if every worker scales its vector by its own factor",
        relation=Eq(OVERTURNED, 0),
        assumes=(SCALES,),
        source=derived("A positive factor changes no sign."),
    ),
    Claim(
        name="majority.vote.law",
        title="The vote's error is a binomial tail plus its share of the ties",
        relation=Eq(VOTE_ERROR, vote_error(honest, inverting, lying, flip, tieloss)),
        kind=Kind.LAW,
        assumes=(INDEPENDENT,),
        source=_LAW,
        axis="honest",
    ),
    Claim(
        name="majority.vote.even_worker",
        title="With fair ties the last of an even number of workers has no effect",
        relation=Eq(VOTE_ERROR, vote_error(P - 1, 0, 0, flip, 0)),
        kind=Kind.LAW,
        assumes=(INDEPENDENT, HONEST, EVEN, FAIR),
        source=derived(
            "The last vote counts only where the P - 1 others have a majority of one, and then makes a tie at most. It "
            "saves half of the wrong majorities of one, with probability 1 - q, and loses half of the right ones, with "
            "probability q: (1 - q) C(P - 1, P/2) q^(P/2) (1 - q)^(P/2 - 1)/2 either way."
        ),
        axis="P",
        unpinned=(("0.9 times the term -1", "equivalent: of P - 0.9 workers, P - 1 are whole"),),
    ),
    Claim(
        name="majority.worker.gauss",
        title="Under symmetric unimodal noise a sign is wrong with probability at most 2/(9 S^2), or "
        "1/2 - S/(2 sqrt 3)",
        relation=Le(WORKER_ERROR, GAUSS),
        kind=Kind.LAW,
        assumes=(UNIMODAL, HONEST, ALONE),
        source=SUBMISSION.transcribed(
            "Lemma 1, after Gauss",
            "Half of Gauss' bound on P[|noise| >= |g|]. A symmetric unimodal law mixes uniform laws on [-a, a], for "
            "which the wrong share is (1 - |g|/a)/2; for a given variance a mixture of two, one of them at zero, is "
            "worst.",
        ),
        tightness=1,
        extremal="uniform noise for S <= 2/sqrt 3; beyond, none with probability 1 - w, else uniform on 3/2 of |g|",
        axis="snr",
    ),
    Claim(
        name="majority.vote.sharp",
        title=(
            "Under symmetric unimodal noise the vote's error is at most the binomial tail at Gauss' bound, and no "
            "smaller bound holds"
        ),
        relation=Le(VOTE_ERROR, vote_error(P, 0, 0, gauss(snr), tieloss)),
        kind=Kind.LAW,
        assumes=(INDEPENDENT, HONEST, UNIMODAL),
        source=derived("The tail grows with q, which Gauss' bound limits and some noise attains."),
        tightness=1,
        extremal="the noise that attains Gauss' bound",
        axis="P",
    ),
    Claim(
        name="majority.vote.bound",
        title="Under symmetric unimodal noise the vote of P workers is wrong with probability at most 1/(sqrt(P) S)",
        relation=Le(VOTE_ERROR, 1 / (sp.sqrt(P) * snr)),
        kind=Kind.LAW,
        assumes=(INDEPENDENT, HONEST, UNIMODAL),
        source=BERNSTEIN_2018.recalled(
            "proof of Theorem 2 (b), in the supplement; Section 4 says that it uses Gauss and Cantelli",
            f"{_CANTELLI} {_LARGEST_SHARE}",
        ),
        tightness=sp.sqrt(6) * (13 * sp.sqrt(13) - 35) / 54,
        unpinned=(
            (
                "exponent -2 of snr",
                "still true: it is smaller only beyond S = 1, where two workers that lose their ties reach sqrt(2) 4/9 "
                "of it in the limit of large S, and others less",
            ),
        ),
        extremal="two workers that lose their ties, uniform noise, S = (sqrt(13) - 2)/sqrt(3)",
        axis="P",
        note="It holds for every P, odd or even, also if all ties are lost. It is never attained: at most 0.54 of it "
        "is; without ties cases reach 0.29, in the limit of many workers.",
    ),
    Claim(
        name="majority.vote.any_noise",
        title="The vote of P workers is wrong with probability at most 1/(sqrt(P) S) for noise of any shape",
        relation=Le(VOTE_ERROR, 1 / (sp.sqrt(P) * snr)),
        kind=Kind.LAW,
        assumes=(INDEPENDENT, HONEST, ANY_NOISE),
        source=derived(
            "Refuted by the law that the paper warns of (arXiv:1802.04434, Section 4, Remark 3): 50 with probability "
            "1/10, else -1. The mean is 4.1 and S = 0.268, but nine signs of ten are wrong: more workers make it "
            "worse.",
            "the same with the hypothesis left out",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="majority.vote.bound",
        tightness=sp.oo,
        extremal="50 with probability 1/10, else -1, and fourteen workers or more",
        axis="P",
        note="Without that shape signs can be wrong with probability above 1/2, and then the vote's error tends to "
        "one.",
    ),
    Claim(
        name="majority.vote.shared_noise",
        title="The vote of P workers that share their noise is wrong with probability at most 1/(sqrt(P) S)",
        relation=Le(VOTE_ERROR, 1 / (sp.sqrt(P) * snr)),
        kind=Kind.LAW,
        assumes=(ONE_NOISE, HONEST, UNIMODAL),
        source=derived(
            "Refuted by any noise with q > 0 and P > 1/(q S)^2 workers, who all vote alike.",
            "the same with independence left out",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="majority.vote.bound",
        tightness=sp.oo,
        extremal="uniform noise that all workers share",
        axis="P",
        note="The square root of P needs independent batches.",
    ),
    Claim(
        name="majority.vote.no_expansion",
        title="The vote, scaled by the mean magnitude, is closer to the workers' average than zero is",
        relation=Le(VOTE_DISTORTION, 1),
        assumes=(NONZERO_MEAN,),
        source=FOLKLORE.recalled(
            "the scaled sign contracts, so its vote is assumed to contract too",
            "Refuted by 4, -1, -1: the average is 2/3, the vote -1, and every scale increases the error.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="majority.vote.distortion",
        tightness=4,
        extremal="three workers with 4, -1 and -1 in every entry",
        note="It holds for one worker, whose scaled signs contract. A majority of small entries outvotes a large one: "
        "the vote is not a contraction, and gives error feedback of the average no bound.",
    ),
    Claim(
        name="majority.vote.distortion",
        title="The error of the vote, scaled by the mean magnitude, is at most four times the average's squared norm",
        relation=Le(VOTE_DISTORTION, 4),
        assumes=(NONZERO_MEAN,),
        source=derived(
            "With m = (norm1 of the average)/n the error is at most norm2^2 + 2 m norm1 + n m^2 = norm2^2 + 3 "
            "norm1^2/n."
        ),
        tightness=1,
        extremal="three workers with 4, -1 and -1 in every entry",
    ),
)

# --- claims: adversaries and ties --------------------------------------------------------------------------------

_of_minority = 1 / ((1 - 2 * inverting / P) * sp.sqrt(P) * snr)
_of_liars = sp.exp(-(((1 - 2 * flip) * honest - lying) ** 2) / (2 * honest))

_ADVERSARIES = (
    Claim(
        name="majority.adversaries.inverting",
        title="With a fraction a < 1/2 that inverts, the vote is wrong with probability at most "
        "1/((1 - 2 a) sqrt(P) S)",
        relation=Le(VOTE_ERROR, _of_minority),
        kind=Kind.LAW,
        assumes=(INDEPENDENT, UNIMODAL, MINORITY, INVERT),
        source=SUBMISSION.recalled(
            "proof of Theorem 2, in the appendix; the theorem, read in a transcription, has the same factor 1/(1 - 2 "
            "a) sqrt(M)",
            f"{_CANTELLI} {_MONOTONE}",
        ),
        axis="inverting",
        note="Without inverting workers it is majority.vote.bound, of which at most 0.54 is attained. Up to sixty "
        "workers, one or more of them inverting, reach 0.434.",
        unpinned=(
            (
                "0.9 times the bound",
                "loose by nature: without inverting workers a binomial tail is at most 0.54 of Cantelli's bound; "
                "otherwise cases reach 0.434",
            ),
            (
                "P + 1 for P",
                "still true: one more worker changes it so little that the most is 0.66, among sixty workers",
            ),
        ),
    ),
    Claim(
        name="majority.adversaries.negation_is_worst",
        title=(
            "For any signs from a fraction a < 1/2 of the workers, the vote's error obeys the bound for negated signs"
        ),
        relation=Le(VOTE_ERROR, _of_minority),
        kind=Kind.LAW,
        assumes=(INDEPENDENT, UNIMODAL, MINORITY, ANY_BALLOT),
        source=SUBMISSION.transcribed(
            "Section 3.4: the worst that adversaries restricted to signs can do is send the negation of their sign "
            "gradient",
            "Refuted by adversaries that always vote -1, if the gradient is positive: if a sign is wrong with "
            "probability 1/2 - e, a fraction a > 2 e/(1 + 2 e) of them outvotes all others, with certainty as P grows.",
            "It is read as the bound for negated signs, for all of them: the sentence and that bound are printed.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="majority.adversaries.inverting",
        tightness=sp.oo,
        extremal="uniform noise, S = 2/sqrt 3, and 44 of 100 workers that vote against the gradient",
        axis="P",
        note="A worker that negates a noisy sign is often right. Constant votes need neither cooperation nor a "
        "gradient: the tolerated fraction of them shrinks with S. The abstract of the last version limits adversaries "
        "to a class that contains those that invert or randomise.",
    ),
    Claim(
        name="majority.adversaries.liars",
        title="Against L liars, fewer than (1 - 2 q) H, the vote is wrong with probability at most "
        "exp(-((1 - 2 q) H - L)^2/(2 H))",
        relation=Le(VOTE_ERROR, _of_liars),
        kind=Kind.LAW,
        assumes=(INDEPENDENT, LIARS),
        source=derived(
            "The vote is wrong only if k = (H - L)/2 honest votes are, ((1 - 2 q) H - L)/2 more than the mean: "
            f"Hoeffding's bound. {_HOEFFDING}. There, for integer k <= H/2, P[W < k] >= P[W > k] (Jogdeo and Samuels, "
            "1968, recalled), so P[W >= k] <= (1 + P[W = k])/2, and P[W = k] <= 1/2. For half-integer k, k + 1/2 votes "
            "are needed, and q is less than where they are the mean; for k = H/2 that is half of all patterns."
        ),
        tightness=sp.Rational(3, 4),
        unpinned=(
            *for_one_reason(
                "still true: exp(-1/(2 H)) is more than 3/4 from two honest workers on, more than 1/2 for one, and no "
                "vote is wrong more often",
                "without the factor (honest*(1 - 2*flip) - lying)**2",
                "lying + 1 for lying",
            ),
            ("honest + 1 for honest", "still true: the most is again 3/4, among 79 honest workers"),
        ),
        extremal="two honest workers, no others, a tie lost, q towards 1/2",
        axis="lying",
        note="It replaces the limit of one half if adversaries know the sign, or guess it.",
    ),
    Claim(
        name="majority.adversaries.half",
        title="If half or more of the workers invert, the vote is no better than a coin",
        relation=Ge(VOTE_ERROR, sp.Rational(1, 2)),
        kind=Kind.LAW,
        assumes=(INDEPENDENT, UNIMODAL, HALF, INVERT, FAIR),
        source=derived(
            "Inverting all P workers reverses every untied vote, and puts P - A <= A inverting ones in place of A: the "
            "error e(A) = 1 - e(P - A), and e grows with A for q <= 1/2. So e(A) >= 1/2."
        ),
        tightness=1,
        extremal="exactly half",
        axis="P",
        note="Robust to 50 percent has to mean below 50 percent.",
    ),
    Claim(
        name="majority.ties.one_bit",
        title="The vote on an entry is one bit for any number of workers, if the sign of zero is zero",
        relation=Le(VALUES, 2),
        assumes=(OPEN,),
        source=derived(
            "It combines two papers: the algorithm of the second sends sign(V), compressed to one bit; the code of the "
            "first took sign(0) = 0, that of the second takes +1. Refuted by two workers: +1, -1 and a tie."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="majority.ties.broken",
        tightness=sp.Rational(3, 2),
        extremal="any even number of workers; any number, where an entry is zero",
        axis="P",
        note="One bit needs a rule for ties, which the second paper's code has. Its authors say (README of "
        "jxbz/signSGD) that the first code took sign(0) = 0, which is a third value.",
    ),
    Claim(
        name="majority.ties.broken",
        title="The vote on an entry is one bit if zeros and ties are broken",
        relation=Le(VALUES, 2),
        assumes=(BROKEN,),
        source=derived("+1 and -1."),
        tightness=1,
        extremal="any number of workers",
        axis="P",
    ),
    Claim(
        name="majority.ties.drift",
        title="Ties to +1: without gradient, P workers vote +1 with C(P, P/2)/2^P more probability, for even P",
        relation=Eq(DRIFT, sp.Piecewise((choose(P, P / 2) / 2**P, sp.Eq(sp.Mod(P, 2), 0)), (0, True))),
        kind=Kind.LAW,
        assumes=(INDEPENDENT, PLUS, NO_ATOM),
        source=Work("J. Bernstein, README of github.com/jxbz/signSGD").official_code(
            "update of January 2021: sign(0) -> +1 in the code of the paper of 2019",
            "Untied votes balance by symmetry; tied are C(P, P/2) of 2^P.",
            code=Repository("jxbz/signSGD", "cf57e9272f99d7ceb3c5f824d4790beb970e35e2").at("README.md", "10"),
        ),
        axis="P",
        note="Two workers drift by half a step, four by three eighths, in every step and entry; odd numbers do not "
        "drift.",
    ),
    Claim(
        name="majority.ties.fair",
        title="With a fair coin, or with abstention, the mean vote is zero without gradient",
        relation=Eq(DRIFT, 0),
        kind=Kind.LAW,
        assumes=(INDEPENDENT, FAIR_OR_OPEN),
        source=derived("Negating all signs negates the vote."),
        axis="P",
    ),
)

_DEFINITIONS = defined(
    "majority",
    {
        "majority_vote": "Written from Algorithm 1 of arXiv:1810.05291, without momentum, one voter and one entry at a "
        "time; the paths of ballots, the rule for zeros and ties, and bytes from the documented messages."
    },
)

CLAIMS: tuple[Claim, ...] = (*_BYTES, *_VOTE, *_ADVERSARIES, *_DEFINITIONS)
