"""What loosens the security of pods, and what accepts or weighs a policy finding."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, WithJsonSchema

from mlspec.codes import CODES
from mlspec.codes.policy import POLICY
from mlspec.diagnostics import suggestion
from mlspec.model.base import SpecModel, field, refused
from mlspec.model.scalars import Boolean, integer, matching, text

USER: Final = 65532
"""An unprivileged user that no distribution assigns; high enough for the UID rule of every policy tool."""
_MOST: Final = 2**31 - 1

UserId = Annotated[int, BeforeValidator(integer(0, _MOST)), WithJsonSchema({"type": "integer", "minimum": 0})]
Capability = Annotated[
    str,
    BeforeValidator(
        matching(r"(?!CAP_|ALL$)[A-Z]+(_[A-Z]+)*", "a capability", "write such as `IPC_LOCK`, without CAP_")
    ),
    WithJsonSchema({"type": "string", "pattern": "^[A-Z]+(_[A-Z]+)*$"}),
]


class Security(SpecModel):
    """What a pod may do beyond what is safe; each loosening is a policy finding."""

    user: UserId = field(
        USER,
        "Numeric user and group of the container; 0 is root.",
        "`securityContext.runAsUser` and `runAsGroup`",
        1000,
    )
    writable_root: Boolean = field(
        False,
        "The container may write to its image's files. Otherwise only to mounts, and to /tmp, which is HOME.",
        "`securityContext.readOnlyRootFilesystem`; without it an `emptyDir` at /tmp",
        True,
    )
    capabilities: tuple[Capability, ...] = field(
        (),
        "Linux capabilities, without CAP_; all others are dropped.",
        "`securityContext.capabilities.add`",
        ["IPC_LOCK"],
    )


def _code(value: object) -> str:
    written = text(value)
    if written not in POLICY:
        if written in CODES:
            raise refused(f"{written} is not a policy, so it has one weight everywhere", "mend what it reports")
        raise refused(f"`{written[:40]}` is not the code of a policy", suggestion(written, POLICY))
    return written


def _reason(value: object) -> str:
    written = text(value)
    if len(written.strip()) < 3:
        raise refused(
            "a reason is missing, or too short to be one", "say why it is right here: reviewers and auditors read it"
        )
    return written


PolicyCode = Annotated[str, BeforeValidator(_code), WithJsonSchema({"type": "string", "pattern": "^MLS4[0-9]{2}$"})]
Reason = Annotated[str, BeforeValidator(_reason), WithJsonSchema({"type": "string", "minLength": 3})]
Allow = dict[PolicyCode, Reason]
# YAML 1.1, which some editors read, takes `off` for false; mlspec takes scalars as they are written.
Weight = Annotated[Literal["off", "warn", "error"], WithJsonSchema({"enum": ["off", "warn", "error", False]})]
Digests = Annotated[Literal["off", "warn", "require"], WithJsonSchema({"enum": ["off", "warn", "require", False]})]
Policy = dict[PolicyCode, Weight]
