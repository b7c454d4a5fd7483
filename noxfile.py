"""Sessions of nox: the default tests on every Python that is supported, and with the lowest versions of what they need.

``nox`` runs those whose Python is there; ``nox -s lowest`` one of them.
"""

import nox


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Install the project and run its default tests; arguments are those of pytest."""
    session.install(".[test]")
    session.run("pytest", *session.posargs)


@nox.session(venv_backend="none")
def lowest(session: nox.Session) -> None:
    """Run the default tests with the lowest versions that ``pyproject.toml`` allows."""
    session.run(".ci/lowest", *session.posargs, external=True)
