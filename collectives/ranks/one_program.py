"""`Collective`: what P ranks do together, defined by the program of one of them, with one docstring for both."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from commbounds.collectives._stack import checked_stack
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.lockstep import in_one_process
from commbounds.collectives.traffic import Traffic

__all__ = ["Collective", "one_program"]

Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
_MISSING = object()


class Collective(Generic[Q, R, S]):
    """A collective: called with what all ranks bring, it returns what they end with, and the traffic.

    Parameters
    ----------
    program : callable (Communicator, part, ...) -> R
        What one rank does. Its docstring is the collective's, and speaks of all ranks.
    result : callable (list of P R) -> S
        What all ranks end with, of what each does.
    stack : str
        What the first parameter is called, in which a caller gives all ranks' parts.
    checked : callable (stack) -> sequence of P parts
        The ranks' parts, where they are good; raises TypeError or ValueError where not.
    fused : callable (parts, ...) -> (S, Traffic), or None
        Carries out all ranks at once, where their programs in lockstep would take too long: the same bits, the same
        traffic, the same errors. A pairing holds the two together.

    Attributes
    ----------
    on_rank : callable (Communicator, part, ...) -> R
        The program: this rank's part takes the place of the stack, everything else is the same on all ranks. Phases of
        the traffic are named on the communicator. It raises on all ranks what the collective raises for one of them,
        and TypeError or ValueError where ranks that have callers of their own do not agree.
    """

    def __init__(
        self,
        program: Callable[Concatenate[Communicator, Any, Q], R],
        result: Callable[[list[R]], S],
        stack: str,
        checked: Callable[[Any], Any],
        fused: Callable[Concatenate[Any, Q], tuple[S, Traffic]] | None,
    ) -> None:
        self.on_rank = program
        self._result, self._stack, self._checked, self._fused = result, stack, checked, fused
        update_wrapper(self, program)
        self.__name__, self.__qualname__ = program.__name__, program.__qualname__
        signature = inspect.signature(program)
        _, part, *others = signature.parameters.values()
        self.__signature__ = signature.replace(
            parameters=[part.replace(name=stack), *others], return_annotation=inspect.Signature.empty
        )

    def __call__(self, stack: Any = _MISSING, /, *others: Q.args, **settings: Q.kwargs) -> tuple[S, Traffic]:
        """What all ranks end with, and the traffic."""
        if stack is _MISSING:
            stack = settings.pop(self._stack, _MISSING)
        if stack is _MISSING:
            raise TypeError(f"{self.__name__}() misses its argument {self._stack!r}")
        parts = self._checked(stack)
        if self._fused is not None:
            return self._fused(parts, *others, **settings)
        run = self.on_rank
        results, traffic = in_one_process(lambda comm: run(comm, parts[comm.rank], *others, **settings), len(parts))
        return self._result(results), traffic

    def __reduce__(self) -> str:
        return self.__qualname__


def one_program(
    result: Callable[[list[R]], S],
    *,
    stack: str = "stack",
    checked: Callable[[Any], Any] | None = None,
    fused: Callable[..., tuple[S, Traffic]] | None = None,
) -> Callable[[Callable[Concatenate[Communicator, Any, Q], R]], Collective[Q, R, S]]:
    """A decorator that makes the program of one rank the `Collective` of all; see there for the parameters.

    `checked` is `checked_stack` if not given: the parts are vectors, finite, of one length and dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from commbounds.collectives.ranks import parcel
    >>> @one_program(np.stack)
    ... def shifted(comm, vector, distance):
    ...     target, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
    ...     return comm.step({target: parcel(vector)}, [source])[source].arrays[0]
    >>> result, traffic = shifted([[1.0], [2.0], [3.0]], 1)
    >>> result.ravel().tolist(), traffic.sent.tolist()
    ([3.0, 1.0, 2.0], [1, 1, 1])
    """
    check = checked or partial(checked_stack, name=stack)
    return lambda program: Collective(program, result, stack, check, fused)
