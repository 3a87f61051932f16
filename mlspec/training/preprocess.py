"""Make a data set of images for ddp.py and evaluate.py: fetch, verify, write shards, publish them whole.

    python preprocess.py --source digits --out DIR                  scikit-learn's digits, which need no network
    python preprocess.py --source mnist --url https://… --out DIR   four files in MNIST's format, gzipped or not

The result is DIR/dataset: shards of raw uint8 (images in C order; one label a sample) and `_SUCCESS`, JSON that says
shapes, counts and sha256. It is written under another name and renamed when it is whole, so nobody reads a part. A
second call with the same arguments verifies what is there and ends. Python's standard library is all it needs; Python
3.9 or later. http_proxy, https_proxy and no_proxy are heeded. Exit codes: 0 done; 2 a source, an argument or the disk
is at fault; 143 stopped by SIGTERM, 130 by SIGINT.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import gzip
import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import struct
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

# sha256 of MNIST's four files as they are published (gzipped); tensorflow/datasets records the same.
MNIST = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
TRIES = 4
SECONDS = 30.0  # without a byte, of a connection
MOST = 1 << 26  # bytes of an image: more is a damaged head

Image = tuple[bytes, int]
"""The pixels of a sample, and its label."""


class Refused(Exception):  # noqa: N818  # it is an answer
    """What the caller has to mend before another try can succeed."""


# --- sources: each yields the samples of a split, one after the other, so memory stays small ---


class Digits:
    """scikit-learn's 1,797 digits of 8×8 pixels, shuffled, the last fifth of them held out."""

    shape, classes = (1, 8, 8), 10

    def __init__(self, seed: int) -> None:
        """Load them; raises Refused where scikit-learn is not installed."""
        try:
            from sklearn.datasets import load_digits
        except ImportError:
            raise Refused(
                "--source digits needs scikit-learn: pip install scikit-learn, or give another source"
            ) from None
        found = load_digits()
        # Its pixels are 0 to 16.
        pixels = [bytes(round(value * 255 / 16) for value in row) for row in found.data]
        self.samples = [(row, int(label)) for row, label in zip(pixels, found.target)]  # noqa: B905  # Python 3.9
        random.Random(seed).shuffle(self.samples)  # noqa: S311  # they come in the order of those who wrote them

    def split(self, name: str) -> Iterator[Image]:
        """Yield the samples of `train` or `test`."""
        first = len(self.samples) * 4 // 5
        return iter(self.samples[:first] if name == "train" else self.samples[first:])


class Idx:
    """Files in MNIST's format (idx): a magic number and sizes, big-endian, then bytes."""

    def __init__(self, files: dict[str, Path]) -> None:
        """Read the heads of the images' files; raises Refused where they do not agree."""
        self.files, self.classes = files, 0
        heads = [self._open(f"{split}-images-idx3-ubyte") for split in ("train", "t10k")]
        sizes = {sizes[1:] for _, sizes in heads}
        for file, _ in heads:
            file.close()
        if len(sizes) != 1:
            raise Refused(f"images of the two splits differ in size: {sorted(sizes)}")
        self.shape = (1, *sizes.pop())
        if not 0 < self.shape[1] * self.shape[2] <= MOST:
            raise Refused(f"images of {self.shape[1]} × {self.shape[2]} pixels cannot be meant")

    def _open(self, stem: str) -> tuple[IO[bytes], tuple[int, ...]]:
        path, dimensions = self.files[stem], 3 if "-idx3-" in stem else 1
        file: Any = gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # noqa: SIM115  # closed by callers
        try:
            magic, *sizes = struct.unpack(f">{1 + dimensions}I", file.read(4 * (1 + dimensions)))
        except (struct.error, OSError, EOFError, zlib.error):
            magic, sizes = 0, []
        if magic != 0x800 + dimensions:
            file.close()
            raise Refused(f"{path.name} is not an idx file of bytes in {dimensions} dimension{'s'[: dimensions - 1]}")
        return file, tuple(sizes)

    def split(self, name: str) -> Iterator[Image]:
        """Yield the samples of `train` or `test`; raises Refused where files are cut short or do not agree."""
        stem = {"train": "train", "test": "t10k"}[name]
        images, sizes = self._open(f"{stem}-images-idx3-ubyte")
        labels, (count,) = self._open(f"{stem}-labels-idx1-ubyte")
        with images, labels:
            if sizes[0] != count:
                raise Refused(f"{stem}: {sizes[0]} images, but {count} labels")
            size = sizes[1] * sizes[2]
            for number in range(count + 1):  # one more: the end is verified, too
                try:
                    pixels, label = images.read(size), labels.read(1)
                except (OSError, EOFError, zlib.error) as error:
                    raise Refused(f"{stem}: cannot be unpacked at sample {number}: {error}") from None
                if number == count and (pixels or label):
                    raise Refused(f"{stem}: does not end after its {count} samples")
                if number == count:
                    return
                if len(pixels) != size or len(label) != 1:
                    raise Refused(f"{stem}: ends at sample {number} of {count}")
                self.classes = max(self.classes, label[0] + 1)
                yield pixels, label[0]


