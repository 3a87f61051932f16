"""Measure an exported model on held-out images: accuracy and loss for the gate, and which model it was.

    python evaluate.py --data DIR --model DIR --out DIR                            one process
    torchrun --standalone --nproc-per-node 2 evaluate.py --data DIR …              several; metrics.json is the same

--model is `export/` of ddp.py: every file is compared with the sha256 in its manifest.json, a file that is not in it is
refused (Triton serves the highest version that it finds), and the very bytes that were compared are run by onnxruntime,
as a server will. Each process takes the samples rank, rank + world, …, none of them twice, and sums are taken in whole
numbers, so they do not depend on the processes. `metrics.json` in --out is written whole or not at all. It needs
onnxruntime and numpy, and torch where several processes share the work. Exit codes: 0 done; 2 called wrongly, or a
model or data set that is not whole; 1 anything else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import signal
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

UNIT = 1 << 24
"""Parts of 1 in which a sample's loss is counted: as fine as float32, and whole numbers add up in any order."""
SECONDS = 600.0  # for all processes to meet and to add up


class Refused(Exception):  # noqa: N818  # it is an answer
    """What the caller has to mend before another try can succeed."""


def read(path: Path) -> bytes:
    """Return a file's bytes; raises Refused where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from None


def verified(folder: Path) -> tuple[Path, bytes, dict[str, str]]:
    """Return the model's path, its bytes and what identifies it; raises Refused where the export is not as it was."""
    manifest = folder / "manifest.json"
    try:
        text = manifest.read_bytes()
        files = {name: str(entry["sha256"]) for name, entry in json.loads(text)["files"].items()}
    except OSError as error:
        raise Refused(f"{manifest} cannot be read: {error.strerror}: has the training ended?") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(f"{manifest} is not what ddp.py writes: {error!r}") from None
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    # Names with a dot in front are no versions, and network file systems make some.
    others = sorted(name for name in found - files.keys() - {manifest.name} if "/." not in f"/{name}")
    if others:
        raise Refused(f"{folder / others[0]} is not in manifest.json, and would be served unmeasured: train again")
    models = []
    for name, wanted in files.items():
        data = read(folder / name)
        if hashlib.sha256(data).hexdigest() != wanted:
            raise Refused(f"{folder / name} has changed since it was exported (sha256): train again")
        models += [(folder / name, data, wanted)] if name.endswith("/model.onnx") else []
    if len(models) != 1:
        raise Refused(f"{manifest} names {len(models)} files model.onnx, one is wanted")
    path, data, sha256 = models[0]
    return path, data, {"model_sha256": sha256, "manifest_sha256": hashlib.sha256(text).hexdigest()}


class Split:
    """The samples of a split, memory-mapped; raises Refused where a shard is missing, cut short or changed."""

    def __init__(self, folder: Path, name: str) -> None:
        """Open and verify the shards."""
        path = folder / "_SUCCESS"
        try:
            told = json.loads(path.read_bytes())
            self.shape, self.classes = [int(size) for size in told["shape"]], int(told["classes"])
            shards = told["splits"][name]["shards"]
            images = [self._mapped(folder, shard, "images", math.prod(self.shape)) for shard in shards]
            self.labels = [self._mapped(folder, shard, "labels", 1) for shard in shards]
            self.images = [each.reshape(-1, *self.shape) for each in images]
        except OSError as error:
            raise Refused(f"{path} cannot be read: {error.strerror}: has preprocess.py ended?") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused(f"{path} describes no data set with a split {name}: {error!r}") from None
        self.count = sum(map(len, self.labels))
        if not self.count:
            raise Refused(f"split {name} of {folder} has no samples")
        if max(int(each.max()) for each in self.labels if len(each)) >= self.classes:
            raise Refused(f"{folder}: a label of split {name} is not below {self.classes}: preprocess again")

    def _mapped(self, folder: Path, shard: dict[str, Any], part: str, each: int) -> Any:
        path, size = folder / shard[part], shard["count"] * each
        found = path.stat().st_size if path.is_file() else -1
        if found != size:
            problem = "is missing" if found < 0 else f"has {found} bytes instead of {size}"
            raise Refused(f"{path} {problem}: preprocess again")
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != shard["sha256"][part]:
                raise Refused(f"{path} has changed since it was written (sha256): preprocess again")
        return np.memmap(path, dtype=np.uint8, mode="r") if size else np.empty(0, np.uint8)

    def batches(self, size: int, rank: int, world: int) -> Iterator[tuple[Any, Any]]:
        """Yield images (N×C×H×W, float32 in 0..1) and labels (N) of a process' samples, at most `size` at a time."""
        first = 0  # the place of a shard's first sample among all
        for images, labels in zip(self.images, self.labels, strict=True):
            mine = np.arange((rank - first) % world, len(labels), world)
            for start in range(0, len(mine), size):
                chosen = mine[start : start + size]
                yield images[chosen].astype(np.float32) / 255, labels[chosen].astype(np.int64)
            first += len(labels)


