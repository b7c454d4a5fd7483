"""Subjects that run in a process of their own: any executable that speaks the protocol, or a Python subject."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from commbounds.compressors.base import shown
from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.conformance.process import Process, Remote
from commbounds.verify.conformance.subject import AllReduce, Codec, Stateful, Subject, checked_limit


def executable(
    command: Sequence[str], claims: Sequence[SubjectClaim] = (), *, kind: type[Subject] = Codec, **options: Any
) -> Subject:
    """A subject that an executable carries out.

    Parameters
    ----------
    command : sequence of str
        Program and arguments. It reads requests from stdin and writes replies to stdout, see ``docs/protocol.md``.
    claims : sequence of SubjectClaim
        As of the kind.
    kind : type
        `Codec`, `Stateful` or `AllReduce`.
    **options
        As of the kind. ``time_limit`` is what a call may take before the process is killed. A compressor that replies
        with ``bits`` says so by ``bits=True``, one that takes uniforms by ``uniforms=True``.

    Raises
    ------
    TypeError, ValueError
        The command is empty, the kind is none, or the kind refuses an option.

    Notes
    -----
    The process is started at the first call, and again after it hung or died.
    """
    if not isinstance(command, list | tuple) or not command:
        raise TypeError(f"command must be a list or tuple of program and arguments, got {shown(command)}")
    if not any(kind is known for known in (Codec, Stateful, AllReduce)):
        raise TypeError(f"kind must be Codec, Stateful or AllReduce, got {shown(kind)}")
    limit = checked_limit(options.pop("time_limit", 30.0))
    options.setdefault("name", str(command[0]))
    asked = [bool(options.pop(name, False)) if kind is Codec else False for name in ("uniforms", "bits")]
    made: Callable[..., Subject] = kind
    return made(claims=claims, **_calls(kind, Remote(Process(command, limit)), *asked), **options)


def isolated(subject: Subject) -> Subject:
    """`subject`, carried out in a process of its own by a server that loads it from its origin.

    Raises
    ------
    TypeError
        `subject` is none.
    ValueError
        It was not loaded from a module.
    """
    if not isinstance(subject, Subject):
        raise TypeError(f"subject must be a Codec, Stateful or AllReduce, got {shown(subject)}")
    if not subject.origin:
        raise ValueError(f"{subject.name} was not loaded from a module, so no other process can load it")
    if subject.outside is not None:
        return subject
    command = [sys.executable, "-m", "commbounds.verify.conformance.serve", subject.origin]
    remote = Remote(Process(command, subject.time_limit))
    calls = _calls(
        type(subject), remote, getattr(subject, "injectable", False), getattr(subject, "bits", None) is not None
    )
    return replace(subject, **calls)


def _calls(kind: type[Subject], remote: Remote, uniforms: bool, bits: bool) -> dict[str, Any]:
    """What a process carries out, by the fields of that kind of subject."""
    common = {"time_limit": float("inf"), "outside": remote}
    if issubclass(kind, Codec):
        call = remote.roundtrip_with if uniforms else remote.roundtrip
        return {"roundtrip": call, "bits": remote.bits if bits else None, **common}
    return common | ({"factory": remote.factory} if issubclass(kind, Stateful) else {"run": remote.run})