def checked(path: str | None) -> dict[str, str]:
    """Return sha256 by file name, MNIST's own without a path; raises Refused where the file says something else."""
    if path is None:
        return MNIST
    try:
        told = json.loads(Path(path).read_text(encoding="utf-8"))
        stems = sorted(name[:-3] if name.endswith(".gz") else name for name in told)
        good = all(len(found) == 64 and int(found, 16) >= 0 for found in told.values())
    except (ValueError, AttributeError, TypeError) as error:
        raise Refused(f"--checksums {path} is not JSON of sha256 by file name: {error}") from None
    if not good or stems != sorted(name[:-3] for name in MNIST):
        raise Refused(f"--checksums {path} must give a sha256 (64 hexadecimal digits) to each of {', '.join(MNIST)}")
    return {name: found.lower() for name, found in told.items()}


def fetched(url: str, checksums: dict[str, str], folder: Path) -> dict[str, Path]:
    """Download the four files into a folder, each compared with its sha256; returns them by name without `.gz`."""
    folder.mkdir()
    files = {}
    for name, wanted in checksums.items():
        found = _fetch(f"{url}/{name}", folder / name)
        if found != wanted:
            raise Refused(f"{url}/{name}: sha256 is {found}, {wanted} wanted: see --checksums")
        files[name[:-3] if name.endswith(".gz") else name] = folder / name
    return files


def _fetch(url: str, path: Path) -> str:
    for number in range(1, TRIES + 1):
        try:
            return _download(url, path)
        except urllib.error.HTTPError as error:
            problem, again = f"{error.code} {error.reason}", error.code in (408, 429) or error.code >= 500
        except urllib.error.URLError as error:
            problem, again = str(error.reason), not url.startswith("file:")
        except http.client.InvalidURL as error:
            problem, again = str(error), False
        except (ConnectionError, TimeoutError, http.client.HTTPException) as error:
            problem, again = str(error) or "no answer", True
        if not again or number == TRIES:
            raise Refused(f"{url} cannot be fetched: {problem} (tried {number} time{'s' if number > 1 else ''})")
        say(f"{url}: {problem}, trying again")
        time.sleep(2.0**number / 2)
    raise AssertionError


def _download(url: str, path: Path) -> str:
    digest = hashlib.sha256()
    with urllib.request.urlopen(url, timeout=SECONDS) as answer, path.open("wb") as file:  # noqa: S310  # see `run`
        for block in iter(lambda: answer.read(1 << 20), b""):
            digest.update(block)
            file.write(block)
        promised = answer.headers.get("Content-Length", "")
        if promised.isdecimal() and int(promised) != file.tell():
            raise ConnectionError(f"{file.tell()} of {promised} bytes came")
    return digest.hexdigest()


# --- the data set ---


class Shards:
    """Writes the samples of a split, so many a file, and counts and digests them."""

    def __init__(self, folder: Path, name: str, most: int) -> None:
        """Write into a folder."""
        self.folder, self.name, self.most = folder, name, most
        self.told: list[dict[str, Any]] = []

    def write(self, samples: Iterator[Image]) -> dict[str, Any]:
        """Write all samples; returns the split's entry in `_SUCCESS`."""
        for first in samples:
            self._shard(first, samples)
        return {"count": sum(shard["count"] for shard in self.told), "shards": self.told}

    def _shard(self, first: Image, samples: Iterator[Image]) -> None:
        names = {part: f"{self.name}-{len(self.told):05d}.{part}" for part in ("images", "labels")}
        digests, count = {part: hashlib.sha256() for part in names}, 0
        with (self.folder / names["images"]).open("wb") as images, (self.folder / names["labels"]).open("wb") as labels:
            sample: Any = first
            while sample is not None:
                for file, part, data in ((images, "images", sample[0]), (labels, "labels", bytes([sample[1]]))):
                    file.write(data)
                    digests[part].update(data)
                count += 1
                sample = next(samples, None) if count < self.most else None
            for file in (images, labels):
                file.flush()
                os.fsync(file.fileno())
        self.told.append(
            {**names, "count": count, "sha256": {part: found.hexdigest() for part, found in digests.items()}}
        )


