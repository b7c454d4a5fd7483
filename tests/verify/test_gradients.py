import subprocess
import sys

import numpy as np
import pytest

from commbounds.verify import gradients, make_gradients


def test_trace_has_every_kind_read_only_and_cached():
    trace = gradients.trace()
    assert trace is gradients.trace()
    assert tuple(trace.vectors) == tuple(trace.steps) == tuple(trace.loss) == gradients.KINDS
    for kind, array in trace.vectors.items():
        sharding, phase = kind.split(", ")
        assert array is gradients.vectors(sharding, phase)
        assert array.shape == (4, 8, 2410)
        assert array.dtype == np.float32
        assert np.isfinite(array).all()
        assert not array.flags.writeable
        assert (np.diff(trace.steps[kind]) == 1).all()
    with pytest.raises(TypeError):
        trace.vectors["iid, early"] = np.zeros(1)


def test_file_is_small_enough_for_package_data():
    from importlib.resources import files

    assert len(files("commbounds.verify").joinpath("gradients.npz").read_bytes()) <= 2_000_000


def test_layers_tile_the_flat_vector():
    for kind in gradients.KINDS:
        parts = [gradients.layer(name, *kind.split(", ")) for name in gradients.LAYERS]
        joined = np.concatenate([part.reshape(4, 8, -1) for part in parts], axis=-1)
        assert (joined == gradients.trace().vectors[kind]).all()
        assert not any(part.flags.writeable for part in parts)
    assert gradients.matrices("iid", "late").shape == (4, 8, 64, 32)


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: gradients.vectors("random", "early"), "sharding must be one of 'iid', 'by label', got 'random'"),
        (lambda: gradients.vectors("iid", "middle"), "phase must be one of 'early', 'late', got 'middle'"),
        (lambda: gradients.layer("conv", "iid", "late"), "name must be one of .*, got 'conv'"),
        (
            lambda: make_gradients.shards("sorted", np.zeros((1797, 64)), np.zeros(1797, dtype=np.int64)),
            "sharding must be one of",
        ),
    ],
)
def test_unknown_names_are_refused(call, rule):
    with pytest.raises(ValueError, match=rule):
        call()


@pytest.mark.wide
def test_importing_the_loader_reads_nothing_and_needs_no_scikit_learn():
    code = (
        "import sys; from commbounds.verify import gradients; assert not gradients.trace.cache_info().currsize;"
        "gradients.trace(); assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_gradients_are_those_of_training():
    """Norms fall as training goes on; workers, steps and shardings differ; sorted shards disagree more."""
    spread = {}
    for kind, stack in gradients.trace().vectors.items():
        flat = stack.reshape(32, -1).astype(np.float64)
        assert len(np.unique(flat, axis=0)) == 32
        spread[kind] = (flat**2).sum(axis=1).mean() / (stack.astype(np.float64).mean(axis=1) ** 2).sum(axis=1).mean()
        assert 0.1 < (stack == 0).mean() < 0.6
    norm = {kind: np.linalg.norm(stack, axis=-1).mean() for kind, stack in gradients.trace().vectors.items()}
    for sharding in gradients.SHARDINGS:
        assert norm[f"{sharding}, late"] < norm[f"{sharding}, early"]
        assert gradients.trace().loss[f"{sharding}, late"].max() < 0.2 < 1 < gradients.trace().loss["iid, early"].min()
    for phase in gradients.PHASES:
        assert spread[f"by label, {phase}"] > 2 * spread[f"iid, {phase}"]


def test_gradient_is_the_derivative_of_the_loss():
    """Along the gradient itself, D(h) the central difference: truncation is (D(2h) - D(h)) / 3 up to O(h^4)."""
    images, labels = make_gradients.digits()
    images, labels = images[:32], labels[:32]
    start = make_gradients.initial()
    gradient = make_gradients.gradient(start, images, labels)
    slope = np.linalg.norm(gradient)

    def difference(h):
        up, down = (
            make_gradients.loss_and_accuracy(start + s * h * gradient / slope, images, labels)[0] for s in (1, -1)
        )
        return (up - down) / (2 * h)

    h = 2.0**-17
    loss = make_gradients.loss_and_accuracy(start, images, labels)[0]
    rounding = 150 * 2.0**-53 * loss / h
    assert abs(difference(h) - slope) <= abs(difference(2 * h) - difference(h)) + rounding
    assert abs(difference(h) - slope) < 1e-7 * slope  # so that a wrong term in the gradient would be seen


def test_training_learns_and_takes_another_reduction():
    data = make_gradients.shards("iid", *make_gradients.digits())
    mean = make_gradients.train(data, steps=400)
    assert mean.accuracy > 0.9
    assert mean.loss.shape == (401,)
    assert mean.loss[-1] < 0.1 * mean.loss[0]
    nothing = make_gradients.train(data, steps=3, reduce=lambda stack: np.zeros(stack.shape[1]))
    assert (nothing.parameters == make_gradients.initial()).all()


@pytest.mark.wide
def test_the_script_still_makes_the_trace():
    """Equal up to float32 rounding on both sides and to the order of sums in float64.

    An entry of a step's update passes through at most 150 rounded operations (sums over 64 pixels, 32 images, 32
    hidden units and 8 workers, and fewer than 14 elementwise ones), each of relative size 2^-53, so STEPS steps move
    the parameters by at most STEPS * 150 * 2^-53 of their size. What such a move does to the recorded gradients is
    measured: the run is repeated from parameters moved by 2^-20 of their size.
    """
    made = make_gradients.recorded()
    start = make_gradients.initial()
    signs = np.random.default_rng(11).choice([-1.0, 1.0], start.size)
    moved = make_gradients.recorded(start=start + 2.0**-20 * np.abs(start).max() * signs)
    stored = gradients.trace()
    for kind in gradients.KINDS:
        exact = made[f"gradients: {kind}"].astype(np.float64)
        growth = np.abs(moved[f"gradients: {kind}"] - exact).max() * 2.0**20
        slack = 2.0**-23 * np.abs(exact) + make_gradients.STEPS * 150 * 2.0**-53 * growth
        assert (np.abs(stored.vectors[kind] - exact) <= slack).all()
        assert (made[f"steps: {kind}"] == stored.steps[kind]).all()
        assert np.abs(made[f"loss: {kind}"] - stored.loss[kind]).max() <= make_gradients.STEPS * 150 * 2.0**-53 * max(
            growth, 1.0
        )


@pytest.mark.wide  # five seconds and more
def test_script_writes_the_same_file_twice(tmp_path, capsys):
    for name in ("a.npz", "b.npz"):
        make_gradients.main([str(tmp_path / name)])
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert "bytes" in capsys.readouterr().out
