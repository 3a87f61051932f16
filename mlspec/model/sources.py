"""Where a served model comes from: a place that is named, or a run of a step, current or pinned."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BeforeValidator, WithJsonSchema
from pydantic import Field as PydanticField
from pydantic_core import PydanticCustomError

from mlspec import names
from mlspec.model.base import Goes, SpecModel, field, refused
from mlspec.model.scalars import LONGEST, StepName, matching, shown, text
from mlspec.model.uris import ModelUri

_HASH: Final = rf"[0-9a-f]{{{names.HASH_LENGTH}}}"

# What ends a URI early, would be decoded to another path, or is expanded on the way to the loader.
_NOT_IN_URIS: Final = ' ?#%\\"`<>{}|^'


def relative_path(value: object) -> str:
    """Accept a path below a run's directory; returned without `./` and trailing `/`."""
    written = text(value)
    parts = written.split("/")
    if written.startswith("/"):
        raise refused(f"{shown(written)} is not a relative path", f"write {shown(written.strip('/'))}: below the run")
    if ".." in parts:
        raise refused(f"{shown(written)} contains `..`", "write a path below the run's directory")
    clean = "/".join(part for part in parts if part not in ("", "."))
    if "$" in clean:
        raise refused(f"{shown(written)} holds a `$`, with which Kubernetes begins variables", "use another name")
    if not clean or len(clean) > LONGEST or not clean.isprintable() or any(char in _NOT_IN_URIS for char in clean):
        raise refused(f"{shown(written)} is not a path in a model's URI", "write such as `export`")
    return clean


RelativePath = Annotated[str, BeforeValidator(relative_path), WithJsonSchema({"type": "string"})]
RunHash = Annotated[
    str,
    BeforeValidator(matching(_HASH, "the hash of a run", "write the eight digits behind its step: `0123abcd`")),
    # Eight decimal digits without quotes are a number to an editor.
    WithJsonSchema({"type": ["string", "number"], "pattern": f"^{_HASH}$"}),
]


class ModelSource(SpecModel):
    """A place by URI, or what a run of a step left; each kind says whether one is required."""

    uri: ModelUri | None = field(
        None,
        "Where the model lies: s3://, gs://, hf://, pvc://, oci:// or https://; instead of `from`.",
        "`storageUri` of KServe, `modelUri` of Seldon; a NetworkPolicy opens the scheme's destination",
        "s3://models/classifier",
    )
    # `from` is a word of Python's; the alias is what users write.
    step: StepName | None = PydanticField(
        None,
        alias="from",
        description="A step whose run made the model, instead of `uri`.",
        examples=["train"],
        json_schema_extra=Goes("the model's URI, `pvc://<claim>/<project>/<step>-<hash>/<path>`, and the gate Job"),
    )
    path: RelativePath | None = field(
        None,
        "With `from`: where the model lies in the run's directory. Default: the directory itself.",
        "the end of the model's URI",
        "export",
    )
    run: RunHash | None = field(
        None,
        "With `from`: the pin, the hash of one run of the step; written by `mlspec promote`. Required where the "
        "environment's `promotion` is pinned: until then the service is left out.",
        "the model's URI",
        "0123abcd",
    )

    def source_errors(self) -> list[tuple[tuple[int | str, ...], PydanticCustomError]]:
        """Return what is written beside what it does not go with, by place in this map."""
        errors: list[tuple[tuple[int | str, ...], PydanticCustomError]] = []
        if self.uri is not None and self.step is not None:
            help = "keep one of the two; below `environments:`, `from: null` takes the other away"
            errors.append((("uri", "[key]"), refused("`uri` beside `from`", help)))
        if self.step is None:
            wrong = refused(
                "this needs `from`", "add `from: <step>`, or take it away; below `environments:` with `null`"
            )
            errors += [((name, "[key]"), wrong) for name in ("path", "run") if getattr(self, name) is not None]
        return errors
