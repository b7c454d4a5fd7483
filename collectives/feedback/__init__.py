"""Error feedback: what the workers do together."""

from commbounds.collectives.feedback.aggregators import Aggregated, ArcRows, GatheredTopK, OkTopK
from commbounds.collectives.feedback.sgd import FeedbackSGD, FeedbackSGDState

__all__ = ["COLLECTIVES", "Aggregated", "ArcRows", "FeedbackSGD", "FeedbackSGDState", "GatheredTopK", "OkTopK"]

COLLECTIVES = {"FeedbackSGD": FeedbackSGD}
"""What is run and counted here, by name."""
