"""What is known of rounds of gossip says of the symbols of their models."""

from fractions import Fraction

import numpy as np

from commbounds.collectives.gossip.mixing import TOPOLOGIES


def walks(implementation, N, rounds):
    """The law of a walk at three places in a row and at their mirror images, and how probable it is to come back."""
    unit = np.zeros((N, 1))
    unit[0] = 3.0**rounds
    law = [Fraction(float(w)) / 3**rounds for w in implementation(unit, "ring", rounds)[0].ravel()]
    for at in range(N):
        near = {f"ahead{i}": law[(at + i) % N] for i in range(3)} | {f"back{i}": law[(-at - i) % N] for i in range(3)}
        yield {**near, "N": N, "returns": sum(w * w for w in law)}


def pairs_of_links(implementation, case, topology, N):
    """Two peers beside each other, whose links both work or both do not, and all peers counted alike."""
    targets = TOPOLOGIES[topology](N, 0)
    parts = targets.shape[1] + 1
    x = (np.arange(N) ** 2 % 11)[:, None].astype(float) * parts
    for i in range(N):
        for works in (0, 1):
            j = int(targets[i, 0])
            delivered = np.ones(targets.shape, bool)
            if not works:
                delivered[i, targets[i] == j] = delivered[j, targets[j] == i] = False
            result, _ = implementation(x, topology, delivered=[delivered])
            assert round(float(result.sum() - x.sum()), 9) == 0
            yield {"N": N, "parts": parts, "works": works, "x": x[i], "y": x[j]}


RUNS = {"gossip.ring.iid": walks, "gossip.mean.own_instead": pairs_of_links}