def whole(folder: Path, asked: dict[str, Any]) -> bool:
    """Say whether a published data set is what is asked for, every shard as it was written."""
    try:
        told = json.loads((folder / "_SUCCESS").read_text(encoding="utf-8"))
        if told["asked"] != asked:
            return False
        for split in told["splits"].values():
            for shard in split["shards"]:
                for part in ("images", "labels"):
                    if _digest(folder / shard[part]) != shard["sha256"][part]:
                        return False
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def make(source: Any, made: Path, asked: dict[str, Any], shard_size: int) -> None:
    """Write a data set into a folder of nobody else's; raises Refused where the source is at fault."""
    splits = {}
    for name in ("train", "test"):
        splits[name] = Shards(made, name, shard_size).write(source.split(name))
        if not splits[name]["count"]:
            raise Refused(f"split {name} has no samples")
    shutil.rmtree(made / ".in", ignore_errors=True)  # what was fetched
    told = {"format": 1, "source": asked["source"], "shape": list(source.shape), "classes": source.classes}
    with (made / "_SUCCESS").open("w", encoding="utf-8") as file:
        json.dump({**told, "splits": splits, "asked": asked}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    synced(made)


def synced(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def publish(made: Path, target: Path, asked: dict[str, Any]) -> None:
    """Give the finished folder its name; another process that was first, with the same data set, is as good."""
    if target.exists() and not whole(target, asked):
        target.rename(made.with_name(f"{made.name}-old"))
    try:
        made.rename(target)
    except OSError:
        if not whole(target, asked):
            raise
    synced(target.parent)


@contextlib.contextmanager
def alone(out: Path) -> Iterator[bool]:
    """Hold a lock of the folder, which the kernel frees whatever happens; yields whether its file system has locks."""
    with (out / ".dataset.lock").open("w") as file:
        held = True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that writes to {out}")
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            held = False
        yield held


def run(arguments: argparse.Namespace) -> None:
    """Do it; raises Refused and OSError."""
    out, target = Path(arguments.out), Path(arguments.out) / "dataset"
    asked = {"source": arguments.source, "shard_size": arguments.shard_size, "seed": arguments.seed}
    if arguments.source == "mnist":
        asked["checksums"] = checked(arguments.checksums)
    if not whole(target, asked):
        out.mkdir(parents=True, exist_ok=True)
        with alone(out) as held:
            if not whole(target, asked):
                _make(arguments, out, asked, held)
    told = json.loads((target / "_SUCCESS").read_text(encoding="utf-8"))
    counts = ", ".join(f"{split['count']} samples in {name}" for name, split in told["splits"].items())
    say(f"{target} is whole: {counts}")


def _make(arguments: argparse.Namespace, out: Path, asked: dict[str, Any], held: bool) -> None:
    # Nobody else makes a name with this one's clock; without a lock what others have begun may not be abandoned.
    made = out / f".dataset-{socket.gethostname()}-{os.getpid()}-{time.time_ns()}"
    try:
        for left in out.glob(".dataset-*") if held else ():
            shutil.rmtree(left, ignore_errors=True)
        made.mkdir()
        if arguments.source == "digits":
            source: Any = Digits(arguments.seed)
        else:
            source = Idx(fetched(arguments.url.rstrip("/"), asked["checksums"], made / ".in"))
        make(source, made, asked, arguments.shard_size)
        publish(made, out / "dataset", asked)
    finally:
        for left in out.glob(f"{made.name}*"):
            shutil.rmtree(left, ignore_errors=True)


def say(words: str) -> None:
    """Print a line for the log."""
    sys.stderr.write(f"preprocess.py: {words}\n")
    sys.stderr.flush()


class Parser(argparse.ArgumentParser):
    """Refuses in one line."""

    def error(self, message: str) -> NoReturn:
        """Refuse a call."""
        raise Refused(message)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line; raises Refused where it cannot be meant."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", choices=("mnist", "digits"), required=True)
    parser.add_argument("--url", help="the folder of the four files: https://, http:// or file://")
    parser.add_argument("--checksums", help="JSON, sha256 by file name, of four files other than MNIST's")
    parser.add_argument("--out", default=os.environ.get("MLSPEC_RUN_DIR"), help="default: $MLSPEC_RUN_DIR")
    parser.add_argument("--shard-size", type=int, default=10_000, help="samples of a shard")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the digits")
    found = parser.parse_args(argv)
    if not found.out:
        raise Refused("--out is wanted, or MLSPEC_RUN_DIR")
    if found.source == "mnist":
        _judge(found.url)
    if found.shard_size < 1:
        raise Refused(f"--shard-size must be at least 1, got {found.shard_size}")
    return found


def _judge(url: str | None) -> None:
    if not url:
        raise Refused("--source mnist wants --url, the folder of the four files")
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError as error:
        raise Refused(f"--url is no URL: {error}") from None
    if parts.username is not None:  # and urllib would take it for a part of the host's name
        raise Refused("--url must not hold a user or a password: its place is in logs and manifests")
    if parts.scheme not in ("https", "http", "file") or (parts.scheme != "file" and not parts.hostname):
        raise Refused(f"--url must begin with https://, http:// or file://, got {url}")


def _stopped(number: int, _: object) -> NoReturn:
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)  # what follows is short
    raise SystemExit(128 + number)


def main(argv: Sequence[str]) -> int:
    """Run, and say in one line what is wrong."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stopped)
    try:
        run(parse(argv))
    except Refused as error:
        say(str(error))
        return 2
    except OSError as error:
        say(f"{error.filename or 'cannot write'}: {error.strerror or error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
