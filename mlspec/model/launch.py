"""What a command starts: python, torchrun with its flags, or something else, behind a shell or not.

A command in, words out; nothing is run. What cannot be read for certain, such as a loop of the shell, is not guessed.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

TORCHRUN: Final = "torchrun"
"""What torchrun is called here, however it was started."""
PYTHON: Final = "python"
"""What any interpreter is called here that starts the program itself."""
# `python -m` with one of these is torchrun (torch/distributed/run.py; launch.py wraps it).
_MODULES: Final = frozenset({"torch.distributed.run", "torch.distributed.launch"})
# Modules that start processes of their own: accelerate.commands.launch, deepspeed.launcher.runner and their like.
_OTHERS: Final = ("accelerate", "deepspeed", "lightning")
_WITH_VALUE: Final = frozenset({"-W", "-X"})
# torchrun's flags without a value (torch/distributed/run.py, get_args_parser, torch 2.15).
_SWITCHES: Final = frozenset(
    {"h", "help", "m", "module", "no-python", "run-path", "standalone", "use-env", "virtual-local-rank"}
)
_SHELLS: Final = frozenset({"ash", "bash", "dash", "sh", "zsh"})
# A shell gives its place to one command alone; of several, to the last, only these do (tried: bash 5.2, and dash not).
_MAKING_ROOM: Final = frozenset({"bash", "zsh"})
# Of those with an ampersand, which would otherwise end a command.
_REDIRECTION: Final = re.compile(r"(?:(?<![0-9])[0-9]++)?[<>]&[0-9-]+|&>>?")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Launch:
    """What a command starts."""

    program: str
    """PYTHON, TORCHRUN, or the last part of another program's path."""
    written: str
    """The last part of the path, as it is written."""
    flags: Mapping[str, str | None] = field(default_factory=dict)
    """Of torchrun alone: its flags without leading dashes, `_` as `-`; None for one without a value."""
    shell: str | None = None
    """The shell that stands in front of the program, and stays there: no `exec` takes its place."""


def read(words: Sequence[str]) -> Launch:
    """Return what a command with its arguments starts: of a shell's text its last command, of a pipeline the first."""
    name = _name(words[0]) if words else ""
    if name not in _SHELLS or len(words) < 3 or not re.fullmatch(r"-[a-z]*c", words[1]):
        return _program(words)
    pipelines = _pipelines(words[2])
    if not pipelines:
        return Launch(name, name)
    commands = [command for pipeline in pipelines for command in pipeline]
    last = list(itertools.dropwhile(_ASSIGNMENT.fullmatch, pipelines[-1][0]))
    replaced = last[:1] == ["exec"] or any(command[:1] == ["trap"] for command in commands)
    found = _program(last[1:] if last[:1] == ["exec"] else last)
    piped = len(pipelines[-1]) > 1
    stays = not replaced and (piped or (len(commands) > 1 and name not in _MAKING_ROOM))
    return Launch(found.program, found.written, found.flags, name if stays else None)


def _name(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _pipelines(text: str) -> list[list[list[str]]]:
    """Return the commands of a shell's text, those that are one pipeline together; none where it cannot be split."""
    plain = _REDIRECTION.sub(" ", text.replace("\\\n", " ").replace("\n", " ; "))
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        tokens = list(lexer)
    except ValueError:
        return []
    parts = itertools.groupby(tokens, key=_divides)
    pipelines = [list(part) for divides, part in parts if not divides]
    grouped = ([list(words) for pipe, words in itertools.groupby(part, "|".__eq__) if not pipe] for part in pipelines)
    return [pipeline for pipeline in grouped if pipeline]


def _divides(word: str) -> bool:
    """Say whether a command ends there, and not only a part of a pipeline."""
    return re.fullmatch(r"[;&]|[;&|]{2,}", word) is not None


def _program(words: Sequence[str]) -> Launch:
    name = _name(words[0]) if words else ""
    if name == TORCHRUN:
        return Launch(TORCHRUN, name, dict(_flags(words[1:])))
    if not re.fullmatch(r"(python|pypy)[0-9.]*", name):
        return Launch(name, name)
    rest = list(words[1:])
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "-m", "-c"):
        del rest[: 2 if rest[0] in _WITH_VALUE else 1]
    module = rest[1] if rest[:1] == ["-m"] and len(rest) > 1 else ""
    if module in _MODULES:
        return Launch(TORCHRUN, module, dict(_flags(rest[2:])))
    if module.split(".", 1)[0] in _OTHERS:
        return Launch(module, module)
    return Launch(PYTHON, name)


def _flags(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield torchrun's flags, up to the program that it starts: what follows is that one's."""
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        flag, equals, value = rest.pop(0).partition("=")
        name = flag.lstrip("-").replace("_", "-")
        if equals or name in _SWITCHES or not rest:
            yield name, value if equals else None
        else:
            yield name, rest.pop(0)
