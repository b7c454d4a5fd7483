"""Goals by which the inequalities of smooth and convex functions follow from the parabolas that they lie between."""

from __future__ import annotations

from typing import Any

import sympy as sp

from commbounds.theory.model import Goal


def between_parabolas(smoothness: Any, convexity: Any) -> tuple[Goal, ...]:
    """What is known of two points, x and y, of a function that lies between two parabolas at every point.

    At every point x, with the slope g, f(z) is at most f(x) + <g, z - x> + L/2 ||z - x||^2, and at least the same with
    mu in place of L: f is mu-strongly convex, convex (mu = 0), or smooth alone (mu = -L). That the gradient of such a
    function is no steeper, and that one whose gradient is has both parabolas, ``descent`` in
    ``verify/certify/coq/theorems.v`` says.

    Parameters
    ----------
    smoothness, convexity : sympy expression
        L > 0 and mu < L.

    Returns
    -------
    tuple of Goal
        The interpolation inequality, times 2 L (L - mu)^2: that 2 L (f(x) - f(y) - <h, x - y>) is at least ||g - h||^2
        + mu/(L - mu) ||L (x - y) - (g - h)||^2. At a point z the parabolas above at x and below at y are closest.
    """
    L, mu = smoothness, convexity
    x, y, g, h = sp.symbols("x y g h", commutative=False)
    f_x, f_y, f_z = sp.symbols("f_x f_y f_z", real=True)
    gap, apart = L - mu, L * (x - y) - (g - h)
    to_z = mu * (x - y) - (g - h)  # L - mu times what leads from x to z
    from_y = gap * (x - y) + to_z
    known = L * gap**2 * 2 * (f_x - f_y - h * (x - y)) - gap**2 * (g - h) ** 2 - mu * gap * apart**2
    return (
        Goal(
            "interpolation",
            known,
            given={
                "parabola above at x, at z": gap**2 * 2 * (f_x - f_z) + gap * 2 * g * to_z + L * to_z**2,
                "parabola below at y, at z": gap**2 * 2 * (f_z - f_y) - gap * 2 * h * from_y - mu * from_y**2,
            },
            positive={"L": L, "L - mu": gap},
            vectors=(x, y, g, h),
        ),
    )
