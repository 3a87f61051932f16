"""Train an image classifier on one process or many; a kill at any moment costs time and nothing else.

The same file runs everywhere, and resumes by itself from the newest readable checkpoint below --out:
    one process    python ddp.py --data DIR --out DIR --epochs 20
    one computer   torchrun --standalone --nproc-per-node 2 ddp.py --data DIR --out DIR --epochs 20
    PyTorchJob     command: [torchrun, /path/ddp.py], nprocPerNode: the GPUs of a pod, as a number
    TrainJob       command: [torchrun, /path/ddp.py], numProcPerNode: the GPUs of a pod, as a number
The operators tell torchrun the rest in PET_* variables; with python instead, a TrainJob trains one copy in each pod.

In: a folder with _SUCCESS (JSON: shape, classes, shards of raw uint8 with sha256), as preprocess.py writes it.
Out, on a file system that all processes share: checkpoints/step-*/, metrics.json, export/ (Triton's layout, manifest).
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
import contextlib
import ctypes
import hashlib
import importlib.util
import io
import json
import logging
import math
import os
import shutil
import signal
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

NUMBERS = """epochs=20 global-batch=128 accumulate=1 lr=0.003 weight-decay=0.01 warmup=20 clip=1.0 seed=0 dropout=0.0
    keep=3 checkpoint-every=0 log-every=10 max-steps=0 timeout=120.0 peak-tflops=0.0"""  # every 0 steps: once an epoch
FLAGS = "augment bf16 deterministic compile no-export"
# A resumed run may change these: they say where, how long, how often, or in which order sums are taken. The others
# decide the weights, --epochs too: the learning rate falls over them. --max-steps ends a run before, and may change.
FREE = (
    "out name accumulate deterministic compile no_export keep checkpoint_every log_every max_steps timeout peak_tflops"
)
TRITON = b'backend: "onnxruntime"\nmax_batch_size: 256\ndynamic_batching {}\n'  # by itself it takes 4 at most


class Refused(Exception):  # noqa: N818
    """What the caller has to mend before another try can succeed."""


class Stop:
    """The signal that asked to stop, once one has; before `listen` a signal ends the process: nothing to save yet."""

    signal = 0

    def listen(self) -> None:
        """Note signals from here on; a run looks at them after each step."""
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            signal.signal(number, lambda number, _: setattr(self, "signal", number))


class Rows:
    """Images or labels of one split, mapped into memory; the first process of a node also compares their sha256."""

    def __init__(self, folder: Path, about: dict[str, Any], split: str, kind: str, verify: bool) -> None:
        self.shape, self.shards = about["shape"] if kind == "images" else [], []
        for part in (parts := about["splits"][split]["shards"]):
            path, size = folder / part[kind], part["count"] * math.prod(self.shape)
            if (found := path.stat().st_size) != size:
                raise Refused(f"{path} has {found} bytes instead of {size}: preprocess again")
            if verify and digest(path) != part["sha256"][kind]:
                raise Refused(f"{path} has changed since it was written (sha256): preprocess again")
            self.shards.append(torch.from_file(str(path), size=size, dtype=torch.uint8).view(-1, *self.shape))
            if kind == "labels" and verify and int(self.shards[-1].max()) >= about["classes"]:
                raise Refused(f"{path}: a label is not below {about['classes']}: preprocess again")
        self.ends = torch.tensor([part["count"] for part in parts]).cumsum(0)

    def read(self, places: Tensor) -> Tensor:
        """Return the rows [N, …] (uint8) at `places` [N]."""
        rows = torch.empty(len(places), *self.shape, dtype=torch.uint8)
        shards = torch.bucketize(places, self.ends, right=True)
        for number in set(shards.tolist()):
            here, shard = shards == number, self.shards[number]
            rows[here] = shard[places[here] - self.ends[number] + len(shard)]
        return rows


class Classifier(nn.Module):
    """Convolutions until 4 to 7 pixels are left, and their mean; group norm: a batch's would depend on the ranks."""

    def __init__(self, shape: list[int], classes: int) -> None:
        super().__init__()
        self.width, self.blocks = shape[0], nn.ModuleList()
        for level in range(1 + max(1, int(math.log2(max(4, *shape[1:]) / 4)))):
            before, self.width = self.width, 32 << level
            block = [nn.Conv2d(before, self.width, 3, padding=1), nn.GroupNorm(8, self.width), nn.SiLU()]
            self.blocks.append(nn.Sequential(*block, *([nn.MaxPool2d(2, ceil_mode=True)] if level else [])))
        self.head = nn.Linear(self.width, classes)

    def forward(self, image: Tensor, scale: Tensor | None = None) -> Tensor:
        """Return logits [N, classes] of images [N, C, H, W] in 0..1; `scale` [N, width] is the dropout."""
        for block in self.blocks:
            image = block(image)
        features = image.mean((2, 3))
        return self.head(features if scale is None else features * scale)  # type: ignore[no-any-return]


