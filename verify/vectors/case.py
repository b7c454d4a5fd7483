"""What a test vector is before it is written: `VectorCase`; what a file of them is about: `VectorSubject`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from commbounds.verify.vectors.numbers import json_of


@dataclass(frozen=True, eq=False)
class VectorCase:
    """One test vector.

    Parameters
    ----------
    name : str
        Unlike that of any other case of its subject.
    why : str
        One line: what an implementation shows here, or may get wrong.
    inputs, parameters, randomness : mapping of str to values
        What the subject is given. Randomness is injected: uniforms, draws, masks; or made by a named generator from a
        key or a seed, which are then given too.
    flags : tuple of str
        What is on the edge here.
    law : bool
        Whether the exact distribution of the output is included.
    refused : bool
        Whether the input is to be refused.
    """

    name: str
    why: str
    inputs: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    randomness: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    law: bool = False
    refused: bool = False


@dataclass(frozen=True, eq=False)
class VectorSubject:
    """What one file is about.

    Parameters
    ----------
    name : str
        A name in `COMPRESSORS`, `MECHANISMS` or `COLLECTIVES`.
    kind : str
        "compressor", "mechanism" or "collective".
    summary : str
        What it is, in a sentence.
    cases : callable () -> iterable of VectorCase
    run : callable (VectorCase) -> mapping
        What is expected: named values.
    law : callable (VectorCase) -> list of (probability, output), or None
        The exact distribution of the output.
    unit : str
        What its traffic counts: words or bytes; empty where there is none.
    """

    name: str
    kind: str
    summary: str
    cases: Callable[[], Iterable[VectorCase]]
    run: Callable[[VectorCase], Mapping[str, Any]]
    law: Callable[[VectorCase], Any] | None = None
    unit: str = ""


def expected_of(subject: VectorSubject, case: VectorCase) -> Mapping[str, Any]:
    """What `subject` makes of `case`; or, where the case says so, the kind of error by which it is refused.

    Raises
    ------
    ValueError
        The case says that it is refused, and it is not.
    """
    if not case.refused:
        return subject.run(case)
    try:
        subject.run(case)
    except (ValueError, TypeError) as error:
        return {"error": type(error).__name__}
    raise ValueError(f"{subject.name} must refuse the case {case.name!r}, and does not")


def vector_json(subject: VectorSubject, case: VectorCase) -> dict[str, Any]:
    """The vector of `case`, with what is expected of `subject`, in what JSON has."""
    expected = expected_of(subject, case)
    flags = (*case.flags, "refused") if case.refused else case.flags
    held: dict[str, Any] = {
        "name": case.name,
        "why": case.why,
        "flags": sorted(set(flags)),
        "inputs": {name: json_of(value) for name, value in case.inputs.items()},
        "parameters": {name: json_of(value) for name, value in case.parameters.items()},
        "randomness": {name: json_of(value) for name, value in case.randomness.items()},
        "expected": {name: json_of(value) for name, value in expected.items()},
    }
    if case.law and subject.law is not None:
        held["law"] = law_json(subject.law(case))
    return held


def law_json(law: Sequence[tuple[Any, Sequence[Any]]]) -> list[dict[str, Any]]:
    """An exact distribution as text fractions.

    Raises
    ------
    ValueError
        A probability or an output is irrational.
    """
    held = []
    for probability, output in law:
        numbers = [probability, *output]
        if not all(isinstance(number, Fraction | int) for number in numbers):
            raise ValueError(f"law must be rational to be written as fractions, got {numbers!r}")
        held.append({"probability": str(probability), "output": [str(number) for number in output]})
    return held
