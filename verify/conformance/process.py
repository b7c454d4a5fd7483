"""A subject in a process of its own: called by the protocol, killed when it hangs, started again when it dies."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.bench import Unusable
from commbounds.verify.conformance.calls import START_LIMIT, Died, Hopeless, TimedOut, Unanswered, first_limit
from commbounds.verify.conformance.memory import available_bytes, resident_bytes, shared_out_bytes
from commbounds.verify.conformance.offspring import (
    FURTHER,
    MARK,
    children,
    end_relatives,
    kill,
    limited,
    named,
    relatives,
    running,
    seconds_waited,
)
from commbounds.verify.conformance.protocol import VERSION, BadMessage, encoded, read_message
from commbounds.verify.conformance.torch_words import Drawn

_STARTS = 2
"""Times that a program is started which ends before it answers ``hello``."""
_LOOK = 0.05
"""Seconds of silence after which it is looked whether a process has ended, and what it has started."""
_GRACE = 0.1
"""Seconds in which what a call has started may end after it."""
_OFFENCES = 10
"""Calls that leave something behind, after which no more are made."""
_THREADS = 32
"""Threads that calls may leave behind for later ones: as many as Python's pools have by default."""
_PROCESSES = 128 + (os.cpu_count() or 1)
"""Processes that a call may start: a pool of one a processor, and more."""
_SHARE = 0.5
"""Of the memory that was available at first: what a subject may have in use."""
_WAIT = 10.0
"""Seconds, or the limit if that is more, by which a call's limit grows while other programs have the processors."""
_HURRY, _LEAST, _SLOW = 10.0, 1.0, 10.0
"""A call that hung, or failed only after so many seconds, is not waited for again and again: later ones get a tenth of
their limit, but a second."""
_END = 10.0
"""Seconds in which a process ends by itself once its input has ended."""
_SAID = 1 << 20
"""Bytes that a call may write to stderr or stdout."""
_KEPT = 4096
"""Last bytes of a process's stderr that are kept."""
_started: weakref.WeakSet[Process] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """End the processes that are left: what is stopped later, by `__del__`, may find its modules gone."""
    for process in list(_started):
        process.stop()