class Training:
    """What the functions share: the place among the processes, data, model, optimizer."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.out, self.flops, (self.rank, self.world, local) = args, Path(args.out), 0.0, place()
        about, self.train, self.test = open_folders(args, verify=local == 0)
        self.count, self.epoch, self.order = int(self.train[1].ends[-1]), -1, torch.empty(0)  # of samples
        self.losses: list[float] = []  # of all steps so far, over all starts
        if args.global_batch % (self.world * args.accumulate) or args.global_batch > self.count:
            wanted = f"a multiple of {self.world} processes × --accumulate {args.accumulate}"
            raise Refused(f"--global-batch {args.global_batch} must be {wanted}, at most {self.count} (samples)")
        cuda = torch.cuda.is_available()
        self.device = torch.device("cuda", local) if cuda else torch.device("cpu")
        if cuda:
            torch.cuda.set_device(self.device)
        if self.world > 1:  # a peer is waited for so long, always
            limit, device = timedelta(seconds=args.timeout), self.device if cuda else None
            dist.init_process_group("nccl" if cuda else "gloo", timeout=limit, device_id=device)
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what deterministic algorithms need
        torch.use_deterministic_algorithms(args.deterministic)
        self.config = {key: value for key, value in vars(args).items() if key not in FREE.split()}
        self.config["data"] = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        self.shape, self.classes, self.dtype = about["shape"], about["classes"], getattr(torch, args.dtype)
        torch.manual_seed(args.seed)
        self.raw = Classifier(self.shape, self.classes).to(self.device, self.dtype)  # has the names of a checkpoint
        self.model: Any = self.raw  # with wrappers, by `load`
        self.optimizer = torch.optim.AdamW(self.raw.parameters(), args.lr, weight_decay=args.weight_decay)
        self.per_epoch = self.count // args.global_batch  # steps; the tail is left out, another in each epoch
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
    env, cuda = os.environ, torch.cuda.is_available()
    given = [env.get("RANK", "0"), env.get("WORLD_SIZE", "1"), env.get("LOCAL_RANK", "0")]
    rank, world, local = (int(number) if number.isdecimal() else -1 for number in given)
    nodes, processes = env.get("PET_NNODES", "1"), env.get("PET_NPROC_PER_NODE", "1")
    if "TORCHELASTIC_RUN_ID" in env:
        if sys.platform == "linux":  # PR_SET_PDEATHSIG: who loses its torchrun to a kill stops as if asked to
            ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))
    elif (nodes.split(":")[-1] != "1" and "WORLD_SIZE" not in env) or (processes.isdecimal() and processes != "1"):
        raise Refused(f"launched with python, but the operator expects torchrun: {nodes} pods × {processes} processes")
    if not 0 <= rank < world or local < 0 or (world > 1 and not {"MASTER_ADDR", "MASTER_PORT"} <= env.keys()):
        raise Refused(f"RANK={given[0]}, WORLD_SIZE={given[1]} and LOCAL_RANK, MASTER_*: let torchrun set all of them")
    if cuda and local >= torch.cuda.device_count():
        raise Refused(f"LOCAL_RANK={local}, but there are {torch.cuda.device_count()} GPUs: start one process for each")
    return rank, world, local


def digest(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_folders(args: argparse.Namespace, verify: bool) -> tuple[dict[str, Any], list[Rows], list[Rows]]:
    """Make --out; return what _SUCCESS in --data says, and images and labels of the splits `train` and `test`."""
    folder, kinds = Path(args.data), ("images", "labels")
    try:
        Path(args.out, "checkpoints").mkdir(parents=True, exist_ok=True)
        about = json.loads((folder / "_SUCCESS").read_bytes())
        train, test = ([Rows(folder, about, split, kind, verify) for kind in kinds] for split in ("train", "test"))
    except OSError as error:
        wanted = "--data must name what preprocess.py has written, --out a folder to write to"
        raise Refused(f"{error.filename}: {error.strerror}: {wanted}") from None
    except (ValueError, KeyError, TypeError, IndexError, RuntimeError) as error:
        raise Refused(f"{folder / '_SUCCESS'} describes no data set ({error!r}): preprocess again") from None
    return about, train, test


def drawn(*key: object) -> torch.Generator:
    """Return a source of random numbers that depends on the key alone."""
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:7], "big"))


def add_up(training: Training, *values: float) -> list[float]:
    """Return the sums over all ranks (float64)."""
    sums = torch.tensor(values, dtype=torch.float64, device=training.device)
    if training.world > 1:
        dist.all_reduce(sums)
    return list(sums.tolist())


def train_step(training: Training, step: int) -> float:
    """Take the step that follows `step` steps; return this rank's part of the global batch's mean loss."""
    args, world, device = training.args, training.world, training.device
    epoch, number = divmod(step, training.per_epoch)
    if epoch != training.epoch:
        training.epoch = epoch
        training.order = torch.randperm(training.count, generator=drawn(args.seed, "order", epoch))
    parts = (world, args.accumulate, args.global_batch // world // args.accumulate)
    batch = training.order[number * args.global_batch :][: args.global_batch].view(parts)
    shifts = torch.randint(0, 5, (2, *parts), generator=drawn(args.seed, "shift", step))[:, training.rank]
    chances = torch.rand(*parts, training.raw.width, generator=drawn(args.seed, "dropout", step))[training.rank]
    scales = ((chances >= args.dropout) / (1 - args.dropout)).to(device, training.dtype)
    loss = torch.zeros((), dtype=torch.float64, device=device)
    for part, mine in enumerate(batch[training.rank]):
        images, labels = (rows.read(mine) for rows in training.train)
        if args.augment:  # of the 25 windows into the padded image, one
            windows = nn.functional.pad(images, [2] * 4).unfold(2, images.shape[2], 1).unfold(3, images.shape[3], 1)
            images = windows[torch.arange(len(mine)), :, shifts[0, part], shifts[1, part]]
        training.model.require_backward_grad_sync = part == args.accumulate - 1  # what DDP's no_sync() sets
        with torch.autocast(device.type, torch.bfloat16, enabled=args.bf16):
            logits = training.model(training.inputs(images), scales[part])
        total = nn.functional.cross_entropy(logits.to(training.dtype), labels.long().to(device), reduction="sum")
        (total * (world / args.global_batch)).backward()  # ranks are averaged
        loss += total.detach() / args.global_batch
    if world > 1 and args.deterministic:  # one all-reduce, which adds in the same order in each step and each resume
        gradients = [weights.grad for weights in training.raw.parameters() if weights.grad is not None]
        dist.all_reduce(flat := nn.utils.parameters_to_vector(gradients))
        nn.utils.vector_to_parameters(flat / world, gradients)
    nn.utils.clip_grad_norm_(training.raw.parameters(), args.clip or math.inf)
    # The rate goes up along a line, then down along a cosine, to 0 at the end of the last epoch.
    down = max(0, step - args.warmup) / max(1, training.schedule - args.warmup)
    rate = args.lr * min(1, (step + 1) / args.warmup) * (1 + math.cos(math.pi * down)) / 2
    training.optimizer.param_groups[0]["lr"] = rate
    training.optimizer.step()
    training.optimizer.zero_grad()
    return float(loss)


@torch.no_grad()
def evaluate(training: Training) -> dict[str, float]:
    """Return metrics of the test split, each sample counted once.

    Rank r takes the samples r, r + world, …; all call the model equally often, at the end perhaps with no sample.
    """
    sums, test = torch.zeros(3, dtype=torch.float64, device=training.device), training.test
    for places in torch.split(torch.arange(int(test[1].ends[-1])), 256 * training.world):
        images, labels = (rows.read(places[training.rank :: training.world]).to(training.device) for rows in test)
        logits, labels = training.raw(training.inputs(images)), labels.long()
        hits, wrong = (logits.argmax(1) == labels).sum(), nn.functional.cross_entropy(logits, labels, reduction="sum")
        sums += torch.stack((wrong, hits, torch.tensor(len(labels), device=training.device)))
    loss, right, count = add_up(training, *sums.tolist())
    return {"accuracy": right / count, "loss": loss / count, "correct": int(right), "count": int(count)}


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
    about = {"step": step, "losses": training.losses, "config": training.config, "torch": str(torch.__version__)}
    state = {"model": training.raw.state_dict(), "optimizer": training.optimizer.state_dict(), "world": training.world}
    torch.save(about | state, stream)
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


def newest(folder: Path) -> int:
    """Return the steps of the newest checkpoint that is as it was written, or 0; set those aside that are not."""
    found = sorted(folder.glob("step-*"), reverse=True)
    for path in found:
        with contextlib.suppress(OSError, ValueError):
            if digest(path / "state.pt") == (path / "sha256").read_text():
                return int(path.name.removeprefix("step-"))
        complain(f"{path} cannot be read, or has changed since it was written: going back to the one before")
        shutil.rmtree(folder / f"unreadable-{path.name}", ignore_errors=True)
        publish(path, folder / f"unreadable-{path.name}")
    if found:
        raise Refused(f"{folder} holds no readable checkpoint: restore one, or remove the folder to start anew")
    return 0


def load(training: Training) -> int:
    """Take up the checkpoint that rank 0 finds to be the newest, and wrap the model; return how many steps are done."""
    step = int(add_up(training, newest(training.out / "checkpoints") if training.rank == 0 else 0)[0])
    if step:
        state = torch.load(training.out / f"checkpoints/step-{step:08}/state.pt", map_location="cpu", weights_only=True)
        compare(state["config"], training.config)
        training.raw.load_state_dict(state["model"])
        training.optimizer.load_state_dict(state["optimizer"])
        training.losses = state["losses"]
        training.say("resume", step=step, world=state["world"], torch=state["torch"])
    training.model = torch.compile(training.raw) if training.args.compile else training.raw
    if training.world > 1 and not training.args.deterministic:
        training.model = nn.parallel.DistributedDataParallel(training.model)
    return step


def compare(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Refuse options that would give other weights than those that the run began with."""
    if differ := [f"{key} was {old.get(key)}, is {new.get(key)}" for key in old | new if old.get(key) != new.get(key)]:
        raise Refused(f"the checkpoint's configuration differs: {'; '.join(differ)}: restore it, or give another --out")


