"""How many entries a step of DeMo sends of a tensor: chunks are as long as a divisor of its length.

lowcomm.demo.rate; needs einops
"""

import runpy
from tempfile import NamedTemporaryFile

import torch
from checkout import checkout

folder = checkout("bloc97/DeMo", "cab460651d61f3b439dec30b6b4e64075a8b63a3")
DeMo = runpy.run_path(str(folder / "demo.py"))["DeMo"]
with NamedTemporaryFile() as meeting:
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting.name}", rank=0, world_size=1)
    for shape in ((128,), (127,), (96,), (128, 128), (50257, 64)):
        weights = torch.nn.Parameter(torch.zeros(shape))
        optimiser = DeMo([weights], lr=1.0)  # chunks of 64, of which 32 are sent
        weights.grad = torch.randn(shape)
        optimiser.step()
        sent = optimiser.data_transmit // 12  # an index of 8 bytes and a value of 4
        whole = weights.numel() // (2 if len(shape) == 1 else 128)
        print(f"{shape}: {sent} of {weights.numel()} entries are sent; at the rate of whole chunks {whole}")
    torch.distributed.destroy_process_group()
