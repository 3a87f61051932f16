"""What one would write in an afternoon: pydantic, jsonschema and PyYAML's dumper over the same objects.

It reads the same specs, is handed the same objects (so that it needs no logic of its own), validates each against
the same schemas and writes the same number of files. Usage: `python -m tests.benchmarks.baseline ROOT OBJECTS OUT`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from pydantic import BaseModel, ConfigDict

from mlspec.check.schema import schema_file


class Loose(BaseModel):
    """The head of a spec, and whatever follows."""

    model_config = ConfigDict(extra="allow")
    name: str
    owner: str
    steps: dict[str, dict[str, Any]] = {}
    services: dict[str, dict[str, Any]] = {}


class Dumper(yaml.CSafeDumper):
    """Without anchors, which Kubernetes' readers do not want."""

    def ignore_aliases(self, data: object) -> bool:
        """Write every value out."""
        return True


def main(root: Path, objects: Path, out: Path) -> int:
    """Read, validate, write; returns how many objects were valid."""
    validators: dict[str, Any] = {}
    valid = 0
    for path in sorted(root.glob("projects/*/mlproject.yaml")):
        Loose.model_validate(yaml.load(path.read_text(), Loader=yaml.CSafeLoader))  # a safe loader
    content = json.loads(objects.read_text())
    folders = tuple(Path(folder) for folder in content["folders"])
    for name, bodies in content["files"].items():
        for body in bodies:
            key = f"{body['apiVersion']} {body['kind']}"
            if key not in validators:
                file = schema_file(folders, body["apiVersion"], body["kind"])
                assert file is not None
                schema = json.loads(file.read_text())
                validators[key] = jsonschema.validators.validator_for(schema)(schema)
            valid += not any(validators[key].iter_errors(body))
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.dump_all(bodies, Dumper=Dumper, sort_keys=False))
    return valid


if __name__ == "__main__":
    sys.stdout.write(f"{main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))}\n")
