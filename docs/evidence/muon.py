"""What five of Muon's iterations make of gradients of rank one, as the code runs in bfloat16, and in float64.

orthogonal.muon.one
"""

import sys

import torch
from checkout import checkout

folder = checkout("KellerJordan/Muon", "857d1adc159e098212f828d927460782d3da59e9")
text = (folder / "muon.py").read_text()
function = text[text.index("def zeropower") : text.index("def muon_update")]
names: dict = {"torch": torch}
exec(function, names)
exec(function.replace("zeropower_via_newtonschulz5", "wide").replace("G.bfloat16()", "G.double()"), names)
torch.set_num_threads(1)
print("products of two Gaussian vectors; of the update: along the gradient, and the rest's share of its squared norm")
for rows, columns in ((64, 64), (256, 256), (256, 1024), (1024, 1024)):
    for seed in (0, 1):
        drawn = torch.Generator().manual_seed(seed)
        left, right = (torch.randn(size, generator=drawn, dtype=torch.float64) for size in (rows, columns))
        said = []
        for name in ("zeropower_via_newtonschulz5", "wide"):
            update = names[name](torch.outer(left, right), 5).double()
            along = float(left / left.norm() @ update @ (right / right.norm()))
            said.append(f"{along:.4f} and {abs(1 - along**2 / float((update**2).sum())):.2f}")
        print(f"{rows} x {columns}, seed {seed}: bfloat16 {said[0]}; float64 {said[1]}")
sys.exit(0)
