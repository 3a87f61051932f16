"""Train an image classifier on one process or many; a kill at any moment costs time and nothing else.

The same file runs everywhere, and resumes by itself from the newest readable checkpoint below --out:
    one process    python ddp.py --data DIR --out DIR --epochs 20
    one computer   torchrun --standalone --nproc-per-node 2 ddp.py --data DIR --out DIR --epochs 20
    PyTorchJob     command: [torchrun, /path/ddp.py], nprocPerNode: the GPUs of a pod, as a number
    TrainJob       command: [torchrun, /path/ddp.py], numProcPerNode: the GPUs of a pod, as a number
The operators tell torchrun the rest in PET_* variables; with python instead, a TrainJob trains one copy in each pod.

In: a folder with _SUCCESS (JSON: shape, classes, shards of raw uint8 with sha256), as preprocess.py writes it.
Out: checkpoints/step-*/, losses.jsonl, metrics.json, export/<name>/1/model.onnx (Triton's layout) and a manifest.
Rank 0 prints a JSON object for each event. An error is one line on stderr, and goes to TORCHELASTIC_ERROR_FILE.
Exit: 0 done; 2 called or configured wrongly; 143 stopped by SIGTERM, SIGUSR1 or SIGINT with a checkpoint; else 1.

The order of samples is drawn from seed and epoch, shifts and dropout from seed and step, each for the global batch, of
which a rank takes its part: no state of these has to be saved, and more processes change the rounding of sums alone.
With --deterministic a resumed run equals one without interruption bit by bit (same processes, same threads). Without,
that fails from three processes on: DistributedDataParallel rebuilds its buckets after the first step and then adds in
another order. The price: gradients are averaged after the backward pass, not during it.
torchrun itself dies of SIGUSR1 unless TORCHELASTIC_SIGNALS_TO_HANDLE names it.
"""

import argparse
import ctypes
import functools
import hashlib
import importlib.util
import io
import itertools
import json
import logging
import math
import os
import re
import shutil
import signal
import sys
import threading
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

NUMBERS = """epochs=20 global-batch=128 accumulate=1 lr=0.003 weight-decay=0.01 warmup=20 clip=1.0 seed=0 dropout=0.0
    keep=3 checkpoint-every=0 log-every=10 max-steps=0 timeout=120.0 peak-tflops=0.0"""  # every 0 steps: once an epoch
FLAGS = "augment bf16 deterministic compile no-export"
# A resumed run may change these: they say where, how long, how often, or in which order sums are taken. The others
# decide the weights, --epochs too: the learning rate falls over them. --max-steps ends a run before, and may change.
FREE = """data out name accumulate deterministic compile no_export keep checkpoint_every log_every max_steps timeout
    peak_tflops"""


class Refused(Exception):  # noqa: N818
    """What the caller has to mend before another try can succeed."""


class Stop:
    """Notes signals in a thread, which hears them while the main thread waits for peers, and as process 1 too."""

    def __init__(self) -> None:
        self.signal, self.ready = 0, False  # ready: there may be something to save
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        threading.Thread(target=self._take, args=(reader,), daemon=True).start()

    def _take(self, reader: int) -> None:
        while True:
            self.signal = os.read(reader, 1)[0]
            if not self.ready:
                os._exit(143)


