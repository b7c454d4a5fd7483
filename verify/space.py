"""`Space`: the cases of one subject, declared once; every pair of values, every triple with P, is among them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.verify.covering import covering_array
from commbounds.verify.data import HIDING
from commbounds.verify.inputs import integers, sampled_from

Settings = dict[str, Any]
SEED = "seed"
"""The setting that numbers the rows; whatever a case draws is a function of its settings."""

EXACT = "exact"
"""The setting that says whether a case is computed in exact arithmetic; it belongs to the grid then."""


@lru_cache(maxsize=1 << 12)
def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the parameters of a function."""
    return tuple(inspect.signature(function).parameters)


@dataclass(frozen=True)
class Of:
    """A value that follows from axes declared before its own.

    Parameters
    ----------
    label : str
        In words, such as ``P + 1``; equal labels are equal values.
    function : callable
        Its parameters are named after the axes that it asks for.
    """

    label: str
    function: Callable[..., Any] = field(compare=False)

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the axes that the value follows from."""
        return parameters_of(self.function)

    def at(self, settings: Mapping[str, Any]) -> Any:
        """The value at these settings."""
        return self.function(*(settings[name] for name in self.needs))

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class LeftOut:
    """Combinations that a space leaves out.

    Parameters
    ----------
    reason : str
        Why, in a sentence.
    condition : callable -> bool
        True for what is left out; its parameters are named after the settings that it asks for.
    """

    reason: str
    condition: Callable[..., bool]

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the settings that decide."""
        return parameters_of(self.condition)

    def at(self, settings: Mapping[str, Any]) -> bool:
        """Whether these settings are left out."""
        return self.condition(*(settings[name] for name in self.needs))


RANKS = tuple(range(1, 10))
"""Numbers of ranks that every collective is run with."""


TILES = (15, 17, 31, 33, 63, 65, 127, 129, 255, 257)
"""Entries one off the sizes of tiles, of words and of buckets, on either side."""


def sizes(*more: int | Of, least: int = 1) -> tuple[Any, ...]:
    """Entries by class: `least`, below P, P, a multiple of P, one off it on either side, and whatever is given besides.

    Examples
    --------
    >>> [size.at({"P": 4}) if isinstance(size, Of) else size for size in sizes(16)]
    [1, 3, 4, 12, 13, 7, 16]
    """
    return (
        least,
        Of(f"P - 1, at least {least}", lambda P: max(P - 1, least)),
        Of(f"P, at least {least}", lambda P: max(P, least)),
        Of("3 P", lambda P: 3 * P),
        Of("3 P + 1", lambda P: 3 * P + 1),
        Of(f"2 P - 1, at least {least}", lambda P: max(2 * P - 1, least)),
        *more,
    )


def rationals(*values: str | int | float) -> tuple[Fraction, ...]:
    """The values as fractions; floats are the fractions that they are.

    Examples
    --------
    >>> rationals("1/3", 2, 0.5)
    (Fraction(1, 3), Fraction(2, 1), Fraction(1, 2))
    """
    return tuple(map(Fraction, values))


def _at(values: Iterable[Any] | Callable[..., Iterable[Any]], row: Settings) -> Iterable[Any]:
    return values(*(row[name] for name in parameters_of(values))) if callable(values) else values


def nothing() -> None:
    """Makes nothing: for cases that are their settings alone."""


