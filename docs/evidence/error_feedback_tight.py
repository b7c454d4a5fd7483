"""The optimal step size of compressed gradient descent, as the helpers had it for nineteen days.

feedback.cgd.first_step
"""

import runpy

import numpy as np
from checkout import checkout

folder = checkout("DanielBergThomsen/error-feedback-tight", "25dd90b8f8146832ea3e9bae1e0b30bd34bc3965")
theirs = runpy.run_path(str(folder / "theory_helpers.py"))
mu, L, r = 0.1, 1.0, 0.5  # delta = 1 - r^2
step = theirs["optimal_step_size"](mu, L, 1 - r**2, "CGD")
best = 2 / ((1 - r) * mu + (1 + r) * L)
kappa = (1 + r) * L / ((1 - r) * mu)
for name, gamma in (("theirs", step), ("2/((1 - r) mu + (1 + r) L), as of 24 October 2025", best)):
    # x^2/2 times mu, of whose gradient 1 - r is returned, and times L, 1 + r
    factors = (1 - gamma * mu * (1 - r)) ** 2, (1 - gamma * L * (1 + r)) ** 2
    print(f"step size {name}: {gamma:.4f}; f - f* falls by {np.max(factors):.4f} at worst")
print(f"((kappa - 1)/(kappa + 1))^2, the published factor: {((kappa - 1) / (kappa + 1)) ** 2:.4f}")
