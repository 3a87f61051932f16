"""The number of processes changes nothing but rounding: losses, dropout, augmentation, evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.training.conftest import Called
from tests.training.launch import finish, losses, ranks

_THIRTY_TWO = ("--epochs", 8, "--global-batch", 128, "--no-export", "--max-steps", 32, "--warmup", 4)


def _run(world: int, data: Path, out: Path, *options: object) -> tuple[list[float], dict[str, Any]]:
    """Return the loss of each step, and metrics.json."""
    code, program = finish(ranks(world, "--data", data, "--out", out, *_THIRTY_TWO, *options), out.parent)
    assert (code, program.errors) == (0, [])
    return losses(out), json.loads((out / "metrics.json").read_text())


@pytest.mark.parametrize("worlds", [(1, 2), pytest.param((1, 2, 4), marks=pytest.mark.slow)])
@pytest.mark.parametrize("random", [(), pytest.param(("--dropout", 0.3, "--augment"), marks=pytest.mark.slow)])
def test_losses_in_double_precision(
    worlds: tuple[int, ...], random: tuple[object, ...], synthetic: Path, tmp_path: Path
) -> None:
    """32 steps, relative difference at most 1e-12; evaluation counts each of the 101 samples once, in every world."""
    runs = [_run(world, synthetic, tmp_path / str(world), "--dtype", "float64", *random) for world in worlds]
    (first, metrics), *others = runs
    assert len(first) == 32
    assert first[-1] < first[0] * 0.9, "it learns, so equal losses mean equal gradients"
    for found, also in others:
        assert found == pytest.approx(first, rel=1e-12, abs=0)
        assert (also["count"], also["correct"], also["accuracy"]) == (101, metrics["correct"], metrics["accuracy"])
        assert also["loss"] == pytest.approx(metrics["loss"], rel=1e-12)


@pytest.mark.slow
def test_losses_in_single_precision(synthetic: Path, tmp_path: Path) -> None:
    """The first loss to 1e-6, the 32nd to 1e-3, with plain DistributedDataParallel and with --deterministic."""
    first, _ = _run(1, synthetic, tmp_path / "1")
    for world, options in ((2, ()), (4, ()), (4, ("--deterministic",))):
        found, _ = _run(world, synthetic, tmp_path / f"{world}{len(options)}", *options)
        assert found[0] == pytest.approx(first[0], rel=1e-6)
        assert found[-1] == pytest.approx(first[-1], rel=1e-3)


def test_accumulation_changes_rounding_only(call: Callable[..., Called], synthetic: Path, tmp_path: Path) -> None:
    """Four parts of a batch, or one."""
    options = ("--data", synthetic, *_THIRTY_TWO, "--dtype", "float64", "--dropout", 0.3, "--augment")
    assert call("--out", tmp_path / "whole", *options).code == 0
    assert call("--out", tmp_path / "parts", *options, "--accumulate", 4).code == 0
    assert losses(tmp_path / "parts") == pytest.approx(losses(tmp_path / "whole"), rel=1e-12, abs=0)


@pytest.mark.parametrize(
    "option", ["--bf16", "--augment", "--dropout=0.5", "--clip=0.1", "--weight-decay=9", "--seed=1"]
)
def test_options_that_change_what_is_computed(
    option: str, call: Callable[..., Called], synthetic: Path, tmp_path: Path
) -> None:
    """Each has an effect, a small one in the first steps."""
    options = ("--data", synthetic, *_THIRTY_TWO[:-4], "--max-steps", 4, "--warmup", 2)
    assert call("--out", tmp_path / "plain", *options).code == 0
    assert call("--out", tmp_path / "other", *options, option).code == 0
    plain, other = losses(tmp_path / "plain"), losses(tmp_path / "other")
    assert len(plain) == len(other) == 4
    assert plain != other
    assert other == pytest.approx(plain, rel=0.2)


@pytest.mark.slow
def test_compiled_computes_the_same(synthetic: Path, tmp_path: Path) -> None:
    """Within rounding, with two processes; and goes on without, since checkpoints have the plain names."""
    plain, _ = _run(1, synthetic, tmp_path / "plain", "--dtype", "float64")
    compiled, _ = _run(2, synthetic, tmp_path / "compiled", "--dtype", "float64", "--compile")
    assert compiled == pytest.approx(plain, rel=1e-9)
    _run(1, synthetic, tmp_path / "compiled", "--dtype", "float64")


def test_digits_reach_97_percent(call: Callable[..., Called], digits: Path, tmp_path: Path) -> None:
    """With the defaults; and the events tell how it went, MFU included where the peak is given."""
    options = ("--data", digits, "--out", tmp_path / "out", "--epochs", 20, "--no-export", "--peak-tflops", 0.1)
    program = call(*options)
    assert (program.code, program.errors) == (0, [])
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["accuracy"] >= 0.97
    assert metrics["count"] == 360
    assert program.events[0] == {"event": "start", "world": 1, "device": "cpu", "steps": 220}
    assert program.events[-1] == {"event": "done", **metrics}
    steps = program.said("step")
    assert [event["step"] for event in steps] == list(range(10, 221, 10))
    assert set(steps[0]) == {
        "event", "step", "steps", "epoch", "loss", "lr", "samples_per_second", "step_p50", "step_p90", "mfu",
    }  # fmt: skip
    assert all(event["mfu"] > 0 and 0 < event["step_p50"] <= event["step_p90"] for event in steps)
    assert steps[0]["epoch"] == 1
    assert steps[-1]["epoch"] == 20
