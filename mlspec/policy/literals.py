"""The rule about secrets that are written down; what they look like is the business of `mlspec.literals`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from mlspec.kind_specs import StepSpec
from mlspec.literals import assignments, commands, values
from mlspec.literals.keys import meaning
from mlspec.literals.places import in_entry, in_file, in_value, is_flag, is_secret
from mlspec.model.blocks import TextValue
from mlspec.model.patching import Operation
from mlspec.policy.subject import Path, Rule, Subject, Violation
from mlspec.spec.shipped import wanted

_WORDS: Final = frozenset({"args", "command"})
_MOST: Final = 5
"""Findings about one file that are told one by one."""


class _Text(NamedTuple):
    """A text that somebody wrote, with the name that it is the value of; None where it has none."""

    path: Path
    text: str
    name: str | None = None
    is_word: bool = False
    otherwise: Path = ()
    """Its path where a map of flags is written as a list."""
    what: str = ""
    """What it is known to hold by the words beside it."""


def written_secret(subject: Subject) -> Iterator[Violation]:
    """A secret stands where everybody can read it who may read the repository, the generated manifests, or the
    objects in the cluster: a variable, a word of a command line, a URI, a patch, or a file that is shipped with a run.
    objects in the cluster: a variable, a word of a command line, a URI, a patch, or a file that is shipped with a run.
    It is told by its name (password, token, API key, credential, private key), by its form (keys of AWS, Google,
    Azure, GitHub, GitLab, Hugging Face, OpenAI, Slack and others, private keys, JSON Web Tokens, passwords and
    signatures in URLs), or by the command that it is handed to (`curl -u`, `mysql -p…`); its value is never printed.
    Declare the Secret under `secrets`, and write `{secret: …, key: …}` as the variable's value; a command line refers
    to the variable as `$(NAME)`, a program reads it. What was committed once stays in Git's history: replace it where
    it came from. Blanks such as `<token>` and `your-api-key-here`, references, paths and switches are no secrets;
    `changeme` is one, since it opens what nobody has changed.
    """
    for text, what in _in_model(subject.project):
        message = f"{_label(text)} holds what looks like {what}"
        yield Violation(message, text.path, _help(text), otherwise=text.otherwise)
    for text, what in _in_model(subject.environment):
        message = f"{_label(text)} in environment {subject.name} holds what looks like {what}"
        yield Violation(message, text.path, "leave it out: this file is committed", of_environment=True)
    for name, step in subject.project.steps.items():
        yield from _shipped(name, step, subject.contents)


def _shipped(name: str, step: StepSpec, contents: Mapping[str, bytes]) -> Iterator[Violation]:
    help = "declare it under `secrets`, hand it over in `env`, and read that variable there"
    for file, place in wanted(step):
        at_key = place[-1] == "[key]"
        path = ("steps", name, *(place[:-1] if at_key else place))
        found = in_file(file, contents.get(file, b""))
        for item in found[:_MOST]:
            message = f"line {item.line} of `{file}` holds what looks like {item.what}"
            yield Violation(message, path, help, at_key=at_key)
        if len(found) > _MOST:
            yield Violation(f"`{file}` holds {len(found) - _MOST} more", path, help, at_key=at_key)


def _label(text: _Text) -> str:
    names = [part for part in text.path if isinstance(part, str)]
    if not text.is_word:
        return f"`{text.name or names[-1]}`"
    place = next(index for index in reversed(range(len(text.path))) if text.path[index] in _WORDS)
    last, named = text.path[-1], text.name and meaning(text.name) is not None
    what = f"`{text.name}`" if named else f"`--{last}`" if isinstance(last, str) else f"word {last + 1}"
    return f"{what} of `{text.path[place]}`"


def _help(text: _Text) -> str:
    if text.is_word:
        return "declare it under `secrets`, hand it over as a variable of `env`, and write `$(NAME)` here"
    if text.path[-2:-1] == ("env",):
        return f"declare it under `secrets`, and write `{text.path[-1]}: {{secret: …, key: …}}`"
    if text.path[-1:] == ("uri",):
        return "write the URI without it; the environment's destination names the Secret with credentials"
    return "leave it out; what a program needs comes from `secrets`, as a variable of `env`"


# Environments of one project often share one model, and all projects share the models of environments.
_known: dict[int, tuple[BaseModel, tuple[tuple[_Text, str], ...]]] = {}
_KEPT: Final = 64


def _in_model(model: BaseModel) -> tuple[tuple[_Text, str], ...]:
    """Return the secrets in a model, each with what it looks like."""
    known = _known.get(id(model))
    if known is not None and known[0] is model:
        return known[1]
    if len(_known) >= _KEPT:
        _known.clear()
    found = tuple(_found(list(_texts(model, ()))))
    _known[id(model)] = (model, found)
    return found


def _found(texts: Sequence[_Text]) -> Iterator[tuple[_Text, str]]:
    """Yield the secrets among texts; most have none, which one look at all of them together shows."""
    together = "\n".join(text.text for text in texts)
    suspicious = next(iter(values.find(together)), None) is not None
    for text in texts:
        if text.what:
            yield text, text.what
            continue
        if text.name is None:
            found = in_value(text.text) if suspicious else None
        elif suspicious or is_secret(text.name, text.text) or assignments.mentions(text.text):
            found = in_entry(text.name, text.text)
        else:
            continue
        if found is not None:
            yield text, found.what


def _texts(value: Any, path: Path) -> Iterator[_Text]:
    """Yield every text below a value; a named one, and each word of a command line, with its name."""
    if isinstance(value, str):
        yield _Text(path, value)
    elif isinstance(value, Operation):
        # The last part of the pointer is the name of what is patched in.
        yield from _entry(value.path.rpartition("/")[2].replace("~1", "/"), value.value, (*path, "value"), {})
    elif isinstance(value, BaseModel):
        for name, alias in _aliases(type(value)).items():
            if name in value.model_fields_set:
                yield from _field(getattr(value, name), (*path, alias))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _entry(str(key), item, (*path, str(key)), value)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))


def _field(value: Any, path: Path) -> Iterator[_Text]:
    if path[-1] in _WORDS and isinstance(value, tuple):
        yield from _words(value, path)
    else:
        yield from _texts(value, path)


def _entry(key: str, item: Any, path: Path, among: dict[Any, Any]) -> Iterator[_Text]:
    """Yield an entry of a table; in a patch, `value` may stand beside the `name` that it has in Kubernetes."""
    if isinstance(item, TextValue):
        item = item.value
    if key in _WORDS and isinstance(item, list) and all(isinstance(word, str) for word in item):
        yield from _words(item, path)
    elif isinstance(item, str):
        name = among.get("name") if key == "value" else None
        yield _Text(path, item, name if isinstance(name, str) else key)
    else:
        yield from _texts(item, path)


def _words(words: Sequence[str], path: Path) -> Iterator[_Text]:
    """Yield the words of a command line; those of a map of flags are found by their flag."""
    flags = _flags(words) if path[-1] == "args" else {}
    known = dict(commands.in_words(words))
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        name = before if is_flag(before) and word[:1] != "-" else ""
        here, other = (*path, flags.get(index, index)), (*path, index) if index in flags else ()
        yield _Text(here, word, name, is_word=True, otherwise=other, what=known.get(index, ""))


def _flags(words: Sequence[str]) -> dict[int, str]:
    """Return the flag of each value, where words can be what becomes of a map; empty where they were a list."""
    found = {}
    for index, word in enumerate(words):
        if word.startswith("--") and "=" not in word and len(word) > 2:
            found[index] = word[2:]
        elif index and index - 1 in found and words[index - 1].startswith("--"):
            found[index] = words[index - 1][2:]
        else:
            return {}
    return found


@lru_cache(256)
def _aliases(model: type[BaseModel]) -> dict[str, str]:
    return {name: field.alias or name for name, field in model.model_fields.items()}


RULES: Final = (Rule("MLS430", written_secret),)
