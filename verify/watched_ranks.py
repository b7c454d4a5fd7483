"""Collectives whose ranks are looked at one by one, with one caller or with a caller each."""

from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from commbounds.collectives.ranks.lockstep import LockstepWorld, in_one_process
from commbounds.verify.differences import identical, plain, returned_memory


class WatchedRanks:
    """A collective each of whose ranks is looked at: of what is the same on all ranks it shows what rank 0 has.

    Parameters
    ----------
    collective : Collective
        It.
    own : collection of str
        Fields of what a rank ends with that need not be the same.
    """

    def __init__(self, collective: Any, own: Collection[str]) -> None:
        self._collective, self._own = collective, own
        self.unlike: list[str] = []
        """What is not the same on all ranks and not shown, a line each."""

    def _of_all(self, results: list[Any]) -> Any:
        unlike = unshown(self._collective.result, results) - {*self._own}
        self.unlike += [f"{name} is not the same on all ranks" for name in sorted(unlike)]
        return self._collective.result(results)


class OwnCallers(WatchedRanks):
    """A collective whose ranks have callers of their own, in lockstep.

    Parameters
    ----------
    collective, own
        As of `WatchedRanks`.
    others : mapping of str to values
        What the middle one of the ranks is given in place of what all others are.
    world : LockstepWorld
        Where they run.
    brought : callable (part) -> part
        What the middle one brings in place of its part.
    """

    def __init__(
        self,
        collective: Any,
        own: Collection[str] = (),
        others: Mapping[str, Any] | None = None,
        world: LockstepWorld | None = None,
        brought: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(collective, own)
        self._others, self._world, self._brought = others, world or LockstepWorld(), brought

    def __call__(self, *stack: Any, **settings: Any) -> Any:
        name = self._collective.stack
        parts = self._collective.parts(*(stack or (settings[name],)))
        if self._brought is not None:
            parts = [self._brought(part) if rank == len(parts) // 2 else part for rank, part in enumerate(parts)]
        others = settings if self._others is None else self._others

        def own_of(rank: int) -> dict[str, Any]:
            given = others if rank == len(parts) // 2 else settings
            return {key: _own_copy(value) for key, value in given.items() if key != name}

        held = [own_of(rank) for rank in range(len(parts))]
        results, traffic = self._world.run(
            lambda comm: self._collective.on_rank(comm, parts[comm.rank], **held[comm.rank]), len(parts)
        )
        if self._collective.result is None or self._others is not None or self._brought is not None:
            raise CarriedOut
        for rank, (part, ended) in enumerate(zip(parts, results, strict=True)):
            self.unlike += [f"rank {rank} returns the memory of {one}" for one in returned_memory(ended, {name: part})]
        for key, value in settings.items():  # the next round draws on
            if isinstance(value, np.random.Generator):
                states = [one[key].bit_generator.state for one in held]
                if states.count(states[0]) < len(held):
                    self.unlike.append(f"{key} does not give the same next on all ranks")
                value.bit_generator.state = states[0]
        return self._of_all(results), traffic


def _own_copy(value: Any) -> Any:
    return deepcopy(value) if isinstance(value, np.random.Generator) else value


class CarriedOut(Exception):
    """All ranks have carried it out."""


class OneCaller(WatchedRanks):
    """A collective whose ranks have one caller, and which does nothing but to run its program."""

    def __call__(self, *given: Any, **settings: Any) -> Any:
        collective = self._collective
        if not given:
            given = (settings.pop(collective.stack),)
        parts = collective.parts(given[0])
        results, traffic = in_one_process(
            lambda comm: collective.on_rank(comm, parts[comm.rank], *given[1:], **settings), len(parts)
        )
        return self._of_all(results), traffic


def unshown(result: Callable[[list[Any]], Any], results: list[Any]) -> set[str]:
    """The parts of what ranks end with that are not the same on all, and make no difference to what all end with."""
    found, whole, parts = set(), None, [_parts_of(one) for one in results]
    for name, value in parts[0].items():
        if all(identical(one[name], value) for one in parts[1:]):
            continue
        whole = plain(result(results)) if whole is None else whole
        if identical(plain(result([_replaced(one, name, value) for one in results])), whole):
            found.add(name)
    return found


_WHOLE = "result"


def _parts_of(ended: Any) -> dict[str, Any]:
    """The fields of what a rank ends with, by name; what has none is one part."""
    if is_dataclass(ended):
        return {one.name: getattr(ended, one.name) for one in fields(ended)}
    if hasattr(ended, "_asdict"):
        return dict(ended._asdict())
    return {str(place): part for place, part in enumerate(ended)} if isinstance(ended, tuple) else {_WHOLE: ended}


def _replaced(ended: Any, name: str, value: Any) -> Any:
    if is_dataclass(ended) and not isinstance(ended, type):
        return replace(ended, **{name: value})
    if hasattr(ended, "_replace"):
        return ended._replace(**{name: value})
    if isinstance(ended, tuple):
        return tuple(value if str(place) == name else part for place, part in enumerate(ended))
    return value
