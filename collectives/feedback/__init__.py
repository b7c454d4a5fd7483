"""Error feedback: what the workers do together."""

from commbounds.collectives.feedback.aggregators import Aggregated, ArcRows, GatheredTopK, OkTopK
from commbounds.collectives.feedback.sgd import FeedbackSGD, FeedbackSGDState

__all__ = [
    "Aggregated",
    "ArcRows",
    "FeedbackSGD",
    "FeedbackSGDState",
    "GatheredTopK",
    "OkTopK",
]
