"""Claims about what gossip and push-sum send."""

from commbounds.theory.claim import Claim, Eq
from commbounds.theory.gossip.terms import NO_LOSS
from commbounds.theory.moshpit.terms import SEVERAL_PEERS, N, rounds
from commbounds.theory.quantities import index_bits, n
from commbounds.theory.sources import derived
from commbounds.theory.traffic import MOST_SENT


def _sends(name: str, what: str, words: object, why: str) -> Claim:
    return Claim(
        name=f"gossip.{name}.words",
        title=what,
        relation=Eq(MOST_SENT, words),
        assumes=(NO_LOSS, SEVERAL_PEERS),
        source=derived(f"Counted: {why}."),
        axis="n",
    )


TRAFFIC_CLAIMS = (
    _sends("ring", "Words of T rounds on a ring: 2 T n", 2 * rounds * n, "n words to each of two neighbours a round"),
    _sends(
        "torus", "Words of T rounds on a torus: 4 T n", 4 * rounds * n, "n words to each of four neighbours a round"
    ),
    _sends(
        "exponential",
        "Words of T rounds on a static exponential graph: T n ceil(log2 N)",
        rounds * n * index_bits(N),
        "n words to each of ceil(log2 N) peers a round",
    ),
    _sends(
        "one_peer", "Words of T rounds on a one-peer exponential graph: T n", rounds * n, "n words to one peer a round"
    ),
    _sends(
        "push_sum",
        "Words of T rounds of push-sum, one peer a round: T (n + 1)",
        rounds * (n + 1),
        "n words and a weight to one peer a round",
    ),
)
