"""An all-reduce that is a function, asked for more than its result: exact sums, and the bits of a promise: `Asked`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from commbounds._arrays import same_bits, stacked
from commbounds._exact import assert_exact, covering_inputs
from commbounds._orders import SCHEDULES, Order, in_one_format, replayed, schedule_order
from commbounds._replayed import assert_replayed
from commbounds._reveal import ASKABLE, Revealed, reveal
from commbounds.array_types import Array
from commbounds.theory.precision.formats import FORMATS, Format, format_named
from commbounds.theory.precision.roundings import one_name


@dataclass(frozen=True)
class Asked:
    """The function, and what rank 0 got of it.

    Parameters
    ----------
    reduce : callable
        Takes stacked inputs of the shape of `stack`.
    stack : (P, ...) array
        The inputs that are judged.
    row : (n,) array
        What rank 0 got of them.
    op : {"sum", "mean"}
        What is asked for.
    """

    reduce: Callable[[Array], Any]
    stack: Array
    row: Array
    op: str

    @property
    def _flat(self) -> Array:
        return self.stack.reshape(len(self.stack), -1)

    def require_exact(self, wire: Format) -> None:
        """The exact sums of inputs that no order of additions rounds, and to which every rank brings something."""
        P, n = self._flat.shape
        if self.op == "mean" and P & (P - 1):
            return
        for x in covering_inputs(P, n, wire, P if self.op == "mean" else 1):
            asked = x.astype(self.stack.dtype).reshape(self.stack.shape)
            try:
                assert_exact(self.reduce(asked.copy()), asked, op=self.op)
            except AssertionError as error:
                error.add_note("It was asked with inputs of which every order of additions gives the same bits.")
                raise

    @cached_property
    def _revealed(self) -> Revealed:
        """What is found out."""
        P, n = self._flat.shape
        return reveal(self._of_rows, P, n, self.stack.dtype.name)

    @cached_property
    def order(self) -> Order | None:
        """The order that is revealed, which has the bits for `stack`; None where none is."""
        found = self._revealed.order
        if found is not None:
            assert_replayed(self.row, self._flat, found)
        return found

    def _of_rows(self, x: Array) -> Array:
        found = stacked(self.reduce(x.reshape(self.stack.shape)), "the result")
        return found.reshape(x.shape if found.shape == self.stack.shape else -1)

    def has_promised(
        self, schedule: str, accumulate: str | None, nodes: int | None, average: str | None, per_hop: bool
    ) -> bool:
        """Whether it has the bits of the schedule, or those that its formats give by the order that is revealed.

        Raises
        ------
        AssertionError
            It has neither, or those of no additions of two that are rounded to nearest, as a schedule's are. Where that
            cannot be said, False is returned.
        """
        P, n = self._flat.shape
        dtype = self.stack.dtype.name
        schedule = one_name(schedule)
        if schedule in SCHEDULES and (self.op == "sum" or average not in (None, "any")):
            how: dict[str, Any] = {"accumulate": accumulate, "per_hop": per_hop, "nodes": nodes, "average": average}
            order = schedule_order(schedule, P, n, dtype, **how)
            if self._has(order):
                return True
            wider = [form.name for form in FORMATS.values() if form.holds(FORMATS[dtype])]
            others = [in_one_format(order, dtype, other, sent) for other in wider for sent in (True, False)]
            if any(map(self._has, others)):
                assert_replayed(self.row, self._flat, order)  # which names the format
        if self.order is None:
            found = self._revealed
            # in a wide accumulator no one is lost beside a mask, whatever the order
            mask, one = ASKABLE[dtype]
            askable = mask - one > format_named(accumulate or dtype).digits + 1
            if found.deterministic and schedule in SCHEDULES and self.op == "sum" and askable:
                raise AssertionError(
                    f"all-reduce of {P} ranks: its bits are not those of {schedule}, nor of any additions of two terms "
                    f"that are rounded to nearest\n    not found out: {'; '.join(found.unknown)}"
                )
            return False
        # where sums are rounded on their way, those that stay at a rank need not be
        wanted = [in_one_format(self.order, dtype, accumulate, per_hop)]
        wanted += [in_one_format(self.order, dtype, accumulate)] if per_hop else []
        if not any(map(self._has, wanted)):
            assert_replayed(self.row, self._flat, wanted[0])
        return True

    def _has(self, order: Order) -> bool:
        return bool(np.all(same_bits(self.row, replayed(self._flat, order))))
