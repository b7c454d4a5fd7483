"""`Definition`: an implementation beside its slow, obvious twin, on the cases of a space; all they say is compared.

Bounds say what a thing may do, its definition says what it is. That the two agree is a claim like any other,
``COLUMN.NAME.definition``: the number of values that differ is zero.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, is_dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from commbounds.collectives.ranks.one_program import Collective
from commbounds.verify.differences import Said, differences, identical, other_bits, plain, returned_memory
from commbounds.verify.space import Space
from commbounds.verify.vectors.case import VectorCase
from commbounds.verify.vectors.compressors import received
from commbounds.verify.watched_ranks import OneCaller, WatchedRanks


@dataclass(frozen=True, eq=False)
class Given:
    """What an implementation is given.

    Parameters
    ----------
    inputs, parameters, randomness : mapping of str to values
        As in a test vector: vectors and states; hyper-parameters and options; what is drawn, which is injected.
    """

    inputs: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    randomness: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, dict[str, Any]]:
        """The same for a twin, which knows nothing of ours: see `plain`."""
        return {
            "inputs": {name: plain(value) for name, value in self.inputs.items()},
            "parameters": {name: plain(value) for name, value in self.parameters.items()},
            "randomness": {name: plain(value) for name, value in self.randomness.items()},
        }

    @property
    def named(self) -> dict[str, Any]:
        """Everything by name."""
        return {**self.inputs, **self.parameters, **self.randomness}

    def changed(self, name: str, value: Any) -> "Given":
        """The same with another value of that name, which is a parameter where it is neither an input nor drawn."""
        for part in ("inputs", "randomness"):
            if name in getattr(self, part):
                return replace(self, **{part: {**getattr(self, part), name: value}})
        return replace(self, parameters={**self.parameters, name: value})


REFUSED = "refused"
"""The name under which a twin says by which kind of error an input is refused: {"refused": "ValueError"}."""
DRAWN_NEXT = "drawn next"
"""The name under which it is compared what a generator gives after all that was drawn of it."""


# --- the definition ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Definition:
    """What an implementation is, and where that is tried.

    Parameters
    ----------
    space : Space
        The cases; `make` gives a `Given` for their settings. Arrays of every fourth are not contiguous,
        and every fourth has numbers of NumPy's narrowest types, see `retyped`.
    run : callable (implementation, Given) -> mapping
        What the implementation says: everything that it returns, states, masks, counters and traffic among it.
    twin : callable (mapping) -> mapping
        What the definition says of the same, given as `Given.plain` has it.
    unsaid : tuple of (pattern, reason)
        What of `run` the twin says nothing of.
    examples : callable () -> iterable of Given, or None
        Cases by hand besides: those of the test vectors.
    refused : mapping of str to sequence
        Values of parameters, or `Of` the row's settings, that are refused by a ValueError in whatever row: those just
        beyond the ends of their ranges. The ends themselves are values of the space.
    own : mapping of str to str
        What need not be the same on all ranks, and why. Of what they are given, besides their parts and matrices with a
        row for each: whatever else one rank alone has another value of must be refused. Of what they end with, besides
        what is shown rank by rank: all else must be equal.
    together : tuple of str
        What refusals say of rows that ranks with callers of their own may not give; they may give all others.
    believed : mapping of str to str
        Which forms of a message, or of what one rank brings, ranks do not look at, its "dtype" or its "length", and
        why: others must be refused.
    exact : tuple of inputs
        Of a compressor: where its `law` is compared with what its kernel does, once for all hyper-parameters that rows
        have; tuples of rationals, of no more than five entries.
    lawful : callable (hyper-parameters) -> bool
        Whether `law` is what the kernel does with these.
    takes_seed : bool
        Whether the implementation is given `seed` itself; else a generator of it, and what that gives next is compared.
    """

    space: Space
    run: Callable[[Any, Given], Said]
    twin: Callable[[Mapping[str, Any]], Said]
    unsaid: tuple[tuple[str, str], ...] = ()
    examples: Callable[[], Sequence[Given]] | None = None
    refused: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    together: tuple[str, ...] = ()
    believed: Mapping[str, str] = field(default_factory=dict)
    exact: tuple[tuple[Fraction, ...], ...] = ()
    lawful: Callable[[Mapping[str, Any]], bool] = lambda _: True
    takes_seed: bool = False

    def said(self, given: Given) -> Said:
        """What the definition says of a case."""
        given = self._streamed(given)
        with np.errstate(all="ignore"):  # sums that overflow are among the cases
            return _drawn_on(self.twin(given.plain()), given)

    def _streamed(self, given: Given) -> Given:
        """The same with a generator in place of its seed, where that is what the implementation takes."""
        if self.takes_seed or "seed" not in given.randomness:
            return given
        return given.changed("seed", np.random.default_rng(given.randomness["seed"]))

    @cached_property
    def several_ranks(self) -> list[tuple[int, Given]]:
        """Rows with two to five ranks, which have no state from before, and their P."""
        rows = self.space.covering() if "P" in self.space.axes else []
        made = ((row["P"], self.space.make(**row)) for row in rows if 1 < row["P"] < 6)
        return [(P, given) for P, given in made if not any(map(is_dataclass, given.inputs.values()))]

    def differences(self, implementation: Any, given: Given, said: Said | None = None) -> list[str]:
        """How the implementation differs from its definition on one case: see `differences`.

        Parameters
        ----------
        implementation : callable
            It.
        given : Given
            The case. That the implementation leaves its inputs as they are is part of every definition.
        said : mapping, or None
            What `said` has for the case, where that is known.
        """
        said = self.said(given) if said is None else said
        given = self._streamed(given)
        before = given.plain()
        if isinstance(implementation, Collective) and implementation.result is not None:
            implementation = OneCaller(implementation, self.own)
        try:
            with np.errstate(all="ignore"):
                found = _drawn_on(self.run(implementation, given), given)
        except Exception as error:  # it is compared with the refusal that the definition asks for, or shown
            kind = "TypeError" if isinstance(error, TypeError) else type(error).__name__
            return [] if said == {REFUSED: kind} else [f"raises {type(error).__name__}: {error}"]
        if REFUSED in said:
            return [f"takes what must be refused by a {said[REFUSED]}"]
        after = given.plain()
        unlike = [] if identical(after, before) else differences(after, before)
        changed = [f"changes what it is given: {line}" for line in unlike]
        shared = [f"returns the memory of {name}" for name in returned_memory(found, given.named)]
        apart = implementation.unlike if isinstance(implementation, WatchedRanks) else []
        return changed + shared + apart + differences(found, said, self.unsaid)


def _drawn_on(said: Said, given: Given) -> Said:
    """What is said, and what the generator of the case gives next, if it has one and is not refused."""
    stream = given.randomness.get("seed")
    if REFUSED in said or not isinstance(stream, np.random.Generator):
        return said
    return {**said, DRAWN_NEXT: stream.bytes(12).hex()}  # half a word may be left over, and counts


# --- how things are run ------------------------------------------------------------------------------------------


def chosen(default: str | None = None, /, **settings: Any) -> dict[str, Any]:
    """The settings but for those that are `default`: these are left out of the call, whose defaults count.

    Examples
    --------
    >>> chosen(k=2, rule=None)
    {'k': 2}
    >>> chosen("default", k=None, rule="default")
    {'k': None}
    """
    return {
        name: value
        for name, value in settings.items()
        if value is not default and not (isinstance(value, str) and value == default)
    }


def with_generator(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """What is drawn; in place of a `seed` the generator of that seed, as `rng`."""
    given = dict(drawn)
    if "seed" in given:
        given["rng"] = np.random.default_rng(given.pop("seed"))
    return given


Names = str | tuple["Names", ...]
"""A name, or names of the parts of a tuple."""


def _parts(names: Names, found: Any) -> dict[str, Any]:
    if isinstance(names, str):
        return {names: found}
    pairs = zip(names, found, strict=True)
    return {name: part for held, value in pairs for name, part in _parts(held, value).items()}


def called(*names: Names) -> Callable[[Any, Given], Said]:
    """Calls the implementation with everything that is given, and names the parts of what it returns.

    Parameters
    ----------
    names : str or tuple of str
        Of the parts in their order: ``called(("sums", "weights"), "traffic")`` of ``(sums, weights), traffic``.
    """

    def run(implementation: Any, given: Given) -> Said:
        found = implementation(**given.inputs, **given.parameters, **with_generator(given.randomness))
        return _parts(names if len(names) > 1 else names[0], found)

    return run


def in_rounds(
    result: str,
    carried: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]],
    of_round: Callable[[Mapping[str, Any], int], Mapping[str, Any]] = lambda parameters, _round: parameters,
) -> Callable[[Any, Given], Said]:
    """Calls a method with memory, every round from what the one before left; of a test vector the single one.

    Parameters
    ----------
    result : str
        The name of what is returned beside traffic, where that is no tuple with names.
    carried : callable (inputs, what was said) -> inputs
        Of the next round; `stack` is taken from what is given as `stacks`.
    of_round : callable (parameters, number) -> parameters
        Those of a round.
    """

    def said(implementation: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        state, traffic = implementation(**given)
        return {**(state._asdict() if hasattr(state, "_asdict") else {result: state}), "traffic": traffic}

    def run(implementation: Any, given: Given) -> Said:
        if "stack" in given.inputs:
            return said(implementation, given.named)
        inputs: Mapping[str, Any] = {name: value for name, value in given.inputs.items() if name != "stacks"}
        done = []
        for t, stack in enumerate(given.inputs["stacks"]):
            drawn = {name: values[t] for name, values in given.randomness.items()}
            inputs = {**inputs, "stack": stack}
            done.append(said(implementation, {**inputs, **of_round(given.parameters, t), **drawn}))
            inputs = carried(inputs, done[-1])
        return {"steps": done}

    return run


def compressed(implementation: Any, given: Given) -> Said:
    """Compresses the x that is given, with its hyper-parameters and draws: message, its size, what is read of it.

    A call of the compressor, which may take a shorter way, has to return the same: where it does not, that is said too.
    """
    drawn = deepcopy(given.randomness)  # the call has the same generator, not what the message leaves of it
    case = VectorCase("", "", given.inputs, given.parameters, given.randomness)
    compressor = implementation(**given.parameters)
    said = received(compressor, case)
    return said if not _is_called(given) else {**said, **_called_apart(compressor, given, drawn, said["output"])}


def _is_called(given: Given) -> bool:
    """Whether the compressor can be called, which takes a generator or nothing, with what is drawn here."""
    return not given.randomness or "seed" in given.randomness


def _called_apart(compressor: Any, given: Given, drawn: Mapping[str, Any], output: Any) -> Said:
    """What a call returns, where it is not what is read of the message: of that no definition says anything.

    Nor of where it leaves its generator, if that is not where the message left the other one.
    """
    rng = np.random.default_rng(drawn["seed"]) if drawn else None
    found = compressor(given.inputs["x"], rng)
    called = {"called": found} if other_bits(found, np.asarray(output)) else {}
    streams = (rng, given.randomness.get("seed"))
    states = {repr(one.bit_generator.state) for one in streams if isinstance(one, np.random.Generator)}
    return called if len(states) < 2 else {**called, "called, drawn next": "something else"}


def givens(cases: Iterable[VectorCase]) -> list[Given]:
    """What test vectors are given, as examples of a definition."""
    return [Given(case.inputs, case.parameters, case.randomness) for case in cases]


def vectors_of(definition: Definition, implementation: Any) -> Callable[[VectorCase], Said]:
    """What a test vector expects: the same as the claim compares."""
    return lambda case: definition.run(implementation, Given(case.inputs, case.parameters, case.randomness))
