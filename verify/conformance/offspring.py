"""Processes that a subject starts: found wherever they went, as far as the system tells, and ended."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

MARK = "COMMBOUNDS_SUBJECT"
"""Environment variable by which processes of a subject know, and are known by, the process that started it."""
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
FURTHER = 1024
"""Processes and threads that a subject may have beside those that the user has already; root's threads are counted."""
_PATIENCE = 5.0
"""Seconds in which processes are ended that start others."""
_adopts = False


@dataclass(frozen=True)
class Relative:
    """A process.

    Parameters
    ----------
    name : str
        Its program.
    parent, session : int
        Numbers of its parent, and of the leader of its session.
    ended : bool
        Whether it only waits for its parent to ask for its status.
    """

    name: str
    parent: int
    session: int
    ended: bool = False


def adopt() -> None:
    """Be the parent of all descendants that lose theirs, where the system has that: they can be found then."""
    global _adopts
    with contextlib.suppress(OSError, AttributeError):
        _adopts = ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0


def limited(number: int) -> None:
    """See that a process, and what it starts, cannot fill the user's table of processes; root's has no limit."""
    with contextlib.suppress(OSError, ValueError, AttributeError, ImportError):
        import resource

        _, most = resource.prlimit(number, resource.RLIMIT_NPROC)
        held = sum(_threads(place) for place in Path("/proc").glob("[0-9]*") if _owner(place) == os.getuid())
        wanted = held + FURTHER
        resource.prlimit(number, resource.RLIMIT_NPROC, (min(wanted, most) if most >= 0 else wanted,) * 2)


def _owner(place: Path) -> int:
    try:
        return place.stat().st_uid
    except OSError:
        return -1


def _threads(place: Path) -> int:
    try:
        return len(os.listdir(place / "task"))
    except OSError:
        return 0


def children(number: int) -> bytes:
    """Numbers of the processes that one has started, as the system writes them by thread; empty if unknown."""
    try:
        return b"".join(place.read_bytes() for place in Path(f"/proc/{number}/task").glob("*/children"))
    except OSError:
        return b""


def seconds_waited(number: int) -> float:
    """Seconds in which the main thread of a process could have run, and had no processor; 0 if unknown."""
    try:
        return int(Path(f"/proc/{number}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _processes() -> dict[int, Relative]:
    """All processes."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = place.read_text(errors="replace")
        except OSError:  # its status was asked for meanwhile
            continue
        name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
        found[int(place.parent.name)] = Relative(name, int(fields[1]), int(fields[3]), fields[0] in "ZX")
    return found


def relatives(leader: int, mark: str = "") -> dict[int, Relative]:
    """What a process has started, directly or not, but itself.

    That are its descendants, the members of the session that it began, what carries `mark` in its environment, and what
    this process has adopted since it adopts. Those that have ended are there until their parent asks for their status.
    """
    every = _processes()
    ours, found = os.getpid(), dict[int, Relative]()
    inside = {leader}
    grown = True
    while grown:
        grown = False
        for number, one in every.items():
            if number in inside or number == ours:
                continue
            adopted = _adopts and one.parent == ours and one.session not in (os.getsid(0), number)
            if one.parent in inside or one.session in inside or adopted or (mark and _marked(number, mark)):
                inside.add(number)
                found[number] = one
                grown = True
        mark = ""  # once is enough
    return found


def running(found: Mapping[int, Relative]) -> dict[int, Relative]:
    """Those that have not ended."""
    return {number: one for number, one in found.items() if not one.ended}


def ancestors(number: int) -> list[int]:
    """The parent of a process, its parent, and so on."""
    every, found = _processes(), list[int]()
    while number in every and every[number].parent > 0:
        number = every[number].parent
        found.append(number)
    return found


def _marked(number: int, mark: str) -> bool:
    try:
        return f"{MARK}={mark}".encode() in Path(f"/proc/{number}/environ").read_bytes()
    except OSError:  # it has ended, or is somebody else's
        return False


def named(found: Mapping[int, Relative]) -> str:
    """How many there are, and which."""
    names = ", ".join(sorted({one.name for one in found.values()}))
    return f"{len(found)} process{'es' * (len(found) > 1)} ({names})" if found else ""


def kill(numbers: Iterable[int]) -> None:
    """End processes: first none of them starts another one, then none is left."""
    numbers = list(numbers)
    for sent in (signal.SIGSTOP, signal.SIGKILL):
        for number in numbers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, sent)


def reap(numbers: Iterable[int]) -> None:
    """Ask for the status of ended processes, as far as they are this one's children."""
    for number in numbers:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(number, os.WNOHANG)


def end_relatives(leader: int, mark: str) -> None:
    """End all that a process has started, however often it starts again; what this process adopted of it is gone."""
    until = time.monotonic() + _PATIENCE
    while (found := relatives(leader, mark)) and time.monotonic() < until:
        reap(number for number, one in found.items() if one.ended and one.parent == os.getpid())
        if not (alive := running(found)) and not any(one.parent == os.getpid() for one in found.values()):
            return  # their parent has to ask
        kill(alive)
        time.sleep(0.005)
