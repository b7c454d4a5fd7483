"""Error feedback: what one worker does."""

from commbounds.compressors.feedback.mechanisms import EF14, EF21, EF21M, EControl, Plain
from commbounds.compressors.feedback.state import Feedback, FeedbackState

__all__ = ["EF14", "EF21", "EF21M", "MECHANISMS", "EControl", "Feedback", "FeedbackState", "Plain"]

MECHANISMS = {"EF14": EF14, "EF21": EF21, "EF21M": EF21M, "EControl": EControl, "Plain": Plain}
"""What a worker does here, by name."""
