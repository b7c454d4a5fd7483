"""Error feedback: what one worker does."""

from commbounds.compressors.feedback.mechanisms import EF14, EF21, EF21M, Feedback, FeedbackState, Plain

__all__ = [
    "EF14",
    "EF21",
    "EF21M",
    "Feedback",
    "FeedbackState",
    "Plain",
]
