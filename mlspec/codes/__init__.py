"""Every finding that mlspec can report, by its stable code, with the text that `mlspec explain CODE` prints.

A code is never reused. 1xx: source and shape; 2xx: meaning; 3xx: Kubernetes schemas and API rules;
4xx: policy; 5xx: drift and files.
"""

from __future__ import annotations

from typing import Final

from mlspec.codes.cluster import CLUSTER
from mlspec.codes.code import Code
from mlspec.codes.engines import ENGINES
from mlspec.codes.files import FILES
from mlspec.codes.meaning import MEANING
from mlspec.codes.native import NATIVE
from mlspec.codes.policy import POLICY
from mlspec.codes.schemas import SCHEMAS
from mlspec.codes.shape import SHAPE
from mlspec.codes.webhooks import WEBHOOKS
from mlspec.diagnostics import Severity

CODES: Final[dict[str, Code]] = SHAPE | MEANING | CLUSTER | ENGINES | NATIVE | SCHEMAS | WEBHOOKS | POLICY | FILES


def severity(code: str) -> Severity:
    """Return how much a code weighs by default."""
    return CODES[code].severity


def exit_code(code: str) -> int:
    """Return the exit code of a command that reports the code as an error."""
    return CODES[code].exit_code
