"""Value types of single scalars: what a user writes in one word, parsed once, at the edge."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, WithJsonSchema

from mlspec import names
from mlspec.model.base import refused, wrong_type
from mlspec.model.quantity import canonical_quantity
from mlspec.source import PlainText

TEXT_TYPES: Final = ["string", "number", "boolean"]
LONGEST: Final = 4096
"""Characters of a text of some form: no path, URL or name is longer (Linux' PATH_MAX)."""


def shown(value: object) -> str:
    """Return how a finding names a value: what was written, cut where it is long."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    text = str(value)
    if not text:
        return "an empty text"
    return f"`{text if len(text) <= 60 else text[:57] + '…'}`"


def text(value: object) -> str:
    """Return the scalar as written; null, maps and lists are refused."""
    if isinstance(value, str):
        return str(value)
    raise wrong_type(f"expected text, got {shown(value)}")


def boolean(value: object) -> bool:
    """Accept `true` and `false` without quotes, nothing else."""
    if isinstance(value, PlainText) and value in ("true", "false"):
        return value == "true"
    if isinstance(value, str) and value.lower() in ("true", "yes", "on", "y", "false", "no", "off", "n"):
        wanted = "true" if value.lower() in ("true", "yes", "on", "y") else "false"
        raise wrong_type(f"expected true or false, got {shown(value)}", f"write `{wanted}`, without quotes")
    raise wrong_type(f"expected true or false, got {shown(value)}")


def integer(minimum: int, maximum: int = 2**31 - 1) -> Callable[[object], int]:
    """Return a validator of decimal integers in a range (32 bit by default, as Kubernetes' fields are)."""

    def parse(value: object) -> int:
        if isinstance(value, str) and not isinstance(value, PlainText) and re.fullmatch(r"-?[0-9]{1,18}", value):
            raise wrong_type(f'expected a number, got the text "{value}"', "remove the quotes")
        if not isinstance(value, PlainText) or not re.fullmatch(r"-?(0|[1-9][0-9]*)", value):
            zeros = isinstance(value, PlainText) and re.fullmatch(r"0+([0-9]{1,18})", value)
            help = f"write `{zeros[1].lstrip('0') or 0}`" if zeros else ""
            raise wrong_type(f"expected a whole number in decimal digits, got {shown(value)}", help)
        # Python refuses to read thousands of digits, so the bounds are met by length first.
        number = int(value[:20])
        if not minimum <= number <= maximum:
            bound = f"at least {minimum}" if number < minimum else f"at most {maximum}"
            raise refused(f"must be {bound}, got {shown(value).strip('`')}")
        return number

    return parse


def matching(pattern: str, what: str, help: str = "") -> Callable[[object], str]:
    """Return a validator of text of one form."""
    compiled = re.compile(pattern, re.ASCII)

    def parse(value: object) -> str:
        written = text(value)
        if len(written) > LONGEST or not compiled.fullmatch(written):
            raise refused(f"{shown(written)} is not {what}", help)
        return written

    return parse


def _name(limit: int) -> Callable[[object], str]:
    def parse(value: object) -> str:
        written = text(value)
        if not names.is_name(written):
            fixed = re.sub(r"[^a-z0-9]+", "-", written.lower()).strip("-").lstrip("0123456789-")
            raise refused(
                f"{shown(written)} is not a name: lower-case letters, digits and `-`, "
                "beginning with a letter and not ending with `-`",
                f"write `{fixed[:limit].rstrip('-')}`" if fixed and not written[:1].isdigit() else "",
            )
        if len(written) > limit:
            over = len(written) - limit
            message = f"the name {shown(written)} has {len(written)} characters; at most {limit} fit"
            raise refused(message, f"shorten it by {over}")
        return written

    return parse


_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(value: object) -> str:
    """Accept `300ms`, `30s`, `10m`, `12h`, `7d`; returned as written."""
    written = text(value)
    if not re.fullmatch(r"[1-9][0-9]{0,8}(ms|s|m|h|d)", written):
        raise refused(f"{shown(written)} is not a duration", _duration_help(written))
    return written


def _duration_help(written: str) -> str:
    if re.fullmatch(r"[1-9][0-9]{0,8}", written):
        return f"add the unit: `{written}s`, `{written}m` or `{written}h`"
    parts = re.findall(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h|d)", written.lower())
    total = sum(round(float(number) * _SECONDS[unit] * 1000) for number, unit in parts)
    if total and "".join(number + unit for number, unit in parts) == written.lower():
        unit = next(unit for unit in ("d", "h", "m", "s", "ms") if total % (_SECONDS[unit] * 1000) == 0)
        return f"write `{round(total / (_SECONDS[unit] * 1000))}{unit}`"
    return "write a whole number above 0 and one of ms, s, m, h, d: `90m`"


def seconds(written: str) -> float:
    """Return the seconds of a duration."""
    number, unit = re.fullmatch(r"([0-9]+)(ms|s|m|h|d)", written).groups()  # type: ignore[union-attr]  # parsed before
    return int(number) * _SECONDS[unit]


def prometheus_duration(written: str) -> str:
    """Return a duration as Prometheus and Argo CD read it: both know ms, s, m and h; days become hours."""
    return f"{int(written[:-1]) * 24}h" if written.endswith("d") else written


_IMAGE: Final = re.compile(
    r"(?:(?P<host>(?:[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)*(?::[0-9]+)?)/)?"
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)


def image(value: object) -> str:
    """Accept an OCI image reference as Docker reads it (docker.io implied); returned as written."""
    written = text(value)
    if len(written) > 512 or not _IMAGE.fullmatch(written):
        raise refused(f"{shown(written)} is not an image reference", _image_help(written))
    return written


def _image_help(written: str) -> str:
    bare = re.sub(r"^[a-z]+://", "", written[:LONGEST])
    name, tag = re.fullmatch(r"(.*?)((?::[^:/@]*)?(?:@.*)?)", bare, re.DOTALL).groups()  # type: ignore[union-attr]  # matches anything
    for fixed, why in ((bare, "no scheme"), (name.lower() + tag, "repository names are lower-case")):
        if len(fixed) <= 512 and _IMAGE.fullmatch(fixed):
            return f"write `{fixed}`: {why}"
    return "write `registry/repository:tag`"


def absolute_path(value: object) -> str:
    """Accept an absolute path inside a container, without `..`."""
    written = text(value)
    if not written.startswith("/"):
        raise refused(f"{shown(written)} is not an absolute path", f"write {shown('/' + written.lstrip('./'))}")
    if re.search(r"[\x00-\x1f:]", written):
        raise refused(f"{shown(written)} holds a `:` or a line break, which Kubernetes refuses in a path")
    if re.search(r"\$[$(]", written):
        why = "which Kubernetes reads as a variable in commands, but not in mounts"
        raise refused(f"{shown(written)} holds `$$` or `$(`, {why}", "write a path without it")
    if any(part in ("..", ".") for part in written.split("/")):
        raise refused(f"{shown(written)} contains `.` or `..`", "write the path that it means")
    return written


def cidr(value: object) -> str:
    """Accept a network in CIDR form whose host bits are zero, as Kubernetes' NetworkPolicy wants it."""
    import ipaddress  # late: only environments with destinations pay for it

    written = text(value)
    with suppress(ValueError):
        network = ipaddress.ip_network(written, strict=True)
        if "/" in written:
            return str(network)
    try:
        fixed = str(ipaddress.ip_network(written, strict=False))
    except ValueError:
        raise refused(f"{shown(written)} is not a network in CIDR form", "write one such as `10.0.0.0/8`") from None
    raise refused(f"{shown(written)} is not a network in CIDR form", f"write `{fixed}`")


def quantity(kind: str) -> Callable[[object], str]:
    """Return a validator of quantities of `cpu`, `memory` (bytes) or `count`."""

    def parse(value: object) -> str:
        return canonical_quantity(text(value), kind)

    return parse


def pattern(value: object) -> str:
    """Accept text with the placeholders `{project}`, `{environment}`, `{owner}` and no other."""
    written = text(value)
    if len(written) > 1024:
        raise refused(f"{shown(written)} has {len(written)} characters; at most 1024 fit", "write it shorter")
    for found in re.finditer(r"\{([^{}]*)\}|[{}]", written):
        if found.group(1) not in ("project", "environment", "owner"):
            help = "known: `{project}`, `{environment}`, `{owner}`"
            raise refused(f"unknown placeholder {shown(found.group())}", help)
    return written


def expand(written: str, *, project: str, environment: str, owner: str) -> str:
    """Return a pattern with its placeholders filled in."""
    values = {"project": project, "environment": environment, "owner": owner}
    return re.sub(r"\{(project|environment|owner)\}", lambda found: values[found.group(1)], written)


def _schema(**schema: Any) -> WithJsonSchema:
    return WithJsonSchema(schema)


_TEXT_SCHEMA = _schema(type=TEXT_TYPES)
VERSION_PATTERN: Final = r"[0-9]+\.[0-9]+(\.[0-9]+)?"


def _version(value: object) -> str:
    written = text(value)
    if not re.fullmatch(VERSION_PATTERN, written, re.ASCII):
        found = re.fullmatch(rf"v({VERSION_PATTERN})", written, re.ASCII)
        help = f"write `{found[1]}`" if found else "write major and minor, such as `1.34`"
        raise refused(f"{shown(written)} is not a version", help)
    return written


def _variable_name(value: object) -> str:
    written = text(value)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", written):
        fixed = re.sub(r"[^A-Za-z0-9_]", "_", written)
        help = f"write `{'_' if fixed[:1].isdigit() else ''}{fixed}`" if fixed.strip("_") else "letters, digits and `_`"
        raise refused(f"{shown(written)} is not a name of an environment variable", help)
    return written


Text = Annotated[str, BeforeValidator(text), _TEXT_SCHEMA]
Boolean = Annotated[bool, BeforeValidator(boolean), _schema(type="boolean")]
Natural = Annotated[int, BeforeValidator(integer(0)), _schema(type="integer", minimum=0)]
Positive = Annotated[int, BeforeValidator(integer(1)), _schema(type="integer", minimum=1)]
PortNumber = Annotated[int, BeforeValidator(integer(1, 65535)), _schema(type="integer", minimum=1, maximum=65535)]
Name = Annotated[
    str, BeforeValidator(_name(names.LABEL_LIMIT)), _schema(type="string", pattern=f"^{names.NAME}$", maxLength=63)
]
ObjectName = Annotated[
    str,
    BeforeValidator(
        matching(
            r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
            "a name of a Kubernetes object",
            "lower-case letters, digits, `-` and `.`",
        )
    ),
    _schema(type="string", pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", maxLength=253),
]
"""The name of something that exists already, and so follows Kubernetes' rules instead of ours."""
DataKey = Annotated[
    str,
    BeforeValidator(
        matching(r"(?!\.\.?\Z)[-._A-Za-z0-9]{1,253}", "a key of a Secret", "letters, digits, `-`, `_` and `.`")
    ),
    _TEXT_SCHEMA,
]
StepName = Annotated[
    str,
    BeforeValidator(_name(names.STEP_LIMIT)),
    _schema(type="string", pattern=f"^{names.NAME}$", maxLength=names.STEP_LIMIT),
]
Cpu = Annotated[str, BeforeValidator(quantity("cpu")), _TEXT_SCHEMA]
Memory = Annotated[str, BeforeValidator(quantity("memory")), _TEXT_SCHEMA]
Duration = Annotated[str, BeforeValidator(duration), _schema(type="string", pattern="^[1-9][0-9]*(ms|s|m|h|d)$")]
ImageReference = Annotated[str, BeforeValidator(image), _schema(type="string")]
AbsolutePath = Annotated[str, BeforeValidator(absolute_path), _schema(type="string", pattern="^/")]
Cidr = Annotated[str, BeforeValidator(cidr), _schema(type="string")]
Pattern = Annotated[str, BeforeValidator(pattern), _schema(type="string")]
VariableName = Annotated[
    str, BeforeValidator(_variable_name), _schema(type="string", pattern="^[A-Za-z_][A-Za-z0-9_]*$")
]
Version = Annotated[str, BeforeValidator(_version), _schema(type=["string", "number"], pattern=f"^{VERSION_PATTERN}$")]
ResourceName = Annotated[
    str,
    BeforeValidator(
        matching(
            r"(?!requests\.)(?=[^/]{1,244}/.{1,63}\Z)[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
            "a resource name",
            "write `vendor/resource`",
        )
    ),
    _schema(type="string", pattern="/"),
]
