"""What five of Muon's iterations make of gradients of rank one, as the code runs in bfloat16, and in float64.

orthogonal.muon.one, orthogonal.muon.uniform, orthogonal.muon.along, orthogonal.muon.rounded_along,
orthogonal.muon.rounded_at_most, orthogonal.muon.rounded_at_least, orthogonal.muon.amplified
"""

import sys

import torch
from checkout import checkout

folder = checkout("KellerJordan/Muon", "857d1adc159e098212f828d927460782d3da59e9")
text = (folder / "muon.py").read_text()
function = text[text.index("def zeropower") : text.index("def muon_update")]
names: dict = {"torch": torch}
exec(function, names)
exec(function.replace("zeropower_via_newtonschulz5", "float64").replace("G.bfloat16()", "G.double()"), names)
torch.set_num_threads(1)
print("products of two Gaussian vectors, ten each; of the update: along the gradient, and the rest's share of its")
print("squared norm")
for rows, columns in ((8, 8), (16, 16), (32, 32), (64, 64), (256, 256), (256, 1024), (1024, 1024)):
    said = []
    for name in ("zeropower_via_newtonschulz5", "float64"):
        found = []
        for seed in range(10):
            drawn = torch.Generator().manual_seed(seed)
            left, right = (torch.randn(size, generator=drawn, dtype=torch.float64) for size in (rows, columns))
            update = names[name](torch.outer(left, right), 5).double()
            along = float(left / left.norm() @ update @ (right / right.norm()))
            found.append((along, 1 - along**2 / float((update**2).sum())))
        sides = [(min(each), max(each)) for each in zip(*found, strict=True)]
        mean = sum(share for _, share in found) / len(found)
        said.append("{0[0]:.4f} to {0[1]:.4f} and {1[0]:.2f} to {1[1]:.2f}".format(*sides) + f", on average {mean:.2f}")
    print(f"{rows} x {columns}: bfloat16 {said[0]}; float64 {said[1].replace('-0.00', '0.00')}")
print("a singular value of a ten-thousandth of the norm")
small = torch.diag(torch.tensor([1e-4, 1.0]))
for name in ("zeropower_via_newtonschulz5", "float64"):
    print(f"{name.replace('zeropower_via_newtonschulz5', 'bfloat16')}: {float(names[name](small, 5)[0, 0]):.4f}")
print("all numbers of bfloat16 in [0, 1], on the diagonal beside one that makes the norm one")
bits = torch.arange(0x3F80 + 1, dtype=torch.int16)
values = bits.view(torch.bfloat16).double()
pairs = torch.diag_embed(torch.stack([values, (1 - values**2).sqrt()], 1))
after = names["zeropower_via_newtonschulz5"](pairs, 5)[:, 0, 0].double()
kept = values >= 1 / 660
print(f"at most {float(after.max())} at {float(values[after.argmax()])}")
print(f"from 1/660 on at least {float(after[kept].min())} at {float(values[kept][after[kept].argmin()])}")
print("updates in bfloat16, exactly")
for matrix in ([[1, 3], [3, 9]], [[1, 2, 3], [4, 5, 6]], [[2, -7], [1, 8], [-2, 8]], [[3, 1, 4], [1, 5, 9], [2, 6, 5]]):
    update = names["zeropower_via_newtonschulz5"](torch.tensor(matrix, dtype=torch.float32), 5)
    print(f"{matrix} becomes {update.tolist()}")
sys.exit(0)
