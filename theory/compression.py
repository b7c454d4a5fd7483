"""Claims that every compressor makes, or fails: one builder for each."""

from dataclasses import dataclass
from typing import Any

import sympy as sp

from commbounds.theory.claim import ASKED_OF_ALL, Claim, Eq, Hypothesis, Kind, Le, Standing
from commbounds.theory.hypotheses import ANY_FACTOR, MIDDLE_RANGE, NONZERO
from commbounds.theory.quantities import (
    BIAS,
    BITS,
    IDEMPOTENCE_DEFECT,
    SCALE_DEFECT,
    SHRUNK_ERROR,
    SIGN_DEFECT,
    index_bits,
)
from commbounds.theory.sources import derived

_WHOLE = (
    (
        "10/9 times the term 1",
        "Equivalent: the number of different values is whole, and a ninth more of one takes no further bit.",
    ),
)


_VARIANTS = {
    "ternary": ", sign(0) = 0",
    "zeros": ", zeros included",
    "any": ", for any factor",
    "every_float": ", on every finite vector",
    "one": ", at the multiplier 1",
}
"""How the title of a claim ends whose name ends so: it holds under another hypothesis than the claim without."""


@dataclass(frozen=True)
class CompressorClaims:
    """A compressor, as the builder of the claims that all compressors make.

    Parameters
    ----------
    name : str
        ``column.subject``.
    title : str
        The compressor's name in a sentence.
    randomised : bool
        Whether its output is random, so that a claim about its outputs is one about their law.
    """

    name: str
    title: str
    randomised: bool = False

    @property
    def _kind(self) -> Kind:
        return Kind.LAW if self.randomised else Kind.SURE

    @property
    def _subject(self) -> str:
        """The compressor's name at the start of a sentence."""
        return self.title[0].upper() + self.title[1:]

    def _titled(self, verb: str, statement: str, plain: str) -> str:
        return f"{self._subject} {verb}{_variant(statement, plain)}"

    def unbiased(self, why: str, assumes: tuple[Hypothesis, ...] = (), statement: str = "unbiased") -> Claim:
        """E C(x) = x."""
        return Claim(
            name=f"{self.name}.{statement}",
            title=self._titled("is unbiased", statement, "unbiased"),
            relation=Eq(BIAS, 0),
            kind=Kind.EXPECTED,
            assumes=assumes,
            source=derived(why, ASKED_OF_ALL),
        )

    def biased(self, where: str, assumes: tuple[Hypothesis, ...] = (), statement: str = "unbiased") -> Claim:
        """That E C(x) = x, refuted by the input described in `where`."""
        return Claim(
            name=f"{self.name}.{statement}",
            title=self._titled("is unbiased", statement, "unbiased"),
            relation=Eq(BIAS, 0),
            kind=Kind.EXPECTED,
            assumes=assumes,
            source=derived(f"Refuted by one input: {where}.", ASKED_OF_ALL),
            stands=Standing.REFUTED,
            extremal=where,
            note=f"Biased: {where}.",
        )

    def wire(
        self, bits: Any, counted: str, assumes: tuple[Hypothesis, ...] = (), statement: str = "wire", axis: str = "n"
    ) -> Claim:
        """The exact size of the message."""
        return Claim(
            name=f"{self.name}.{statement}",
            title=f"Size of a message of {self.title}{_variant(statement, 'wire')}",
            relation=Eq(BITS, bits),
            assumes=assumes,
            source=derived(f"Counted: {counted}.", "counted from the message's fields"),
            axis=axis,
            unpinned=_WHOLE
            if any(count.args[0].is_Add for count in sp.sympify(bits, strict=True).atoms(index_bits))
            else (),
            note=f"{counted[0].upper()}{counted[1:]}; parameters that both sides know are not sent.",
        )

    def sign_symmetry(self, why: str, assumes: tuple[Hypothesis, ...] = (), statement: str = "sign_symmetry") -> Claim:
        """C(-x) is distributed like -C(x)."""
        return self._symmetry(SIGN_DEFECT, "sign_symmetry", statement, "commutes with a change of sign", why, assumes)

    def no_sign_symmetry(self, where: str, assumes: tuple[Hypothesis, ...], statement: str) -> Claim:
        """The same, refuted by the input described in `where`."""
        return self._no_symmetry(
            SIGN_DEFECT, "sign_symmetry", statement, "commutes with a change of sign", where, assumes
        )

    def scale_equivariance(
        self,
        why: str,
        assumes: tuple[Hypothesis, ...] = (ANY_FACTOR, MIDDLE_RANGE),
        statement: str = "scale_equivariance",
    ) -> Claim:
        """C(c x) is distributed like c C(x)."""
        return self._symmetry(SCALE_DEFECT, "scale_equivariance", statement, "commutes with scaling", why, assumes)

    def no_scale_equivariance(
        self,
        where: str,
        assumes: tuple[Hypothesis, ...] = (ANY_FACTOR, MIDDLE_RANGE),
        statement: str = "scale_equivariance",
    ) -> Claim:
        """The same, refuted by the input described in `where`."""
        return self._no_symmetry(SCALE_DEFECT, "scale_equivariance", statement, "commutes with scaling", where, assumes)

    def idempotence(self, why: str, assumes: tuple[Hypothesis, ...] = (), statement: str = "idempotence") -> Claim:
        """C(C(x)) = C(x), surely."""
        return self._symmetry(IDEMPOTENCE_DEFECT, "idempotence", statement, "is idempotent", why, assumes)

    def no_idempotence(self, where: str, assumes: tuple[Hypothesis, ...] = (), statement: str = "idempotence") -> Claim:
        """The same, refuted by the input described in `where`."""
        return self._no_symmetry(IDEMPOTENCE_DEFECT, "idempotence", statement, "is idempotent", where, assumes)

    def shrunk_contraction(
        self, omega: Any, assumes: tuple[Hypothesis, ...] = (), axis: str = "n", extremal: str = ""
    ) -> Claim:
        """C/(1 + omega) contracts by omega/(1 + omega); attained where the variance bound is, named in `extremal`.

        Without `extremal` the variance is omega ||x||^2 for every x, and the claim is an equality.
        """
        bound = sp.piecewise_fold(1 - 1 / (1 + omega))
        relation = Le if extremal else Eq
        return Claim(
            name=f"{self.name}.shrunk_contraction",
            title=f"{self._subject} divided by 1 + omega is contractive with alpha = 1/(1 + omega)",
            relation=relation(SHRUNK_ERROR, bound),
            kind=Kind.EXPECTED,
            assumes=(NONZERO, *assumes),
            source=derived(
                "C is unbiased with variance v ||x||^2, v <= omega: the squared error of C/(1+omega) is its variance "
                "v/(1+omega)^2 and its squared bias (omega/(1+omega))^2, together at most omega/(1+omega), with "
                "equality iff v = omega."
            ),
            tightness=1 if extremal else None,
            extremal=extremal,
            axis=axis,
        )

    def _symmetry(
        self, quantity: Any, plain: str, statement: str, verb: str, why: str, assumes: tuple[Hypothesis, ...]
    ) -> Claim:
        return Claim(
            name=f"{self.name}.{statement}",
            title=self._titled(verb, statement, plain),
            relation=Eq(quantity, 0),
            kind=self._kind,
            assumes=assumes,
            source=derived(why, ASKED_OF_ALL),
        )

    def _no_symmetry(
        self, quantity: Any, plain: str, statement: str, verb: str, where: str, assumes: tuple[Hypothesis, ...]
    ) -> Claim:
        return Claim(
            name=f"{self.name}.{statement}",
            title=self._titled(verb, statement, plain),
            relation=Eq(quantity, 0),
            kind=self._kind,
            assumes=assumes,
            source=derived(f"Refuted by one input: {where}.", ASKED_OF_ALL),
            stands=Standing.REFUTED,
            extremal=where,
            note=f"It does not: {where}.",
        )


def _variant(statement: str, plain: str) -> str:
    """How a title ends, by what the statement's name has after the name of the plain one."""
    return _VARIANTS.get(statement.removeprefix(plain).removeprefix("_"), "")
