"""DropCompute: stragglers: the claims."""

from commbounds.theory.claim import Claim
from commbounds.theory.dropcompute.completed import COMPLETIONS
from commbounds.theory.dropcompute.formulas import FORMULAS
from commbounds.theory.dropcompute.gains import GAINS
from commbounds.theory.dropcompute.sgd import CONVERGENCE
from commbounds.theory.dropcompute.steps import STEPS
from commbounds.theory.dropcompute.times import TIMES
from commbounds.theory.implementations import defined, rank_by_rank

_RANKS = rank_by_rank("dropcompute", "drop_gradient")

_DEFINITIONS = defined(
    "dropcompute",
    {
        "StepLaw": "Written from the formulas for E[T], E[min(tau, T)], E[completed] and S_eff of arXiv:2306.10598, "
        "with sums by Erlang, by Irwin and Hall, and by convolution; equal within 1e-9 and the grid's cells.",
        "backup_step": "Written from the rule of backup workers: the N - spare first, of equals those of lower rank.",
        "best_threshold": "Written from Algorithm 2 of arXiv:2306.10598 with every elapsed time as a candidate, in "
        "float64, one step after another.",
        "drop_gradient": "Written from the released code's fixed divisor and the other two as documented, by worker.",
        "drop_step": "Written from Algorithm 1 of arXiv:2306.10598 and the documented table of three ways of stopping, "
        "micro-batch by micro-batch.",
        "drop_trials": "Written from the same, on latencies drawn with splitmix64 and Walker's alias method; only our "
        "documentation says which word makes which latency. Latencies that take a logarithm, an exponential or an "
        "angle agree within the truncation error of their series.",
        "gaussian_maximum": "Written from the integral of x N phi Phi^(N - 1) by the trapezoidal rule; equal within "
        "the promised 1e-12.",
        "local_sgd_period": "Written from the definition of a period: every worker's own sum, and their largest.",
        "random_batch_sgd": "Written from the documented recursion, sample by sample.",
        "released_threshold": "Written from the released code's search over 200 thresholds, candidate by candidate.",
    },
)

CLAIMS: tuple[Claim, ...] = (*STEPS, *COMPLETIONS, *TIMES, *FORMULAS, *GAINS, *CONVERGENCE, *_RANKS, *_DEFINITIONS)
