"""In place, the 8-bit quantiser forgets the mean: its table is made of what is left when it is subtracted."""

import sys

import torch
from hivemind.compression import Uniform8BitQuantization
from hivemind.compression.base import CompressionInfo

codec = Uniform8BitQuantization()
found = {}
for in_place in (False, True):
    x = torch.tensor([10.0, 11.0, 12.0])
    found[in_place] = codec.extract(codec.compress(x, CompressionInfo.from_tensor(x), allow_inplace=in_place)).tolist()
    print(f"allow_inplace={in_place}: [10.0, 11.0, 12.0] arrives as {found[in_place]}")
sys.exit(found[True] != found[False])
