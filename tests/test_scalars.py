"""Values of one word: which forms are read, what they become, and what a user is told to write instead."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from mlspec.model import scalars
from mlspec.model.blocks import arguments
from mlspec.model.quantity import amount, canonical_quantity, format_quantity, parse_quantity
from mlspec.source import PlainText


def _help(parse: Callable[[object], object], written: object) -> str:
    """Return what a user is told to write; fails where the value is accepted."""
    with pytest.raises(PydanticCustomError) as caught:
        parse(written)
    context = caught.value.context
    assert context is not None
    assert context["text"]
    return str(context["help"])


# The text that resource.Quantity of apimachinery prints; exponents are written as suffixes, which mean the same.
@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("1", "1"),
        ("+1", "1"),
        ("1.0", "1"),
        ("01", "1"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1.", "1"),
        ("0.1", "100m"),
        ("100000m", "100"),
        ("2000", "2k"),
        ("2k", "2k"),
        ("1500", "1500"),
        ("1e3", "1k"),
        ("1E3", "1k"),
        ("12e6", "12M"),
        ("1E", "1E"),
        ("1Ki", "1Ki"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1048576Ki", "1Gi"),
        ("1000Ki", "1000Ki"),
        ("0.5Ki", "512"),
        ("2048", "2048"),
        ("1G", "1G"),
        ("1000M", "1G"),
        ("1000000000", "1G"),
        ("1Ti", "1Ti"),
        ("7Ei", "7Ei"),
        ("100u", "100u"),
        ("1n", "1n"),
    ],
)
def test_quantities_have_one_form(written: str, canonical: str) -> None:
    parsed = parse_quantity(written)
    assert parsed is not None
    value, binary = parsed
    assert format_quantity(value, binary=binary) == canonical
    assert amount(canonical) == value


@pytest.mark.parametrize(
    "written", ["", "Gi", "1K", "1gi", "16GB", "1 Gi", "1,5", "-1", "0x10", "1e", "1ee3", "1Kib", "१"]
)
def test_no_quantities(written: str) -> None:
    assert parse_quantity(written) is None


@given(st.integers(1, 10**15), st.sampled_from(["", "k", "M", "G", "Ki", "Mi", "Gi"]))
def test_a_canonical_quantity_is_a_fixed_point(number: int, suffix: str) -> None:
    parsed = parse_quantity(f"{number}{suffix}")
    assert parsed is not None
    once = format_quantity(parsed[0], binary=parsed[1])
    again = parse_quantity(once)
    assert again is not None
    assert again[0] == parsed[0]
    assert format_quantity(again[0], binary=again[1]) == once


@given(st.fractions(min_value=Fraction(1, 1000), max_value=1000))
def test_formatting_never_rounds_down(value: Fraction) -> None:
    assert amount(format_quantity(value, binary=False)) >= value


@pytest.mark.parametrize(
    ("kind", "written", "help"),
    [
        ("memory", "16GB", "write `16G` or `16Gi`"),
        ("memory", "16gb", "write `16G` or `16Gi`"),
        ("memory", "16GiB", "write `16Gi`"),
        ("memory", "1K", "write `1k` or `1Ki`"),
        ("memory", "16 Gi", "write `16Gi`"),
        ("memory", "400m", "`m` is a thousandth; write `400M` or `400Mi`"),
        ("memory", "1.5", "add a suffix: `1.5Gi`"),
        ("memory", "1.1Ki", "write `1127`"),
        ("memory", "lots", "write bytes with a suffix, `16Gi` or `500M`"),
        ("cpu", "2 cores", "write a number of CPUs, `4` or `500m`"),
        ("cpu", "0.0001", "write `1m`"),
        ("cpu", "0", ""),
        ("memory", "9Ei", ""),
        ("memory", "-1Gi", ""),
    ],
)
def test_quantities_refused(kind: str, written: str, help: str) -> None:
    assert _help(lambda value: canonical_quantity(str(value), kind), written) == help


@pytest.mark.parametrize(
    ("written", "seconds"), [("300ms", 0.3), ("30s", 30), ("10m", 600), ("12h", 43200), ("7d", 604800)]
)
def test_durations(written: str, seconds: float) -> None:
    assert scalars.duration(written) == written
    assert scalars.seconds(written) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("written", "help"),
    [
        ("12", "add the unit: `12s`, `12m` or `12h`"),
        ("1h30m", "write `90m`"),
        ("1.5h", "write `90m`"),
        ("2H", "write `2h`"),
        ("1d12h", "write `36h`"),
        ("0s", "write a whole number above 0 and one of ms, s, m, h, d: `90m`"),
        ("soon", "write a whole number above 0 and one of ms, s, m, h, d: `90m`"),
        ("1w", "write a whole number above 0 and one of ms, s, m, h, d: `90m`"),
        ("", "write a whole number above 0 and one of ms, s, m, h, d: `90m`"),
    ],
)
def test_durations_refused(written: str, help: str) -> None:
    assert _help(scalars.duration, written) == help


def test_prometheus_and_argo_cd_know_no_days() -> None:
    assert [scalars.prometheus_duration(written) for written in ("7d", "30s")] == ["168h", "30s"]


_DIGEST = "@sha256:" + "0" * 64


@pytest.mark.parametrize(
    "written",
    [
        "python",
        "python:3.12-slim",
        "acme/train",
        "ghcr.io/acme/train:1.0",
        "localhost:5000/a/b/c:V1",
        "10.0.0.1:5000/a",
        "a__b/c-d.e",
        f"python{_DIGEST}",
        f"ghcr.io/acme/train:1.0{_DIGEST}",
    ],
)
def test_images(written: str) -> None:
    assert scalars.image(written) == written


@pytest.mark.parametrize(
    ("written", "help"),
    [
        ("ghcr.io/Acme/Train:V1", "write `ghcr.io/acme/train:V1`: repository names are lower-case"),
        ("https://ghcr.io/acme/train", "write `ghcr.io/acme/train`: no scheme"),
        ("python:", "write `registry/repository:tag`"),
        ("python 3", "write `registry/repository:tag`"),
        ("python@sha256:1", "write `registry/repository:tag`"),
        ("/train", "write `registry/repository:tag`"),
        ("a//b", "write `registry/repository:tag`"),
        ("", "write `registry/repository:tag`"),
        ("a/" * 300 + "b", "write `registry/repository:tag`"),
    ],
)
def test_images_refused(written: str, help: str) -> None:
    assert _help(scalars.image, written) == help


@pytest.mark.parametrize("written", ["0.0.0.0/0", "10.0.0.0/8", "192.168.1.1/32", "2001:db8::/32", "::/0"])
def test_networks(written: str) -> None:
    assert scalars.cidr(written) == written


@pytest.mark.parametrize(
    ("written", "help"),
    [
        ("10.0.0.1/8", "write `10.0.0.0/8`"),
        ("10.0.0.1", "write `10.0.0.1/32`"),
        ("2001:db8::1/32", "write `2001:db8::/32`"),
        ("10.0.0.0/33", "write one such as `10.0.0.0/8`"),
        ("example.com", "write one such as `10.0.0.0/8`"),
        ("", "write one such as `10.0.0.0/8`"),
    ],
)
def test_networks_refused(written: str, help: str) -> None:
    assert _help(scalars.cidr, written) == help


@pytest.mark.parametrize("written", ["/", "/data", "/data/", "/a b/ü"])
def test_paths(written: str) -> None:
    assert scalars.absolute_path(written) == written


@pytest.mark.parametrize("written", ["data", "./data", "", "/a/../b", "/a/./b", "/a:b", "/a\nb"])
def test_paths_refused(written: str) -> None:
    _help(scalars.absolute_path, written)


@pytest.mark.parametrize(("written", "value"), [("0", 0), ("10", 10), ("2147483647", 2147483647)])
def test_integers(written: str, value: int) -> None:
    assert scalars.integer(0)(PlainText(written)) == value


@pytest.mark.parametrize(
    ("written", "help"),
    [
        ("10", "remove the quotes"),
        (PlainText("007"), "write `7`"),
        (PlainText("1.0"), ""),
        (PlainText("1e3"), ""),
        (PlainText("0x10"), ""),
        (PlainText("1_000"), ""),
        (PlainText("+1"), ""),
        (PlainText("-1"), ""),
        (PlainText("2147483648"), ""),
        (PlainText("9" * 10_000), ""),
        (PlainText("१"), ""),
        (None, ""),
        ({}, ""),
        ([], ""),
        (7, ""),
    ],
)
def test_integers_refused(written: object, help: str) -> None:
    assert _help(scalars.integer(0), written) == help


@pytest.mark.parametrize(("written", "value"), [("true", True), ("false", False)])
def test_booleans(written: str, value: bool) -> None:
    assert scalars.boolean(PlainText(written)) is value


@pytest.mark.parametrize(
    ("written", "help"),
    [
        ("true", "write `true`, without quotes"),
        (PlainText("yes"), "write `true`, without quotes"),
        (PlainText("Off"), "write `false`, without quotes"),
        (PlainText("True"), "write `true`, without quotes"),
        (PlainText("1"), ""),
        (True, ""),
        (None, ""),
    ],
)
def test_booleans_refused(written: object, help: str) -> None:
    assert _help(scalars.boolean, written) == help


def _accepts(kind: Any, written: str) -> bool:
    try:
        TypeAdapter(kind).validate_python(written)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        (scalars.Name, ["a", "a-b", "a1", "a" * 63], ["", "A", "1a", "a-", "-a", "a.b", "a_b", "ä", "a\n", "a" * 64]),
        (scalars.StepName, ["a" * 24], ["a" * 25]),
        (scalars.ObjectName, ["a", "1a", "a.b-c", "a" * 253], ["", "A", "a.", ".a", "a..b", "a-", "a_b", "a" * 254]),
        (scalars.DataKey, ["a", "A_b-c.d", "..x", "a" * 253], ["", ".", "..", "a/b", "a b", "a" * 254]),
        (scalars.VariableName, ["a", "_A1"], ["", "1a", "a-b", "a.b", "a b"]),
        (scalars.Version, ["1.34", "0.16.2"], ["1", "v1.34", "1.34.", "1.34-rc1", ""]),
        (
            scalars.ResourceName,
            ["rdma/ib", "nvidia.com/mig-1g.5gb", "a/b"],
            ["cpu", "/x", "a/", "requests.a/b", "A/b", "a/b/c", f"a/{'b' * 64}"],
        ),
    ],
)
def test_names(kind: object, accepted: list[str], refused: list[str]) -> None:
    assert [written for written in accepted if not _accepts(kind, written)] == []
    assert [written for written in refused if _accepts(kind, written)] == []


@pytest.mark.parametrize("written", [None, {}, [], 1, True])
def test_text_is_a_scalar(written: object) -> None:
    _help(scalars.text, written)


def test_a_pattern_knows_three_placeholders() -> None:
    written = scalars.pattern("{project}-{environment}-{owner}")
    assert scalars.expand(written, project="{owner}", environment="dev", owner="team") == "{owner}-dev-team"


@pytest.mark.parametrize("written", ["{team}", "{", "}", "{{project}}", "{project", "{0}", "{project.name}"])
def test_patterns_refused(written: str) -> None:
    assert _help(scalars.pattern, written) == "known: `{project}`, `{environment}`, `{owner}`"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (["--a", PlainText("1e-4")], ("--a", "1e-4")),
        ({"epochs": PlainText("10"), "bf16": PlainText("true")}, ("--epochs", "10", "--bf16")),
        ({"dry": PlainText("false")}, ()),
        ({"word": "true"}, ("--word", "true")),
        ({"b": "", "a": "x y"}, ("--b", "", "--a", "x y")),
        ({}, ()),
        ([], ()),
    ],
)
def test_arguments(written: object, words: tuple[str, ...]) -> None:
    assert arguments(written) == words
