"""The export of ddp.py: what torch computed, in the folders that Triton reads, and nothing beside them."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from tests.training import data
from tests.training.conftest import Called

_FILE: Final = "classifier/1/model.onnx"
_SHAPES: Final = ((1, 8, 8), (3, 13, 10))


def _trained(folder: Path, shape: tuple[int, int, int], call: Callable[..., Called]) -> Path:
    """Take a few steps on random images of a shape; return the run directory."""
    source = random.Random(1)  # noqa: S311
    size = shape[0] * shape[1] * shape[2]
    splits = {
        name: ([source.randbytes(size) for _ in range(count)], [number % 10 for number in range(count)])
        for name, count in (("train", 32), ("test", 10))
    }
    data.write(folder / "dataset", "random", shape, splits, 20)
    called = call("--data", folder / "dataset", "--out", folder / "out", "--global-batch", 8, "--max-steps", 3)
    assert called.code == 0, called.errors
    assert called.said("export") == [{"event": "export", "path": str(folder / "out" / "export")}]
    return folder / "out"


def _session(out: Path) -> Any:
    return onnxruntime.InferenceSession(str(out / "export" / _FILE), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("shape", _SHAPES, ids=str)
def test_computes_what_the_checkpoint_does(
    ddp: ModuleType, call: Callable[..., Called], tmp_path: Path, shape: tuple[int, int, int]
) -> None:
    """onnxruntime and torch on the same inputs, in batches of other sizes than the one that was exported."""
    out = _trained(tmp_path, shape, call)
    state = torch.load(sorted((out / "checkpoints").glob("step-*/state.pt"))[-1], weights_only=True)
    network = ddp.Classifier(list(shape), 10)
    network.load_state_dict(state["model"])
    session, source = _session(out), np.random.default_rng(0)
    (image,), (logits,) = session.get_inputs(), session.get_outputs()
    assert (image.name, image.type, image.shape[1:]) == ("image", "tensor(float)", list(shape))
    assert (logits.name, logits.type, logits.shape[1:]) == ("logits", "tensor(float)", [10])
    assert isinstance(image.shape[0], str)  # a name: the size of a batch is open
    assert logits.shape[0] == image.shape[0]
    for size in (1, 4, 7):
        images = source.random((size, *shape), dtype=np.float32)
        with torch.no_grad():
            wanted = network.eval()(torch.from_numpy(images)).numpy()
        found = session.run(None, {"image": images})[0]
        assert found.shape == (size, 10)
        assert np.abs(found - wanted).max() < 1e-5


def test_is_a_model_repository_of_triton(call: Callable[..., Called], tmp_path: Path) -> None:
    """One model, one version, one file with its weights inside; beside it the manifest that evaluate.py verifies.

    Triton derives inputs and outputs from the ONNX model, and would take batches of 4 at most by itself, so that
    config.pbtxt says how many (its docs/user_guide/model_configuration.md, "Auto-Generated Model Configuration" and
    "Default Max Batch Size"). For both, the tensors must begin with the open size of a batch, as the test above sees.
    """
    export = _trained(tmp_path, _SHAPES[0], call) / "export"
    files = sorted(path.relative_to(export).as_posix() for path in export.rglob("*") if path.is_file())
    assert files == [_FILE, "classifier/config.pbtxt", "manifest.json"]
    onnx.checker.check_model(str(export / _FILE), full_check=True)
    loaded = onnx.load(str(export / _FILE), load_external_data=False)
    assert loaded.graph.initializer
    assert not [one.name for one in loaded.graph.initializer if one.data_location == onnx.TensorProto.EXTERNAL]
    configuration = (export / "classifier" / "config.pbtxt").read_text()
    assert configuration.splitlines() == ['backend: "onnxruntime"', "max_batch_size: 256", "dynamic_batching {}"]
    contents = {name: (export / name).read_bytes() for name in files[:2]}
    assert json.loads((export / "manifest.json").read_text()) == {
        "format": "onnx",
        "step": 3,
        "files": {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            for name, content in contents.items()
        },
    }
