"""The pytest plugin: what ``conforms`` decorates becomes one test for every claim. Loads nothing until it is used."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: Any) -> list[pytest.Item] | None:
    """The tests of a decorated function, whatever its name; None for everything else."""
    promise = vars(obj).get("commbounds_promise") if inspect.isfunction(obj) else None
    return None if promise is None else list(_items(collector, name, obj, promise))


def _items(collector: pytest.Collector, name: str, function: Any, promise: Any) -> Iterator[pytest.Item]:
    for claim in promise.claims:
        yield _ClaimItem.from_parent(
            collector, name=f"{name}[{claim}]", function=function, promise=promise, claim=claim
        )


class ClaimFailed(Exception):
    """A claim does not hold; carries the finding."""


class _ClaimItem(pytest.Item):
    """One claim of one subject."""

    def __init__(self, *, function: Any, promise: Any, claim: str, **rest: Any) -> None:
        super().__init__(**rest)
        self._function, self._promise, self._claim = function, promise, claim
        marks = getattr(function, "pytestmark", [])
        for mark in marks if isinstance(marks, list) else [marks]:
            self.add_marker(mark)

    def runtest(self) -> None:
        finding = self._promise.finding(self._claim)
        if inspect.signature(self._function).parameters:
            self._function(finding)
        else:
            self._function()
        if finding.verdict == "fail" or finding.owed:
            raise ClaimFailed(finding)
        if finding.verdict == "expected failure":
            pytest.xfail(f"{finding.expected}: {finding.message}")
        if finding.verdict == "not judged":
            pytest.skip(f"not judged: {finding.message}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """For a claim that fails what was found and how to see it again; for anything else what pytest shows."""
        if not isinstance(excinfo.value, ClaimFailed):
            return super().repr_failure(excinfo, style)
        (finding,) = excinfo.value.args
        what = "was not judged" if finding.owed else "fails"
        lines = [f"{self._promise.subject.name}: {finding.claim} {what}", f"    {finding.message}"]
        if finding.counterexample is not None:
            lines.append(f"    at {finding.counterexample}, seed {finding.seed}")
        lines += [f"    {line}" for line in finding.next_steps]
        if finding.reproduce:
            lines += ["to see it:", *(f"    {line}" for line in finding.reproduce.splitlines())]
        return "\n".join(lines)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        code = self._function.__code__
        return code.co_filename, code.co_firstlineno - 1, self.name
