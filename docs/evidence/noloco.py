"""The outer step below the comment `Nesterov momentum optimizer`, line by line, beside torch's two momenta.

lowcomm.diloco.ball_is_nesterov
"""

from types import SimpleNamespace

import torch
from checkout import checkout

folder = checkout("gensyn-ai/noloco", "a1b4a425bdc4050a356cf9f4bae7c383419703ab")
lines = (folder / "src/noloco/sparce_loco_optimizer.py").read_text().splitlines()
comment, step = lines[110].strip(), [line.strip() for line in lines[112:114]]
print(comment, *step, sep="\n    ")
eta, mu = 0.7, 0.9
names = {"self": SimpleNamespace(outer_momentum=mu, outer_lr=eta), "grad_gp": torch.ones(1)}
names |= {"gm": torch.zeros(1), "gp": torch.zeros(1)}


def moves(nesterov):
    """The weight after each of three steps of torch's SGD under a gradient of one."""
    weight = torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.SGD([weight], lr=eta, momentum=mu, nesterov=nesterov)
    for _ in range(3):
        weight.grad = torch.ones(1)
        optimiser.step()
        yield round(weight.item(), 4)


theirs = []
for _ in range(3):
    exec("\n".join(step), names)
    theirs.append(round(names["gp"].item(), 4))
print(f"three rounds of a pseudo-gradient of one: {theirs}")
print(f"torch.optim.SGD, nesterov=True:  {list(moves(True))}")
print(f"torch.optim.SGD, nesterov=False: {list(moves(False))}")
