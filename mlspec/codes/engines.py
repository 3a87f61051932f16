"""Findings 315 to 317: the engines that judge objects by their schemas."""

from __future__ import annotations

from typing import Final

from mlspec.codes.code import UNUSABLE, Code

ENGINES: Final[dict[str, Code]] = {
    "MLS315": Code(
        "the engines disagree",
        "`check --engine all` lets mlspec and kubeconform judge every object by the same schemas, and one refuses what "
        "the other accepts. Nothing is generated that mlspec refuses. That they disagree is a fault of one of the "
        "programs: report it, with the object that `mlspec render` prints.",
    ),
    "MLS316": Code(
        "schema cannot be used",
        "A file of schemas that mlspec was installed with is damaged: it cannot be read, is not JSON, or is no JSON "
        "Schema. Nothing can be proven with it; kubeconform would report it as missing, and skip the object if it was "
        "told to ignore missing schemas. Install mlspec again.",
        exit_code=UNUSABLE,
    ),
    "MLS317": Code(
        "kubeconform cannot judge",
        "kubeconform is asked for by `--engine` and is not there; or it is there and is another program, too old, "
        "crashes, hangs or gives no verdict. Version 0.7 or later is needed. `--engine embedded` does without.",
        exit_code=UNUSABLE,
    ),
}
