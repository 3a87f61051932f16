"""How many pods a service has, and what its autoscaler aims at."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from mlspec.model.base import SpecModel, field, refused, refused_inside
from mlspec.model.scalars import Natural, Positive, integer

CanaryPercent = Annotated[
    int, BeforeValidator(integer(1, 99)), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 99})
]
Traffic = Annotated[
    int, BeforeValidator(integer(0, 100)), WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 100})
]
_ONE: Final = "a target has exactly one of cpu, memory, concurrency, rps"


class Target(SpecModel):
    """What the autoscaler aims at; exactly one."""

    cpu: Annotated[int, BeforeValidator(integer(1, 100))] | None = field(
        None, "CPU use in percent (Standard mode).", "`scaleMetric: cpu` with `scaleTarget`", 70
    )
    memory: Annotated[int, BeforeValidator(integer(1, 100))] | None = field(
        None, "Memory use in percent (Standard mode).", "`scaleMetric: memory` with `scaleTarget`", 80
    )
    concurrency: Positive | None = field(
        None, "Requests at once, a replica (Knative mode).", "`scaleMetric: concurrency` with `scaleTarget`", 10
    )
    rps: Positive | None = field(
        None, "Requests a second, a replica (Knative mode).", "`scaleMetric: rps` with `scaleTarget`", 100
    )

    @model_validator(mode="before")
    @classmethod
    def _at_most_one(cls, value: Any) -> Any:
        """Point at the last one: where an override added it, that is the line to mend."""
        metrics = [key for key in value if key in cls.model_fields] if isinstance(value, dict) else []
        if len(metrics) > 1:
            help = f"keep one; an override takes the other away with `{metrics[0]}: null`"
            raise refused_inside([((metrics[-1], "[key]"), refused(_ONE, help))])
        return value

    @model_validator(mode="after")
    def _one(self) -> Target:
        if all(getattr(self, name) is None for name in self.model_fields_set):
            raise refused(_ONE)
        return self

    @property
    def metric(self) -> str:
        """The name of the metric aimed at."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)

    @property
    def value(self) -> int:
        """The number aimed at."""
        found = getattr(self, self.metric)
        assert isinstance(found, int)  # noqa: S101  # holds by _one
        return found


class Replicas(SpecModel):
    """How many pods serve."""

    min: Natural = field(1, "Fewest pods; 0 only in Knative mode.", "`minReplicas`", 3)
    max: Positive | None = field(None, "Most pods. Default: as `min`, no autoscaling.", "`maxReplicas`", 10)
    target: Target | None = field(
        None, "What the autoscaler aims at; needs `max`.", "`scaleMetric` and `scaleTarget`", {"cpu": 70}
    )

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        """Read `2`: a fixed number."""
        return {"min": value} if isinstance(value, str) else value

    @property
    def most(self) -> int:
        """Most pods, with the default filled in."""
        return self.max if self.max is not None else max(self.min, 1)


ReplicasField = Annotated[
    Replicas,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "min": {"type": "integer", "minimum": 0},
                        "max": {"type": "integer", "minimum": 1},
                        "target": {
                            "type": "object",
                            "additionalProperties": False,
                            "minProperties": 1,
                            "maxProperties": 1,
                            "properties": {
                                "cpu": {"type": "integer", "minimum": 1, "maximum": 100},
                                "memory": {"type": "integer", "minimum": 1, "maximum": 100},
                                "concurrency": {"type": "integer", "minimum": 1},
                                "rps": {"type": "integer", "minimum": 1},
                            },
                        },
                    },
                },
            ]
        }
    ),
]
