"""Many trials of a simulation, in chunks on any executor, kept in a file that a killed run resumes.

A simulation is a function (first, count) -> (count, k) array of the trials first .. first + count - 1, and depends on
nothing but these numbers: what is keyed by counter may run anywhere, in any order, and give the same bits. The file
only grows, by one checked line a chunk; a line that was being written when the process died is cut off on resuming.
"""

import base64
import json
import os
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.folders import appended

Simulation = Callable[[int, int], Any]
"""(first, count) -> (count, k) float64 array; picklable where the executor's workers are processes."""
Progress = Callable[[int, int], None]
"""(trials done, trials in all)."""


def run_trials(
    simulate: Simulation,
    trials: int,
    path: str | Path,
    settings: Mapping[str, Any],
    *,
    executor: Executor | None = None,
    chunk: int = 1024,
    window: int | None = None,
    progress: Progress | None = None,
) -> Floats:
    """All trials of a simulation, of which those in the file are not run again.

    Parameters
    ----------
    simulate : callable (first, count) -> (count, k) array
        See `Simulation`.
    trials : int
        At least 1.
    path : path
        The file; made if it is not there.
    settings : mapping
        Everything that defines the simulation, as JSON; a file of other settings is refused.
    executor : concurrent.futures.Executor or None
        Where chunks run; None runs them here, one after another.
    chunk : int
        Trials of a chunk; the same when a run is resumed.
    window : int or None
        Most chunks under way at a time; twice the number of processors by default.
    progress : callable (done, trials) or None
        Called at the start and after every chunk.

    Returns
    -------
    (trials, k) float64
        In the order of the trials.

    Raises
    ------
    ValueError
        The file is of other settings or damaged; trials, chunk or window below 1; a chunk of the wrong shape.
    BlockingIOError
        Another run has the file.
    KeyboardInterrupt
        As it came, after chunks not yet begun were cancelled; what is in the file stays good.
    """
    for name, value in (("trials", trials), ("chunk", chunk), ("window", 1 if window is None else window)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be an integer that is at least 1, got {value!r}")
    header = {"trials": trials, "chunk": chunk, "settings": json.loads(json.dumps(dict(settings), sort_keys=True))}
    with _locked(Path(path)) as file:
        done = _resumed(file, header)
        todo = [first for first in range(0, trials, chunk) if first not in done]
        finished = sum(len(part) for part in done.values())
        if progress is not None:
            progress(finished, trials)
        chunks = _computed(simulate, trials, chunk, todo, executor, window or 2 * (os.cpu_count() or 1))
        with closing(chunks):  # whatever ends the loop, what has not begun is cancelled at once
            for first, values in chunks:
                count = min(chunk, trials - first)
                part = np.ascontiguousarray(values, dtype=np.float64)
                if part.ndim != 2 or len(part) != count:
                    raise ValueError(f"simulate must return a ({count}, k) array, got shape {part.shape}")
                appended(file, _line(first, part))
                done[first] = part
                finished += count
                if progress is not None:
                    progress(finished, trials)
    return np.concatenate([done[first] for first in sorted(done)])


def read_trials(path: str | Path) -> tuple[dict[str, Any], Floats]:
    """Settings of a file and the trials in it, in their order; fewer than planned if the run is not done.

    Raises
    ------
    ValueError
        The file holds no trials.
    """
    with Path(path).open("rb") as file:
        header, done, _ = _parsed(file.read())
    if header is None:
        raise ValueError(f"{path} holds no trials")
    parts = [done[first] for first in sorted(done)]
    return header["settings"], np.concatenate(parts) if parts else np.empty((0, 0))


def _computed(
    simulate: Simulation, trials: int, chunk: int, todo: list[int], executor: Executor | None, window: int
) -> Generator[tuple[int, Any], None, None]:
    """(first, values) of every chunk, as they are ready."""
    if executor is None:
        for first in todo:
            yield first, simulate(first, min(chunk, trials - first))
        return
    waiting, running = iter(todo), dict[Future[Any], int]()
    try:
        while True:
            for first in waiting:
                running[executor.submit(simulate, first, min(chunk, trials - first))] = first
                if len(running) >= window:
                    break
            if not running:
                return
            ready, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(ready, key=running.__getitem__):
                yield running.pop(future), future.result()
    finally:
        for future in running:
            future.cancel()


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    import fcntl  # systems without it can import the package

    with path.open("a+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield file


def _checked(text: str) -> bytes:
    return f"{zlib.crc32(text.encode()):08x} {text}\n".encode()


def _line(first: int, part: Floats) -> bytes:
    values = base64.b64encode(part.astype("<f8").tobytes()).decode()
    return _checked(json.dumps({"first": first, "shape": part.shape, "values": values}))


def _parsed(content: bytes) -> tuple[dict[str, Any] | None, dict[int, Floats], int]:
    """Header, chunks, and the length of what is sound: a last line that was cut short is not."""
    header: dict[str, Any] | None = None
    done: dict[int, Floats] = {}
    sound = 0
    lines = content.splitlines(keepends=True)
    for number, line in enumerate(lines):
        check, _, text = line.decode("utf-8", "replace").rstrip("\n").partition(" ")
        if not line.endswith(b"\n") or check != f"{zlib.crc32(text.encode()):08x}":
            if number < len(lines) - 1:
                raise ValueError(f"line {number + 1} is damaged")
            break
        data = json.loads(text)
        if header is None:
            header = data
        else:
            part = np.frombuffer(base64.b64decode(data["values"]), dtype="<f8").reshape(data["shape"])
            if data["first"] in done:
                raise ValueError(f"line {number + 1} repeats the trials from {data['first']}")
            done[data["first"]] = part.astype(np.float64)
        sound += len(line)
    return header, done, sound


def _resumed(file: IO[bytes], header: dict[str, Any]) -> dict[int, Floats]:
    """The chunks in the file, which is of the same run, or new."""
    file.seek(0)
    found, done, sound = _parsed(file.read())
    file.truncate(sound)
    if found is None:
        appended(file, _checked(json.dumps(header, sort_keys=True)))
    elif found != header:
        raise ValueError(f"the file is of another run: it says {found}, asked is {header}")
    return done