def export(training: Training, step: int) -> None:
    """Publish the model as ONNX in Triton's layout with its sha256, on rank 0: the finished folder gets its name."""
    if training.rank != 0 or training.args.no_export:
        return
    made, name, model = training.out / ".export", training.args.name, Classifier(training.shape, training.classes)
    model.load_state_dict(training.raw.state_dict())
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it misses torchvision, which is not needed
    options: Any = {"input_names": ["image"], "output_names": ["logits"], "dynamo": True, "verbose": False}
    options["dynamic_shapes"] = ({0: torch.export.Dim("batch")},)
    program: Any = torch.onnx.export(model.eval(), (torch.zeros(2, *training.shape),), **options)
    shutil.rmtree(made, ignore_errors=True)
    (made / name / "1").mkdir(parents=True)
    files = {f"{name}/config.pbtxt": TRITON, f"{name}/1/model.onnx": program.model_proto.SerializeToString()}
    sums = {file: {"sha256": write(made / file, data), "bytes": len(data)} for file, data in files.items()}
    write(made / "manifest.json", json.dumps({"format": "onnx", "step": step, "files": sums}).encode())
    shutil.rmtree(training.out / "export", ignore_errors=True)
    publish(made, training.out / "export")
    training.say("export", path=str(training.out / "export"))


