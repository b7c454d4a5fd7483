"""What certificates about quantisers prove."""

from collections.abc import Mapping, Sequence

from commbounds.theory.finite_laws import shown_by_entries
from commbounds.theory.model import by_claim, extents
from commbounds.theory.quantizers.models_dithering import DITHERING
from commbounds.theory.quantizers.models_powers import POWERS
from commbounds.theory.quantizers.models_signs import SIGNS

MODELS = by_claim(*SIGNS, *DITHERING, *POWERS)

_QSGD = ("n >= 4 s^2, ", "n < 4 s^2, ")
_DITHERING = ("64 n >= 81 4^s, ", "64 n < 81 4^s, ")


def _per_entry(cases: Sequence[str], *entries: str) -> dict[str, tuple[str, ...]]:
    return shown_by_entries(*(f"{case}{entry}" for case in cases for entry in entries), case=cases)


_LEVELS = ("level 0", "level >= 1")
_OCTAVES = ("below", "above")
SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "quantizers.qsgd.elias": {"entries: those before": "entries: none", "entries: this one": "entry"},
    "quantizers.qsgd.variance": _per_entry(_QSGD, *_LEVELS),
    "quantizers.qsgd.second_moment": _per_entry(_QSGD, *_LEVELS),
    "quantizers.qsgd.variance_printed": _per_entry(("n/s**2, ", "sqrt(n)/s, "), *_LEVELS),
    "quantizers.qsgd.support": shown_by_entries("n", "sqrt(n)*s", case=("n, ", "sqrt(n)*s, ")),
    "quantizers.qsgd.support_printed": shown_by_entries("s*(sqrt(n) + s)", case="s*(sqrt(n) + s), "),
    "quantizers.maxdithering.variance": _per_entry(("",), *_LEVELS),
    "quantizers.terngrad.variance": _per_entry(("",), "level 0"),
    "quantizers.terngrad.error": {"entries before": "no entry"},
    "quantizers.naturaldithering.variance": _per_entry(_DITHERING, *_OCTAVES),
    "quantizers.naturaldithering.variance_printed": _per_entry(("branch 1, ", "branch 2, "), *_OCTAVES),
    "quantizers.naturalcompression.variance": {
        **shown_by_entries("times its power"),
        "over the power's square": "entry",
    },
    "quantizers.stochasticpower.variance": {**shown_by_entries("times its power"), "over the power's square": "entry"},
    "quantizers.nearestpower.contraction": {
        **shown_by_entries("times its power"),
        "over the power's square": ("down", "up"),
    },
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "quantizers",
    {
        (): "sign.error sign.sign_symmetry sign.sign_symmetry_ternary sign.idempotence qsgd.unbiased "
        "maxdithering.unbiased terngrad.unbiased naturalcompression.unbiased naturalcompression.fixed_points "
        "naturalcompression.sign_symmetry naturalcompression.scale_equivariance naturalcompression.idempotence "
        "naturaldithering.unbiased stochasticpower.unbiased stochasticpower.sign_symmetry "
        "stochasticpower.idempotence nearestpower.sign_symmetry nearestpower.scale_equivariance "
        "nearestpower.idempotence scaledsign.error scaledsign.contraction naturalcompression.variance "
        "stochasticpower.variance nearestpower.contraction qsgd.variance qsgd.variance_printed qsgd.second_moment "
        "qsgd.support qsgd.support_printed maxdithering.variance terngrad.variance terngrad.error "
        "naturaldithering.variance naturaldithering.variance_printed qsgd.shrunk_contraction "
        "maxdithering.shrunk_contraction terngrad.shrunk_contraction naturaldithering.shrunk_contraction "
        "stochasticpower.shrunk_contraction naturalcompression.shrunk_contraction qsgd.elias"
    },
    by_definition="scaledsign.one_sparse",
)
