"""The expected estimate of EDEN with its Hadamard rotation, and its tables beside optimal centroids.

rotations.eden.unbiased, rotations.lloyd_max.seven_digits
"""

import sys

import torch
from checkout import checkout

folder = checkout("amitport/EDEN-Distributed-Mean-Estimation", "5c7639a6af810e08d21827dd0ed55772b8113e99")
sys.path.insert(0, str(folder / "torch"))
from eden import eden_builder
from quantization_constants import opt_hn_centroids

for x in ((2.0, 1.0), (3.0, 1.0)):
    for bits in (1, 2):
        pipeline = eden_builder(bits)
        seen = set()
        for _ in range(200):
            message, context = pipeline.forward(torch.tensor(x))
            seen.add(tuple(round(v, 4) for v in pipeline.backward(message, context)[0].tolist()))
        print(f"{bits} bits, {x}: the estimates of 200 draws are {sorted(seen)}")


def residual(centroids):
    """Centroids of the half normal law, less the means of their cells: zero where they are optimal."""
    edges = torch.cat([torch.zeros(1), (centroids[1:] + centroids[:-1]) / 2, torch.full((1,), torch.inf)])
    density, above = torch.exp(-(edges**2) / 2), torch.special.erfc(edges / 2**0.5)
    mean = (2 / torch.pi) ** 0.5 * (density[:-1] - density[1:]) / (above[:-1] - above[1:])
    return centroids - mean


torch.set_default_dtype(torch.float64)
for bits, printed in opt_hn_centroids.items():
    optimal = table = torch.tensor(printed)
    for _ in range(50):
        jacobian = torch.autograd.functional.jacobian(residual, optimal)
        optimal = optimal - torch.linalg.solve(jacobian, residual(optimal))
    apart = ((table - optimal).abs() / optimal).max().item()
    print(f"{bits} bits: at most {apart:.1e} apart; the outermost is {optimal[-1]:.6f}, printed {table[-1]:.6f}")
