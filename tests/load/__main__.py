"""An hour's load: ``python tests/load --minutes 60 --log FILE``. It takes a C compiler and a system with /proc.

Over and over `verify` and `check` run, and two watched ranks of a training run with `watch report` after them; in turn
they are left alone, lose a worker or themselves to a signal, or have disks that fail and clocks that jump (`faults.c`).
What must be there afterwards is what undisturbed runs gave: findings and looks to the byte, the same verdicts, nothing
running, no traceback, statuses that docs/reliability.md names. A process beside them judges and verifies all the time,
and its memory is looked at. Every run is a line of the log; the last one is the summary.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median

CLAIMS = ("quantizers.sign.unbiased", "quantizers.sign.contraction", "sparsifiers.topk.contraction")
SUBJECT = """
import numpy as np
from commbounds.verify.conformance import Codec, Contraction
sub = Codec(lambda x, seed: x / 2, [Contraction(0.75)], shape=(4,), effort=0.05, name="half")
"""
TRAINED = """
import sys, time
import numpy as np
from commbounds import watch
rank, rng, residual = int(sys.argv[1]), np.random.default_rng(int(sys.argv[1])), np.zeros(64)
try:
    claims = {"sparsifiers.topk.contraction": {"k": 8}}
    with watch.Monitor("run", claims, rank=rank, ranks=2, overhead=1e9) as monitor:
        for step in range(300):
            gradient, received = rng.standard_normal(64), np.zeros(64)
            sent = gradient + residual
            kept = np.argsort(np.abs(sent))[-8:]
            received[kept] = sent[kept]
            residual = sent - received
            seen = {"gradient": gradient, "sent": sent, "received": received, "residual": residual}
            assert not monitor.step("w", step=step, **seen)
            time.sleep(0.01)
except OSError as error:
    sys.exit(print(error) or 3)
