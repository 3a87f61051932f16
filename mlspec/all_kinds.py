"""The table of kinds; a new kind is one file in `mlspec.kinds` and one row here."""

from __future__ import annotations

from typing import Final

from mlspec.kind_base import Kind
from mlspec.kind_specs import StepSpec
from mlspec.kinds import job, kserve, pytorch, seldon, tensorflow
from mlspec.model.operators import Operator

KINDS: Final[dict[str, Kind]] = {kind.TAG: kind for kind in (job, kserve, pytorch, seldon, tensorflow)}

STEP_KINDS: Final = tuple(kind for kind in KINDS.values() if issubclass(kind.SPEC, StepSpec))
SERVICE_KINDS: Final = tuple(kind for kind in KINDS.values() if not issubclass(kind.SPEC, StepSpec))
OPERATORS: Final[tuple[Operator, ...]] = tuple(
    {kind.OPERATOR.field: kind.OPERATOR for kind in KINDS.values() if kind.OPERATOR is not None}.values()
)
