"""The runs that were written before, as their files tell: pins may name them, and promotion chooses among them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from mlspec import yamltext
from mlspec.ir import Place
from mlspec.ir_runs import KeptRun
from mlspec.k8s import meta
from mlspec.spec.discover import GENERATED

# As yamltext writes it; a queue's name is a name, so it needs no quotes unless YAML could mistake it.
_QUEUE: Final = re.compile(rb"^ +" + re.escape(meta.QUEUE_NAME.encode()) + rb': "?([-a-z0-9.]+)"?$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class History:
    """The run files of one project, by path from generated/; nothing is parsed that is not asked for."""

    project: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    owned: frozenset[str] = frozenset()
    """Paths of run files that mlspec wrote, there or not."""

    def find(self, environment: str, run: str) -> KeptRun | None:
        """Return a run by its name."""
        content = self.files.get(f"{self._folder(environment)}{run}.yaml")
        return _parse(run, content) if content is not None else None

    def contents(self, environment: str) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the file of every run of an environment."""
        folder = self._folder(environment)
        for path, content in self.files.items():
            if path.startswith(folder):
                yield path.removeprefix(folder)[: -len(".yaml")], content

    def names(self, environment: str) -> list[str]:
        """Return the names of all runs of an environment."""
        folder = self._folder(environment)
        return sorted(path.removeprefix(folder)[: -len(".yaml")] for path in self.files if path.startswith(folder))

    def missing(self, environment: str, run: str) -> str | None:
        """Return where a run's file was, if it was written once and is not there; from the root."""
        path = f"{self._folder(environment)}{run}.yaml"
        return f"{GENERATED}/{path}" if path in self.owned and path not in self.files else None

    def lost(self, environment: str) -> list[str]:
        """Return the paths of all run files of an environment that are not there, from the root."""
        folder = self._folder(environment)
        return sorted(f"{GENERATED}/{path}" for path in self.owned - self.files.keys() if path.startswith(folder))

    def queues(self, environment: str) -> set[str]:
        """Return the queues in which runs were put when they were written: they may wait there still."""
        folder = self._folder(environment)
        contents = (content for path, content in self.files.items() if path.startswith(folder))
        return {name.decode() for content in contents for name in _QUEUE.findall(content)}

    def needing(self, environment: str, run: str) -> Iterator[KeptRun]:
        """Yield the runs that need a run, directly or not."""
        folder = self._folder(environment)
        waiting, seen = [run], {run}
        while waiting:
            needed = waiting.pop()
            for path, content in sorted(self.files.items()):
                name = path.removeprefix(folder)[: -len(".yaml")]
                if not path.startswith(folder) or name in seen or needed.encode() not in content:
                    continue
                found = _parse(name, content)
                if found is not None and needed in found.inputs:
                    seen.add(name)
                    waiting.append(name)
                    yield found

    def _folder(self, environment: str) -> str:
        return f"{self.project}/overlays/{environment}/{Place.PIPELINE}/"


def _parse(name: str, content: bytes) -> KeptRun | None:
    """Return a run from its file; None for a file that holds no such run."""
    try:
        documents = yamltext.load_all(content.decode())
        metadata: Any = next(body["metadata"] for body in documents if body["metadata"]["name"] == name)
        annotations = metadata.get("annotations", {})
        inputs = tuple(word for word in annotations.get(meta.INPUTS, "").split(",") if word)
        gate = json.loads(annotations.get(meta.GATE, "{}"))
        return KeptRun(name, metadata["labels"][meta.STEP], inputs, annotations.get(meta.OUTPUT), gate)
    except (UnicodeDecodeError, yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return None
