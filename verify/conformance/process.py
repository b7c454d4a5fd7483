"""A subject in a process of its own: called by the protocol, killed when it hangs, started again when it dies."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify.conformance.bench import Unusable
from commbounds.verify.conformance.calls import Died, TimedOut, Unanswered
from commbounds.verify.conformance.memory import resident_bytes
from commbounds.verify.conformance.protocol import VERSION, BadMessage, encoded, read_message

Array = NDArray[Any]
_START_LIMIT = 60.0
"""Seconds that a process may take to answer ``hello``: imports, compilation."""


class Process:
    """An executable that speaks the protocol.

    Parameters
    ----------
    command : sequence of str
        Program and arguments; started at the first call, in the working directory of then.
    time_limit : float
        Seconds that a call may take.
    """

    def __init__(self, command: Sequence[str], time_limit: float) -> None:
        self.command, self.time_limit = [str(part) for part in command], time_limit
        self.hello: dict[str, Any] = {}
        self._child: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
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
        """
        if self._child is None:
            self._start()
        reply, answers = self._exchanged(encoded(request, arrays), self.time_limit)
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

    def stop(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is None:
            return
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                stream.close()
        try:
            child.wait(0.5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if self._said is not None:
            self._said.close()

    def __del__(self) -> None:
        self.stop()

    # --- inside --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._buffer.clear()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop
        try:
            self._child = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, bufsize=0
            )
        except OSError as error:
            raise ValueError(f"{self.command[0]} cannot be started: {error}") from error
        for stream in (self._child.stdin, self._child.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
        reply, _ = self._exchanged(encoded({"op": "hello", "protocol": VERSION}), max(_START_LIMIT, self.time_limit))
        if "error" in reply:
            raise ValueError(f"{self.command[0]}: {reply['error']}")
        if reply.get("protocol") != VERSION:
            raise ValueError(f"{self.command[0]} speaks protocol {reply.get('protocol')!r}, not {VERSION}")
        self.hello = reply

    def _exchanged(self, request: bytes, limit: float) -> tuple[dict[str, Any], list[Array]]:
        self._deadline = time.monotonic() + limit
        self._limit, self._out = limit, memoryview(request)
        try:
            message = read_message(self._line, self._bytes)
        except BadMessage as error:
            self._kill()
            raise Died(f"wrote to stdout what is no reply: {error}") from error
        if message is None:
            raise Died(self._end())
        return message

    def _line(self, limit: int) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > limit:
                raise BadMessage(f"no header, but {bytes(self._buffer[:80])!r}")
            if not self._more():
                if self._buffer:
                    raise BadMessage(f"no header, but {bytes(self._buffer[:80])!r}")
                return b""
        return self._popped(end + 1)

    def _bytes(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if not self._more():
                break
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
                events = ready.select(max(0.0, self._deadline - time.monotonic()))
            if not events:
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

    def _kill(self) -> None:
        if self._child is not None:
            self._child.kill()
        self.stop()

    def _end(self) -> str:
        """How the process ended, with the last that it wrote to stderr."""
        assert self._child is not None
        assert self._said is not None
        try:
            code = self._child.wait(5.0)
        except subprocess.TimeoutExpired:  # it closed stdout and lives on
            self._child.kill()
            code = self._child.wait()
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - 300))
        said = self._said.read().decode(errors="replace").strip().splitlines()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        self.stop()
        return f"the process {how}" + (f": {said[-1]}" if said else "")


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
        self._last: Array | None = None

    def _asked(self, request: dict[str, Any], x: Array, *more: Array) -> tuple[dict[str, Any], list[Array]]:
        if self.watch:
            request = {**request, "watch": self.watch}
        reply, arrays = self.process.call(request, [x, *more])
        self.touched = list(reply.get("touched", []))
        if reply.get("changed") and self._last is not None and arrays:  # an answer given earlier is another one now
            earlier = arrays.pop()
            if earlier.shape == self._last.shape:
                self._last[...] = earlier
        if reply.get("mutated") and arrays:
            x[...] = arrays.pop()
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
        counts = [None if reply.get(name) is None else np.asarray(reply[name]) for name in ("sent", "received")]
        return AllReduceResult(arrays[0], counts[0], counts[1], residual)


class RemoteStep:
    """The step of a stateful subject in a process; with its `residual`, where the process tells it."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def __call__(self, x: Array) -> Array:
        _, arrays = self._remote._asked({"op": "step"}, x)
        if len(arrays) > 1:
            self.residual = arrays[1]
        return arrays[0]
