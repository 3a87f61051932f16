"""Rules about `security`: each loosening is a finding until somebody says why it is right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec.ir_safety import LOWEST_USER
from mlspec.policy.subject import Rule, Subject, Violation

_SAFER: Final = f"remove it, or write a number of {LOWEST_USER} or more"


def root(subject: Subject) -> Iterator[Violation]:
    """The container runs as root: whoever breaks out of it is root on the node, and a namespace that enforces
    restricted pod security refuses it. Build the image for a numeric user, or accept it with a reason.
    """
    for place, spec in subject.specs():
        if spec.security.user == 0:
            message = f"`{place[1]}` runs as root"
            yield Violation(
                message, (*place, "security", "user"), f"remove it, or write a number of {LOWEST_USER} or more"
            )


def low_user(subject: Subject) -> Iterator[Violation]:
    """The user's number may be one that nodes use themselves, so that a container that is broken out of has the
    files of that user. Numbers from 10000 on are safe; what the image's files belong to rarely matters, since they
    are read only.
    """
    for place, spec in subject.specs():
        if 0 < spec.security.user < LOWEST_USER:
            message = f"`{place[1]}` runs as user {spec.security.user}, which may be a user of the node"
            yield Violation(
                message, (*place, "security", "user"), f"remove it, or write a number of {LOWEST_USER} or more"
            )


def writable_root(subject: Subject) -> Iterator[Violation]:
    """The container may change its image's own files, so that what was checked when it was built is not what runs.
    Programs write to mounts, and to /tmp, which is their HOME; most that need more have a setting for it.
    """
    for place, spec in subject.specs():
        if spec.security.writable_root:
            message = f"`{place[1]}` may write to its image's files"
            yield Violation(message, (*place, "security", "writableRoot"), "remove it, and write to /tmp or a mount")


def capabilities(subject: Subject) -> Iterator[Violation]:
    """The container gets rights of root. RDMA needs IPC_LOCK, unless the device plugin raises the limit of locked
    memory; it is beyond the baseline Pod Security Standard, so the namespace must be privileged for it.
    """
    for place, spec in subject.specs():
        if spec.security.capabilities:
            message = f"`{place[1]}` adds {', '.join(spec.security.capabilities)}"
            yield Violation(message, (*place, "security", "capabilities"), "remove it")


RULES: Final = (
    Rule("MLS405", root),
    Rule("MLS406", low_user),
    Rule("MLS407", writable_root),
    Rule("MLS408", capabilities),
)
