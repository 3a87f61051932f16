"""Writes small data sets in the form that preprocess.py publishes: scikit-learn's digits, or random images."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

_Split = tuple[list[bytes], list[int]]


def write(folder: Path, source: str, shape: tuple[int, int, int], splits: dict[str, _Split], shard: int) -> Path:
    """Write images (raw bytes of `shape` each) and labels in shards of `shard` samples; return the folder."""
    folder.mkdir(parents=True)
    about: dict[str, object] = {}
    for name, (images, labels) in splits.items():
        shards = []
        for number, start in enumerate(range(0, len(images), shard)):
            parts = {
                "images": b"".join(images[start : start + shard]),
                "labels": bytes(labels[start : start + shard]),
            }
            files = {kind: f"{name}-{number:05}.{kind}" for kind in parts}
            for kind, data in parts.items():
                (folder / files[kind]).write_bytes(data)
            sums = {kind: hashlib.sha256(data).hexdigest() for kind, data in parts.items()}
            shards.append({**files, "count": len(parts["labels"]), "sha256": sums})
        about[name] = {"count": len(images), "shards": shards}
    text = json.dumps({"format": 1, "source": source, "shape": shape, "classes": 10, "splits": about})
    (folder / "_SUCCESS").write_text(text)
    return folder


def synthetic(folder: Path, train: int = 600, test: int = 101, side: int = 8, shard: int = 250) -> Path:
    """Write random one-channel images, each class with a square of its own, so that there is something to learn."""
    source = random.Random(7)  # noqa: S311

    def sample(label: int) -> bytes:
        image = [source.randrange(100) for _ in range(side * side)]
        for row in range(3):
            for column in range(3):
                image[(label // 4 * 2 + row) * side + label % 4 * 2 % (side - 2) + column] = 255
        return bytes(image)

    def split(count: int) -> _Split:
        labels = [source.randrange(10) for _ in range(count)]
        return [sample(label) for label in labels], labels

    return write(folder, "synthetic", (1, side, side), {"train": split(train), "test": split(test)}, shard)


def digits(folder: Path) -> Path:
    """Write scikit-learn's digits, one in five held out (1437 and 360), grey values 0..16 as 0..255."""
    from sklearn.datasets import load_digits

    loaded = load_digits()
    images = [bytes(round(value * 255 / 16) for value in image) for image in loaded.data.tolist()]
    labels = [int(label) for label in loaded.target]
    places = list(range(len(labels)))
    random.Random(0).shuffle(places)  # noqa: S311
    held_out = len(places) // 5 + 1
    splits = {
        name: ([images[place] for place in chosen], [labels[place] for place in chosen])
        for name, chosen in (("test", places[:held_out]), ("train", places[held_out:]))
    }
    return write(folder, "digits", (1, 8, 8), splits, 1000)
