"""The protocol's other side for Python subjects: ``python -m commbounds.verify.conformance.serve module:subject``.

What the subject prints goes to stderr, so that it cannot be taken for a reply.
"""

import contextlib
import os
import sys
import threading
import warnings
from dataclasses import asdict
from typing import IO, Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.bench import Unusable, usable
from commbounds.verify.conformance.generators import fingerprints, put, states
from commbounds.verify.conformance.layouts import LAYOUTS
from commbounds.verify.conformance.loading import loaded
from commbounds.verify.conformance.offspring import adopt, reap
from commbounds.verify.conformance.protocol import VERSION, encoded, read_message
from commbounds.verify.conformance.random_words import intercepted
from commbounds.verify.conformance.subject import AllReduce, AllReduceResult, Codec, Stateful, Subject
from commbounds.verify.conformance.surroundings import Surroundings
from commbounds.verify.conformance.torch_words import answered, prepare

Reply = tuple[dict[str, Any], list[Array]]
_LONGEST = 2000
"""Characters of an exception that are told."""


class _Server:
    """Answers requests about one subject."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._step: Any = None
        self._last: tuple[Array, bytes] | None = None
        self._interception = contextlib.ExitStack()
        self.intercepts = False

    def reply(self, request: dict[str, Any], arrays: list[Array]) -> Reply:
        operation, subject = request.get("op"), self._subject
        reap(request.get("reap", ()))
        if operation == "hello":
            return {"protocol": VERSION, "kind": subject.kind, "name": subject.name}, []
        if operation == "end":
            others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
            return {"threads": [thread.name for thread in others if not thread.daemon]}, []
        seed = int(request.get("seed", 0))
        if operation == "reset" and isinstance(subject, Stateful):
            self._step = subject.factory(seed)
            return {}, []
        if not arrays:
            raise ValueError(f"{operation} needs an array")
        if self.intercepts and "spare" not in request:  # one request of this kind is hardly ever alone
            self._interception.close()
            self.intercepts = False
        x = LAYOUTS[request["layout"]](arrays[0]) if "layout" in request else arrays[0]
        before, watch = x.copy(), int(request.get("watch", 0))
        seen = self._watched(watch)
        spare = int(request["spare"]) if "spare" in request else None
        header, answers = self._answer(operation, x, seed, arrays[1:], spare)
        if watch:
            after = fingerprints(states())
            header["touched"] = sorted(name for name in seen if seen[name] != after.get(name))
        if x.tobytes() != before.tobytes():
            header["mutated"] = True
            answers = [*answers, x]
        if self._last is not None and self._last[0].tobytes() != self._last[1]:
            header["changed"] = True
            answers = [*answers, self._last[0]]
        self._last = answers[0], answers[0].tobytes()
        return header, answers

    @staticmethod
    def _watched(watch: int) -> dict[str, Any]:
        if not watch:
            return {}
        put(watch)
        return fingerprints(states())

    def _given(self, subject: Codec | AllReduce, x: Array, seed: int, uniforms: Array, spare: int) -> Reply:
        """The answer of a subject whose generators are given their words."""
        if not self.intercepts:
            self._interception.enter_context(intercepted())
            self.intercepts = True
        if isinstance(subject, AllReduce):
            y, drawn = answered(subject.run, x, seed, uniforms, spare)
            return asdict(drawn), [usable(*subject.known(AllReduceResult.of(y).result, x))]
        y, drawn = answered(subject.roundtrip, x, seed, uniforms, spare)
        return asdict(drawn), [usable(y, x)]

    def _answer(self, operation: Any, x: Array, seed: int, more: list[Array], spare: int | None) -> Reply:
        subject = self._subject
        if operation == "roundtrip" and isinstance(subject, Codec | AllReduce) and spare is not None:
            return self._given(subject, x, seed, more[0], spare)
        if operation == "roundtrip" and isinstance(subject, Codec):
            options = {"uniforms": more[0]} if more else {}
            y = usable(subject.roundtrip(x, seed, **options), x)
            return ({} if subject.bits is None else {"bits": int(subject.bits(x, seed))}), [y]
        if operation == "step" and isinstance(subject, Stateful):
            y = usable(self._step(x), x)
            residual = getattr(self._step, "residual", None)
            residual = residual() if callable(residual) else residual
            return {}, [y] if residual is None else [y, np.asarray(residual)]
        if operation == "allreduce" and isinstance(subject, AllReduce):
            answer = AllReduceResult.of(subject.run(x, seed))
            header = {}
            for name in ("sent", "received"):
                if getattr(answer, name) is not None:
                    header[name] = np.asarray(getattr(answer, name)).tolist()
            parts = [usable(*subject.known(answer.result, x))]
            # of any shape and dtype: the other side judges it
            return header, parts if answer.residual is None else [*parts, np.asarray(answer.residual)]
        raise ValueError(f"a {subject.kind} knows no {operation!r}")


def _own() -> list[int]:
    """Numbers of the processes that are not the subject's affair: those of Python, and of groups of ranks."""
    tracker = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    found = [getattr(tracker, "_pid", None), getattr(server, "_forkserver_pid", None)]
    found += getattr(sys.modules.get("commbounds.verify.conformance.ddp_group"), "STARTED", ())
    return [number for number in found if isinstance(number, int)]


def _said(error: BaseException) -> str:
    """What an exception says, whatever it does when it is asked."""
    try:
        text = str(error)
    except BaseException as other:
        text = f"(its text raised {type(other).__name__})"
    return f"raised {type(error).__name__[:_LONGEST]}: {text[:_LONGEST]}"


def _serve(server: _Server, requests: IO[bytes], replies: IO[bytes]) -> None:
    ours, surroundings = os.getpid(), Surroundings()
    surroundings.listen()

    def exactly(count: int) -> bytes:
        return requests.read(count)

    while (message := read_message(requests.readline, exactly)) is not None:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # what a subject warns of is its own affair
                header, answers = server.reply(*message)
                error_state = {name: str(kind) for name, kind in np.geterr().items()}
            if not server.intercepts and (left := surroundings.left(error_state)):
                header["left"] = left
            if own := _own():
                header["own"] = own
            data = encoded(header, answers)
        except Unusable as error:
            data = encoded({"returned": str(error).removeprefix("returned ")})
        except SystemExit as error:
            data = encoded({"error": f"called sys.exit({error.code!r:.{_LONGEST}})"})
        except BaseException as error:  # a KeyboardInterrupt, too: the user's goes to the process that judges
            data = encoded({"error": _said(error)})
        if os.getpid() != ours:  # the subject has forked, and this is the other one: it has nothing to say here
            os._exit(0)
        replies.write(data)
        replies.flush()


def main(target: str) -> None:
    """Serve the subject that `target` names until stdin ends."""
    adopt()
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        (subject,) = loaded(target)
    except Exception as error:  # said by the protocol: whoever started this sees nothing else
        sys.stdin.buffer.readline()
        replies.write(encoded({"error": f"{target} cannot be loaded: {type(error).__name__}: {error}"}))
        replies.flush()
        raise SystemExit(1) from error
    prepare()
    _serve(_Server(subject), sys.stdin.buffer, replies)


if __name__ == "__main__":
    main(sys.argv[1])