class Split:
    """Samples of one split, mapped into memory; the first process of a node also compares their sha256."""

    def __init__(self, folder: Path, about: dict[str, Any], name: str, verify: bool) -> None:
        self.shape, self.shards = about["shape"], []
        for part in about["splits"][name]["shards"]:
            images = self._map(folder, part, "images", math.prod(self.shape), verify).view(-1, *self.shape)
            labels = self._map(folder, part, "labels", 1, verify)
            if verify and int(labels.max()) >= about["classes"]:
                raise Refused(f"{folder / part['labels']}: a label is not below {about['classes']}: preprocess again")
            self.shards.append((images, labels))
        self.ends = torch.tensor([len(labels) for _, labels in self.shards]).cumsum(0)
        self.count = int(self.ends[-1])

    def _map(self, folder: Path, part: dict[str, Any], kind: str, each: int, verify: bool) -> Tensor:
        path, size = folder / part[kind], part["count"] * each
        found = path.stat().st_size if path.is_file() else -1
        if found != size:
            problem = "is missing" if found < 0 else f"has {found} bytes instead of {size}"
            raise Refused(f"{path} {problem}: preprocess again")
        with path.open("rb") as file:
            if verify and hashlib.file_digest(file, "sha256").hexdigest() != part["sha256"][kind]:
                raise Refused(f"{path} has changed since it was written (sha256): preprocess again")
        return torch.from_file(str(path), size=size, dtype=torch.uint8)

    def read(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return uint8 images [N, C, H, W] and int64 labels [N] of the samples at `places`."""
        images, labels = torch.empty(len(places), *self.shape, dtype=torch.uint8), torch.empty_like(places)
        shards = torch.bucketize(places, self.ends, right=True)
        for number in set(shards.tolist()):
            here, (some, their) = shards == number, self.shards[number]
            inside = places[here] - self.ends[number] + len(their)
            images[here], labels[here] = some[inside], their[inside].long()
        return images, labels


class Classifier(nn.Module):
    """Convolutions until 4 to 7 pixels are left, and their mean; group norm: a batch's would depend on the ranks."""

    def __init__(self, shape: list[int], classes: int) -> None:
        super().__init__()
        widths = [shape[0], *(32 << level for level in range(1 + max(1, int(math.log2(max(4, *shape[1:]) / 4)))))]
        self.blocks, self.width = nn.ModuleList(), widths[-1]
        for before, width in itertools.pairwise(widths):
            pool = nn.Identity() if before == shape[0] and width == 32 else nn.MaxPool2d(2, ceil_mode=True)
            convolution = nn.Conv2d(before, width, 3, padding=1)
            self.blocks.append(nn.Sequential(convolution, nn.GroupNorm(8, width), nn.SiLU(), pool))
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, image: Tensor, scale: Tensor | None = None) -> Tensor:
        """Return logits [N, classes] of images [N, C, H, W] in 0..1; `scale` [N, width] is the dropout."""
        for block in self.blocks:
            image = block(image)
        features = image.mean((2, 3))
        return self.head(features if scale is None else features * scale)  # type: ignore[no-any-return]


class Training:
    """What the functions share: the place among the processes, data, model, optimizer."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, (self.rank, self.world, local) = args, place()
        about, self.train, self.test = read_data(Path(args.data), verify=local == 0)
        if args.global_batch % (self.world * args.accumulate) or args.global_batch > self.train.count:
            problem = f"a multiple of {self.world} processes × --accumulate {args.accumulate}"
            raise Refused(f"--global-batch {args.global_batch} must be {problem}, at most {self.train.count} (samples)")
        self.out, self.flops = Path(args.out), 0.0
        try:
            (self.out / "checkpoints").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Refused(f"--out {args.out} cannot be written: {error.strerror}") from None
        self.device = connect(self.world, local, args.timeout)
        if args.deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        self.config = {key: value for key, value in vars(args).items() if key not in FREE.split()}
        self.config |= {"data": hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()}
        self.shape, self.classes, self.dtype = about["shape"], about["classes"], getattr(torch, args.dtype)
        torch.manual_seed(args.seed)
        self.raw = Classifier(self.shape, self.classes).to(self.device, self.dtype)  # has the names of a checkpoint
        self.model: Any = self.raw  # with wrappers
        self.optimizer = torch.optim.AdamW(self.raw.parameters(), args.lr, weight_decay=args.weight_decay)
        self.per_epoch = self.train.count // args.global_batch  # steps; the tail is left out, another in each epoch
        self.schedule = self.per_epoch * args.epochs
        self.steps = min(self.schedule, args.max_steps or self.schedule)

    def say(self, event: str, **fields: Any) -> None:
        """Print an event, on rank 0."""
        if self.rank == 0:
            print(json.dumps({"event": event, **fields}), flush=True)  # noqa: T201

    def inputs(self, images: Tensor) -> Tensor:
        """Return images as the model takes them."""
        return images.to(self.device).to(self.dtype) / 255


def place() -> tuple[int, int, int]:
    """Return rank, world size and local rank as the launcher says; refuse a launch that would split or hang."""
    env = os.environ
    try:
        rank, world, local = (int(env.get(*item)) for item in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0")))
    except ValueError as error:
        raise Refused(f"RANK, WORLD_SIZE or LOCAL_RANK is no number ({error}): let torchrun set them") from None
    nodes, processes = env.get("PET_NNODES", "1"), env.get("PET_NPROC_PER_NODE", "1")
    if "TORCHELASTIC_RUN_ID" in env:
        if sys.platform == "linux":  # PR_SET_PDEATHSIG: who loses its torchrun to a kill stops as if asked to
            ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))
    elif (nodes.split(":")[-1] != "1" and "WORLD_SIZE" not in env) or (processes.isdecimal() and processes != "1"):
        found = f"PET_NNODES={nodes}, PET_NPROC_PER_NODE={processes}"
        raise Refused(f"launched with python, but the operator expects torchrun ({found}): write torchrun ddp.py …")
    if not 0 <= rank < world or (world > 1 and not {"MASTER_ADDR", "MASTER_PORT"} <= env.keys()):
        raise Refused(f"RANK={rank}, WORLD_SIZE={world} and MASTER_ADDR, MASTER_PORT: let torchrun set all four")
    if torch.cuda.is_available() and local >= torch.cuda.device_count():
        raise Refused(f"LOCAL_RANK={local}, but there are {torch.cuda.device_count()} GPUs: start one process for each")
    return rank, world, local


def connect(world: int, local: int, timeout: float) -> torch.device:
    """Return this process's device, once all processes have met; wait for them `timeout` seconds, always."""
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if world > 1:
        bound = device if cuda else None
        dist.init_process_group("nccl" if cuda else "gloo", timeout=timedelta(seconds=timeout), device_id=bound)
    return device


