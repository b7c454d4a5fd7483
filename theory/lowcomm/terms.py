"""Symbols, measured quantities, hypotheses and sources of the column lowcomm."""

from fractions import Fraction
from math import gcd

import sympy as sp

from commbounds.theory.claim import Eq, Hypothesis, Le
from commbounds.theory.quantities import P, Quantity, chunk, k, n
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

# --- sources -----------------------------------------------------------------------------------------------------

DILOCO = Work(
    "A. Douillard et al., 2023, DiLoCo: distributed low-communication training of language models, arXiv:2311.08105"
)
STREAMING = Work(
    "A. Douillard et al., 2025, Streaming DiLoCo with overlapping communication: towards a distributed free lunch, "
    "arXiv:2501.18512",
    "Only summaries on the web were read.",
)
DECOUPLED = Work("A. Douillard et al., 2026, Decoupled DiLoCo for resilient distributed pre-training, arXiv:2604.21428")
NOLOCO = Work(
    "J. Kolehmainen et al., 2025, NoLoCo: no-all-reduce low communication training method for large models, "
    "arXiv:2506.10911"
)
SPARSELOCO = Work(
    "A. Sarfi, B. Thérien, J. Lidin, E. Belilovsky, 2025, Communication efficient LLM pre-training with SparseLoCo, "
    "arXiv:2508.15706"
)
DEMO = Work(
    "B. Peng, L. Chen, B. Su, J. Quesnelle, D. P. Kingma, Q. Liu, 2024, DeMo: decoupled momentum optimization, "
    "arXiv:2411.19870"
)
LOCO = Work(
    "X. Xie, Z. Lin, K.-C. Toh, P. Zhou, 2024, LoCo: low-bit communication adaptor for large-scale model training, "
    "arXiv:2407.04480"
)
ZEROPP = Work("G. Wang et al., 2023, ZeRO++: extremely efficient collective communication, arXiv:2306.10209")
STICH_LOCAL = Work("S. U. Stich, 2019, Local SGD converges fast and communicates little, arXiv:1805.09767")
KHALED = Work(
    "A. Khaled, K. Mishchenko, P. Richtárik, 2020, Tighter theory for local SGD on identical and heterogeneous data, "
    "arXiv:1909.04746"
)
DEMO_AT = Repository("bloc97/DeMo", "cab460651d61f3b439dec30b6b4e64075a8b63a3")
TEMPLAR_AT = Repository("one-covenant/templar", "0120eb587d1cb57b67774a6e2aa65eeae8989b05")
TORCHFT_AT = Repository("pytorch/torchft", "73dafea422116b2a713542719c8454efe5444c6c")
TORCHFT_FIRST = Repository("pytorch/torchft", "2e2a3cba28f10daf73344655782bd9ea8e62badd")
NOLOCO_AT = Repository("gensyn-ai/noloco", "a1b4a425bdc4050a356cf9f4bae7c383419703ab")
DEEPSPEED_AT = Repository("deepspeedai/DeepSpeed", "edaa7221267243c7be7fb49c5d5f5c4fb97b4641")
TORCHFT = Work("pytorch/torchft, torchft/local_sgd.py: DiLoCo and Streaming DiLoCo, by the authors of torchft")
NOLOCO_CODE = Work("gensyn-ai/noloco: a DiLoCo to compare with, and NoLoCo, by the authors of NoLoCo")
DEEPSPEED = Work("deepspeedai/DeepSpeed: ZeRO++ and LoCo, by their authors")

# --- symbols -----------------------------------------------------------------------------------------------------

