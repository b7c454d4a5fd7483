"""Figures about more than one claim of the column."""

import math

import numpy as np

from commbounds.collectives.lowcomm import binned, diloco_round, sparse_bits, sparseloco_round
from commbounds.verify.exhibit import Exhibit, Maker, Panel, law, line
from commbounds.verify.gradients import KINDS, trace


def _moves(rule: str, rounds: int) -> list[float]:
    """How far the anchor goes, in every round, under a pseudo-gradient of one."""
    anchor, momentum, found = np.zeros(1), np.zeros(1), []
    for _ in range(rounds):
        state, _ = diloco_round(np.stack([anchor - 1.0]), anchor, momentum, rule=rule)
        found.append(float(abs(state.anchor[0] - anchor)[0]))
        anchor, momentum = state.anchor[0], state.momentum[0]
    return found


def _outer(_budget: str, _seed: int) -> Exhibit:
    """What the outer optimiser makes of a constant change, and where it is stable."""
    ts = range(1, 31)
    moves = [
        law("Nesterov, law", ts, "lowcomm.diloco.effective_step", "outerrounds", outerlr=0.7, outermu=0.9),
        line("Nesterov", ts, _moves("nesterov", 30)),
        line("Polyak", ts, _moves("heavy-ball", 30)),
        line("average of parameters", ts, 1, "reference"),
    ]
    shares = [c / 50 for c in range(1, 101)]
    radii = [
        law(f"momentum {mu:g}", shares, "lowcomm.diloco.radius", "innershare", outerlr=0.7, outermu=mu)
        for mu in (0.0, 0.5, 0.9)
    ]
    radii.append(line("stable below", shares, 1, "reference"))
    return Exhibit(
        "lowcomm.outer",
        "DiLoCo’s outer step begins with 1.33 times the average change and grows to 7 times it",
        "Left: movement of the anchor in every round, over a constant pseudo-gradient; step 0.7, momentum 0.9. Right: "
        "spectral radius of a round on a quadratic, by the share of the way to the minimum that inner steps cover; "
        "beyond 1 they overshoot.",
        (
            Panel("A constant pseudo-gradient", "outer round", "move over pseudo-gradient", tuple(moves)),
            Panel("On a quadratic, step 0.7", "share c of the way", "spectral radius", tuple(radii)),
        ),
    )


def _starved(_budget: str, _seed: int) -> Exhibit:
    """How often real gradients' entries are sent, with and without decay of the residual."""
    rounds, chunk, k, n = 60, 64, 4, 2048
    panels, x = [], trace().vectors["iid, early"][:, 0, :n].astype(np.float64)
    lines = []
    for beta in (1.0, 0.95, 0.8):
        residual, sent = np.zeros(n), np.zeros(n, np.int64)
        shares = []
        for t in range(rounds):
            after, _ = sparseloco_round(np.stack([x[t % len(x)], residual])[None], k, chunk, beta)
            sent += after[0, 0] != 0
            residual = after[0, 1]
            shares.append(float((sent[abs(x).max(axis=0) > 0] > 0).mean()))
        lines.append(line(f"beta = {beta:g}", range(1, rounds + 1), shares))
    panels.append(Panel("Entries that were ever sent", "round", "share of entries that are not zero", tuple(lines)))
    ratios = np.logspace(-2, 0, 41)
    counts = []
    change = np.stack([np.ones(ratios.size), ratios], axis=1).ravel()  # a chunk of two for every ratio
    for beta in (1.0, 0.95, 0.8):
        residual, often = np.zeros(change.size), np.zeros(ratios.size)
        for _ in range(200):
            after, _ = sparseloco_round(np.stack([change, residual])[None], 1, 2, beta)
            often += after[0, 0, 1::2] != 0
            residual = after[0, 1]
        found = [float(count) / 200 if count else math.nan for count in often]
        counts.append(line(f"beta = {beta:g}", ratios, found))
    told = ("The weaker of two entries", "its change over the other’s", "share of rounds in which it is sent")
    panels.append(Panel(*told, tuple(counts), xscale="log"))
    return Exhibit(
        "lowcomm.starved",
        "With a decaying residual entries below 1 - beta times their neighbours are never sent",
        "Left: four gradients of a training run in turn, 2048 entries in chunks of 64, of which four are sent. "
        "Right: two entries, of which one is sent, over 200 rounds; lines end where the weaker is never sent.",
        tuple(panels),
    )


def _coding(_budget: str, _seed: int) -> Exhibit:
    """Bits of positions, and errors of bins on what is sent of real gradients."""
    ks = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    bits = [
        line(positions, ks, [sparse_bits(4096, k, 4096, 2, positions) / k for k in ks], "exact")
        for positions in ("one by one", "as a set")
    ]
    counts, errors = [2, 3, 4, 5, 8, 16, 32, 64], []
    for kind in KINDS:
        x = trace().vectors[kind][0, 0].astype(np.float64)
        top = x[np.argsort(-abs(x))[:256]]
        left = [float(np.square(top - binned(top, bins)).sum() / np.square(top).sum()) for bins in counts]
        errors.append(line(kind, counts, left))
    return Exhibit(
        "lowcomm.coding",
        "64 of 4096 entries take 9.4 bits each as a set, and 14 one by one; two bits keep most of the values",
        "Left: bits an entry that is sent, positions and two bits of value, for chunks of 4096. Right: squared error "
        "of the 256 largest entries of real gradients in bins, over their square.",
        (
            Panel("Chunks of 4096", "entries sent", "bits an entry", tuple(bits), xscale="log"),
            Panel(
                "The 256 largest entries", "bins", "relative squared error", tuple(errors), xscale="log", yscale="log"
            ),
        ),
    )


EXHIBITS: dict[str, Maker] = {"lowcomm.outer": _outer, "lowcomm.starved": _starved, "lowcomm.coding": _coding}
"""What makes an exhibit, under its name."""
