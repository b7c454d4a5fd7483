"""What the claims about Ok-Topk measure, and the symbols of their bounds."""

from fractions import Fraction

from commbounds.theory.quantities import Quantity
from commbounds.theory.sources import LI_HOEFLER_2022 as LI_HOEFLER_2022
from commbounds.theory.sources import Repository
from commbounds.theory.symbols import Symbol

OKTOPK_AT = Repository("Shigangli/Ok-Topk", "9763dccb0bf704779435cb8f66592be5a9b294bf")

winners = Symbol("winners", r"\lvert T\rvert", 5, integer=True, nonnegative=True)
"""Entries that pass the global threshold: the size of the result."""
selected = Symbol("selected", r"\max_p\lvert S_p\rvert", 4, integer=True, nonnegative=True)
"""Entries that the rank with most of them selects by its local threshold."""
inbound = Symbol("inbound", r"\max_r\mathrm{in}_r", 6, integer=True, nonnegative=True)
"""Entries that reach the busiest region from the other ranks in the split."""
union = Symbol("union", "U", 4, integer=True, nonnegative=True)
"""Entries of the reduced vector that are not zero before the global threshold."""
z = Symbol("z", example=2, positive=True)
"""Threshold, in standard deviations of the vector that it was found on."""
scale = Symbol("scale", "c", Fraction(5, 4), positive=True)
"""Scale of the present vector relative to the one that the threshold was found on."""
eta = Symbol("eta", example=Fraction(1, 4), positive=True)
"""Step size."""
xi = Symbol("xi", example=Fraction(1, 2), nonnegative=True)
"""Constant of the published assumption, or the realised ratio that takes its place."""
before = Symbol("before", r"\lVert\bar\epsilon\rVert", 2, nonnegative=True)
"""Norm of the ranks' mean residual before a step."""
move = Symbol("move", r"\lVert\eta G\rVert", 1, nonnegative=True)
"""Norm of the step size times the mean gradient."""
missed = Symbol("missed", r"\lVert\mathrm{TopK}(\bar a)-\frac1P u\rVert", Fraction(1, 2), nonnegative=True)
"""Distance between the largest entries of the mean accumulated gradient and the mean update."""
gap = Symbol("gap", "(f_0-f^*)", 3, nonnegative=True)
"""f(w_0) minus the infimum of f."""
smooth = Symbol("smooth", "L", Fraction(2), positive=True)
"""Lipschitz constant of the gradient of f."""
moment = Symbol("moment", r"\mathcal{M}", 3, positive=True)
"""Bound on the norm of the mean gradient."""
horizon = Symbol("horizon", "t", 4, integer=True, positive=True)
"""Steps taken."""


INBOUND = Quantity(
    "most_inbound",
    r"\max_r \sum_{p\ne r}\lvert S_p\cap R_r\rvert",
    "selected entries that the owner of the busiest region receives in the split",
)
BOUNDARY_DEFECT = Quantity(
    "boundary_defect",
    r"\max_j \lvert b_j-\lfloor\tfrac1P\textstyle\sum_p q_{p,j}\rfloor\rvert",
    "largest difference between a boundary and the ranks' proposed indices, averaged and rounded down",
)
SELECTED = Quantity("most_selected", r"\max_p \lvert S_p\rvert", "entries selected by the rank that selects most")
SELECTED_SHARE = Quantity(
    "selected_share",
    r"\mathbb{E}\,\lvert S_p\rvert / \mathbb{E}\,\lvert S_p^0\rvert",
    "entries that a threshold selects now, over those that it selected where it was found, both expected",
)
SPLIT_DEFECT = Quantity(
    "split_defect",
    r"\max_r \max(\lvert\mathrm{sent}_r-2\mathrm{out}_r\rvert,\lvert\mathrm{received}_r-2\mathrm{in}_r\rvert)",
    "largest difference between the words counted in the split and two for every entry of another rank's region",
)
UPDATE_DEFECT = Quantity(
    "update_defect",
    r"\lVert u-\mathrm{TopK}(\textstyle\sum_p \mathrm{TopK}(a_p))\rVert_\infty",
    "largest difference between the result and the largest entries of the sum of the ranks' largest entries",
)
INDEX_DEFECT = Quantity(
    "index_defect",
    r"\sum_p\lvert\mathrm{indexes}_p\,\triangle\,(S_p\cap T)\rvert",
    "entries by which the returned indices differ from those that a rank selected and that are in the result",
)
MASS_DEFECT = Quantity(
    "oktopk_mass_defect",
    r"\lVert\textstyle\sum_p a_p-\sum_p\epsilon_p'-u\rVert_\infty",
    "largest difference between the sum of the ranks' inputs and the sum of the new residuals and the result",
)
ITERATE_DEFECT = Quantity(
    "iterate_defect",
    r"\lVert w_t-x_t-\tfrac1P\textstyle\sum_p\epsilon_{p,t}\rVert_\infty",
    "largest difference between the mean residual and the distance of the iterates from those of plain averaging "
    "with the same gradients, over all steps",
)
MEAN_RESIDUAL = Quantity(
    "mean_residual", r"\lVert\tfrac1P\textstyle\sum_p\epsilon_p'\rVert", "norm of the ranks' mean residual after a step"
)
GRADIENT_SQUARE = Quantity(
    "gradient_square",
    r"\tfrac1T\textstyle\sum_{t<T}\lVert\nabla f(w_t)\rVert^2",
    "squared norm of the gradient, averaged over the steps",
)
XI = Quantity(
    "realised_xi",
    r"\frac{\lVert\mathrm{TopK}(\frac1P\sum_p a_p)-\frac1P u\rVert}{\lVert\eta G\rVert}",
    "distance between the largest entries of the mean accumulated gradient and the mean update, over the norm of "
    "the step that plain averaging would take",
)