localsteps = Symbol("localsteps", "H", 3, integer=True, positive=True)
"""Inner steps of an outer round."""
fragments = Symbol("fragments", "F", 3, integer=True, positive=True)
"""Fragments that are synchronised in turn."""
outerlr = Symbol("outerlr", r"\eta", Fraction(7, 10), nonnegative=True)
"""Step size of the outer optimiser."""
outermu = Symbol("outermu", r"\mu_\mathrm{o}", Fraction(9, 10), nonnegative=True)
"""Momentum of the outer optimiser."""
innershare = Symbol("innershare", "c", Fraction(3, 4), positive=True)
"""Share of the way to the minimum that the inner steps of a round go: 1 - (1 - gamma a)^H at curvature a."""
outerrounds = Symbol("outerrounds", "t", 3, integer=True, positive=True)
"""Outer rounds."""
blendweight = Symbol("blendweight", r"\beta_\mathrm{own}", Fraction(1, 4), nonnegative=True)
"""Share of its own parameters that a worker keeps when a fragment is synchronised."""
retained = Symbol("retained", "q", Fraction(1, 3), real=True)
"""What an inner step leaves of a deviation: 1 - gamma a at curvature a."""
retained_second = Symbol("retained_second", "q_2", Fraction(2, 3), real=True)
"""The same of the second of two workers."""
heavytokens = Symbol("heavytokens", "w", 5, integer=True, positive=True)
"""Tokens of one worker, where all others have one."""
quorum = Symbol("quorum", "K", 2, integer=True, positive=True)
"""Workers whose vectors are merged, K <= P."""
arrive_first = Symbol("arrive_first", "p_1", Fraction(1, 2), positive=True)
"""Probability that the vector of the first of two workers arrives."""
arrive_second = Symbol("arrive_second", "p_2", Fraction(1, 4), positive=True)
"""The same of the second."""
pairpull = Symbol("pairpull", r"\gamma_\mathrm{p}", Fraction(1, 2), nonnegative=True)
"""How much of the way to the mean of a pair its workers go."""
pairmomentum = Symbol("pairmomentum", r"\alpha_\mathrm{p}", Fraction(1, 3), nonnegative=True)
"""Momentum of NoLoCo's outer steps."""
decay = Symbol("decay", r"\beta", Fraction(3, 4), nonnegative=True)
"""Factor of a residual, or of a momentum that is one, from round to round."""
residualsum = Symbol("residualsum", r"\left(\sum_{t<T}\sum_i e_{t,i}\right)", Fraction(7, 2), real=True)
"""Entries of all residuals before the last round's, added up."""
weak = Symbol("weak", "d", Fraction(1, 3), positive=True)
"""A change that is the same in every round, over that of the entry beside it, which is larger."""
fresh = Symbol("fresh", r"\varphi", Fraction(1, 4), positive=True)
"""Weight of the newest error in LoCo's moving average."""
pernode = Symbol("pernode", "X", 2, integer=True, positive=True)
"""Ranks of a node."""
valuebits = Symbol("valuebits", "b_v", 2, integer=True, positive=True)
"""Bits of a value that is sent."""
tensors = Symbol("tensors", "L", 6, integer=True, positive=True)
"""Tensors of a model."""
shared_turns = Symbol("shared_turns", r"\gcd(L,T+1)", 3, integer=True, positive=True)
"""Greatest common divisor of the number of tensors and of one more than LoCo's reset interval."""
madechunk = Symbol("madechunk", "c_n", 3, integer=True, positive=True)
"""Entries of a chunk that divides a vector, where another length was asked for."""
amplitude_senders = Symbol("amplitude_senders", "s_i", 2, integer=True, positive=True)
"""Workers that send an amplitude."""

# --- what is measured --------------------------------------------------------------------------------------------

