"""LDLQ between a least and a largest level: two weights, and the authors' own example.

rotations.ldlq.limited
"""

import sys
from types import ModuleType

import torch
from checkout import checkout

folder = checkout("Cornell-RelaxML/QuIP", "ac92cfc7a22f6100009e2caf53bb72257d3f3184")
sys.path.insert(0, str(folder))
sys.modules["tqdm"] = ModuleType("tqdm")  # a progress bar, which is not used
sys.modules["tqdm"].tqdm = iter
from optq_counter import counter, proxy_loss
from vector_balance import round_ldl

unit, pivots = torch.tensor([[1.0, 0.0], [-2.0, 1.0]]), torch.tensor([1.0, 4.0])
hessian, weights = unit @ torch.diag(pivots) @ unit.T, torch.tensor([[0.0, 7 / 16]])
print(f"pivots {pivots.tolist()}: a quarter of their sum is {pivots.sum().item() / 4}")
for passes in (0, 9):
    rounded = round_ldl(weights + 0, hessian, 2, n_greedy_passes=passes)
    loss = proxy_loss(rounded - weights, hessian).item()
    print(f"{weights.tolist()} with {passes} greedy passes, 9 by default: {rounded.tolist()}, loss {loss}")
print("the authors' optq_counter.py, 256 weights a row:")
torch.manual_seed(0)
counter(256, 256, 0.01)