"""
"""Every start goes through all steps: those that the file has are judged again, and not written again."""
STEADY = """
import os, sys, time
sys.path.insert(0, os.getcwd())
from mine import sub
from commbounds.verify import run
from commbounds.verify.conformance import check
until, rounds = time.monotonic() + float(sys.argv[1]), int(sys.argv[2])
while time.monotonic() < until or rounds > 0:
    assert check(sub).passed
    run(["quantizers.sign.unbiased"])
    rounds -= 1
    print(int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE"), flush=True)
"""
GOOD = (0, 3, 128 + signal.SIGTERM, -signal.SIGTERM)
"""Statuses of commands that were disturbed: done, the system failed, ended by a signal that they took, or by one that
came while Python started or stopped: a process ends by it then, and there is nothing, or everything, to be kept."""
PATIENCE = 600.0
WARM, ROUNDS = 60, 200
"""Rounds of the process beside them after which it has loaded and filled what it keeps (41, when nothing else ran), and
rounds that it makes however long they take: memory is judged by rounds, as a slow machine makes few in an hour."""


class Load:
    """Runs commands in a folder, and writes down what came of them."""

    def __init__(self, folder: Path, log: Path, seed: int) -> None:
        self.folder, self.rng, self.count = folder, random.Random(seed), Counter[str]()
        self._log = log.open("w", encoding="utf-8")
        self._library = folder / "faults.so"
        source = Path(__file__).with_name("faults.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self._library, source, "-ldl"], check=True)
        (folder / "mine.py").write_text(SUBJECT)
        (folder / "trained.py").write_text(TRAINED)
        self.mark = f"LOAD_MARK={folder.name}"
        self.findings, self.report, self.looks = b"", "", b""

    def note(self, kind: str, **what: object) -> None:
        """A line of the log."""
        self.count[kind] += 1
        print(json.dumps({"at": round(time.time(), 1), "kind": kind, **what}), file=self._log, flush=True)

    def environment(self, faults: bool) -> dict[str, str]:
        """Of a command, with faults or without."""
        given = {**os.environ, "COMMBOUNDS_CACHE": str(self.folder / "cache"), "LOAD_MARK": self.folder.name}
        if faults:
            seed, rate = self.rng.randrange(1, 10**6), self.rng.choice((10, 30, 100))
            given |= {"LD_PRELOAD": str(self._library), "LOAD_FOLDER": str(self.folder), "LOAD_SEED": str(seed)}
            given |= {"LOAD_RATE": str(rate), "LOAD_CLOCK": "50"}
        return given

    def started(
        self, arguments: list[str], faults: bool = False, program: tuple[str, ...] = ("-m", "commbounds")
    ) -> subprocess.Popen[str]:
        """A command that runs."""
        return subprocess.Popen(
            [sys.executable, *program, *arguments],
            cwd=self.folder,
            env=self.environment(faults),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )

    def family(self) -> list[int]:
        """Numbers of all processes of this load but this one."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                said, state = (
                    (place / "environ").read_bytes(),
                    (place / "stat").read_text().rpartition(")")[2].split()[0],
                )
            except OSError:
                continue
            if self.mark.encode() in said and b"LOAD_STEADY" not in said and state not in "ZX":
                found.append(int(place.name))
        return found

    def disturbed(self, process: subprocess.Popen[str], how: str) -> None:
        """Let something happen to a command after a while."""
        time.sleep(self.rng.uniform(0.2, 8.0))
        number = signal.SIGTERM if how == "terminated" else signal.SIGKILL
        victims = [process.pid] if how != "lost a worker" else [n for n in self.family() if n != process.pid]
        if victims and process.poll() is None:
            try:
                os.kill(self.rng.choice(victims), number)
            except ProcessLookupError:
                return

    def ended(
        self, process: subprocess.Popen[str], what: str, how: str, good: tuple[int, ...], others: tuple[int, ...] = ()
    ) -> tuple[int, str]:
        """Status of a command and what it said, once it has ended and nothing but `others` is left running."""
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.note("LOST: hung", command=what, how=how, said=err[-500:])
        until = time.monotonic() + 30.0
        while (left := set(self.family()) - set(others)) and time.monotonic() < until:
            time.sleep(0.1)
        if left:
            self.note("LOST: left running", command=what, how=how, left=sorted(left))
            for number in left:
                os.kill(number, signal.SIGKILL)
        if process.returncode not in good:
            self.note("LOST: status", command=what, how=how, status=process.returncode, said=(out + err)[-1500:])
        if re.search(r"Traceback|Segmentation|leaked", out + err):
            self.note("LOST: traceback", command=what, how=how, said=(out + err)[-1500:])
        return process.returncode, out

    def verify(self, how: str) -> None:
        """Verify, disturbed, and again until it is through; the findings must be those of the undisturbed run."""
        shutil.rmtree(self.folder / "cache" / "findings", ignore_errors=True)
        out = self.folder / "out" / "f.jsonl"
        shutil.rmtree(out.parent, ignore_errors=True)
        out.parent.mkdir()
        arguments = ["verify", *CLAIMS, "--jobs", "2", "--out", str(out)]
        process = self.started(arguments, faults=how == "faults")
        if how in ("killed", "terminated", "lost a worker"):
            self.disturbed(process, how)
        good = (*GOOD, 1) if how == "lost a worker" else GOOD
        status, _ = self.ended(process, "verify", how, (*good, -signal.SIGKILL) if how == "killed" else good)
        if how == "terminated":  # who is asked to end removes what it made for itself
            self.tidy(out, how)
        again, first = 0, status
        while status != 0 and again < 2:  # errors of lost workers are tried again by the same command
            again += 1
            status, _ = self.ended(self.started(arguments), "verify", "again", (0,))
        found = b"\n".join(sorted(out.read_bytes().splitlines())) if out.exists() else b""
        if not self.findings:
            self.findings = found
        if found != self.findings:
            self.note("LOST: findings", how=how, status=status, bytes=len(found), expected=len(self.findings))
        self.tidy(out, "again" if again else how)
        self.note(f"verify, {how}", status=first, again=again)

    def tidy(self, out: Path, how: str) -> None:
        """Beside the findings there is nothing."""
        left = [path.name for path in out.parent.glob("*") if path != out]
        if left:
            self.note("LOST: litter", how=how, left=left)

    def check(self, how: str) -> None:
        """Check the subject, disturbed; where it is through, the report must be that of the undisturbed run."""
        out = self.folder / "r.jsonl"
        out.unlink(missing_ok=True)
        process = self.started(["check", "mine.py:sub", "--out", str(out)], faults=how == "faults")
        if how in ("killed", "terminated", "lost a worker"):
            self.disturbed(process, how)
        good = (*GOOD, 1) if how == "lost a worker" else GOOD  # a subject that is killed has not answered
        status, _ = self.ended(process, "check", how, (*good, -signal.SIGKILL) if how == "killed" else good)
        report = out.read_text() if out.exists() else ""
        if status == 0:
            self.report = self.report or report
            if report != self.report:
                self.note("LOST: report", how=how, said=report[:500])
        self.note(f"check, {how}", status=status)

    def watch(self, how: str) -> None:
        """Two watched ranks, one disturbed, or both by faults, and again until they are through; then the report."""
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        ranks = {str(rank): self.started([str(rank)], how == "faults", ("trained.py",)) for rank in range(2)}
        if how in ("killed", "terminated", "lost a worker"):
            self.disturbed(self.rng.choice(list(ranks.values())), "killed" if how == "lost a worker" else how)
        again, statuses = 0, []
        for rank, process in ranks.items():
            others = tuple(other.pid for other in ranks.values())
            status, _ = self.ended(process, "watched", how, (*GOOD, -signal.SIGKILL), others)
            statuses.append(status)
            if status != 0:
                again += 1
                self.ended(self.started([rank], False, ("trained.py",)), "watched", "again", (0,), others)
        status, _ = self.ended(self.started(["watch", "report", "run"], how == "faults"), "watch", how, GOOD)
        if status != 0:
            self.ended(self.started(["watch", "report", "run"]), "watch", "again", (0,))
        files = {path.name: path.read_bytes() for path in folder.glob("*")}
        looks = b"".join(files.pop(f"rank-0000{rank}.jsonl", b"") for rank in range(2))
        looks = re.sub(rb', "monitor_share": [^},]*', b"", looks)
        self.looks = self.looks or looks
        if looks != self.looks or list(files) != ["watch.html"]:
            self.note("LOST: looks", how=how, bytes=len(looks), expected=len(self.looks), files=list(files))
        self.note(f"watch, {how}", status=statuses, report=status, again=again)

    def close(self, sizes: list[int]) -> dict[str, object]:
        """The summary, as the last line of the log."""
        summary: dict[str, object] = {
            "runs": {kind: count for kind, count in sorted(self.count.items()) if not kind.startswith("LOST")},
            "lost": {kind: count for kind, count in sorted(self.count.items()) if kind.startswith("LOST")},
            "memory": growth(sizes),
        }
        print(json.dumps({"summary": summary}), file=self._log, flush=True)
        self._log.close()
        return summary