def report(training: Training, done: int, times: list[float]) -> None:
    """Say how far and how fast training is, by the times (s) of the last steps, and check that it can go on."""
    args, loss, spread = training.args, training.losses[-1], sorted(times[-100:])
    if not math.isfinite(loss):
        raise Refused(f"the loss is {loss} at step {done}: lower --lr, and give another --out")
    if done % args.log_every == 0 or done == training.steps:
        where = {"epoch": training.epoch + 1, "lr": training.optimizer.param_groups[0]["lr"]}
        rate, half, most = args.global_batch * len(spread) / sum(spread), len(spread) // 2, len(spread) * 9 // 10
        speed = {"samples_per_second": rate, "step_p50": spread[half], "step_p90": spread[most]}
        speed |= {"mfu": training.flops * rate / training.world / args.peak_tflops / 1e12} if args.peak_tflops else {}
        training.say("step", step=done, steps=training.steps, loss=loss, **where, **speed)


def fit(training: Training, stop: Stop, done: int) -> tuple[int, bool, float]:
    """Go on after `done` steps; return the steps done, whether a rank was asked to stop, the samples a second."""
    args, times, asked = training.args, [], 0.0
    stop.listen()
    while done < training.steps and not asked:
        began = time.monotonic()
        loss, asked = add_up(training, train_step(training, done), bool(stop.signal))
        done += 1
        times.append(time.monotonic() - began)
        training.losses.append(loss)
        report(training, done, times)
        if asked or done == training.steps or done % (args.checkpoint_every or training.per_epoch) == 0:
            save(training, done)
        if done % training.per_epoch == 0 and done < training.steps and not asked:
            training.say("evaluate", step=done, **evaluate(training))
    return done, asked > 0, args.global_batch * len(times) / sum(times) if times else 0.0


