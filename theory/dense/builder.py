"""An all-reduce, as the builder of the claims that all four dense ones make."""

from dataclasses import dataclass, replace
from typing import Any

from commbounds.theory.claim import Claim, Eq, Hypothesis, Le, Source, Standing, for_one_reason
from commbounds.theory.cost import critical_steps, critical_words
from commbounds.theory.dense.terms import (
    DIFFERING,
    EXACT_INTEGERS,
    HIGHAM_2002,
    IN_RANGE,
    OUT_OF_ORDER,
    RELATIVE_SUM_ERROR,
    WRONG_SUMS,
    unit,
)
from commbounds.theory.quantities import Quantity
from commbounds.theory.schedules import DENSE_LOWER_BOUND, EXACT, SCHEDULES
from commbounds.theory.sources import derived
from commbounds.theory.traffic import CRITICAL_PATH, MEAN_RECEIVED, STEPS


@dataclass(frozen=True)
class AllReduceClaims:
    """An all-reduce, as the builder of the claims that all four make."""

    name: str
    title: str

    def equal(
        self,
        statement: str,
        quantity: Quantity,
        title: str,
        value: Any,
        source: Source,
        *assumes: Hypothesis,
        **more: Any,
    ) -> Claim:
        """That a quantity is `value`, whatever the input."""
        return Claim(
            name=f"dense.{self.name}.{statement}",
            title=f"{self.title[0].upper()}{self.title[1:]}: {title}",
            relation=Eq(quantity, value),
            source=source,
            assumes=assumes,
            **{"axis": "P", **more},
        )

    def counted(self, *unpinned: tuple[str, str]) -> tuple[Claim, ...]:
        """Words and steps on the critical path, for every P and n; `unpinned` is about the words."""
        exact = EXACT[self.name]
        summed = "Steps and words of the schedule, summed by sympy. "
        return (
            self.equal(
                "critical_path",
                CRITICAL_PATH,
                "words on the critical path, for every P and n",
                critical_words(exact),
                derived(summed + exact.source.proof),
                unpinned=unpinned,
            ),
            self.equal(
                "steps", STEPS, "steps, for every P", critical_steps(exact), derived(summed + exact.source.proof)
            ),
        )

    def printed(self, where: str, why: str, source: Source | None = None) -> Claim:
        """The formula of the literature, or of `source`, beyond the conditions that it is exact under."""
        schedule = SCHEDULES[self.name]
        assert schedule.printed is not None
        return self.equal(
            "words_any_ranks",
            CRITICAL_PATH,
            "the printed formula holds for every P and n",
            schedule.printed.words,
            source
            or replace(
                schedule.source,
                proof=why,
                reading="It is read for every P and n; it is printed for numbers that divide evenly.",
            ),
            stands=Standing.HOLDS_AS_CORRECTED,
            corrected_by=f"dense.{self.name}.critical_path",
            extremal=where,
            note=f"Exact only if {' '.join(h.statement for h in schedule.assumes)} {why}",
        )

    def exact_sum(self) -> Claim:
        """Every rank ends with the sum."""
        return self.equal(
            "sum",
            WRONG_SUMS,
            "every rank ends with the sum",
            0,
            derived(
                "The order of additions does not depend on the entries. If rank p holds 4^p, the result shows how "
                "often every rank was added, and to which entry."
            ),
            EXACT_INTEGERS,
        )

    def rounding(self, depth: Any, why: str) -> Claim:
        """How far the result may be from the sum."""
        return Claim(
            name=f"dense.{self.name}.rounding",
            title=f"{self.title[0].upper()}{self.title[1:]}: rounding error of the sum, on every rank",
            relation=Le(RELATIVE_SUM_ERROR, depth * unit / (1 - depth * unit)),
            source=HIGHAM_2002.second_hand(
                "sections 3.4 and 4.2: error of a sum by a tree of additions of height h, h u/(1 - h u)",
                f"Every entry passes through at most h = {why} additions, each of which multiplies by 1 + d with "
                "|d| <= u/(1 + u), and additions do not underflow. So every term carries a factor within (1 +- u/(1 + "
                "u))^h, and (1 + u)^h - 1 <= hu/(1 - hu). With two ranks 1 + u is rounded to 1, an error of u/(1 + u); "
                "for larger h the second inequality loses more.",
            ),
            assumes=(IN_RANGE,),
            tightness=(1 - unit) / (1 + unit),
            extremal="two ranks, which hold 1 and u",
            axis="P",
            note="Half of the range is reserved for rounding: five terms whose sum is the largest number may overflow "
            "in partial sums.",
            unpinned=for_one_reason(
                "loose by nature: in the denominator hu is of second order in u, and so is the slack; hu itself is "
                "changed by other neighbours, which cases refute",
                f"without the factor {depth}",
                "without the factor 1/(-unit*",
                "without the term P",
            ),
        )

    def agreement(self, why: str) -> Claim:
        """All ranks end with the same bits."""
        return self.equal("agreement", DIFFERING, "all ranks end with the same bits", 0, derived(why), IN_RANGE)

    def order(self, where: str, why: str) -> Claim:
        """That the result is the sum in the order of the ranks."""
        return self.equal(
            "rank_order",
            OUT_OF_ORDER,
            "the bits are those of adding the ranks one after another",
            0,
            derived(f"Refuted by {where}."),
            IN_RANGE,
            stands=Standing.REFUTED,
            extremal=where,
            note=f"Results agree between ranks, not between algorithms: {why}",
        )

    def optimal(self, why: str) -> Claim:
        """The mean of the words received is the lower bound, exactly."""
        return self.equal(
            "mean_received",
            MEAN_RECEIVED,
            "a rank receives the lower bound 2n(P - 1)/P on average, for every P and n",
            DENSE_LOWER_BOUND,
            derived(why),
        )
