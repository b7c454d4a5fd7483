"""Goals by which the inequalities of smooth and convex functions follow from the parabolas that they lie between."""

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
        The interpolation inequality, times 2 L (L - mu): that 2 L (f(x) - f(y) - <h, x - y>) is at least ||g - h||^2 +
        mu/(L - mu) ||L (x - y) - (g - h)||^2, by the point z at which the parabolas above at x and below at y are
        closest. What two of these say of the slopes: they are cocoercive (mu = 0), or Lipschitz (mu = -L). And that
        f(x) is no less than ||g||^2/(2 L) above the least value.
    """
    L, mu = smoothness, convexity
    x, y, g, h = sp.symbols("x y g h", commutative=False)
    f_x, f_y, f_z, least = sp.symbols("f_x f_y f_z least", real=True)
    gap, away, turn = L - mu, x - y, g - h
    to_z = mu * away - turn  # L - mu times what leads from x to z
    from_y = gap * away + to_z

    def apart(f: Any, slope: Any, sign: int) -> Any:
        return L * gap * 2 * (f - sign * slope * away) - gap * turn**2 - mu * (L * away - turn) ** 2

    positive = {"L": L, "L - mu": gap}
    return (
        Goal(
            "interpolation",
            gap * apart(f_x - f_y, h, 1),
            given={
                "parabola above at x, at z": gap**2 * 2 * (f_x - f_z) + gap * 2 * g * to_z + L * to_z**2,
                "parabola below at y, at z": gap**2 * 2 * (f_z - f_y) - gap * 2 * h * from_y - mu * from_y**2,
            },
            positive=positive,
            vectors=(x, y, g, h),
        ),
        Goal(
            "slopes",
            2 * L * ((L + mu) * turn * away - turn**2 - L * mu * away**2),
            given={"x over y": apart(f_x - f_y, h, 1), "y over x": apart(f_y - f_x, g, -1)},
            positive=positive,
            vectors=(x, y, g, h),
        ),
        Goal(
            "above the least value",
            2 * L * (f_x - least) - g**2,
            given={"parabola above at x, where g/L leads": 2 * L * (f_x - f_z) - g**2, "nowhere less": f_z - least},
            positive={"L": L},
            vectors=(g,),
        ),
    )
