"""`Broken`: a subject with one defect, what kills it, and the right one that it was made from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from commbounds.verify.conformance import Codec
from commbounds.verify.conformance.subject import Subject


@dataclass(frozen=True)
class Broken:
    """A subject that is wrong in one way.

    Parameters
    ----------
    defect : str
        What is wrong, in one line.
    subject : Subject
        With everything that the right one claims.
    killed_by : tuple of str
        Claims and universal checks, by their names; one of them has to fail.
    twin : Subject or None
        The right one, with the same claims; None where there is nothing to put right but the claim itself.
    """

    defect: str
    subject: Subject
    killed_by: tuple[str, ...]
    twin: Subject | None

    @property
    def name(self) -> str:
        """That of the subject."""
        return self.subject.name


def broken(
    wrong: Callable[..., Any],
    right: Callable[..., Any] | None,
    claims: Sequence[Any],
    *killed_by: str,
    kind: type[Subject] = Codec,
    **options: Any,
) -> Broken:
    """`wrong`, whose first line of documentation says what is wrong, beside `right`; both with the same claims."""
    name, defect = wrong.__name__, (wrong.__doc__ or "").splitlines()[0].strip()
    subject = kind(wrong, claims, **{"name": name.replace("_", " "), **options})
    if right is None:
        return Broken(defect, subject, killed_by, None)
    given = {"name": right.__name__.replace("_", " "), **options}
    place = next(field for field in ("roundtrip", "factory", "run") if hasattr(subject, field))
    return Broken(defect, subject, killed_by, replace(subject, **{place: right}, **given))