PEAK_SENT = Quantity(
    "peak_sent",
    r"\max_f\max_p\mathrm{sent}_{p,f}",
    "words that the busiest rank sends when a fragment is synchronised, for the fragment with most words",
)
CYCLE_SENT = Quantity(
    "cycle_sent",
    r"\max_p\sum_f\mathrm{sent}_{p,f}",
    "words that the busiest rank sends until every fragment was synchronised once",
)
AVERAGE_GAP = Quantity(
    "average_gap",
    r"\frac{\lVert\theta'-\bar x\rVert^2}{\lVert\theta-\bar x\rVert^2}",
    "squared distance of the new anchor from the average of the workers' parameters, over that of the old anchor",
)
PROGRESS = Quantity(
    "progress",
    r"\frac{\langle\theta'-\theta,\,\bar x-\theta\rangle}{\lVert\bar x-\theta\rVert^2}",
    "movement of the anchor towards the average of the workers' parameters, over their distance; negative: away",
    real=True,
)
OUTER_MOVE = Quantity(
    "outer_move",
    r"\frac{\lVert\theta_t-\theta_{t-1}\rVert}{\lVert\bar g\rVert}",
    "movement of the anchor in round t, over the pseudo-gradient, which is the same in all rounds",
)
OUTER_RADIUS = Quantity(
    "outer_radius", r"\rho", "spectral radius of the map of anchor and momentum of a round on a quadratic"
)
OUTER_STABLE = Quantity(
    "outer_stable",
    r"[\rho<1]",
    "1 where all eigenvalues of the map of anchor and momentum of a round are inside the unit circle, else 0",
)
BLENDED_SPREAD = Quantity(
    "blended_spread",
    r"\frac{\sum_p\lVert x'_p-\bar x'\rVert^2}{\sum_p\lVert x_p-\bar x\rVert^2}",
    "squared distances of the workers' parameters from their average after a fragment was synchronised, over before",
)
LOCAL_SPREAD = Quantity(
    "local_spread",
    r"\frac{1}{P\gamma^2\sigma^2}\sum_p\mathbb{E}\lVert x_p-\bar x\rVert^2",
    "mean squared distance of the workers' parameters from their average before they are averaged, over step size and "
    "noise, squared",
)
LOCAL_DRIFT = Quantity(
    "local_drift",
    r"\frac{1}{P\gamma^2G^2}\sum_p\lVert x_p-\bar x\rVert^2",
    "the same for gradients of norm G, over step size and norm, squared",
)
LOCAL_LIMIT = Quantity(
    "local_limit",
    r"\lim_t\bar x_t",
    "limit of local gradient descent of two workers whose own minima are at 0 and 1",
    real=True,
)
SGD_GAP = Quantity("sgd_gap", r"\lVert x'-x_{\mathrm{SGD}}\rVert^2", "squared distance from the step of SGD")
HEAVY_SHARE = Quantity(
    "heavy_share",
    r"\mathbb{E}\,\omega_1",
    "weight that the worker with more tokens has in a merge, expected over the quorums",
)
MERGE_BIAS = Quantity(
    "merge_bias",
    r"\lVert\mathbb{E}\,\mathrm{merge}-\bar x\rVert_\infty",
    "largest difference between an entry of the expected merge and of the average of all",
)
PAIR_DISTORTION = Quantity(
    "pair_distortion",
    r"\frac{\mathbb{E}\sum_p\lVert x'_p-\bar x\rVert^2}{\sum_p\lVert x_p-\bar x\rVert^2}",
    "squared distances of slow weights from their average after a round without gradients, over before, expected over "
    "the pairs",
)
PAIR_STABLE = Quantity(
    "pair_stable",
    r"[\rho_2<1]",
    "1 where the mean squared distances of slow weights and momenta tend to zero without gradients, else 0",
)
RESIDUAL_REACH = Quantity(
    "residual_reach", r"\frac{\lVert e_T\rVert}{M}", "norm of the residual after T rounds, over the largest change's"
)
MISSING = Quantity(
    "missing",
    r"\sum_i\Bigl(\sum_t\Delta_t-\sum_t\hat\Delta_t-e_T\Bigr)_i",
    "sum of the entries that are neither sent nor in the residual",
    real=True,
)
WEAK_SENT = Quantity("weak_sent", r"\#\{t\le T: \hat\Delta_{t,2}\ne0\}", "rounds in which the weaker entry is sent")
POSITIONED_BITS = Quantity("positioned_bits", r"\mathrm{bits}", "bits of the positions and values of a message")
BIN_SHIFT = Quantity(
    "bin_shift", r"\Bigl|\sum_i Q(x)_i-\sum_i x_i\Bigr|", "difference of the sums of values before and after binning"
)
BIN_ENERGY = Quantity(
    "bin_energy",
    r"\frac{\lVert Q(x)\rVert^2+\lVert x-Q(x)\rVert^2}{\lVert x\rVert^2}",
    "squared norms of what is sent and of what is left out, over that of the values",
)
BIN_SIGN = Quantity("bin_sign", r"\lVert Q(-x)+Q(x)\rVert_\infty", "largest entry of Q(-x) + Q(x)")
AMPLITUDE_ERROR = Quantity(
    "amplitude_error", r"\frac{\lVert m'\rVert^2}{\lVert m\rVert^2}", "squared norm of the momentum after and before"
)
SENDER_GAIN = Quantity(
    "sender_gain", r"\frac{\hat a_i}{\frac1P\sum_p a_{p,i}}", "an amplitude of the update, over the average of messages"
)
SIGN_FLIPS = Quantity(
    "sign_flips", r"\#\{i:\mathrm{sign}\,u_i\ne\mathrm{sign}\,v_i\}", "entries whose signs two updates disagree on"
)
ENTRIES_SENT = Quantity("entries_sent", r"\#\mathrm{sent}", "amplitudes that a rank sends of a vector")
COMPENSATION = Quantity("compensation", r"\frac{\lVert e\rVert_\infty}{s}", "largest compensation, over the step")
SENT_LATE = Quantity(
    "sent_late",
    r"\frac{\lVert\sum_t g_t-\sum_t\hat g_t\rVert_\infty}{s}",
    "largest difference between what was to be sent and what was sent, over the step",
)
TENSORS_RESET = Quantity("tensors_reset", r"\#\{\ell:\text{reset}\}", "tensors whose compensation is ever set to zero")
ACROSS_SENT = Quantity(
    "across_sent", r"\max_p\mathrm{sent}^{\mathrm{across}}_p", "words that the busiest rank sends to other nodes"
)
STEPS_OFF = Quantity(
    "steps_off", r"\frac{\lVert\hat S-S\rVert_\infty}{s}", "largest error of a block of the sum, over the step"
)
BLOCKS_ELSEWHERE = Quantity(
    "blocks_elsewhere", r"\#\{r:\hat S_r\ne S_r\}", "ranks that end with a block of another number"
)

