"""What loosens the security of pods, and what accepts or weighs a policy finding."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, WithJsonSchema

from mlspec.codes import CODES
from mlspec.codes.policy import POLICY
from mlspec.diagnostics import suggestion
from mlspec.model.base import SpecModel, field, refused
from mlspec.model.scalars import Boolean, integer, text

USER: Final = 65532
"""An unprivileged user that no distribution assigns; high enough for the UID rule of every policy tool."""
_MOST: Final = 2**31 - 1

UserId = Annotated[int, BeforeValidator(integer(0, _MOST)), WithJsonSchema({"type": "integer", "minimum": 0})]
CAPABILITIES: Final = (
    *("AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF", "CHECKPOINT_RESTORE", "CHOWN"),
    *("DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE"),
    *("LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE", "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST"),
    *("NET_RAW", "PERFMON", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYSLOG", "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT"),
    *("SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME"),
    *("SYS_TTY_CONFIG", "WAKE_ALARM"),
)
"""What Linux knows, without CAP_ (include/uapi/linux/capability.h of 6.12); a runtime starts nothing with another."""


def _capability(value: object) -> str:
    written = text(value)
    if written in CAPABILITIES:
        return written
    if written == "ALL":
        raise refused("`ALL` is every capability, which is root of the node", "name those that the program needs")
    bare = written.upper().removeprefix("CAP_")
    help = f"write `{bare}`" if bare in CAPABILITIES else suggestion(bare, CAPABILITIES)
    raise refused(f"`{written[:40]}` is not a capability of Linux", help)


Capability = Annotated[
    str, BeforeValidator(_capability), WithJsonSchema({"type": "string", "enum": list(CAPABILITIES)})
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