class _Tail:
    """Reads what a process writes, all of it, and keeps the last of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._last, self.count = stream, b"", 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while data := os.read(self._stream.fileno(), 1 << 16):
                self.count += len(data)
                self._last = (self._last + data)[-_KEPT:]

    def last_line(self, wait: float = 1.0) -> str:
        """The last line, once the process has closed its end; or what has come after `wait` seconds."""
        self._thread.join(wait)
        lines = self._last.decode(errors="replace").strip().splitlines()
        return lines[-1][-300:] if lines else ""


class Process:
    """An executable that speaks the protocol.

    It leads a session of its own, and whatever of this session is left is killed with it.

    Parameters
    ----------
    command : sequence of str
        Program and arguments; started at the first call, in the working directory of then.
    time_limit : float
        Seconds that a call may take. Where the system tells how long the process waited for a processor, that does not
        count, up to as many seconds again, or ten.
    """

    def __init__(self, command: Sequence[str], time_limit: float) -> None:
        self.command, self.time_limit = [str(part) for part in command], time_limit
        self.hello: dict[str, Any] = {}
        self._child: subprocess.Popen[bytes] | None = None
        _started.add(self)
        self._said: _Tail | None = None
        self._mark = secrets.token_hex(16)
        self._left: list[str] = []
        self._kept: dict[int, Any] = {}
        self._ended = set[int]()
        self._seen, self._calls = b"", 0
        self._hung, self._hung_at_first, self._killed, self._memory = False, False, False, 0.0
        self.offences: list[str] = []
        """What calls have left behind that later ones do not need, or have done to this process, call by call."""
        self._failures: list[str] = []
        self._buffer = bytearray()

    def call(self, request: dict[str, Any], arrays: Sequence[Array] = ()) -> tuple[dict[str, Any], list[Array]]:
        """The reply to a request.

        Raises
        ------
        TimedOut
            There was none in time; the process was killed.
        Died
            The process ended, or wrote what is no reply; the next call starts a new one.
        Unanswered
            It replied with an error.
        Hopeless
            It has been started as often as a program is that does not answer ``hello``; once, if it hung.
        """
        if len(self.offences) >= _OFFENCES:
            raise Hopeless(f"{_OFFENCES} calls left something behind: {self.offences[-1]}")
        if self._child is None:
            self._start()
        assert self._said is not None
        said, begun = self._said.count, time.monotonic()
        if self._ended and "name" in self.hello:  # our server for Python subjects
            request = {**request, "reap": sorted(self._ended)}
            self._ended.clear()
        limit = min(self.time_limit, max(_LEAST, self.time_limit / _HURRY)) if self._hung else self.time_limit
        if not (self._calls or self._hung) and "name" in self.hello:
            limit = first_limit(limit)
        reply, answers = self._exchanged(encoded(request, arrays), limit)
        self._look_around(reply, self._said.count - said)
        self._hung |= time.monotonic() - begun > _SLOW and not {"returned", "error"}.isdisjoint(reply)
        if "returned" in reply:
            raise Unusable(f"returned {reply['returned']}")
        if "error" in reply:
            raise Unanswered(str(reply["error"]))
        return reply, answers

    def started(self) -> dict[str, Any]:
        """What the process says of itself: its reply to ``hello``."""
        if self._child is None:
            self._start()
        return self.hello

    def resident_bytes(self) -> int:
        """Memory that the process has in use; 0 where the system does not tell, or it does not run."""
        return 0 if self._child is None else resident_bytes(self._child.pid)

    def finish(self) -> str:
        """End the process by the end of its input; what is wrong if it does not end then, or starts others."""
        threads: Any = None
        with contextlib.suppress(Unanswered):  # it is gone then, and whoever called it last has heard of that
            if self._child is not None and "name" in self.hello:  # our server for Python subjects
                threads = self._exchanged(encoded({"op": "end"}), _END)[0].get("threads")
        child, found = self._child, ""
        if child is None or child.stdin is None:
            return ""
        before, waited = relatives(child.pid, self._mark), seconds_waited(child.pid)
        child.stdin.close()
        _exits_within(child, _END)
        _exits_within(child, min(_END, seconds_waited(child.pid) - waited))
        if not _has_ended(child):
            found = f"did not end {_END:g} s after its last call"
            if isinstance(threads, list):
                what = [f"the thread {str(name)[:80]!r} is no daemon" for name in threads]
                found = f"{found}: {'; '.join(what) or 'an exit handler runs'}"
        elif new := {n: one for n, one in running(relatives(child.pid, self._mark)).items() if n not in before}:
            found = f"started when it ended: {named(new)}"
        status = self.stop()
        return f"{_how(status)} after its last call" if status and isinstance(threads, list) and not found else found

    def stop(self) -> int:
        """End the process; its status."""
        child, self._child = self._child, None
        if child is None:
            return 0
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                stream.close()
        _exits_within(child, 0.5)
        return _end_session(child, self._mark)

    def left_behind(self) -> tuple[str, ...]:
        """What calls left behind that the process still has: other processes, threads, another working folder."""
        alive = {} if self._child is None else running(relatives(self._child.pid, self._mark))
        return (*self._left, *([named(alive)] if alive else []))

    def __del__(self) -> None:
        self.stop()

    # --- inside --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._hung_at_first or len(self._failures) >= _STARTS:
            count = len(self._failures)
            times = f"{self.command[0]} was started {count} time{'s' * (count > 1)}, and never answered hello"
            raise Hopeless(f"{times}: {self._failures[-1]}")
        try:
            self._launch()
        except TimedOut as error:
            self._failures.append(str(error))
            self._hung_at_first = True
            raise
        except Died as error:
            self._failures.append(str(error))
            if not self._killed or len(self._failures) >= _STARTS:
                raise
            self._start()  # no program does that to itself
        self._failures.clear()

    def _launch(self) -> None:
        self._buffer.clear()
        self._memory = _SHARE * available_bytes()
        try:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env={**os.environ, MARK: self._mark},
            )
            limited(self._child.pid)
        except OSError as error:
            raise ValueError(f"{self.command[0]} cannot be started: {error}") from error
        assert self._child.stderr is not None
        self._said = _Tail(self._child.stderr)
        for stream in (self._child.stdin, self._child.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
        reply, _ = self._exchanged(encoded({"op": "hello", "protocol": VERSION}), max(START_LIMIT, self.time_limit))
        if "error" in reply:
            self._kill()
            raise ValueError(f"{self.command[0]}: {reply['error']}")
        if reply.get("protocol") != VERSION:
            self._kill()
            raise ValueError(f"{self.command[0]} speaks protocol {reply.get('protocol')!r}, not {VERSION}")
        self.hello = reply
        self._kept, self._calls = relatives(self._child.pid, self._mark), 0
        self._ended.clear()
        self._seen = children(self._child.pid)

    def _look_around(self, reply: dict[str, Any], said: int) -> None:
        """Count what a call has left behind, and end it; what the first one starts in its session may serve others."""
        assert self._child is not None
        self._calls += 1
        found = []
        if (now := children(self._child.pid)) != self._seen:
            self._seen = now
            own = reply.get("own")
            own = own if isinstance(own, list) else []
            known = {*self._kept, *self._ended, *(number for number in own if type(number) is int)}
            left = self._news(known)
            if left and self._calls == 1:
                stay = {number: one for number, one in left.items() if one.session == self._child.pid}
                self._kept |= stay
                left = {number: one for number, one in left.items() if number not in stay}
            if left:
                time.sleep(_GRACE)
                still = self._news(known | set(self._kept))
                left = {number: one for number, one in still.items() if number in left}
            if left:
                alive = running(left)
                kill(alive)
                self._seen = children(self._child.pid)
                self._ended |= set(left)
                ended = {number: one for number, one in left.items() if one.ended}
                found += [named(alive)] if alive else []
                found += [f"not waited for when ended: {named(ended)}"] if ended else []
        if said > _SAID:
            found.append(f"{said} bytes on stderr")
        news, what = reply.get("left"), set(self._left)
        if isinstance(news, list) and (new := [str(one)[:200] for one in news[:_KEPT] if str(one)[:200] not in what]):
            self._left = sorted({*self._left, *new})
            threads = [one for one in self._left if one.startswith("the thread ")]
            found += [one for one in new if one not in threads]
            if len(threads) > _THREADS:
                found.append(f"{len(threads)} threads")
            if len(threads) > FURTHER:
                self._kill()
                self._left = []
                raise Died(f"it had started {len(threads)} threads, and was ended")
        if found:
            self.offences.append("; ".join(found))
            if len(self.offences) >= _OFFENCES:
                self._kill()

    def _news(self, known: set[int]) -> dict[int, Any]:
        """What the process has started but these, and what they have started."""
        assert self._child is not None
        found = relatives(self._child.pid, self._mark)
        return {number: one for number, one in found.items() if number not in known and one.parent not in known}

    def _exchanged(self, request: bytes, limit: float) -> tuple[dict[str, Any], list[Array]]:
        assert self._child is not None
        self._deadline, self._waited = time.monotonic() + limit, seconds_waited(self._child.pid)
        self._limit, self._out = limit, memoryview(request)
        try:
            message = read_message(self._line, self._bytes)
        except BadMessage as error:
            self._kill()
            raise Died(f"wrote to stdout what is no valid reply: {error}") from error
        if message is None:
            raise Died(self._end())
        return message

    def _line(self, limit: int) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > limit or not self._more():
                if self._buffer:
                    raise BadMessage(f"no header, but {bytes(self._buffer[:80])!r}")
                return b""
        return self._popped(end + 1)

    def _bytes(self, count: int) -> bytes:
        while len(self._buffer) < count and self._more():
            pass
        return self._popped(count)

    def _popped(self, count: int) -> bytes:
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _more(self) -> bool:
        """Write what is left of the request, read what has come; False at the end of what the process writes."""
        child = self._child
        assert child is not None
        assert child.stdin is not None
        assert child.stdout is not None
        while True:
            with selectors.DefaultSelector() as ready:
                ready.register(child.stdout, selectors.EVENT_READ)
                if self._out:
                    ready.register(child.stdin, selectors.EVENT_WRITE)
                left = self._deadline - time.monotonic()
                left += self._extension(child) if left <= 0.0 else 0.0
                events = ready.select(max(0.0, min(left, _LOOK)))
            if not events:
                if _has_ended(child):  # what it started may hold its stdout open
                    return False
                found = relatives(child.pid, self._mark) if children(child.pid) != self._seen else {}
                if len(found) > _PROCESSES:
                    self._kill()
                    self.offences.append(named(found))
                    raise Died(f"it had started {len(found)} processes, and was ended")
                held = sum(map(resident_bytes, (child.pid, *found)))
                for _ in range(
                    2 * (held > self._memory > 0)
                ):  # what was forked shares pages, and may end while they are counted
                    held = min(held, sum(map(shared_out_bytes, (child.pid, *relatives(child.pid, self._mark)))))
                if held > self._memory > 0:
                    self._kill()
                    raise Died(f"it had {held / 2**30:.3g} GiB of memory in use, and was ended")
                if left > 0.0:
                    continue
                self._hung = True
                self._kill()
                raise TimedOut(f"no answer within {self._limit:g} s")
            for key, _ in events:
                if key.fileobj is child.stdout:
                    data = os.read(child.stdout.fileno(), 1 << 20)
                    self._buffer += data
                    return bool(data)
                try:
                    self._out = self._out[os.write(child.stdin.fileno(), self._out[: 1 << 20]) :]
                except BrokenPipeError:
                    self._out = self._out[:0]  # its end shows when reading

    def _extension(self, child: subprocess.Popen[bytes]) -> float:
        """Seconds of this call in which its process waited for a processor, as far as they do not count."""
        return min(seconds_waited(child.pid) - self._waited, max(self._limit, _WAIT))

    def _kill(self) -> None:
        if self._child is not None:
            _end_session(self._child, self._mark)
        self.stop()

    def _end(self) -> str:
        """How the process ended, with the last that it wrote to stderr."""
        assert self._child is not None
        assert self._said is not None
        _exits_within(self._child, 5.0)  # else it closed stdout and lives on
        code = _end_session(self._child, self._mark)  # whose members may hold stderr open
        said = self._said.last_line()
        self._killed = code == -signal.SIGKILL
        self.stop()
        return f"the process {_how(code)}" + (f": {said}" if said else "")


def _how(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended; it is not reaped, so that its number stays its own."""
    return (
        child.returncode is not None or os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    )


