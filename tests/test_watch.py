import io
import json
import math
import os
import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import watched_training as training
from click.testing import CliRunner
from rich.console import Console

from commbounds import _watch, _watched, watch
from commbounds.cli import main

TOPK = {"sparsifiers.topk.contraction": {"k": lambda n: n // 10}}


def topk(x, k):
    received = np.zeros_like(x)
    chosen = np.argsort(np.abs(x))[-k:]
    received[chosen] = x[chosen]
    return received


def run(folder, steps=20, fault=lambda t, residual: residual, start=0, seed=0, **options):
    """One rank's Top-K with error feedback; the residual behind the last step."""
    rng, residual = np.random.default_rng(seed), np.zeros(100, np.float32)
    with watch.Monitor(folder, TOPK, overhead=1e9, **options) as monitor:
        for t in range(steps):
            gradient = rng.standard_normal(100).astype(np.float32)
            sent = gradient + fault(t, residual)
            received = topk(sent, 10)
            residual = sent - received
            if t >= start:
                monitor.step(
                    "w", step=t, gradient=gradient, sent=sent, received=received, residual=residual, result=received
                )
    return residual


def untimed(path):
    """The lines of a file without what differs from run to run."""
    return re.sub(r', "monitor_share": [^}]*', "", path.read_text())


def checks(folder):
    return [(alarm.check, alarm.step) for _, alarm in watch.read(folder).alarms]


def report(*arguments):
    return CliRunner().invoke(main, ["watch", "report", *map(str, arguments)])


def test_a_right_run_raises_nothing(tmp_path):
    run(tmp_path)
    found = watch.read(tmp_path)
    assert found.alarms == []
    assert [look.step for _, look in found.looks()] == list(range(20))
    assert all(
        look.values["relative_error"] <= look.bounds["sparsifiers.topk.contraction"] for _, look in found.looks()
    )


def test_a_dropped_residual_is_named_at_once(tmp_path):
    run(tmp_path, fault=lambda t, residual: residual * (t != 7))
    assert checks(tmp_path) == [("carried", 7)]


def test_claims_hold_with_an_allowance_for_rounding_and_no_more(tmp_path):
    x = np.ones(100, np.float32)
    kept = np.r_[np.ones(10), np.zeros(90)].astype(np.float32)  # attains 1 - k/n
    with watch.Monitor(tmp_path, TOPK, overhead=1e9) as monitor:
        assert monitor.step("w", sent=x, received=kept) == []
        assert monitor.step("w", sent=x * np.float32(1 / 3), received=kept * np.float32(1 / 3)) == []
        (alarm,) = monitor.step("w", sent=x, received=kept * np.float32(0.99))
    assert alarm.check == "claim"
    assert alarm.claim == "sparsifiers.topk.contraction"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nothing_that_is_shown_is_changed(tmp_path, dtype):
    rng = np.random.default_rng(0)
    arrays = {name: rng.standard_normal(100).astype(dtype) for name in ("sent", "received", "gradient", "residual")}
    arrays |= {"result": arrays["sent"].copy(), "replicas": arrays["sent"].copy(), "scales": np.ones(4, dtype)}
    before = {name: array.tobytes() for name, array in arrays.items()}
    for array in arrays.values():
        array.flags.writeable = False
    with watch.Monitor(tmp_path, training.CLAIMS["int8"] | TOPK) as monitor:
        for _ in range(3):
            monitor.step("w", **arrays)
    assert before == {name: array.tobytes() for name, array in arrays.items()}


def test_training_has_the_same_bits_with_and_without(tmp_path):
    def trained(monitors):
        exchange, ranks = training.Lockstep(), {}

        def program(rank):
            ranks[rank] = training.Rank(exchange, rank, "int8", None, 3, monitors[rank])
            ranks[rank].train(30)

        exchange.run(program)
        return [w.tobytes() for rank in ranks.values() for w in rank.weights.values()]

    with ExitStack() as stack:
        options = {"claims": training.CLAIMS["int8"], "ranks": training.P}
        monitors = [stack.enter_context(watch.Monitor(tmp_path, rank=r, **options)) for r in range(training.P)]
        assert trained(monitors) == trained([None] * training.P)


def test_a_cut_last_line_is_dropped_and_the_run_goes_on_without_repeating(tmp_path):
    run(tmp_path, steps=10)
    path = tmp_path / "rank-00000.jsonl"
    whole, lines = path.read_bytes(), untimed(path)
    path.write_bytes(whole[:-5])
    assert [look.step for _, look in watch.read(tmp_path).looks()] == list(range(9))
    run(tmp_path, steps=20, start=5)
    assert [look.step for _, look in watch.read(tmp_path).looks()] == list(range(20))
    assert untimed(path).startswith(lines)


def test_a_step_given_twice_counts_once(tmp_path):
    def trained(folder, times):
        rng = np.random.default_rng(0)
        with watch.Monitor(folder, training.CLAIMS["int8"], overhead=1e9) as monitor:
            for step in range(20):
                x, scales = rng.standard_normal(64), np.ones(1)
                for _ in range(times):
                    monitor.step("w", step=step, sent=x, received=np.round(x), scales=scales)
            tests = {name: vars(test) for name, (test, _) in monitor._tensors["w"].tests.items()}
        return repr(tests), [(look.step, look.values["relative_error"]) for _, look in watch.read(folder).looks()]

    assert trained(tmp_path / "once", 1) == trained(tmp_path / "thrice", 3)


def test_a_residual_that_a_resumed_run_has_lost_is_noticed(tmp_path):
    run(tmp_path, steps=10)
    run(tmp_path, steps=20, start=10, fault=lambda t, residual: residual * (t != 10))
    assert checks(tmp_path) == [("carried", 10)]


def test_lines_survive_a_killed_process(tmp_path):
    program = (
        "import os, numpy as np\nfrom commbounds import watch\n"
        f"m = watch.Monitor({str(tmp_path)!r}, {{}}, overhead=1e9)\n"
        "for t in range(5): m.step('w', sent=np.ones(8), received=np.ones(8))\n"
        "os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", program], env=os.environ).returncode == 9
    assert [look.step for _, look in watch.read(tmp_path).looks()] == list(range(5))
    with watch.Monitor(tmp_path, {}, overhead=1e9) as monitor:  # whose lock is gone
        monitor.step("w", sent=np.ones(8), received=np.ones(8))


def test_a_look_that_the_disk_takes_half_of_is_not_begun_and_can_be_written_again(tmp_path):
    program = (
        "import resource, signal, numpy as np; from commbounds import watch\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"m = watch.Monitor({str(tmp_path)!r}, {{}}, overhead=1e9)\n"
        "one = lambda t: m.step('w', step=t, sent=np.ones(8), received=np.ones(8))\n"
        "one(0)\n"
        "def limit(size): resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))\n"
        "limit(m._file.tell() + 20)\n"
        "try: one(1)\n"
        "except OSError: limit(-1); one(1); one(2)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert [look.step for _, look in watch.read(tmp_path).looks()] == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["look"]["values"].update(relative_error=math.nan), "relative_error must be finite"),
        (lambda d: d["look"]["values"].update(relative_error=math.inf), "relative_error must be finite"),
        (lambda d: d["look"]["values"].update(relative_error=-1.0), "must not be negative"),
        (lambda d: d["look"]["values"].update(relative_error="0.5"), "must be a number"),
        (lambda d: d["look"].update(step=-1), "out of range"),
        (lambda d: d["look"].update(step=True), "must be an integer"),
        (lambda d: d["look"].update(n=0), "out of range"),
        (lambda d: d["look"].update(more=0), "is no field"),
        (lambda d: d["look"]["digests"].update(result=1 << 32), "32 bits"),
        (lambda d: d.update(other={}), "must be an object with one of"),
        (lambda d: d["look"].update(step=1), "comes after step"),
        (lambda d: d["look"].pop("tensor"), "is missing"),
    ],
)
def test_forged_lines_are_refused(tmp_path, change, message):
    run(tmp_path, steps=4)
    path = tmp_path / "rank-00000.jsonl"
    lines = path.read_text().splitlines()
    told = json.loads(lines[-1])
    change(told)
    path.write_text("\n".join([*lines[:-1], json.dumps(told)]) + "\n")
    with pytest.raises(ValueError, match=message):
        watch.read(tmp_path)
    answer = report(tmp_path)
    assert answer.exit_code == 2
    assert "line 5" in answer.output
    with pytest.raises(ValueError, match=message):
        watch.Monitor(tmp_path, TOPK)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\n", b"[]\n", b"null\n", b"[" * 100_000 + b"\n", b"{}\n"])
def test_files_that_are_none(tmp_path, content):
    (tmp_path / "rank-00000.jsonl").write_bytes(content)
    answer = report(tmp_path)
    assert answer.exit_code == 2
    assert "Traceback" not in answer.output


def test_commands_for_what_is_not_there(tmp_path):
    assert "no monitor has written" in report(tmp_path).output
    assert report(tmp_path).exit_code == report(tmp_path / "none").exit_code == 2
    assert "give one of" in report(tmp_path, "--json", "--follow").output


def test_another_run_and_a_second_writer_are_refused(tmp_path):
    run(tmp_path, steps=2)
    with pytest.raises(ValueError, match="another run"):
        watch.Monitor(tmp_path, TOPK, seed=1)
    with watch.Monitor(tmp_path, TOPK), pytest.raises(ValueError, match="another run is writing"):
        watch.Monitor(tmp_path, TOPK)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"claims": {"no.such.claim": {}}}, "must be a claim that holds|not in the book"),
        ({"claims": {"sparsifiers.topk.unbiased": {}}}, "does not"),
        ({"alarm": 0.0}, "alarm must be in"),
        ({"alarm": math.nan}, "alarm must be in"),
        ({"overhead": 0.0}, "overhead must be positive"),
        ({"rank": 2, "ranks": 2}, "rank must be in"),
        ({"loss": 1.0}, "loss must be in"),
        ({"seed": -1}, "seed must not be negative"),
    ],
)
def test_monitors_that_cannot_be(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        watch.Monitor(tmp_path, **arguments)


def test_steps_that_cannot_be(tmp_path):
    with watch.Monitor(tmp_path, TOPK) as monitor:
        with pytest.raises(ValueError, match="equally many entries"):
            monitor.step("w", sent=np.ones(3), received=np.ones(4))
        with pytest.raises(ValueError, match="real numbers"):
            monitor.step("w", sent=np.ones(3, complex))
        with pytest.raises(ValueError, match="real numbers"):
            monitor.step("w", sent=np.ones(0))
        with pytest.raises(ValueError, match="equal groups"):
            monitor.step("w", sent=np.ones(10), scales=np.ones(3))
        with pytest.raises(ValueError, match="step must not be negative"):
            monitor.step("w", step=-1)
        for samples in ([-1], [1 << 53], [0.5], []):
            with pytest.raises(ValueError, match="samples must be integers"):
                monitor.step("w", samples=samples)
        for shard in (-1, 8):
            with pytest.raises(ValueError, match="shard must begin a part of 10 entries"):
                monitor.step("w", sent=np.ones(10), result=np.ones(3), shard=shard)
        with pytest.raises(ValueError, match="equally many entries"):
            monitor.step("w", sent=np.ones(10), result=np.ones(3))


def test_it_keeps_to_its_share_of_the_time(tmp_path):
    """A step of no time at all: whatever is looked at is too much, and looks become rare."""
    with watch.Monitor(tmp_path, TOPK, overhead=0.01) as monitor:
        x = np.ones(20_000, np.float32)
        for _ in range(64 * watch.WINDOW):
            monitor.step("w", sent=x, received=x)
        assert monitor.period >= 64
    assert len(list(watch.read(tmp_path).looks())) < 10 * watch.WINDOW


@pytest.mark.parametrize(("step", "look"), [(0.01, 0.004), (0.01, 0.1), (0.1, 0.00001)])
def test_as_many_steps_are_looked_at_as_there_is_time_for(tmp_path, monkeypatch, step, look):
    """Two tensors, by a clock of which a step and a look take so many seconds."""
    clock, whole = [0.0], watch._Looking.whole

    def slow(looking, *arguments):
        clock[0] += look
        whole(looking, *arguments)

    monkeypatch.setattr(watch.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(watch._Looking, "whole", slow)
    with watch.Monitor(tmp_path, TOPK, overhead=0.01) as monitor:
        for _ in range(600 if look < step / 100 else 6000):
            clock[0] += step
            for tensor in ("v", "w"):
                monitor.step(tensor, sent=np.ones(10), received=np.ones(10))
        most = 2 * look / (0.01 * step)
        assert most <= monitor.period < max(2 * most, 2)
        assert monitor.share <= 0.01 + 4 * look / clock[0]  # and what the first looks took
    assert report(tmp_path).output.startswith(f"no alarm, watching took up to {100 * monitor.share:.2g} %")


def test_the_page_shows_bounds_and_escapes_names(tmp_path):
    with watch.Monitor(tmp_path, TOPK, overhead=1e9) as monitor:
        for _ in range(5):
            monitor.step("<script>w", sent=np.ones(20), received=np.zeros(20))
    answer = report(tmp_path)
    assert answer.exit_code == 1
    assert "claim: relative_error is 1, bound 0.9" in answer.output
    assert "1 alarm, watching took" in answer.output
    page = (tmp_path / "watch.html").read_text()
    assert "<script>" not in page
    assert "<svg" in page
    assert "Not all entries are zero" not in page  # a monitor sees that one
    facts = json.loads(report(tmp_path, "--json").output)
    assert facts["claims"]["sparsifiers.topk.contraction"]["worst"][0]["ratio"] == 1 / 0.9
    assert facts["signal to noise"] == [{"tensor": "<script>w", "least": 1.0, "below": 1.0}]


def test_a_failing_hypothesis_is_no_failing_claim(tmp_path):
    claims = {"feedback.ef14.residual": {"alpha": 0.1, "reach": 1.0}}
    with watch.Monitor(tmp_path, claims, overhead=1e9) as monitor:
        (alarm,) = monitor.step("w", gradient=np.ones(10), residual=1e6 * np.ones(10))
        assert alarm.check == "hypothesis"
        (alarm,) = monitor.step("w", gradient=0.1 * np.ones(10), residual=1e6 * np.ones(10))
    assert alarm.check == "claim"


SAMPLE = [
    ("topk", "residual halved after a resume"),
    ("dense", "one rank left out of the sum"),
    ("powersgd", "one rank stale"),
    ("int8", "rounding down"),
    ("diloco", "one bit of a result flipped on one rank"),
    ("dense", "two ranks with the same data"),
    ("topk", "learning rate doubled"),
]
ALONE = {
    "finite": ("dense", "a gradient that is not finite"),
    "scales": ("int8", "scale underflows from step 300"),
    "claim": ("topk", "the smallest entries kept"),
    "bias": ("int8", "rounding to the nearest"),
    "residual": ("topk", "residual of the step before"),
    "carried": ("powersgd", "residual dropped on one rank"),
    "hypothesis": ("topk", "gradients 100 times as large"),
    "times": ("topk", "a rank 10 % slower"),
    "losses": ("diloco", "outer messages lost twice as often"),
    "optimiser": ("dense", "learning rate doubled"),
    "agreement": ("dense", "one bit of a result flipped on one rank"),
    "sum": ("powersgd", "one rank left out of the sum"),
    "noise": ("int8", "a rank's seed shared"),
    "samples": ("diloco", "two ranks with the same data"),
    "missing": ("dense", "one rank dead"),
}
"""Check -> a method and a planted fault that no other check notices."""


@pytest.mark.wide
@pytest.mark.parametrize("check", _watched.CHECKS)
def test_every_check_notices_a_fault_that_no_other_one_does(tmp_path, check):
    method, name = ALONE[check]
    (run,) = (run for run in training.fault_runs([name]) if run[0] == method)
    (found,) = training.watched_runs([run], tmp_path, training.Lockstep())
    assert {alarm.check for _, alarm in found.alarms} == {check}


@pytest.mark.parametrize(("method", "name"), SAMPLE)
def test_faults_are_noticed_and_named(tmp_path, method, name):
    fault = next(fault for fault in training.FAULTS if fault.name == name)
    (found,) = training.watched_runs([(method, fault, 1, 80)], tmp_path, training.Lockstep())
    steps, _, early = training.noticed(found, fault)
    assert steps is not None
    assert not early


@pytest.mark.wide
def test_four_processes_write_what_four_programs_in_one_do(tmp_path):
    runs = [(method, training.FAULTS[5], 2, 60) for method in training.ALL.split()]
    training.watched_runs(runs, tmp_path / "turns", training.Lockstep())
    training.watched_runs(runs, tmp_path / "four", training.Processes())
    files = sorted(path.relative_to(tmp_path / "turns") for path in (tmp_path / "turns").rglob("*.jsonl"))
    assert len(files) == training.P * len(runs)
    for file in files:
        assert untimed(tmp_path / "turns" / file) == untimed(tmp_path / "four" / file)


def test_right_runs_raise_nothing(tmp_path):
    for found in training.watched_runs(training.right_runs(5, 40), tmp_path, training.Lockstep()):
        assert found.alarms == []


@pytest.mark.long
def test_no_alarm_in_200_right_runs(tmp_path):
    for found in training.watched_runs(training.right_runs(), tmp_path, training.Lockstep()):
        assert found.alarms == []


def gloo(folder, hook, fault=""):
    """Four processes of torch train; the checksums of their weights."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = Path(__file__).with_name("watched_gloo.py")
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "4"}
    ranks = [
        subprocess.Popen(
            [sys.executable, program, str(folder), hook, fault],
            env={**os.environ, **address, "RANK": str(rank)},
            stdout=subprocess.PIPE,
        )
        for rank in range(4)
    ]
    answers = [process.communicate(timeout=300)[0] for process in ranks]
    assert [process.returncode for process in ranks] == [0] * 4
    return [int(answer) for answer in answers]


@pytest.mark.wide
@pytest.mark.parametrize("hook", ["allreduce", "fp16", "topk", "powersgd", "fsdp", "diloco"])
def test_hooks_of_torch_are_watched_without_changing_a_bit(tmp_path, hook):
    pytest.importorskip("torch")
    assert gloo(tmp_path, hook) == gloo("-", hook)
    found = watch.read(tmp_path)
    assert found.alarms == []
    assert {look.step for _, look in found.looks()} == set(range(10 if hook == "diloco" else 30))


@pytest.mark.wide
@pytest.mark.parametrize(
    ("hook", "fault", "check"), [("topk", "dropped", "carried"), ("topk", "forgetful", "sum"), ("fsdp", "zeros", "sum")]
)
def test_faults_of_hooks_are_noticed_at_once(tmp_path, hook, fault, check):
    pytest.importorskip("torch")
    gloo(tmp_path, hook, fault)
    assert checks(tmp_path)[0] == (check, 20)


@pytest.mark.long
@pytest.mark.parametrize("fault", ["", "sum"])
def test_diloco_of_torchft_is_watched(tmp_path, fault):
    pytest.importorskip("torchft")
    program = Path(__file__).with_name("watched_torchft.py")

    def weights(folder, *given):
        told = subprocess.run([sys.executable, program, folder, *given], capture_output=True, text=True, timeout=290)
        assert told.returncode == 0, told.stderr[-2000:]
        return told.stdout.split()

    of_one, of_the_other = weights(str(tmp_path), *filter(None, [fault]))
    assert of_one == of_the_other
    found = watch.read(tmp_path)
    assert {look.step for _, look in found.looks()} == set(range(8))
    if fault:
        assert checks(tmp_path)[0] == ("sum", 0)
        return
    assert found.alarms == []
    assert weights("-") == [of_one, of_the_other]


@pytest.mark.parametrize("height", [10, 40])
def test_what_is_followed_fits_a_terminal(tmp_path, height):
    with watch.Monitor(tmp_path, TOPK, overhead=1e9) as monitor:
        for tensor in range(30):
            monitor.step(f"[red]w{tensor}", sent=np.ones(20), received=np.zeros(20) if tensor < 20 else np.ones(20))
    terminal = Console(file=io.StringIO(), width=90, height=height)
    terminal.print(_watch._shown(watch.read(tmp_path), height))
    lines = terminal.file.getvalue().splitlines()
    assert len(lines) <= height
    assert lines[1].split()[:3] == ["[red]w0", "sparsifiers.topk.contraction", "111"]
    assert f"{30 - (height - height // 3 - 5)} more that are farther" in " ".join(lines)
    assert lines[-1].startswith("20 alarms")


def test_other_programs_read_what_is_exported(tmp_path):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    pytest.importorskip("tensorboardX")
    run(tmp_path, steps=3, fault=lambda t, residual: residual * (t != 2))
    (tmp_path / "rank-00001.jsonl").write_text("")  # one that has not begun
    given = ("--openmetrics", tmp_path / "metrics.txt", "--tensorboard", tmp_path / "events")
    answer = CliRunner().invoke(main, ["watch", "export", str(tmp_path), *map(str, given)])
    assert answer.exit_code == 0, answer.output
    found = list(parser.text_string_to_metric_families((tmp_path / "metrics.txt").read_text()))
    samples = {(s.name, tuple(s.labels.values())): s.value for family in found for s in family.samples}
    looks = [look for _, look in watch.read(tmp_path).looks()]
    assert samples["commbounds_watch_step", ("0", "w")] == 2
    assert samples["commbounds_watch_alarms", ("carried", "0", "w")] == 1
    bound = "commbounds_watch_bound", ("sparsifiers.topk.contraction", "0", "w")
    assert samples[bound] == looks[-1].bounds["sparsifiers.topk.contraction"]
    (events,) = (tmp_path / "events").rglob("events*")
    assert answer.output.endswith(f"{sum(len(x.values) + len(x.bounds) for x in looks)} values: {given[-1]}\n")
    assert b"w/relative_error" in events.read_bytes()
    assert CliRunner().invoke(main, ["watch", "export", str(tmp_path)]).exit_code == 2


@pytest.mark.parametrize("floor", [False, True])
def test_bias_is_seen_by_a_variance_claim_alone(tmp_path, floor):
    """QSGD with 4 levels, and one that always rounds down, which is the same vector every time."""
    claims = {"quantizers.qsgd.unbiased": {}, "quantizers.qsgd.variance": {"s": 4}}
    rng = np.random.default_rng(0)
    with watch.Monitor(tmp_path, claims, overhead=1e9) as monitor:
        for _ in range(200):
            x = rng.standard_normal(64)
            unit = np.linalg.norm(x) / 4
            levels = np.floor(np.abs(x) / unit + (0.0 if floor else rng.random(64)))
            monitor.step("w", sent=x, received=np.sign(x) * levels * unit)
    assert [check for check, _ in checks(tmp_path)] == ["bias"] * floor * len(checks(tmp_path))
    assert bool(checks(tmp_path)) == floor
