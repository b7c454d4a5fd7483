"""What P workers do together, and a count of every word, message and step.

The names below are the ground's: what other columns build on. A column has all of its own in
``commbounds.collectives.COLUMN``; what it registers is found here as well, by its name in `COLLECTIVES`.
"""

import sys
from typing import TYPE_CHECKING, Any

from commbounds import _kernel_cache as _kernel_cache  # first: it is for the kernels that are defined after it
from commbounds.columns import Face, Registry, extended

if TYPE_CHECKING:
    from commbounds.collectives.arctopk import (
        ArcResult,
        arctopk_allreduce,
        kept_of_orthogonal_rows,
        kept_of_planar_rows,
        row_count,
    )
    from commbounds.collectives.averaging import mean_of_compressed
    from commbounds.collectives.dense import (
        allgather,
        allgatherv,
        butterfly_allreduce,
        gather_blocks,
        rabenseifner_allreduce,
        recursive_doubling_allreduce,
        reduce_scatter,
        ring_allreduce,
    )
    from commbounds.collectives.dropcompute import (
        DropStep,
        Exponential,
        Gamma,
        Histogram,
        LatencyLaw,
        Lattice,
        Lognormal,
        Normal,
        StepLaw,
        Threshold,
        Trials,
        Uniform,
        backup_step,
        bernoulli,
        best_threshold,
        drop_gradient,
        drop_step,
        drop_trials,
        gaussian_maximum,
        local_sgd_period,
        random_batch_sgd,
        released_noise,
        released_threshold,
        trial_latencies,
    )
    from commbounds.collectives.feedback import Aggregated, ArcRows, FeedbackSGD, FeedbackSGDState, GatheredTopK, OkTopK
    from commbounds.collectives.flashcomm import (
        QuantisedSum,
        hierarchical_quantised_allreduce,
        oneshot_quantised_allreduce,
        ring_quantised_allreduce,
        twostep_quantised_allreduce,
    )
    from commbounds.collectives.gossip import allreduce_with_restarts, gossip, push_sum
    from commbounds.collectives.moshpit import (
        distortion,
        grid_average,
        group_average,
        group_trials,
        initial_keys,
        moshpit,
        moshpit_sgd,
        random_groups,
        regrouping,
    )
    from commbounds.collectives.oktopk import (
        CONTROLLERS,
        Controller,
        OkTopkResult,
        OkTopkSGD,
        OkTopkSGDState,
        OkTopkState,
        oktopk_allreduce,
        oktopk_boundaries,
    )
    from commbounds.collectives.packetloss import (
        Bernoulli,
        Drift,
        GilbertElliott,
        Reduced,
        Replicas,
        drift_trials,
        fresh_replicas,
        layout,
        lossy_broadcast,
        lossy_reduce_scatter,
        lossy_step,
        lossy_training,
        staleness_trials,
    )
    from commbounds.collectives.sparse import (
        GaussiankResult,
        SparseResult,
        gaussiank_allreduce,
        gtopk_allreduce,
        spardl_allreduce,
        topk_allgather,
        topk_dsa,
    )
    from commbounds.collectives.traffic import Traffic

__path__ = extended(__path__, "collectives")

__all__ = [
    "COLLECTIVES",
    "CONTROLLERS",
    "Aggregated",
    "ArcResult",
    "ArcRows",
    "Bernoulli",
    "Controller",
    "Drift",
    "DropStep",
    "Exponential",
    "FeedbackSGD",
    "FeedbackSGDState",
    "Gamma",
    "GatheredTopK",
    "GaussiankResult",
    "GilbertElliott",
    "Histogram",
    "LatencyLaw",
    "Lattice",
    "Lognormal",
    "Normal",
    "OkTopK",
    "OkTopkResult",
    "OkTopkSGD",
    "OkTopkSGDState",
    "OkTopkState",
    "QuantisedSum",
    "Reduced",
    "Replicas",
    "SparseResult",
    "StepLaw",
    "Threshold",
    "Traffic",
    "Trials",
    "Uniform",
    "allgather",
    "allgatherv",
    "allreduce_with_restarts",
    "arctopk_allreduce",
    "backup_step",
    "bernoulli",
    "best_threshold",
    "butterfly_allreduce",
    "distortion",
    "drift_trials",
    "drop_gradient",
    "drop_step",
    "drop_trials",
    "fresh_replicas",
    "gather_blocks",
    "gaussian_maximum",
    "gaussiank_allreduce",
    "gossip",
    "grid_average",
    "group_average",
    "group_trials",
    "gtopk_allreduce",
    "hierarchical_quantised_allreduce",
    "initial_keys",
    "kept_of_orthogonal_rows",
    "kept_of_planar_rows",
    "layout",
    "local_sgd_period",
    "lossy_broadcast",
    "lossy_reduce_scatter",
    "lossy_step",
    "lossy_training",
    "mean_of_compressed",
    "moshpit",
    "moshpit_sgd",
    "oktopk_allreduce",
    "oktopk_boundaries",
    "oneshot_quantised_allreduce",
    "push_sum",
    "rabenseifner_allreduce",
    "random_batch_sgd",
    "random_groups",
    "recursive_doubling_allreduce",
    "reduce_scatter",
    "regrouping",
    "released_noise",
    "released_threshold",
    "ring_allreduce",
    "ring_quantised_allreduce",
    "row_count",
    "spardl_allreduce",
    "staleness_trials",
    "topk_allgather",
    "topk_dsa",
    "trial_latencies",
    "twostep_quantised_allreduce",
]

COLLECTIVES: Registry[Any] = Registry("COLLECTIVES", "collectives")
"""Every collective under its name, column by column."""

sys.modules[__name__].__class__ = Face