# --- hypotheses --------------------------------------------------------------------------------------------------

RANKS_DIVIDE = Hypothesis(
    "ranks_divide_entries", "The number of ranks divides that of the entries.", Eq(sp.Mod(n, P), 0)
)
EVEN_FRAGMENTS = Hypothesis(
    "even_fragments", "Fragments are of one length, which the number of ranks divides.", Eq(sp.Mod(n, P * fragments), 0)
)
ANY_FRAGMENTS = Hypothesis(
    "any_fragments", "Fragments are consecutive and of lengths that differ by one at most.", Le(fragments, n)
)
PLAIN_OUTER = Hypothesis(
    "plain_outer", "The outer step is 1, without momentum.", Eq(outerlr + outermu, 1) & Eq(outermu, 0)
)
NESTEROV = Hypothesis(
    "nesterov_outer", "The outer optimiser is SGD with Nesterov's momentum.", ensured="Rounds are run with that rule."
)
BALL = Hypothesis(
    "heavy_ball_outer", "The outer optimiser is SGD with Polyak's momentum.", ensured="Rounds are run with that rule."
)
FIRST_ROUND = Hypothesis("first_outer_round", "It is the first round.", ensured="The momentum is zero before it.")
SAME_CHANGE = Hypothesis(
    "same_change", "The average pseudo-gradient is the same in all rounds.", ensured="Workers are placed this way."
)
LOCAL_FROM_ANCHOR = Hypothesis(
    "anchor_minus_local",
    "The pseudo-gradient is where a worker began less where it ended.",
    ensured="Rounds are run with that direction.",
)
REVERSED = Hypothesis(
    "local_minus_anchor",
    "The pseudo-gradient is where a worker ended less where it began, and the optimiser subtracts it.",
    ensured="Rounds are run with that direction.",
)
ONE_QUADRATIC = Hypothesis(
    "one_quadratic",
    "All workers descend one quadratic, whose minimum is at zero; the inner steps of a round take them c of the way.",
    ensured="The workers' parameters are 1 - c times the anchor.",
)
MOMENTUM_BELOW_ONE = Hypothesis("outer_momentum_below_one", "The outer momentum is below one.", sp.Lt(outermu, 1))
INNER_CONTRACTS = Hypothesis("inner_contracts", "The inner steps contract: 0 < c < 2.", sp.Lt(innershare, 2))
NO_OVERSHOOT = Hypothesis("no_overshoot", "The inner steps do not pass the minimum: 0 < c <= 1.", Le(innershare, 1))
MODERATE_OUTER = Hypothesis(
    "moderate_outer", "The outer step is positive, and at most 4/3.", sp.Lt(0, outerlr) & Le(outerlr, sp.Rational(4, 3))
)
ONE_STEP = Hypothesis("one_local_step", "A round has one inner step.", Eq(localsteps, 1))
SIGN_NOISE = Hypothesis(
    "sign_noise",
    "Workers begin together on one quadratic; gradients have independent noise of variance sigma squared.",
    ensured="Noise is +sigma or -sigma; all signs are enumerated.",
)
SLOW_STEPS = Hypothesis(
    "slow_inner_steps", "Inner steps are at most 1/(2 a): q >= 1/2.", Le(sp.Rational(1, 2), retained) & Le(retained, 1)
)
BOUNDED_GRADIENTS = Hypothesis(
    "bounded_gradients",
    "Workers begin together; their gradients have norm G at most.",
    ensured="The trial draws such gradients.",
)
TWO_QUADRATICS = Hypothesis(
    "two_quadratics",
    "Two workers descend quadratics of their own with minima at 0 and 1; inner steps contract on both.",
    sp.Lt(sp.Abs(retained), 1) & sp.Lt(sp.Abs(retained_second), 1),
)
ONE_CURVATURE = Hypothesis(
    "one_curvature", "The two quadratics have the same curvature.", Eq(retained, retained_second)
)
ANY_QUORUM = Hypothesis(
    "any_quorum_alike", "All quorums of K workers are equally likely.", ensured="Every quorum is merged once."
)
ONE_HEAVY = Hypothesis(
    "one_heavy_worker", "One worker has w tokens, every other one.", ensured="Tokens are given this way."
)
DIVIDED_BY_ARRIVED = Hypothesis(
    "divided_by_arrived", "A merge is divided by the tokens that arrived.", ensured="Merges are run with that divisor."
)
DIVIDED_BY_EXPECTED = Hypothesis(
    "divided_by_expected", "A merge is divided by all tokens times K/P.", ensured="Merges are run with that divisor."
)
EQUAL_TOKENS = Hypothesis("equal_tokens", "All workers have the same number of tokens.", Eq(heavytokens, 1))
TWO_ARRIVE = Hypothesis(
    "two_arrive_alone",
    "Two workers with equal tokens and the numbers 0 and 1, each of which arrives by itself; where none does, the "
    "merge is tried again.",
    ensured="All four outcomes are weighed with their probabilities.",
)
RANDOM_PAIRS = Hypothesis(
    "random_pairs",
    "Workers meet in uniformly random pairs; of an odd number one is left over.",
    ensured="All orders of the workers are run.",
)
EVEN_WORKERS = Hypothesis("even_workers", "The number of workers is even.", Eq(sp.Mod(P, 2), 0))
ODD_WORKERS = Hypothesis(
    "odd_workers", "The number of workers is odd, and at least three.", Eq(sp.Mod(P, 2), 1) & sp.Gt(P, 1)
)
AT_LEAST_TWO_WORKERS = Hypothesis("pairs_exist", "There are two workers at least.", sp.Gt(P, 1))
WHOLE_PULL = Hypothesis(
    "whole_pull", "Workers move to the mean of their pair, without momentum.", Eq(pairpull, 1) & Eq(pairmomentum, 0)
)
PULL_IN_RANGE = Hypothesis(
    "pull_in_range",
    "The pull is between the momentum and two more than it.",
    sp.Lt(pairmomentum, pairpull) & sp.Lt(pairpull, 2 + pairmomentum),
)
PAIR_MOMENTUM_BELOW_ONE = Hypothesis("pair_momentum_below_one", "The momentum is below one.", sp.Lt(pairmomentum, 1))
CHUNKS_DIVIDE = Hypothesis(
    "chunks_divide_entries", "Chunks divide the entries, and k fits a chunk.", Eq(sp.Mod(n, chunk), 0) & Le(k, chunk)
)
SENT_AS_THEY_ARE = Hypothesis("values_as_they_are", "Values are sent exactly.", ensured="Rounds are run without bins.")
NOTHING_DECAYS = Hypothesis("nothing_decays", "The residual does not decay: beta = 1.", Eq(decay, 1))
DECAYS = Hypothesis("residual_decays", "The residual decays: beta < 1.", sp.Lt(decay, 1))
ONE_OF_TWO = Hypothesis(
    "one_of_a_chunk_of_two",
    "Chunks have two entries, of which one is sent; their changes are 1 and d in every round.",
    ensured="Rounds run this way.",
)
TOO_WEAK = Hypothesis("too_weak", "The weaker change is at most 1 - beta: d <= 1 - beta.", Le(weak + decay, 1))
NOT_TOO_WEAK = Hypothesis("strong_enough", "The weaker change is less than the other.", sp.Lt(weak, 1))
SOME_VALUE = Hypothesis("some_value", "Not all values are zero.", lambda x: bool((x != 0).any()))
FOUR_BINS = Hypothesis("four_bins", "There are four bins, as for two bits.", lambda bins: bins == 4)
ODD_BINS = Hypothesis("odd_bins", "The number of bins is odd.", lambda bins: bins % 2 == 1)
POSITIONS_ONE_BY_ONE = Hypothesis(
    "positions_one_by_one", "Every position is coded by itself.", ensured="Messages are counted this way."
)
POSITIONS_AS_A_SET = Hypothesis(
    "positions_as_a_set", "The positions of a chunk are coded as one set.", ensured="Messages are counted this way."
)
EMPTY_MOMENTUM = Hypothesis("empty_momentum", "The momenta are zero at first.", ensured="Runs begin so.")
ONE_AMPLITUDE = Hypothesis(
    "one_amplitude",
    "All nonzero amplitudes that are sent of a chunk are the same one.",
    ensured="Some workers have it in their momenta, and the others nothing.",
)
FITS_CHUNK = Hypothesis("fits_chunk", "At most as many entries are requested as a chunk has.", Le(k, chunk))
MADE_CHUNK = Hypothesis(
    "made_chunk",
    "A chunk's length is the largest divisor of n that is at most the length requested.",
    lambda n, chunk, madechunk: madechunk == max(d for d in range(1, min(n, chunk) + 1) if n % d == 0),
)
SEVERAL_SEND = Hypothesis("some_send", "Workers that send an amplitude send the same.", Le(amplitude_senders, P))
BY_SENDERS = Hypothesis(
    "divided_by_senders", "Sums are divided by the number of those that sent.", ensured="Rounds run this way."
)
BY_RANKS = Hypothesis("divided_by_ranks", "Sums are divided by the number of ranks.", ensured="Rounds run this way.")
NOT_CUT_OFF = Hypothesis(
    "not_cut_off",
    "No code is clipped: entries are within the codes' range, with room for errors.",
    lambda largest_code, room: largest_code <= room,
)
CUT_BY_ONE = Hypothesis(
    "cut_by_one",
    "Entries, errors added, are at most 2^(b - 1) steps: half of b bits' numbers, and one more than the largest code.",
    lambda largest_code, room: largest_code <= room + Fraction(1, 2),
)
NEVER_FORGOTTEN = Hypothesis("never_reset", "The compensation is never set to zero.", ensured="No round resets it.")
EF14_WEIGHT = Hypothesis("whole_error", "The newest error is kept entirely: EF14.", Eq(fresh, 1))
MANY_PASSES = Hypothesis(
    "many_passes",
    "There are as many passes as LoCo's reset interval and one more.",
    lambda passes, reset_after: passes > reset_after,
)
COMMON_TURNS = Hypothesis(
    "common_turns",
    "The divisor is that of the number of tensors and of the interval and one.",
    lambda tensors, reset_after, shared_turns: shared_turns == gcd(tensors, reset_after + 1),
)
NODES_DIVIDE = Hypothesis("nodes_divide_ranks", "Nodes have the same number of ranks.", Eq(sp.Mod(P, pernode), 0))
MANY_NODES = Hypothesis("many_nodes", "There are two nodes at least.", sp.Lt(pernode, P))
BY_ONE_HOP = Hypothesis("by_one_hop", "Blocks go to their owners in one hop.", ensured="Sums use this rule.")
BY_TWO_HOPS = Hypothesis("by_two_hops", "Blocks go within nodes first, then across.", ensured="Sums use this rule.")
BY_HOPS_ON_A_RING = Hypothesis("by_hops_on_a_ring", "Blocks go round a ring.", ensured="Sums use this rule.")
REORDERED = Hypothesis("slices_reordered", "Slices are reordered before the first hop.", ensured="Sums use this rule.")
IN_A_ROW = Hypothesis("slices_in_a_row", "Slices are sent in the order of the vector.", ensured="Sums use this rule.")
