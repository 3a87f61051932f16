"""`python -m tests.fuzz --count 100000 [--seed N] [--jobs 2] [--only N]`: what came of that many hostile specs.

Input number N of a seed is the same as long as the specs to begin with and the words of the program are, so `--only N`
repeats the one that a line names; what fails is kept in the corpus, too.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from tests.fuzz import corpus, mutator
from tests.fuzz.corpus import Kind
from tests.fuzz.target import Outcome, Target

_CHUNK = 250
_PROJECTS = 0.75
_BROKEN = 0.15
"""Share of inputs that are made of a spec that is broken already."""
_KINDS: Final[tuple[Kind, ...]] = ("project", "environment")


@dataclass(slots=True)
class Tally:
    """What came of many inputs."""

    count: int = 0
    clean: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    largest: tuple[float, str] = (0.0, "")

    def add(self, name: str, outcome: Outcome) -> None:
        """Count one input."""
        self.count += 1
        self.clean += not outcome.failure and not any(code < "MLS5" for code in outcome.codes)
        self.codes.update(outcome.codes)
        self.slowest = max(self.slowest, (outcome.seconds, name))
        self.largest = max(self.largest, (outcome.megabytes, name))

    def join(self, other: Tally) -> None:
        """Add what another process counted."""
        self.count += other.count
        self.clean += other.clean
        self.codes.update(other.codes)
        self.failures += other.failures
        self.slowest = max(self.slowest, other.slowest)
        self.largest = max(self.largest, other.largest)


def make(seed: int, number: int) -> tuple[Kind, bytes]:
    """Return input `number` of a seed."""
    random = Random(f"{seed}-{number}")  # noqa: S311  # the same every time
    kind: Kind = "project" if random.random() < _PROJECTS else "environment"
    seeds = corpus.seeds(kind, broken=random.random() < _BROKEN)
    return kind, mutator.mutate(random, random.choice(seeds), seeds)


def run(seed: int, numbers: Iterable[int]) -> Tally:
    """Judge inputs, and keep those that fail in the corpus."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="mlspec-fuzz-") as folder:
        target = Target(Path(folder))
        for number in numbers:
            kind, data = make(seed, number)
            outcome = target.run(kind, data)
            name = f"--seed {seed} --only {number} ({kind}, {len(data)} bytes)"
            tally.add(name, outcome)
            if outcome.failure:
                path = corpus.save(kind, hashlib.sha256(data).hexdigest()[:8], data)
                tally.failures.append(f"{name}, kept as {path.name}\n{outcome.failure}")
    return tally


def _chunk(work: tuple[int, range]) -> Tally:
    return run(*work)


def _report(tally: Tally, seconds: float) -> None:
    out = sys.stdout.write
    out(f"{tally.count} inputs in {seconds:.0f} s, {tally.count / seconds:.0f} a second\n")
    out(f"{tally.clean} with nothing to say but that they are not generated yet\n")
    out("findings by code: " + ", ".join(f"{code} {count}" for code, count in sorted(tally.codes.items())) + "\n")
    out(f"worst time: {tally.slowest[0]:.2f} s of CPU, {tally.slowest[1]}\n")
    out(f"peak memory: {tally.largest[0]:.0f} MiB, {tally.largest[1]}\n")
    out(f"tracebacks: {len(tally.failures)}\n")
    for failure in tally.failures[:20]:
        out(f"\n{failure}")


def main() -> int:
    """Run, print, and return 1 where anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="N")
    options = parser.parse_args()
    for kind, broken in itertools.product(_KINDS, (False, True)):
        corpus.seeds(kind, broken=broken)  # read once, before anything that failed is kept among them
    began = time.monotonic()
    numbers = range(options.count) if options.only is None else range(options.only, options.only + 1)
    chunks = [(options.seed, numbers[start : start + _CHUNK]) for start in range(0, len(numbers), _CHUNK)]
    total = Tally()
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for tally in pool.imap_unordered(_chunk, chunks):
            total.join(tally)
    _report(total, time.monotonic() - began)
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
