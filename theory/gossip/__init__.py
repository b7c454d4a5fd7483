"""Gossip: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "gossip",
    "Gossip: averaging with neighbours",
    "Peers average with their neighbours on a graph, or push shares of their vectors; for comparison, an all-reduce "
    "restarts when a peer fails.",
    synopsis=Synopsis(
        found=(
            "The second eigenvalue bounds the rate of gossip for every input. Over links that break, push-sum finds "
            "the mean only if it keeps undelivered shares."
        ),
        promise=(
            "Peers average with neighbours on a graph, without any all-reduce; for comparison, an all-reduce restarts "
            "whenever a peer fails."
        ),
        holds=(
            "The factors of ring, torus and exponential graph hold (`gossip.ring.distortion`, "
            "`gossip.torus.distortion`, `gossip.exponential.distortion`). The one-peer graph finds the exact mean at "
            "powers of two (`gossip.one_peer.exact`). Restarts take (1 - p)^-N attempts (`gossip.restarts.attempts`)."
        ),
        fails=(
            "The one-peer graph is not exact at other numbers of peers (`gossip.one_peer.any_number`). The mean moves "
            "if rows are renormalised over the peers present (`gossip.mean.renormalised`), or if push-sum loses shares "
            "(`gossip.push_sum.losing`)."
        ),
        tight="The second eigenvector attains the factors; words are exact counts.",
        lesson=(
            "Replace a missing vector by the peer’s own, on both sides (`gossip.mean.own_instead`); restarts are "
            "hopeless if p N exceeds a few."
        ),
        picture="gossip.spectra",
        system="Moshpit all-reduce",
    ),
    recalled=True,
)