def read_data(folder: Path, verify: bool) -> tuple[dict[str, Any], Split, Split]:
    """Return what _SUCCESS says, and the splits `train` and `test`."""
    try:
        about = json.loads((folder / "_SUCCESS").read_bytes())
        return about, Split(folder, about, "train", verify), Split(folder, about, "test", verify)
    except OSError as error:
        raise Refused(f"{error.filename}: {error.strerror}: --data must name what preprocess.py has written") from None
    except (ValueError, KeyError, TypeError, IndexError, RuntimeError) as error:
        raise Refused(f"{folder / '_SUCCESS'} describes no data set ({error!r}): preprocess again") from None


def drawn(*key: object) -> torch.Generator:
    """Return a source of random numbers that depends on the key alone."""
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:7], "big"))


@functools.lru_cache(maxsize=1)
def order(seed: int, epoch: int, count: int) -> Tensor:
    """Return the order of the samples in an epoch."""
    return torch.randperm(count, generator=drawn(seed, "order", epoch))


def add_up(training: Training, *values: float) -> list[float]:
    """Return the sums over all ranks (float64)."""
    sums = torch.tensor(values, dtype=torch.float64, device=training.device)
    if training.world > 1:
        dist.all_reduce(sums)
    return list(sums.tolist())


def learning_rate(args: argparse.Namespace, step: int, schedule: int) -> float:
    """Return the rate of a step (from 0): up along a line, then down along a cosine, to 0 at `schedule` steps."""
    down = max(0, step - args.warmup) / max(1, schedule - args.warmup)
    return float(args.lr * min(1, (step + 1) / args.warmup) * (1 + math.cos(math.pi * down)) / 2)


