"""Train as ddp.py does, with weights, gradients and moments shared out over the processes (FSDP2).

For models that do not fit on one device. ddp.py must lie beside this file: options, data, events, output and the ways
to start are its own (torchrun … fsdp.py, with at least two processes). Checkpoints are those of
torch.distributed.checkpoint, written by all ranks while training goes on; another number of processes can resume
them. A folder gets its name step-* once all ranks have written: a kill leaves the one before.

All ranks need --out on one file system. Whether a checkpoint is whole is seen by the sizes of its files, since hashing
would read all of it again.
"""

import json
import shutil
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import ddp  # type: ignore[import-not-found] # lies beside this file
import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.checkpoint.state_dict_loader import load as read
from torch.distributed.checkpoint.state_dict_saver import async_save
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Saver:
    """The save that is under way, if any."""

    def __init__(self) -> None:
        self.group: Any = None  # of its own: a save's messages must not mix with those of training
        self.future: Future[Any] | None = None
        self.step = 0

    def finish(self, training: Any, wait: bool) -> None:
        """Publish the checkpoint if all ranks have written theirs, or once they have."""
        if self.future is None:
            return
        if wait:
            self.future.result()
        (done,) = ddp.add_up(training, self.future.done())
        if done < training.world:
            return
        self.future.result()
        folder, name = training.out / "checkpoints", f"step-{self.step:08}"
        self.future = None
        if training.rank == 0:
            made = folder / f".{name}"
            sizes = {path.name: path.stat().st_size for path in made.iterdir()}
            about = {"step": self.step, "config": training.config, "world": training.world, "files": sizes}
            about["losses"] = training.losses[: self.step]
            ddp.write(made / "manifest.json", json.dumps(about).encode())
            shutil.rmtree(folder / name, ignore_errors=True)
            ddp.publish(made, folder / name)
            ddp.write(folder / "LATEST", name.encode())
            for rest in [*folder.glob(".step-*"), *sorted(folder.glob("step-*"))[: -training.args.keep]]:
                shutil.rmtree(rest)
        training.say("checkpoint", step=self.step, path=str(folder / name))
        dist.barrier()


saver = Saver()
plain_step, plain_fit, plain_export = ddp.train_step, ddp.fit, ddp.export


def shard(training: Any) -> None:
    """Share out the model block by block, so that one block at a time is whole, and make the optimizer of its parts."""
    if training.world == 1:
        raise ddp.Refused("fsdp.py shares a model out over processes: start several with torchrun, or take ddp.py")
    mesh = init_device_mesh(training.device.type, (training.world,))
    for block in training.raw.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(training.raw, mesh=mesh)
    training.model = training.raw
    training.args.deterministic = False  # FSDP adds in one order, always; there is no gradient left to average
    options = {"lr": training.args.lr, "weight_decay": training.args.weight_decay}
    training.optimizer = torch.optim.AdamW(training.raw.parameters(), **options)
    saver.group = dist.new_group(backend="gloo")


def newest(folder: Path) -> dict[str, Any] | None:
    """Return what the newest whole checkpoint says of itself; set aside newer ones that are not whole."""
    found = sorted(folder.glob("step-*"), reverse=True)
    for path in found:
        try:
            about: dict[str, Any] = json.loads((path / "manifest.json").read_bytes())
            if all((path / name).stat().st_size == size for name, size in about["files"].items()):
                return about | {"path": str(path)}
        except (OSError, ValueError, KeyError):
            pass
        ddp.complain(f"{path} is not whole: going back to the one before")
        shutil.rmtree(folder / f"unreadable-{path.name}", ignore_errors=True)
        ddp.publish(path, folder / f"unreadable-{path.name}")
    if found:
        raise ddp.Refused(f"{folder} holds no readable checkpoint: restore one, or remove the folder to start anew")
    return None


def load(training: Any) -> int:
    """Share out the model, and take up the newest checkpoint; return how many steps it has done."""
    shard(training)
    choice: list[Any] = [newest(training.out / "checkpoints") if training.rank == 0 else None]
    dist.broadcast_object_list(choice, src=0)
    about = choice[0]
    if about is None:
        return 0
    ddp.compare(about["config"], training.config)
    model, optimizer = get_state_dict(training.raw, training.optimizer)
    state: dict[str, Any] = {"model": model, "optimizer": optimizer}
    read(state, checkpoint_id=about["path"], process_group=saver.group)
    set_state_dict(
        training.raw, training.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    training.losses = about["losses"]
    training.say("resume", step=about["step"], world=about["world"])
    return int(about["step"])


def save(training: Any, step: int) -> None:
    """Begin to save the state after `step` steps; training goes on meanwhile."""
    saver.finish(training, wait=True)
    model, optimizer = get_state_dict(training.raw, training.optimizer)
    path = training.out / "checkpoints" / f".step-{step:08}"
    if training.rank == 0:
        shutil.rmtree(path, ignore_errors=True)
    dist.barrier()
    state = {"model": model, "optimizer": optimizer}
    future = async_save(state, checkpoint_id=path, process_group=saver.group)
    assert isinstance(future, Future)  # noqa: S101 # it is with the default kind of async_save
    saver.future, saver.step = future, step


def train_step(training: Any, step: int) -> float:
    """Publish the checkpoint that was finished meanwhile, if one was; then take the step."""
    saver.finish(training, wait=False)
    loss: float = plain_step(training, step)
    return loss


def fit(training: Any, stop: ddp.Stop, done: int) -> tuple[int, bool, float]:
    """Train, and wait for the last checkpoint."""
    result: tuple[int, bool, float] = plain_fit(training, stop, done)
    saver.finish(training, wait=True)
    return result


def export(training: Any, step: int) -> None:
    """Bring the weights together on rank 0, which exports them."""
    if training.args.no_export:
        return
    weights = get_model_state_dict(training.raw, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if training.rank == 0:
        training.raw = ddp.Classifier(training.shape, training.classes)
        training.raw.load_state_dict(weights)
        plain_export(training, step)


if __name__ == "__main__":
    for function in (load, save, train_step, fit, export):
        setattr(ddp, function.__name__, function)
    ddp.main()