class Model:
    """An ONNX model in onnxruntime; raises Refused where it does not fit to the data set."""

    def __init__(self, path: Path, data: bytes, split: Split) -> None:
        """Load it from the bytes that were verified."""
        try:
            import onnxruntime
        except ImportError:
            raise Refused("onnxruntime is not installed: pip install onnxruntime") from None
        self.path, self.classes, options = path, split.classes, onnxruntime.SessionOptions()
        threads = os.environ.get("OMP_NUM_THREADS", "")
        # A number makes onnxruntime bind no thread to a processor, which a container may not have.
        options.intra_op_num_threads = int(threads) if threads.isdecimal() else os.cpu_count() or 1
        try:
            self.session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own kinds have no common base
            raise Refused(f"{path} cannot be loaded: {str(error).splitlines()[0]}") from error
        inputs = {wanted.name: list(wanted.shape) for wanted in self.session.get_inputs()}
        if len(inputs) != 1 or next(iter(inputs.values()))[1:] != split.shape:
            raise Refused(f"{path} takes {inputs}, the data set has images of {split.shape}: train again")
        self.input = next(iter(inputs))

    def logits(self, images: Any) -> Any:
        """Return the answers (N×classes, float64)."""
        try:
            found = self.session.run(None, {self.input: images})[0].astype(np.float64)
        except Exception as error:
            raise Refused(f"{self.path} cannot be run: {str(error).splitlines()[0]}") from error
        if found.shape != (len(images), self.classes):
            raise Refused(f"{self.path} answers with {list(found.shape)}, {[len(images), self.classes]} wanted")
        if not np.isfinite(found).all():
            raise Refused(f"{self.path} answers with NaN or infinity: train again, with a lower --lr")
        return found


def measure(model: Model, split: Split, batch: int, rank: int, world: int) -> list[int]:
    """Return a process' part: the loss (cross entropy, in UNITs), the correct answers and the number of samples."""
    loss = correct = count = 0
    for images, labels in split.batches(batch, rank, world):
        logits = model.logits(images)
        top = logits.max(axis=1, keepdims=True)
        losses = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0] - logits[np.arange(len(labels)), labels]
        loss += int(np.rint(losses * UNIT).astype(np.int64).sum())
        correct += int((logits.argmax(axis=1) == labels).sum())
        count += len(labels)
    return [loss, correct, count]


def added_up(values: list[int], world: int) -> list[int]:
    """Return the sums over all processes; raises OSError where one of them is lost."""
    if world == 1:
        return values
    try:
        import torch
        import torch.distributed as dist
    except ImportError:
        raise Refused(f"{world} processes need torch to add up: pip install torch, or start one process") from None
    try:
        dist.init_process_group("gloo", timeout=timedelta(seconds=SECONDS))
        sums = torch.tensor(values, dtype=torch.int64)
        dist.all_reduce(sums)
        dist.barrier()
        dist.destroy_process_group()
    except (RuntimeError, ValueError) as error:  # gloo's and torch's own
        raise OSError(None, f"a process was lost, or never came: {str(error).splitlines()[0]}") from None
    return [int(each) for each in sums.tolist()]


def written(path: Path, metrics: dict[str, Any]) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}")
    try:
        with made.open("w", encoding="utf-8") as file:
            file.write(json.dumps(metrics, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def place() -> tuple[int, int]:
    """Return rank and world size as torchrun says; raises Refused where the launch would hang."""
    env = os.environ
    try:
        rank, world = int(env.get("RANK", "0")), int(env.get("WORLD_SIZE", "1"))
    except ValueError as error:
        raise Refused(f"RANK or WORLD_SIZE is no number ({error}): let torchrun set them") from None
    if not 0 <= rank < world or (world > 1 and not {"MASTER_ADDR", "MASTER_PORT"} <= env.keys()):
        raise Refused(f"RANK={rank}, WORLD_SIZE={world} and MASTER_ADDR, MASTER_PORT: let torchrun set all four")
    return rank, world


def run(options: argparse.Namespace) -> None:
    """Measure and write; raises Refused and OSError."""
    rank, world = place()
    path, data, identity = verified(Path(options.model))
    split = Split(Path(options.data), options.split)
    part = measure(Model(path, data, split), split, options.batch, rank, world)
    loss, correct, count = added_up(part, world)
    metrics = {"accuracy": correct / count, "loss": loss / UNIT / count, "correct": correct, "count": count}
    if rank == 0:
        written(Path(options.out) / "metrics.json", {**metrics, "split": options.split, **identity})
        sys.stdout.write(json.dumps({"event": "evaluate", **metrics}) + "\n")


class Parser(argparse.ArgumentParser):
    """Refuses in one line."""

    def error(self, message: str) -> NoReturn:
        """Refuse a call."""
        raise Refused(message)


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line; raises Refused where it cannot be meant."""
    data, model = (
        (found := os.environ.get(f"MLSPEC_INPUT_{step}")) and f"{found}/{path}"
        for step, path in (("PREPROCESS", "dataset"), ("TRAIN", "export"))
    )
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=data, help="default: $MLSPEC_INPUT_PREPROCESS/dataset")
    parser.add_argument("--model", default=model, help="default: $MLSPEC_INPUT_TRAIN/export")
    parser.add_argument("--out", default=os.environ.get("MLSPEC_RUN_DIR"), help="default: $MLSPEC_RUN_DIR")
    parser.add_argument("--split", default="test")
    parser.add_argument("--batch", type=int, default=256, help="samples at a time")
    options = parser.parse_args(argv)
    if not (options.data and options.model and options.out):
        raise Refused("--data, --model and --out are wanted, or the variables of mlspec that they default to")
    if options.batch < 1:
        raise Refused(f"--batch must be at least 1, got {options.batch}")
    return options


def main(argv: list[str]) -> int:
    """Run, and say in one line what is wrong."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a stop is no error: nothing is written
    try:
        run(parse(argv))
    except Refused as error:
        sys.stderr.write(f"evaluate.py: {error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"evaluate.py: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}\n")
        return 1
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # gloo's threads can abort a process while Python cleans up (pytorch issue 190489)
