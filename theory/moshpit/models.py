"""What certificates about Moshpit prove."""

from collections.abc import Mapping

from commbounds.theory.model import Step, extents
from commbounds.theory.moshpit.models_grid import GRID_MODELS
from commbounds.theory.moshpit.models_groups import GROUP_MODELS
from commbounds.theory.moshpit.models_sgd import SGD_MODELS

MODELS = {**GRID_MODELS, **GROUP_MODELS, **SGD_MODELS}

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "moshpit.random_groups.upper": {"the bound of these rounds": "first"},
    "moshpit.sgd.averaging_quality": {"up to here, times (1 - rho) N": "at the start"},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "moshpit",
    {
        (): "traffic.words traffic.critical_path random_groups.general random_groups.factor random_groups.labels "
        "random_groups.all_partitions random_groups.skip random_groups.abort random_groups.regrouping mean.one_way "
        "grid.factor grid.failures grid.partial sgd.mean_square sgd.flat sgd.spread random_groups.upper mean.leaving "
        "trials.random trials.fixed trials.keys random_groups.with_replacement sgd.leaving sgd.convex "
        "sgd.strongly_convex sgd.convex_noiseless sgd.nonconvex_noiseless sgd.averaging_quality "
        "grid.exact grid.late grid.rectangular sgd.nonconvex sgd.departures",
        (Step.COUNTING,): "grid.no_repeats",
    },
    by_definition="traffic.equal_chunks traffic.messages",
)
