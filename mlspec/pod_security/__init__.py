"""The Pod Security Standards, as a namespace's label `pod-security.kubernetes.io/enforce` lets the API server judge."""

from mlspec.pod_security.standard import (
    LEVELS,
    Violation,
    higher,
    judged,
    level_of,
    lower,
    minor_of,
    reached,
    violations,
)

__all__ = ["LEVELS", "Violation", "higher", "judged", "level_of", "lower", "minor_of", "reached", "violations"]
