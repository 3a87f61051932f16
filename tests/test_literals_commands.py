"""Passwords that a command line hands to a program by an option that does not say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlspec.literals.commands import in_words
from mlspec.literals.redaction import redact
from tests.support import PROJECT, make_root, mlspec

COMMANDS = {
    "curl": ["curl", "-u", "etl:hunter2", "https://api.example.com"],
    "curl, together": ["curl", "-sSu", "etl:hunter2", "https://api.example.com"],
    "mysql": ["mysql", "-h", "db", "-phunter2", "sales"],
    "redis": ["redis-cli", "-a", "hunter2", "ping"],
    "docker": ["docker", "login", "-u", "etl", "-p", "hunter2"],
}
HARMLESS = [
    ["curl", "-u", "$(USER):$(PASSWORD)", "https://api.example.com"],
    ["mysql", "-p", "sales"],
    ["python", "-u", "a:b"],
    [],
]


@pytest.mark.parametrize("words", COMMANDS.values(), ids=list(COMMANDS))
def test_the_word_that_holds_it(words: list[str]) -> None:
    ((index, what),) = in_words(words)
    assert "hunter2" in words[index]
    assert what == "a password"
    for text in (" ".join(words), str(words), "".join(f"  - {word}\n" for word in words)):
        assert "hunter2" not in redact(text), text


@pytest.mark.parametrize("words", HARMLESS)
def test_no_word_holds_one(words: list[str]) -> None:
    assert list(in_words(words)) == []


def test_check_points_at_the_word(tmp_path: Path) -> None:
    step = 'steps: {load: {kind: job, image: "i:1", command: [curl, -sSu, "etl:hunter2", "https://a.example.com"]}}\n'
    result = mlspec(make_root(tmp_path, PROJECT + step), "check", "--output-format", "json")
    (finding,) = [item for item in result.json()["diagnostics"] if item["code"] == "MLS430"]
    assert finding["path"] == "steps.load.command.2"
    assert "hunter2" not in result.stdout + result.stderr
