"""Gossip: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "gossip",
    "Gossip: averaging with neighbours",
    "Peers average with their neighbours on a graph, or push shares of what they have; beside them stands the "
    "all-reduce that starts again when a peer fails.",
    synopsis=Synopsis(
        found=(
            "Gossip shrinks the distortion as its second eigenvalue says, and no input is slower. Push-sum finds "
            "the mean over links that break only if it keeps the shares that were not delivered."
        ),
        promise=(
            "Averaging with neighbours on a graph, without any all-reduce; and, for comparison, the all-reduce "
            "that starts again whenever a peer fails."
        ),
        holds=(
            "The factors of ring, torus and exponential graph (`gossip.ring.distortion`, "
            "`gossip.torus.distortion`, `gossip.exponential.distortion`), the exact mean of the one-peer graph at "
            "powers of two (`gossip.one_peer.exact`), and (1 - p)^-N attempts with restarts "
            "(`gossip.restarts.attempts`)."
        ),
        fails=(
            "The one-peer graph at other numbers of peers (`gossip.one_peer.any_number`), rows renormalised over "
            "those present (`gossip.mean.renormalised`), push-sum that loses shares (`gossip.push_sum.losing`)."
        ),
        tight="Factors are attained by the second eigenvector, words are exact counts.",
        lesson=(
            "Take a neighbour’s missing vector as one’s own, on both sides (`gossip.mean.own_instead`); restarts "
            "are hopeless once p N is a few."
        ),
        picture="gossip.spectra",
        system="Moshpit all-reduce",
    ),
    recalled=True,
)