def run(args: argparse.Namespace, stop: Stop) -> int:
    """Train, evaluate, export; return the exit status."""
    if not args.no_export and importlib.util.find_spec("onnxscript") is None:
        raise Refused("the export needs onnxscript: pip install onnxscript, or give --no-export")
    training = Training(args)
    training.say("start", world=training.world, device=training.device.type, steps=training.steps)
    done = load(training)
    if args.peak_tflops:  # backward costs twice what forward does
        with FlopCounterMode(display=False) as counter:
            training.raw(training.inputs(torch.zeros(1, *training.shape)))
        training.flops = 3 * counter.get_total_flops()
    done, stopped, speed = fit(training, stop, done)
    if stopped:
        training.say("stop", step=done, signal=stop.signal)
    else:
        metrics = evaluate(training)
        training.say("evaluate", step=done, **metrics)
        export(training, done)
        metrics |= {"steps": done, "samples_per_second": speed, "world": training.world, "seed": args.seed}
        if training.rank == 0:
            write(training.out / "metrics.json", json.dumps(metrics).encode())
        training.say("done", **metrics)
    if training.world > 1:  # nobody ends with 0 before all is written
        dist.barrier()
        dist.destroy_process_group()
    return 143 if stopped else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line. Whole numbers must be positive, unless 0 is their default."""
    parser = argparse.ArgumentParser(None, argparse.SUPPRESS, __doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("MLSPEC_INPUT_PREPROCESS", ".") + "/dataset")
    parser.add_argument("--out", default=os.environ.get("MLSPEC_RUN_DIR", "."))
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--name", default="classifier")
    for flag in FLAGS.split():
        parser.add_argument(f"--{flag}", action="store_true")
    numbers = dict(word.split("=") for word in NUMBERS.split())
    for option, default in numbers.items():
        parser.add_argument(f"--{option}", type=float if "." in default else int, default=default)
    args = parser.parse_args(arguments)
    for option, default in numbers.items():
        value, least = getattr(args, option.replace("-", "_")), 0 if "." in default or default == "0" else 1
        if not (below := 1 if option == "dropout" else math.inf) > value >= least:
            parser.error(f"--{option} {value} is out of range: it is at least {least} and below {below}")
    if "/" in args.name or args.name[:1] in {"", "."}:
        parser.error(f"--name {args.name!r} is no name of a folder, or begins with a dot: give letters, digits and -_.")
    if args.bf16 and args.dtype == "float64":
        parser.error("--bf16 and --dtype float64 exclude each other: leave one out")
    return args


def complain(message: str) -> None:
    """Say on stderr what is wrong, in one line."""
    print(f"ddp.py: {message}", file=sys.stderr, flush=True)  # noqa: T201


def main(arguments: list[str] | None = None) -> None:
    """Run and end the process at once: gloo's threads can abort it while Python cleans up (pytorch#190489)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # without a traceback, until `listen`
    try:
        os._exit(run(parse(arguments), Stop()))
    except Refused as error:
        code, line = 2, str(error)
    except OSError as error:
        code, line = 1, f"{error.filename or 'cannot write'}: {error.strerror}"
    except Exception as error:  # noqa: BLE001
        code, first = 1, (str(error).splitlines() or [repr(error)])[0]
        known = isinstance(error, (dist.DistError, torch.OutOfMemoryError)) or "gloo" in first
        line = f"a process was lost, never came, or has no memory left: {first}" if known else traceback.format_exc()
    complain(line)
    if target := os.environ.get("TORCHELASTIC_ERROR_FILE"):  # what @record writes, without a traceback to read
        Path(target).write_text(json.dumps({"message": line, "timestamp": int(time.time())}))
    os._exit(code)


if __name__ == "__main__":
    main()
