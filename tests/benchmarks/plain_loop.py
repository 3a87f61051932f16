"""A plain training loop as tutorials teach it, on the model and the data of ddp.py, which is compared with it.

`plain_loop.py DATA OUT EPOCHS BATCH LOG`; BATCH is of one process. LOG gets a line for each step: epoch and batch.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from tests.training.driver import program

ddp = program()


def dataset(folder: Path, split: str) -> TensorDataset:
    """Load a split whole."""
    _, train, test = ddp.read_data(folder, verify=False)
    chosen = train if split == "train" else test
    images, labels = chosen.read(torch.arange(chosen.count))
    return TensorDataset(images.float() / 255, labels)


def main(data: Path, out: Path, epochs: int, batch: int, log: Path) -> None:
    """Train, resume from the snapshot of the last epoch, print the accuracy."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    train, test = dataset(data, "train"), dataset(data, "test")
    sampler: DistributedSampler[TensorDataset] = DistributedSampler(train)
    loader = DataLoader(train, batch_size=batch, sampler=sampler)
    model = ddp.Classifier(list(train.tensors[0].shape[1:]), 10)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    snapshot, first = out / "snapshot.pt", 0
    if snapshot.exists():
        state = torch.load(snapshot, weights_only=True)
        model.load_state_dict(state["MODEL_STATE"])
        first = state["EPOCHS_RUN"]
    parallel = DistributedDataParallel(model)
    began, seen = time.monotonic(), 0
    for epoch in range(first, epochs):
        sampler.set_epoch(epoch)
        for number, (images, labels) in enumerate(loader):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(parallel(images), labels)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            seen += len(labels) * dist.get_world_size()
            if rank == 0:
                with log.open("a") as file:
                    file.write(f"{epoch} {number}\n")
                time.sleep(float(os.environ.get("PAUSE", "0")))
        if rank == 0:
            torch.save({"MODEL_STATE": model.state_dict(), "EPOCHS_RUN": epoch}, snapshot)
            print(f"epoch {epoch}", flush=True)  # noqa: T201
    speed = seen / (time.monotonic() - began)
    correct = 0
    with torch.no_grad():
        for images, labels in DataLoader(test, batch_size=256, sampler=DistributedSampler(test)):
            correct += int((model(images).argmax(1) == labels).sum())
    if rank == 0:
        print(f"accuracy {correct / len(test)} samples_per_second {speed}", flush=True)  # noqa: T201
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