def average(model: nn.Module, world: int) -> None:
    """Average the gradients in one all-reduce, which adds in the same order in each step and after each resume."""
    gradients = [weights.grad for weights in model.parameters() if weights.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    for gradient, mean in zip(gradients, torch.split(flat / world, [one.numel() for one in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient))


def train_step(training: Training, step: int) -> float:
    """Take the step that follows `step` steps; return this rank's part of the global batch's mean loss."""
    args, world, device = training.args, training.world, training.device
    epoch, number = divmod(step, training.per_epoch)
    batch = order(args.seed, epoch, training.train.count)[number * args.global_batch :][: args.global_batch]
    shifts = torch.randint(0, 5, (2, args.global_batch), generator=drawn(args.seed, "shift", step))
    chances = torch.rand(args.global_batch, training.raw.width, generator=drawn(args.seed, "dropout", step))
    scales = (chances >= args.dropout) / (1 - args.dropout)
    micro = args.global_batch // world // args.accumulate
    loss = torch.zeros((), dtype=torch.float64, device=device)
    for part in range(args.accumulate):
        first = (training.rank * args.accumulate + part) * micro
        mine = slice(first, first + micro)
        images, labels = training.train.read(batch[mine])
        if args.augment:  # of the 25 windows into the padded image, one
            windows = functional.pad(images, (2, 2, 2, 2)).unfold(2, images.shape[2], 1).unfold(3, images.shape[3], 1)
            images = windows[torch.arange(micro), :, shifts[0, mine], shifts[1, mine]]
        scale = scales[mine].to(device, training.dtype) if args.dropout else None
        training.model.require_backward_grad_sync = part == args.accumulate - 1  # what DDP's no_sync() sets
        with torch.autocast(device.type, torch.bfloat16, enabled=args.bf16):
            logits = training.model(training.inputs(images), scale)
        total = functional.cross_entropy(logits.to(training.dtype), labels.to(device), reduction="sum")
        (total * (world / args.global_batch)).backward()  # ranks are averaged
        loss += total.detach() / args.global_batch
    if world > 1 and args.deterministic:
        average(training.raw, world)
    if args.clip:
        nn.utils.clip_grad_norm_(training.raw.parameters(), args.clip)
    training.optimizer.param_groups[0]["lr"] = learning_rate(args, step, training.schedule)
    training.optimizer.step()
    training.optimizer.zero_grad()
    return float(loss)


@torch.no_grad()
def evaluate(training: Training, stop: Stop) -> tuple[dict[str, float], bool]:
    """Return metrics of the test split, each sample counted once, and whether a rank was asked to stop.

    Rank r takes the samples r, r + world, …; all call the model equally often, at the end perhaps with no sample.
    """
    loss, correct = torch.zeros(2, dtype=torch.float64, device=training.device)
    mine = torch.arange(training.rank, training.test.count, training.world)
    for start in range(0, -(-training.test.count // training.world), 256):
        images, labels = training.test.read(mine[start : start + 256])
        logits, labels = training.raw(training.inputs(images)), labels.to(training.device)
        loss += functional.cross_entropy(logits, labels, reduction="sum")
        correct += (logits.argmax(1) == labels).sum()
    total, right, count, asked = add_up(training, float(loss), float(correct), len(mine), bool(stop.signal))
    return {"accuracy": right / count, "loss": total / count, "correct": int(right), "count": int(count)}, asked > 0


def publish(made: Path, path: Path) -> None:
    """Give what is finished its name, for good."""
    made.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def write(path: Path, data: bytes) -> str:
    """Write a file of which nobody ever sees a part; return its sha256."""
    made = path.with_name(f".{path.name}")
    with made.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    publish(made, path)
    return hashlib.sha256(data).hexdigest()


def save(training: Training, step: int) -> None:
    """Publish the state after `step` steps on rank 0, as a whole folder or not at all; keep the newest --keep."""
    if training.rank != 0:
        return
    folder, name, stream = training.out / "checkpoints", f"step-{step:08}", io.BytesIO()
    state = {"step": step, "config": training.config, "world": training.world, "torch": str(torch.__version__)}
    torch.save(state | {"model": training.raw.state_dict(), "optimizer": training.optimizer.state_dict()}, stream)
    made = folder / f".{name}"
    try:
        made.mkdir(exist_ok=True)
        write(made / "sha256", write(made / "state.pt", stream.getvalue()).encode())
        publish(made, folder / name)
        write(folder / "LATEST", name.encode())
    finally:
        for rest in [*folder.glob(".step-*"), *sorted(folder.glob("step-*"))[: -training.args.keep]]:
            shutil.rmtree(rest, ignore_errors=True)
    training.say("checkpoint", step=step, path=str(folder / name))


def newest(folder: Path) -> bytes:
    """Return the newest checkpoint that is as it was written, or nothing; set those aside that are not."""
    found = sorted(folder.glob("step-*"), reverse=True)
    for path in found:
        try:
            data = (path / "state.pt").read_bytes()
            if hashlib.sha256(data).hexdigest() == (path / "sha256").read_text():
                return data
        except (OSError, ValueError):
            pass
        complain(f"{path} cannot be read, or has changed since it was written: going back to the one before")
        shutil.rmtree(folder / f"unreadable-{path.name}", ignore_errors=True)
        publish(path, folder / f"unreadable-{path.name}")
    if found:
        raise Refused(f"{folder} holds no readable checkpoint: restore one, or remove the folder to start anew")
    return b""


def load(training: Training) -> int:
    """Take up the newest checkpoint, read by rank 0, on all ranks; return how many steps it has done."""
    data = newest(training.out / "checkpoints") if training.rank == 0 else b""
    size = int(add_up(training, len(data))[0])
    if not size:
        return 0
    if training.world > 1:
        sent = torch.frombuffer(bytearray(data or size), dtype=torch.uint8).to(training.device)
        dist.broadcast(sent, 0)
        data = ctypes.string_at((sent := sent.cpu()).data_ptr(), size)  # numpy may not be there
    state = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    compare(state["config"], training.config)
    training.raw.load_state_dict(state["model"])
    training.optimizer.load_state_dict(state["optimizer"])
    training.say("resume", step=state["step"], world=state["world"], torch=state["torch"])
    return int(state["step"])


def compare(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Refuse options that would give other weights than those that the run began with."""
    differ = [f"{key} was {old.get(key)}, is {new.get(key)}" for key in old | new if old.get(key) != new.get(key)]
    if differ:
        raise Refused(f"the checkpoint's configuration differs: {'; '.join(differ)}: restore it, or give another --out")


def export(training: Training, step: int) -> None:
    """Publish the model as ONNX in Triton's layout with its sha256, on rank 0: the finished folder gets its name."""
    made, file = training.out / ".export", f"{training.args.name}/1/model.onnx"
    if training.rank != 0 or training.args.no_export:
        return
    shutil.rmtree(made, ignore_errors=True)
    (made / file).parent.mkdir(parents=True)
    model = Classifier(training.shape, training.classes)
    model.load_state_dict(training.raw.state_dict())
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it misses torchvision, which is not needed
    options: Any = {"input_names": ["image"], "output_names": ["logits"], "dynamo": True, "verbose": False}
    options["dynamic_shapes"] = ({0: torch.export.Dim("batch")},)
    program: Any = torch.onnx.export(model.eval(), (torch.zeros(2, *training.shape),), **options)
    data = program.model_proto.SerializeToString()
    entry = {"sha256": write(made / file, data), "bytes": len(data)}
    write(made / "manifest.json", json.dumps({"format": "onnx", "step": step, "files": {file: entry}}).encode())
    shutil.rmtree(training.out / "export", ignore_errors=True)
    publish(made, training.out / "export")
    training.say("export", path=str(training.out / "export"))


def wrap(training: Training) -> None:
    """Compile, and average gradients over the ranks while they are computed; --deterministic does so afterwards."""
    training.model = torch.compile(training.raw) if training.args.compile else training.raw
    if training.world > 1 and not training.args.deterministic:
        training.model = nn.parallel.DistributedDataParallel(training.model)


def report(training: Training, done: int, loss: float, times: list[float]) -> None:
    """Say how far and how fast training is, by the times (s) of the last steps, and check that it can go on."""
    args, spread = training.args, sorted(times[-100:])
    if not math.isfinite(loss):
        raise Refused(f"the loss is {loss} at step {done}: lower --lr, and give another --out")
    if done % args.log_every and done != training.steps:
        return
    speed = {"samples_per_second": args.global_batch * len(spread) / sum(spread)}
    if args.peak_tflops:
        speed["mfu"] = training.flops * speed["samples_per_second"] / training.world / args.peak_tflops / 1e12
    speed |= {"step_p50": spread[len(spread) // 2], "step_p90": spread[len(spread) * 9 // 10]}
    where = {"epoch": (done - 1) // training.per_epoch + 1, "lr": learning_rate(args, done - 1, training.schedule)}
    training.say("step", step=done, steps=training.steps, loss=loss, **where, **speed)


def fit(training: Training, stop: Stop, done: int) -> tuple[int, bool, list[float]]:
    """Go on after `done` steps; return the steps done, whether a rank was asked to stop, the steps' times (s)."""
    history, times, asked = training.out / "losses.jsonl", [], 0.0
    lines = history.read_text().splitlines(keepends=True) if history.exists() else []
    if training.rank == 0:  # a killed run may have come further than its checkpoint
        write(history, "".join(lines[:done]).encode())
    lines.clear()
    stop.ready = True
    while done < training.steps and not asked:
        began = time.monotonic()
        loss, asked = add_up(training, train_step(training, done), bool(stop.signal))
        done += 1
        times.append(time.monotonic() - began)
        report(training, done, loss, times)
        lines.append(json.dumps({"step": done, "loss": loss}) + "\n")
        if asked or done == training.steps or done % (training.args.checkpoint_every or training.per_epoch) == 0:
            if training.rank == 0:
                with history.open("a") as file:
                    file.writelines(lines)
                    file.flush()
                    os.fsync(file.fileno())
            lines.clear()
            save(training, done)
        if done % training.per_epoch == 0 and done < training.steps and not asked:
            training.say("evaluate", step=done, **evaluate(training, stop)[0])
    return done, asked > 0, times


def run(args: argparse.Namespace, stop: Stop) -> int:
    """Train, evaluate, export; return the exit status."""
    missing = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if missing and not args.no_export:
        raise Refused(f"the export needs {' and '.join(missing)}: pip install {' '.join(missing)}, or give --no-export")
    training = Training(args)
    training.say("start", world=training.world, device=training.device.type, steps=training.steps)
    done = load(training)
    if args.peak_tflops:  # backward costs twice what forward does
        with FlopCounterMode(display=False) as counter:
            training.raw(training.inputs(torch.zeros(1, *training.shape)))
        training.flops = 3 * counter.get_total_flops()
    wrap(training)
    done, stopped, times = fit(training, stop, done)
    metrics: dict[str, Any] = {}
    if not stopped:
        metrics, stopped = evaluate(training, stop)
        training.say("evaluate", step=done, **metrics)
    if stopped:
        training.say("stop", step=done, signal=stop.signal)
    else:
        export(training, done)
        speed = len(times) * args.global_batch / sum(times) if times else 0.0
        metrics |= {"steps": done, "samples_per_second": speed, "world": training.world, "seed": args.seed}
        if training.rank == 0:
            write(training.out / "metrics.json", json.dumps(metrics).encode())
        training.say("done", **metrics)
    if training.world > 1:  # nobody ends with 0 before all is written
        dist.barrier()
        dist.destroy_process_group()
    return 143 if stopped else 0


class Parser(argparse.ArgumentParser):
    """Refuses in one line."""

    def error(self, message: str) -> NoReturn:
        """Refuse a call."""
        raise Refused(message)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line. Whole numbers must be positive, unless 0 is their default."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("MLSPEC_INPUT_PREPROCESS", ".") + "/dataset")
    parser.add_argument("--out", default=os.environ.get("MLSPEC_RUN_DIR", "."))
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--name", default="classifier")
    for flag in FLAGS.split():
        parser.add_argument(f"--{flag}", action="store_true")
    least = {}
    for option, default in (word.split("=") for word in NUMBERS.split()):
        kind: Any = float if "." in default else int
        parser.add_argument(f"--{option}", type=kind, default=kind(default))
        least[option.replace("-", "_")] = 0 if kind is float or default == "0" else 1
    args = parser.parse_args(arguments)
    for name, bound in least.items():
        if not bound <= getattr(args, name) < (1 if name == "dropout" else math.inf):
            limits = f"at least {bound}{' and below 1' if name == 'dropout' else ''}"
            raise Refused(f"--{name.replace('_', '-')} {getattr(args, name)} is out of range: it is {limits}")
    if not re.fullmatch(r"[A-Za-z0-9][-_.A-Za-z0-9]*", args.name):
        raise Refused(f"--name {args.name!r} is no name of a folder: letters, digits and -_., no sign first")
    if args.bf16 and args.dtype == "float64":
        raise Refused("--bf16 and --dtype float64 exclude each other: leave one out")
    return args


def complain(message: str) -> None:
    """Say on stderr what is wrong, in one line."""
    print(f"ddp.py: {message}", file=sys.stderr, flush=True)  # noqa: T201


def main(arguments: list[str] | None = None) -> None:
    """Run and end the process at once: gloo's threads can abort it while Python cleans up (pytorch#190489)."""
    code, line = 1, ""
    try:
        code = run(parse(arguments), Stop())
    except Refused as error:
        code, line = 2, str(error)
    except OSError as error:
        line = f"{error.filename or 'cannot write'}: {error.strerror}"
    except Exception as error:  # noqa: BLE001
        first = (str(error).splitlines() or [repr(error)])[0]
        known = isinstance(error, (dist.DistError, torch.OutOfMemoryError)) or "gloo" in first
        line = f"a process was lost, never came, or has no memory left: {first}" if known else traceback.format_exc()
    if line:
        complain(line)
        if target := os.environ.get("TORCHELASTIC_ERROR_FILE"):  # what @record writes, without a traceback to read
            about = {"message": line, "extraInfo": {"py_callstack": line, "timestamp": str(int(time.time()))}}
            Path(target).write_text(json.dumps({"message": about}))
    os._exit(code)


if __name__ == "__main__":
    main()