def _exits_within(child: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until a process has ended, at most so long."""
    until = time.monotonic() + seconds
    while not _has_ended(child) and time.monotonic() < until:
        time.sleep(0.002)


def _end_session(leader: subprocess.Popen[bytes], mark: str) -> int:
    """Kill a process, its group, and whatever else it has started; its status."""
    if leader.returncode is not None:  # its number may be another's by now
        return leader.returncode
    end_relatives(leader.pid, mark)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # there is none left
        os.killpg(leader.pid, signal.SIGKILL)
    code = leader.wait()
    end_relatives(leader.pid, mark)
    return code


class Remote:
    """A subject's callables, carried out by a process.

    Parameters
    ----------
    process : Process
        Whom to ask.
    """

    def __init__(self, process: Process) -> None:
        self.process = process
        self.watch = 0
        """If not 0: the state that global generators are put in before a call; `touched` then tells which were used."""
        self.touched: list[str] = []
        self.layout = ""
        """Of `LAYOUTS`: what the input of a call is a view of; a server for Python subjects makes it."""
        self._last: Array | None = None

    def _asked(self, request: dict[str, Any], x: Array, *more: Array) -> tuple[dict[str, Any], list[Array]]:
        if self.watch:
            request = {**request, "watch": self.watch}
        if self.layout:
            request = {**request, "layout": self.layout}
        reply, arrays = self.process.call(request, [x, *more])
        touched = reply.get("touched", [])
        if not isinstance(touched, list) or not all(isinstance(name, str) for name in touched):
            raise Unanswered(f"no valid reply: 'touched' must be a list of names, got {str(touched)[:80]}")
        self.touched = touched
        if reply.get("changed") and self._last is not None and arrays:  # an answer given earlier is another one now
            earlier = arrays.pop()
            if earlier.shape == self._last.shape:
                self._last[...] = earlier
        if reply.get("mutated") and arrays:
            now = arrays.pop()
            if now.shape != x.shape or now.dtype != x.dtype:
                raise Unanswered(f"no valid reply: its input is {now.dtype} {now.shape}, and was {x.dtype} {x.shape}")
            x[...] = now
        if not arrays:
            raise Unanswered("the reply holds no array")
        self._last = arrays[0]
        return reply, arrays

    def roundtrip(self, x: Array, seed: int) -> Array:
        """As of `Codec`."""
        return self._asked({"op": "roundtrip", "seed": seed}, x)[1][0]

    def roundtrip_with(self, x: Array, seed: int, uniforms: Array | None = None) -> Array:
        """As of `Codec`, with uniforms."""
        more = [] if uniforms is None else [np.asarray(uniforms)]
        return self._asked({"op": "roundtrip", "seed": seed}, x, *more)[1][0]

    def intercepted(self, x: Array, seed: int, uniforms: Array, spare: int) -> tuple[Array, Drawn]:
        """The answer of a Python server's subject whose generators are given their words, and what was drawn."""
        reply, arrays = self._asked({"op": "roundtrip", "seed": seed, "spare": spare}, x, uniforms)
        count, kinds, refused = (reply.get(name) for name in ("drawn", "kinds", "refused"))
        if not (isinstance(count, int) and isinstance(kinds, int) and isinstance(refused, str)):
            raise Unanswered(f"no valid reply: it must tell what was drawn, got {str((count, kinds, refused))[:80]}")
        return arrays[0], Drawn(count, kinds, refused)

    def bits(self, x: Array, seed: int) -> int:
        """As of `Codec`."""
        reply, _ = self._asked({"op": "roundtrip", "seed": seed}, x)
        if isinstance(reply.get("bits"), bool) or not isinstance(reply.get("bits"), int):
            raise Unanswered(f"the reply must hold an integer 'bits', got {reply.get('bits')!r}")
        return int(reply["bits"])

    def factory(self, seed: int) -> RemoteStep:
        """As of `Stateful`."""
        self.process.call({"op": "reset", "seed": seed})
        return RemoteStep(self)

    def run(self, stack: Array, seed: int) -> Any:
        """As of `AllReduce`."""
        from commbounds.verify.conformance.subject import AllReduceResult

        reply, arrays = self._asked({"op": "allreduce", "seed": seed}, stack)
        residual = arrays[1] if len(arrays) > 1 else None
        counts = [_words(reply, name) for name in ("sent", "received")]
        return AllReduceResult(arrays[0], counts[0], counts[1], residual)


def _words(reply: dict[str, Any], name: str) -> Array | None:
    """The counts of that name in a reply."""
    words = reply.get(name)
    if words is None:
        return None
    whole = isinstance(words, list) and all(isinstance(w, int) and not isinstance(w, bool) for w in words)
    if not whole or any(abs(w) >= 2**63 for w in words):
        raise Unanswered(f"no valid reply: {name!r} must be a list of integers, got {str(words)[:80]}")
    return np.asarray(words, np.int64)


class RemoteStep:
    """The step of a stateful subject in a process; with its `residual`, where the process tells it."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def __call__(self, x: Array) -> Array:
        _, arrays = self._remote._asked({"op": "step"}, x)
        if len(arrays) > 1:
            self.residual = arrays[1]
        return arrays[0]
