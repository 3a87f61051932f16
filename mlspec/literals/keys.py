"""What a name says about its value: `DB_PASSWORD` and `--api-key` hold secrets, `MAX_TOKENS` and `TOKENIZER` do not.

The last words of a name say what it holds: `SECRET_NAME` is a name, `TOKEN_LIMIT` a number, `PASSWORD_FILE` a path.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple


class Level(IntEnum):
    """How sure a name is."""

    MAYBE = 1
    """Only a value that looks random is one: `WANDB_KEY`."""
    LIKELY = 2
    """Nearly always: `HF_TOKEN`; a number is none."""
    SURE = 3
    """Always: `DB_PASSWORD`."""


class Meaning(NamedTuple):
    """What a name says that its value is."""

    level: Level
    what: str


FIELDS: Final = frozenset({"secret", "secretKey"})
"""Fields of mlspec and Kubernetes that name a Secret, or a key of one: names of no secrets."""
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PASSWORD: Final = Meaning(Level.SURE, "a password")
_CHOSEN: Final = Meaning(Level.LIKELY, "a password")
_TOKEN: Final = Meaning(Level.LIKELY, "a token")
_ACCESS_TOKEN: Final = Meaning(Level.SURE, "a token")
_SECRET: Final = Meaning(Level.LIKELY, "a secret")
_CREDENTIAL: Final = Meaning(Level.LIKELY, "a credential")
_API_KEY: Final = Meaning(Level.SURE, "an API key")
_ACCESS_KEY: Final = Meaning(Level.SURE, "an access key")
_PRIVATE_KEY: Final = Meaning(Level.SURE, "a private key")
_KEY: Final = Meaning(Level.MAYBE, "a key")

_LAST: Final = {
    **dict.fromkeys(("password", "passwords", "passwd", "passphrase", "pwd", "passcode"), _PASSWORD),
    "token": _TOKEN,
    "pat": _TOKEN,
    "jwt": _TOKEN,
    "secret": _SECRET,
    **dict.fromkeys(("credential", "credentials", "creds"), _CREDENTIAL),
    **dict.fromkeys(("key", "keys", "auth", "authorization", "signature", "cookie"), _KEY),
}
# `PASS` alone may count rounds, as in `FIRST_PASS`; behind who or what it lets in it is a password.
_WHOSE: Final = (
    *("admin", "api", "app", "broker", "cert", "client", "database", "db", "docker", "elastic", "email", "ftp", "git"),
    *("http", "https", "kafka", "key", "keystore", "ldap", "login", "mail", "mariadb", "minio", "mlflow", "mongo"),
    *("mongodb", "mysql", "pg", "postgres", "postgresql", "proxy", "rabbitmq", "redis", "registry", "repo", "root"),
    *("server", "service", "sftp", "smtp", "sql", "ssh", "ssl", "sudo", "tls", "truststore", "user", "vpn"),
)
_LAST_TWO: Final = {
    **{(word, key): _API_KEY for word in ("api", "app", "application") for key in ("key", "keys", "token")},
    **{(word, "key"): _API_KEY for word in ("kaggle", "wandb", "comet", "openai", "anthropic", "ngc", "license")},
    **{(word, key): _ACCESS_KEY for word in ("access", "secret", "account", "storage") for key in ("key", "keys")},
    **{(word, "key"): _PRIVATE_KEY for word in ("private", "signing", "encryption", "master", "ssh", "deploy")},
    **{(word, "token"): _ACCESS_TOKEN for word in ("access", "auth", "refresh", "bearer", "session", "sas", "hf")},
    **{(word, "pass"): _PASSWORD for word in _WHOSE},
    ("redis", "auth"): _CHOSEN,
    **{(word, "secret"): Meaning(Level.SURE, "a secret") for word in ("client", "shared", "consumer", "webhook")},
}
_ENDINGS: Final = (
    ("password", _PASSWORD),
    ("passwd", _PASSWORD),
    ("passphrase", _PASSWORD),
    *((f"{whose}pass", _PASSWORD) for whose in ("db", "pg", "sql", "ssh", "user", "root", "admin", "require")),
    ("apikey", _API_KEY),
    ("secretkey", _ACCESS_KEY),
    ("accesskey", _ACCESS_KEY),
    ("privatekey", _PRIVATE_KEY),
    ("token", _TOKEN),
    ("secret", _SECRET),
)
"""Names without a break in them: `PGPASSWORD`, `authtoken`."""
# Behind what a name holds may stand for where, or in which form: `DB_PASSWORD_PROD`, `API_KEY_2`, `TOKEN_B64`.
_BEHIND: Final = frozenset(
    (
        *("prod", "production", "dev", "development", "staging", "stage", "test", "testing", "qa", "old", "new"),
        *("backup", "primary", "secondary", "main", "default", "value", "raw", "plain", "string", "str", "b64"),
        *("base64", "hex", "encoded", "v", "base"),
    )
)
# Tokens of a text, which language models have.
_OF_TEXT: Final = frozenset(
    (
        *("pad", "padding", "eos", "bos", "unk", "unknown", "mask", "cls", "sep", "stop", "start", "end", "begin"),
        *("image", "img", "video", "audio", "special", "additional", "added", "per", "num", "max", "min", "n"),
        *("decoder", "encoder", "first", "last", "next", "prev", "previous", "sub", "pre", "forced", "prompt", "im"),
        *("tool", "user", "assistant", "system", "speaker", "think", "thinking", "reasoning", "newline", "space"),
        *("blank", "sos", "eot", "word"),
    )
)
# Keys of tables, caches and the like, and what everybody may know.
_OF_DATA: Final = frozenset(
    (
        *("public", "primary", "partition", "sort", "cache", "foreign", "index", "group", "join", "lookup", "dict"),
        *("map", "row"),
    )
)
_NOT: Final = frozenset({"pwd", "oldpwd", "key", "keys", "auth", "cookie", "subtoken"})
"""Whole names that say nothing: `PWD` is the working directory."""


@lru_cache(4096)
def meaning(name: str) -> Meaning | None:
    """Return what a name says about its value; None where that is no secret."""
    words = [word.lower() for word in _PART.findall(name)]
    while len(words) > 1 and (words[-1] in _BEHIND or words[-1].isdigit()):
        words.pop()
    if not words or (len(words) == 1 and words[0] in _NOT):
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    found = _LAST_TWO.get((before, last)) or _LAST.get(last)
    if found is None:
        found = next((says for ending, says in _ENDINGS if last.endswith(ending)), None)
    if found is _TOKEN and (before in _OF_TEXT or words[0] in ("num", "max", "min", "n")):
        return None
    return None if found is _KEY and before in _OF_DATA else found


_REFERENCE: Final = re.compile(r"\$\([^()]*\)|\$\{[^{}]*\}|\$[A-Za-z_]\w*|\{\{[^{}]*\}\}|\{[a-z_]*\}|%\([a-z_]+\)s|%s")
_BLANK: Final = re.compile(r"<[^<>]*>|\[[A-Z_]+\]|(.)\1*|[.…*•x-]+|\[hidden\]", re.IGNORECASE)
# What somebody wrote for others to replace. Keys and tokens are issued, and no issuer makes such words of them;
# `changeme` is none of these, since passwords are chosen, and it opens what nobody has changed.
_PLACEHOLDER: Final = re.compile(
    r"(?:(?:put|insert|enter|paste|add|use)[-_ ])?your[-_ ][a-z_ -]{1,60}|replace[-_ ]?(?:me|this|with[a-z_ -]{1,60})"
    r"|todo|fixme|tbd|[a-z]{1,8}[-_](?:x{3,}|\*{3,}|\.{3}|…)",
    re.IGNORECASE,
)
_LOCATION: Final = re.compile(
    r"(~|\.{1,2})?(/[\w.@:+=-]{1,32})+/?"  # a path
    r"|[a-z][a-z0-9+.-]*://[^\s@?]*"  # a URI without credentials or query
    r"|(arn|urn):\S+|(projects|secret|secrets|kv)/\S+"  # where a secret lies in a store
)
_NUMBER: Final = re.compile(r"[-+]?[0-9]*\.?[0-9]+(e[-+]?[0-9]+)?", re.IGNORECASE)
_SWITCHES: Final = frozenset(
    ["true", "false", "yes", "no", "on", "off", "none", "null", "nil", "auto", "default", "enabled", "disabled"]
)
# What programs are given where a key must be there and is not looked at, such as vLLM's clients.
_DUMMIES: Final = frozenset(
    ["empty", "dummy", "unused", "not-needed", "notneeded", "no-key", "na", "n/a", "fake", "ignored", "anonymous"]
)


def could_be(value: str, level: Level) -> bool:
    """Say whether a value that a name calls a secret could be one.

    References, paths, switches, small numbers, blanks (`<token>`, `xxxx`, `your-api-key-here`) and values that are
    known to mean nothing (`EMPTY`) are not. `changeme` is: it opens whatever nobody has changed.
    """
    text = value.strip()
    if not text or text.lower() in _SWITCHES or text.lower() in _DUMMIES or _BLANK.fullmatch(text):
        return False
    if _PLACEHOLDER.fullmatch(text):
        return False
    if not re.search(r"\w", _REFERENCE.sub("", text).replace("Bearer", "")) or _LOCATION.fullmatch(text):
        return False
    if _NUMBER.fullmatch(text):
        return level is Level.SURE and len(text) > 3
    return level is not Level.MAYBE or is_random(text)


def is_random(text: str) -> bool:
    """Say whether text looks like bits: long, of letters of both cases and digits, hardly any of them twice.

    Digests, which are hexadecimal, and names, which are words, are not.
    """
    if len(text) < 20 or not re.fullmatch(r"[\w+/=.~-]+", text) or re.fullmatch(r"[0-9a-f-]+|[0-9A-F-]+", text):
        return False
    kinds = [re.search(pattern, text) for pattern in ("[a-z]", "[A-Z]", "[0-9]")]
    counts = Counter(text).values()
    bits = -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
    return all(kinds) and bits >= 3.7  # random base64 of 20 characters has 4.2, English 3.2
