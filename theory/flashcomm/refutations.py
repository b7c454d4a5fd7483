"""Where refuted claims about Flash Communication are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.functions import nearest_float
from commbounds.theory.model import Refutation, by_claim

_a, _b = sp.symbols("a b", integer=True, nonnegative=True)

REFUTATIONS = by_claim(
    *(
        Refutation(
            claim=f"flashcomm.groupquant.{name}",
            words="A group (a, a + 1) of one bit an entry, whose step is 1. The zero point is a rounded to the eight "
            f"bits of bfloat16, and codes are 0 or 1{how}: one entry is read as far away as the zero point is off.",
            whole={_a: 1},
            measured=sp.Abs(_a - nearest_float(_a, 8)),
            x=(_a, _a + 1),
            met=met,
        )
        for name, how, met in (
            ("half_step_stored", "", {"stored_metadata": "In bfloat16."}),
            ("exact_then_stored", ", relative to a", {"exact_then_stored": "In bfloat16."}),
        )
    ),
    Refutation(
        claim="flashcomm.groupquant.clamped_point",
        words="One bit; the scale is b - a, the zero point round(-a/(b - a)) is clamped to 0, both codes to 1: b is "
        "read as b - a, off by a.",
        whole={_a: 1, _b: 1},
        measured=_a / (_b - _a),
        x=(_a, _b),
        given={"a >= b - a": 2 * _a - _b},
        positive={"b > a": _b - _a},
        met={
            "clamped_point": "The quantiser runs this way.",
            "exact_metadata": "Small whole numbers are stored exactly.",
        },
    ),
    Refutation(
        claim="flashcomm.twostep.agreement_of_owners",
        words="Two ranks, one bit, blocks of one group of three: what either rank adds to the first block lies on two "
        "levels, their sum (0, a, a + b) on three. The owner keeps it, and the other rank reads 0 or a + b for a.",
        whole={_a: 1, _b: 1},
        measured=sp.Integer(1),
        x=((0, _a, _a, 0, 0, 0), (0, 0, _b, 0, 0, 0)),
        met={"owner_keeps": "The two-step runs this way."},
    ),
)
