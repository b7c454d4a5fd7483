"""`Collective`: what P ranks do together, defined by the program of one of them; they share a docstring."""

import inspect
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from commbounds.collectives._stack import checked_stack
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.lockstep import in_one_process
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import of_python_numbers

Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
_MISSING = object()


class Collective(Generic[Q, R, T]):
    """A collective: called with what all ranks bring, it returns what they end with, and the traffic.

    Parameters
    ----------
    program : callable (Communicator, part, ...) -> R
        What one rank does. Its docstring is the collective's, and speaks of all ranks.
    all_ranks : callable (parts, ...) -> T
        What all ranks do, given the parts of all: as a rule what they end with, and the traffic.
    stack : str
        What the first argument is called.
    checked : callable (stack) -> sequence of P parts
        The ranks' parts, where they are good; raises TypeError or ValueError where not.
    result : callable (list of P R) -> object, or None
        Of what each rank ends with, what all do, where `all_ranks` does nothing but to run the program on every rank.

    Attributes
    ----------
    stack, result
        As given.
    on_rank : callable (Communicator, part, ...) -> R
        The program: this rank's part takes the place of the stack, everything else is the same on all ranks. Phases of
        the traffic are named on the communicator. It raises on all ranks what the collective raises for one of them,
        and TypeError or ValueError where ranks that have callers of their own do not agree.
    """

    def __init__(
        self,
        program: Callable[Concatenate[Communicator, Any, Q], R],
        all_ranks: Callable[Concatenate[Any, Q], T],
        stack: str,
        checked: Callable[[Any], Any],
        result: Callable[[list[R]], Any] | None = None,
    ) -> None:
        self.on_rank, self.stack = of_python_numbers(program), stack
        self.result = result
        self._all_ranks, self._checked = of_python_numbers(all_ranks), checked
        update_wrapper(self, program)
        self.__name__, self.__qualname__ = program.__name__, program.__qualname__
        signature = inspect.signature(program)
        _, part, *others = signature.parameters.values()
        self.__signature__ = signature.replace(
            parameters=[part.replace(name=stack), *others], return_annotation=inspect.Signature.empty
        )

    def __call__(self, stack: Any = _MISSING, /, *others: Q.args, **settings: Q.kwargs) -> T:
        """What all ranks end with, and the traffic."""
        if stack is _MISSING:
            stack = settings.pop(self.stack, _MISSING)
        if stack is _MISSING:
            raise TypeError(f"{self.__name__}() misses its argument {self.stack!r}")
        return self._all_ranks(self.parts(stack), *others, **settings)

    def parts(self, stack: Any) -> Any:
        """Every rank's part of what all ranks bring.

        Raises
        ------
        TypeError, ValueError
            They are not good: as the collective raises.
        """
        return self._checked(stack)

    def __repr__(self) -> str:
        return f"<collective {self.__name__}{self.__signature__}>"

    def __reduce__(self) -> str:
        return self.__qualname__


def one_program(
    result: Callable[[list[R]], S], *, stack: str = "stack", checked: Callable[[Any], Any] | None = None
) -> Callable[[Callable[Concatenate[Communicator, Any, Q], R]], Collective[Q, R, tuple[S, Traffic]]]:
    """A decorator that makes a rank's program a `Collective`, whose ranks run in lockstep in one process.

    Parameters
    ----------
    result : callable (list of P R) -> S
        What all ranks end with, of what each does.
    stack, checked
        As for `Collective`; `checked_stack` if not given: parts are vectors, finite, of one length and dtype.

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

    def collective(program: Callable[Concatenate[Communicator, Any, Q], R]) -> Collective[Q, R, tuple[S, Traffic]]:
        def all_ranks(parts: Any, /, *others: Q.args, **settings: Q.kwargs) -> tuple[S, Traffic]:
            results, traffic = in_one_process(
                lambda comm: program(comm, parts[comm.rank], *others, **settings), len(parts)
            )
            return result(results), traffic

        check = checked or partial(checked_stack, name=stack)
        return Collective(program, all_ranks, stack, check, result)

    return collective


def fused_program(
    all_ranks: Callable[..., T], *, stack: str = "stack", checked: Callable[[Any], Any] | None = None
) -> Callable[[Callable[Concatenate[Communicator, Any, Q], R]], Collective[Q, R, T]]:
    """As `one_program`, for ranks that would take too long in lockstep: all are carried out at once.

    Parameters
    ----------
    all_ranks : callable (parts, ...) -> T
        Ends with the same bits and the same traffic as the programs, and raises the same errors: a pairing holds it to
        them.
    stack, checked
        As for `one_program`.

    Raises
    ------
    TypeError
        Where the two have other defaults for a parameter.
    """
    check = checked or partial(checked_stack, name=stack)

    def collective(program: Callable[Concatenate[Communicator, Any, Q], R]) -> Collective[Q, R, T]:
        ours, its = (
            {name: one.default for name, one in inspect.signature(function).parameters.items()}
            for function in (all_ranks, program)
        )
        if {name for name in ours.keys() & its.keys() if ours[name] is not its[name] and ours[name] != its[name]}:
            raise TypeError(f"{program.__name__} has other defaults where all ranks are carried out at once")
        return Collective(program, all_ranks, stack, check)

    return collective
