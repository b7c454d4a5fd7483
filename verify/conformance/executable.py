"""Subjects that run in a process of their own: any executable that speaks the protocol, or a Python subject."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
    return _remote(kind, Remote(Process(command, limit)), claims, options)


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
    common: dict[str, Any] = {"time_limit": float("inf"), "outside": remote}
    if isinstance(subject, Codec):
        call = remote.roundtrip_with if subject.injectable else remote.roundtrip
        return replace(subject, roundtrip=call, bits=subject.bits and remote.bits, **common)
    if isinstance(subject, Stateful):
        return replace(subject, factory=remote.factory, **common)
    if isinstance(subject, AllReduce):
        return replace(subject, run=remote.run, **common)
    raise TypeError(f"subject must be a Codec, Stateful or AllReduce, got {subject!r}")


def _remote(kind: type[Subject], remote: Remote, claims: Sequence[SubjectClaim], options: dict[str, Any]) -> Subject:
    common: dict[str, Any] = {"time_limit": float("inf"), "outside": remote}
    if kind is Codec:
        call = remote.roundtrip_with if options.pop("uniforms", False) else remote.roundtrip
        bits = remote.bits if options.pop("bits", False) else None
        return Codec(call, claims, bits=bits, **common, **options)
    if kind is Stateful:
        return Stateful(remote.factory, claims, **common, **options)
    return AllReduce(remote.run, claims, **common, **options)
