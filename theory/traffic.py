"""What claims about communication measure, and the symbols that they share."""

from commbounds.theory.quantities import Quantity

MOST_SENT = Quantity("most_sent", r"\max_p \mathrm{sent}_p", "words sent by the rank that sends most")
MOST_RECEIVED = Quantity(
    "most_received", r"\max_p \mathrm{received}_p", "words received by the rank that receives most"
)
LEAST_RECEIVED = Quantity(
    "least_received", r"\min_p \mathrm{received}_p", "words received by the rank that receives least"
)
MEAN_RECEIVED = Quantity(
    "mean_received", r"\frac1P\sum_p \mathrm{received}_p", "words received by a rank, averaged over the ranks"
)
SENT_AND_RECEIVED = Quantity(
    "sent_and_received",
    r"\max_p (\mathrm{sent}_p+\mathrm{received}_p)",
    "words sent and received together by the rank that moves most",
)
CRITICAL_PATH = Quantity(
    "critical_path",
    r"\sum_t \max_p \max(\mathrm{sent}_{p,t},\mathrm{received}_{p,t})",
    "words on the critical path: summed over the steps, the most that any rank sends or receives in that step",
)
STEPS = Quantity("steps", r"\mathrm{steps}", "rounds of messages, one after another")
MESSAGES = Quantity("messages", r"\max_p \mathrm{messages}_p", "messages sent by the rank that sends most of them")
