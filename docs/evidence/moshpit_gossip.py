"""The mean of peers that gossip on a ring of four, one of which is not there.

gossip.mean.renormalised
"""

import sys

import numpy as np
from checkout import checkout

folder = checkout("yandex-research/moshpit-sgd", "949b60b8461bf694a3b8e54b57952002eba81de1")
sys.path.insert(0, str(folder / "averaging_experiments"))
from averager import GossipAverager

gossip = GossipAverager(4, num_surrounding_neighbors=1)  # as its experiments have it
for alive in ((True,) * 4, (True, True, True, False)):
    means = [float(gossip(weights, np.array(alive), 0).mean()) for weights in 6.0 * np.eye(4)]
    moved = sum((mean - 1.5) ** 2 for mean in means)
    print(f"peers there {alive}: the means, each 1.5 before, are {means}; squared distance {moved:.6g}")
