"""Speed of the group quantiser, there and back: beside numpy's division form and torch, all to the same bits."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import GroupQuantizer
from commbounds.verify.peers import torch_module
from commbounds.verify.stopwatch import Benchmark, Stopwatch, timed

GROUP = 128


def by_numpy(x: Array, top: int) -> Array:
    """Quantised and read in numpy: rint((x - low) / scale) scale + low, group by group."""
    groups = x.reshape(-1, GROUP)
    low = groups.min(axis=1, keepdims=True)
    scale = (groups.max(axis=1, keepdims=True) - low) / x.dtype.type(top)
    codes = np.rint((groups - low) / scale).astype(np.uint8)
    read: Array = (codes * scale + low).ravel()
    return read


def _by_torch(torch: Any, x: Any, top: int) -> Any:
    groups = x.view(-1, GROUP)
    low, high = groups.amin(dim=1, keepdim=True), groups.amax(dim=1, keepdim=True)
    scale = (high - low) / top
    codes = torch.round((groups - low) / scale).to(torch.uint8)
    return (codes * scale + low).view(-1)


def cases(n: int) -> Iterator[Benchmark]:
    """INT4 and INT8 on a normal float32 vector of `n` entries, cut to whole groups."""
    x = np.random.default_rng(1).standard_normal(n // GROUP * GROUP, np.float32)
    for width in (4, 8):
        c = GroupQuantizer(width, GROUP)
        peers: dict[str, Stopwatch] = {"numpy": timed(partial(by_numpy, x, c.top))}
        if torch := torch_module():
            peers["torch"] = timed(partial(_by_torch, torch, torch.from_numpy(x), c.top))
        targets = {"numpy": (10.0, 20.0), "torch": (6.0, 12.0)}
        yield Benchmark(
            f"group INT{width}, there and back", "ns/entry", 1e9 / x.size, timed(partial(c, x)), peers, targets
        )