@dataclass(frozen=True, eq=False)
class Space:
    """The cases of a subject.

    Parameters
    ----------
    make : callable (**settings) -> anything
        Makes what is measured of the settings of a case, and of nothing else.
    axes : mapping of str to sequence
        What varies, and its values, simplest first; a value may be `Of` axes before it.
    options : tuple of str
        Those of the axes of which every two are run together with every P; all but `P`, `n` and `data` by default.
    periods : tuple of str
        Axes whose values are periods, in rounds: there is an axis `rounds`, and a case where each comes round twice.
    combined : tuple of tuples of str
        Axes of which all combinations of values are run besides.
    left_out : tuple of LeftOut
        Combinations that are not run, each with its reason.
    wider : mapping of str to sequence, or to (low, high)
        What the search draws an axis from besides: values, or integers between two bounds.
    included : tuple of settings
        Rows that are run besides: see `including`.
    hiding : mapping of str to sequence
        Further values of axes, in rows of their own: see `hidden_by`.
    last : mapping of str to collection
        Values that a row has only where they are asked for, or no other fits, besides `HIDING`, what keeps a case from
        being computed exactly, and more than 33 entries. Of all others, where any would do, a row has the one that came
        least often.
    """

    make: Callable[..., Any]
    axes: Mapping[str, Sequence[Any]]
    options: tuple[str, ...] = ()
    periods: tuple[str, ...] = ()
    combined: tuple[tuple[str, ...], ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    wider: Mapping[str, Any] = field(default_factory=dict)
    included: tuple[Settings, ...] = ()
    hiding: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    last: Mapping[str, Collection[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, values in self.axes.items():
            if not len(values):
                raise ValueError(f"the axis {name} has no values")
            for value in values:
                missing = [need for need in value.needs if need not in self.axes] if isinstance(value, Of) else []
                if missing:
                    raise ValueError(f"{value} of the axis {name} asks for {', '.join(missing)}, which is no axis")

    def without(self, reason: str, condition: Callable[..., bool]) -> Space:
        """The space less what meets the condition, which is named after the settings that it asks for."""
        return replace(self, left_out=(*self.left_out, LeftOut(reason, condition)))

    def hidden_by(self, **hiding: Sequence[Any]) -> Space:
        """The space with further values of some axes, in rows of their own: each beside every P and every option.

        Those of one axis at a time; nothing else is covered by these rows. So run what hides other axes, such as a
        vector of zeros, and what takes long beside how much it tells, such as many rounds.
        """
        return replace(self, hiding={**self.hiding, **hiding})

    def search(self, **wider: Any) -> Space:
        """The space whose search draws these axes from more: values, or (low, high) for integers."""
        return replace(self, wider={**self.wider, **wider})

    def replaced(self, **axes: Sequence[Any]) -> Space:
        """The space with other values of some axes, or further axes; rows by hand have the first value of those."""
        space = replace(self, axes={**self.axes, **axes}, included=())
        return space.including(*(space.at(**row) for row in self.included))

    def including(self, *rows: Mapping[str, Any]) -> Space:
        """The space that has these rows too, such as those on which a bound is attained."""
        return replace(self, included=(*self.included, *map(dict, rows)))

    def taking_last(self, **values: Collection[Any]) -> Space:
        """The space whose rows have these values of axes only where they are asked for, or no other fits."""
        return replace(self, last={**self.last, **values})

    def at(self, **given: Any) -> Settings:
        """Settings with the values given, which may be `Of` others, and the first value of every other axis.

        Raises
        ------
        ValueError
            A name is no axis.
        """
        self.check(given)
        choice = {name: given.get(name, values[0]) for name, values in self.axes.items()}
        return {SEED: 0, **given, **self.settings_of(choice)}

    def check(self, names: Iterable[str]) -> None:
        """Raise a ValueError if a name is neither an axis nor the seed."""
        unknown = [name for name in names if name not in self.axes and name != SEED]
        if unknown:
            raise ValueError(f"{', '.join(unknown)} is no axis of the space, which has {', '.join(self.axes)}")

    def every(self, **axes: Iterable[Any] | Callable[..., Iterable[Any]]) -> list[Settings]:
        """Settings of all combinations of the values given that are not left out, other axes at their first values.

        Values may be a function: its parameters are named after axes before it, or `level`, the budget's, which is 0.
        """
        return self.every_at(0, axes)

    def every_at(self, level: int, axes: Mapping[str, Iterable[Any] | Callable[..., Iterable[Any]]]) -> list[Settings]:
        """See `every`."""
        self.check(axes)
        rows: list[Settings] = [{"level": level}]
        for name, given in axes.items():
            values = given if callable(given) else tuple(given)
            rows = [{**row, name: value} for row in rows for value in _at(values, row)]
        found = (self.at(**{name: row[name] for name in axes}) for row in rows)
        return [row for row in found if self.excluded(row) is None]

    # --- rows ---------------------------------------------------------------------------------------------------

    def settings_of(self, choice: Mapping[str, Any]) -> Settings:
        """The settings of a choice of one value an axis, where values that follow from others are worked out."""
        found: Settings = {}
        for name in self.axes:
            value = choice[name]
            found[name] = value.at(found) if isinstance(value, Of) else value
        return found

    def excluded(self, settings: Mapping[str, Any]) -> LeftOut | None:
        """What leaves these settings out, if anything does."""
        return next((out for out in self.left_out if out.at(settings)), None)

    def covering(self, salt: int = 0) -> list[Settings]:
        """Settings among which is every admissible pair of values, and every triple of two options and P.

        Parameters
        ----------
        salt : int
            Another one gives other companions.
        """
        return [dict(row) for row in self._covering(salt)]

    @cached_property
    def _rows(self) -> dict[int, list[Settings]]:
        return {}

    def _covering(self, salt: int) -> list[Settings]:
        if salt not in self._rows:
            rows = self._covered(salt)
            if salt % 2 == 0:  # one of two arrays that are run together
                rows = [*rows, *self._further(rows)]
            self._rows[salt] = rows
        return self._rows[salt]

    def _further(self, rows: Sequence[Settings]) -> Iterator[Settings]:
        """Rows as these, with a further value of an axis: for each so many that every P and option is beside it.

        A further period is beside every P in the longest run.
        """
        seeds = itertools.count(len(rows))
        places = [{axis: self._place(row, axis) for axis in self.axes} for row in rows] if self.hiding else []
        for name, values in self.hiding.items() if rows else ():
            longest = max(self.axes["rounds"]) if name in self.periods else None
            rounds = ("rounds",) if name in self.periods else ()
            beside = dict.fromkeys(("P", *rounds, *self.chosen_options))
            axes = [other for other in beside if other in self.axes and other != name]
            for place, value in enumerate(values):
                held = [(row, {(axis, at[axis]) for axis in axes}) for row, at in zip(rows, places, strict=True)]
                if longest is not None:
                    for (row, pairs), at in zip(held, places, strict=True):
                        if row["rounds"] == longest:
                            pairs.add(("P, in the longest run", at.get("P", 0)))
                held = held[41 * place % len(rows) :] + held[: 41 * place % len(rows)]
                missing = set().union({("", -1)}, *(pairs for _, pairs in held))  # at least one row
                while missing and held:
                    row, pairs = max(held, key=lambda one: len(one[1] & missing))
                    held = [one for one in held if one[0] is not row and one[1] & missing]
                    further = self._with(row, name, value)
                    if self.excluded(further) is None:
                        missing -= {*pairs, ("", -1)}
                        yield {**further, SEED: row[SEED] // 1000 * 1000 + next(seeds)}

    def telling(self, rows: Sequence[Settings], hiding: Mapping[str, Collection[Any]]) -> Iterator[Settings]:
        """Rows as those that hide something, with values that tell: for what is beside such values alone.

        Parameters
        ----------
        rows : sequence of settings
            Those that are run.
        hiding : mapping of str to values
            Values of axes that hide what others do; a row with one of them covers no option, no two of them, with P.
        """
        instead = {name: [v for v in self.axes[name] if v not in hiding[name]] for name in hiding if name in self.axes}
        instead = {name: values for name, values in instead.items() if values}
        fields = [names for names in self._beside() if not set(names) & set(instead)]
        held: list[tuple[Settings, set[Any]]] = []
        told: set[Any] = set()
        for row in rows if instead and fields else ():
            at = {name: self._place(row, name) for name in dict.fromkeys(itertools.chain.from_iterable(fields))}
            beside = {(names, *(at[name] for name in names)) for names in fields}
            if any(row[name] in hiding[name] for name in instead):
                held.append((row, beside))
            else:
                told |= beside
        while held := [(row, beside - told) for row, beside in held if beside - told]:
            row, beside = max(held, key=lambda one: len(one[1]))
            held = [one for one in held if one[0] is not row]
            further = row
            for name, values in instead.items():
                if row[name] in hiding[name]:
                    further = self._with(further, name, values[row[SEED] % len(values)])
            if self.excluded(further) is None:
                told |= beside
                yield further

    def _beside(self) -> list[tuple[str, ...]]:
        """The axes that are covered together but for sizes and data: every option with P, every two options with P."""
        ranks = ("P",) if len(self.axes.get("P", ())) > 1 else ()
        chosen = [name for name in self.chosen_options if name != "P"]
        return [(*ranks, *names) for names in (*itertools.combinations(chosen, 2), *((name,) for name in chosen))]

    @cached_property
    def _arrays(self) -> dict[int, list[dict[str, int]]]:
        return {}

    def _array(self, salt: int) -> list[dict[str, int]]:
        """A covering array of the values' places.

        It covers as much when the values of an axis change places; only what is left out hangs on which value it is.
        """
        if salt not in self._arrays:
            sizes = {name: len(values) for name, values in self.axes.items()}
            if salt and not self.left_out:
                moved = {
                    name: np.random.default_rng([salt, axis]).permutation(size).tolist()
                    for axis, (name, size) in enumerate(sizes.items())
                }
                found = [{name: moved[name][row[name]] for name in row} for row in self._array(0)]
            elif len(sizes) == 1:
                found = [{name: place} for name, size in sizes.items() for place in range(size)]
            else:
                constraints = [
                    {"operator": "fn", "requires": sorted(needs), "evaluate": self._admits(out, needs)}
                    for out in self.left_out
                    for needs in [self._closure(out.needs)]
                ]
                numbers = {name: list(range(size)) for name, size in sizes.items()}
                found = covering_array(
                    numbers,
                    last=self._last(),
                    strength=2,
                    salt=str(salt),
                    constraints=constraints,
                    sub_models=self._triples(),
                )
            self._arrays[salt] = sorted(found, key=lambda row: [row[name] for name in self.axes])
        return self._arrays[salt]

    def _last(self) -> dict[str, list[int]]:
        """The places of the values that are taken last."""
        large = [value for value in self.axes.get("n", ()) if isinstance(value, int) and value > TILES[3]]
        last, axes = {**HIDING, "n": large, EXACT: (False,), **self.last}, self.axes.items()
        return {axis: [i for i, v in enumerate(values) if v in last.get(axis, ())] for axis, values in axes}

    def _covered(self, salt: int) -> list[Settings]:
        rows: list[Settings] = []
        seen: set[str] = set()
        for choice in self._array(salt):
            settings = self.settings_of({name: self.axes[name][place] for name, place in choice.items()})
            if repr(settings) not in seen and self.excluded(settings) is None:
                seen.add(repr(settings))
                rows.append({**settings, SEED: 1000 * salt + len(rows)})
        return rows + [dict(row) for row in self.included if not salt]

    @property
    def chosen_options(self) -> tuple[str, ...]:
        """The axes of which every two are run with every P."""
        given = self.options or tuple(name for name in self.axes if name not in ("P", "n", "data"))
        return tuple(name for name in given if len(self.axes[name]) > 1)

    def _triples(self) -> list[dict[str, Any]]:
        with_ranks = len(self.axes.get("P", ())) > 1
        triples = [("P", *pair) for pair in itertools.combinations(self.chosen_options, 2)] if with_ranks else []
        return [{"fields": list(names), "strength": len(names)} for names in (*triples, *self.combined)]

    def _closure(self, names: Sequence[str]) -> set[str]:
        """The axes named, and those that their values follow from."""
        wanted: set[str] = set()
        queue = list(names)
        while queue:
            name = queue.pop()
            if name not in wanted:
                wanted.add(name)
                queue += [need for value in self.axes[name] if isinstance(value, Of) for need in value.needs]
        return wanted

    def _admits(self, out: LeftOut, needs: set[str]) -> Callable[[Mapping[str, int]], bool]:
        names = [name for name in self.axes if name in needs]

        @cache
        def admitted(*places: int) -> bool:
            settings: Settings = {}
            for name, place in zip(names, places, strict=True):
                value = self.axes[name][place]
                settings[name] = value.at(settings) if isinstance(value, Of) else value
            return not out.at(settings)

        return lambda row: admitted(*(row[name] for name in names))

    # --- what is drawn --------------------------------------------------------------------------------------------

    def drawn(self) -> st.SearchStrategy[Settings]:
        """Settings of any combination, drawn axis by axis; they shrink towards the first values."""
        return self._drawn

    @cached_property
    def _drawn(self) -> st.SearchStrategy[Settings]:
        axes = {name: self._values(name) for name in self.axes}

        @st.composite
        def settings(draw: st.DrawFn) -> Settings:
            found: Settings = {}
            for name, values in axes.items():
                value = draw(values)
                found[name] = value.at(found) if isinstance(value, Of) else value
            found[SEED] = draw(integers(0, 2**20))
            return found

        return settings().filter(lambda found: self.excluded(found) is None)

    def _values(self, name: str) -> st.SearchStrategy[Any]:
        values, more = (*self.axes[name], *self.hiding.get(name, ())), self.wider.get(name)
        if more is None:
            return sampled_from(values)
        if isinstance(more, tuple) and len(more) == 2 and all(isinstance(end, int) for end in more):
            return st.one_of(sampled_from(values), integers(*more))
        return sampled_from((*values, *more))

    def _with(self, settings: Mapping[str, Any], name: str, value: Any) -> Settings:
        """The settings with another value of one axis; values that follow from it follow."""
        changed = {**settings}
        for other, values in self.axes.items():
            if other == name:
                changed[other] = value.at(changed) if isinstance(value, Of) else value
                continue
            present = next((v for v in values if self._is_at(settings, other, v)), None)
            if isinstance(present, Of):
                changed[other] = present.at(changed)
        return changed

    def _place(self, settings: Mapping[str, Any], name: str) -> int:
        """Which value of an axis the settings have: the first of those that are equal; -1 where it is another."""
        return next((i for i, value in enumerate(self.axes[name]) if self._is_at(settings, name, value)), -1)

    @staticmethod
    def _is_at(settings: Mapping[str, Any], name: str, value: Any) -> bool:
        return repr(value.at(settings) if isinstance(value, Of) else value) == repr(settings[name])

    def neighbour(self, rng: np.random.Generator, settings: Mapping[str, Any]) -> Settings:
        """The settings with another value of one axis, for an attack."""
        while True:
            name = str(rng.choice(list(self.axes)))
            value = self.axes[name][int(rng.integers(len(self.axes[name])))]
            changed = self._with({**settings, SEED: int(rng.integers(2**20))}, name, value)
            if self.excluded(changed) is None:
                return changed

    def simpler(self, settings: Mapping[str, Any]) -> Iterator[Settings]:
        """The settings with an earlier value of one axis, where none is left out."""
        for name, values in self.axes.items():
            for value in values:
                if self._is_at(settings, name, value):
                    break
                changed = self._with(settings, name, value)
                if self.excluded(changed) is None:
                    yield changed

    # --- what it covers -------------------------------------------------------------------------------------------

    def words(self) -> str:
        """What is run of the space, in a sentence."""
        axes = "; ".join(f"{name}: {' | '.join(map(str, values))}" for name, values in self.axes.items())
        triples = " and every two options with every P" if len(self.axes.get("P", ())) > 1 else ""
        triples += "".join(f", every combination of {', '.join(names)}" for names in self.combined)
        triples += f", and {len(self.included)} rows by hand" if self.included else ""
        hidden = "; ".join(f"{name}: {' | '.join(map(str, values))}" for name, values in self.hiding.items())
        triples += f", and every P and option with further values ({hidden})" if hidden else ""
        left = "".join(f" Left out: {out.reason}" for out in self.left_out)
        return f"every pair of values{triples} ({axes}).{left}"

    def periods_missed(self) -> Iterator[tuple[str, Any]]:
        """Periods that no row lets come round twice: a value v of the axis, with fewer than 2 v + 1 rounds."""
        for name in self.periods:
            longest: dict[Any, int] = {}
            for row in self.covering():
                longest[row[name]] = max(longest.get(row[name], 0), row["rounds"])
            yield from ((name, value) for value, rounds in longest.items() if value and rounds < 2 * value + 1)

    def missed(self) -> Iterator[tuple[tuple[str, Any], ...]]:
        """Pairs, and triples with P, that no row has, though some combination that is not left out has them.

        Values that follow from others are told apart by their labels; a combination is admissible if any choice of
        the other axes is.
        """
        rows = self._choices()
        names = list(self.axes)
        wanted = [*itertools.combinations(names, 2), *(tuple(t["fields"]) for t in self._triples())]
        for fields in wanted:
            held = {tuple(row[name] for name in fields) for row in rows}
            for places in itertools.product(*(range(len(self.axes[name])) for name in fields)):
                if places not in held and self._possible(dict(zip(fields, places, strict=True))):
                    yield tuple((name, self.axes[name][place]) for name, place in zip(fields, places, strict=True))

    def _choices(self) -> list[dict[str, int]]:
        """Every choice of places whose settings a row has."""
        choices = []
        for row in self.covering():
            places = []
            for name, values in self.axes.items():
                worth = [value.at(row) if isinstance(value, Of) else value for value in values]
                places.append([i for i, value in enumerate(worth) if repr(value) == repr(row[name])])
            choices += [dict(zip(self.axes, chosen, strict=True)) for chosen in itertools.product(*places)]
        return choices

    def _possible(self, fixed: Mapping[str, int]) -> bool:
        needs = sorted({name for out in self.left_out for name in self._closure(out.needs)} | set(fixed))
        free = [range(len(self.axes[name])) if name not in fixed else [fixed[name]] for name in needs]
        for places in itertools.product(*free):
            settings: Settings = {}
            complete = dict(zip(needs, places, strict=True))
            for name in self.axes:
                if name in complete:
                    value = self.axes[name][complete[name]]
                    if isinstance(value, Of) and not all(need in settings for need in value.needs):
                        continue
                    settings[name] = value.at(settings) if isinstance(value, Of) else value
            if not any(out.at(settings) for out in self.left_out):
                return True
        return False