def growth(sizes: list[int]) -> dict[str, float]:
    """How memory grows once it is warm: the median of the slopes of all pairs of rounds, in MiB a thousand rounds."""
    later = sizes[WARM:]
    slopes = [(b - a) / (j - i) for i, a in enumerate(later) for j, b in enumerate(later[i + 1 :], i + 1)]
    return {
        "rounds": len(sizes),
        "MiB": round(median(later or sizes) / 2**20, 1),
        "MiB a thousand rounds": round(median(slopes) * 1000 / 2**20, 2) if slopes else math.nan,
    }


def main() -> int:
    """Load the machine for so long; 1 where something was lost."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--log", type=Path, default=Path("load.jsonl"))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        load = Load(Path(folder), given.log, given.seed)
        begun, seconds = time.monotonic(), 60.0 * given.minutes
        steady = subprocess.Popen(
            [sys.executable, "-c", STEADY, str(seconds), str(ROUNDS)],
            cwd=folder,
            env={**load.environment(False), "LOAD_STEADY": "1", "COMMBOUNDS_CACHE": f"{folder}/steady"},
            stdout=subprocess.PIPE,
            text=True,
        )
        ways = ["undisturbed", "killed", "terminated", "lost a worker", "faults", "faults"]
        runs = (load.verify, load.check, load.watch)
        for run in runs:
            run("undisturbed")
        while time.monotonic() - begun < seconds:
            load.rng.choice(runs)(load.rng.choice(ways))
        points, _ = steady.communicate()
        if steady.returncode:
            load.note("LOST: the steady process", status=steady.returncode)
        summary = load.close([int(line) for line in points.splitlines()])
    print(json.dumps(summary, indent=1))
    return 1 if summary["lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
