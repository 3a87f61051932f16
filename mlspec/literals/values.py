"""What secrets look like, whatever they are called: each issuer's own form, with the place that documents it.

Every pattern begins where no character of its own stands before, so that a text is searched in linear time; it is only
tried where its trigger, a plain text, is there at all.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import zip_longest
from typing import Final, NamedTuple

from mlspec.literals import commands
from mlspec.literals.found import Found
from mlspec.literals.keys import Level, could_be, meaning

_PEM: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END: Final = re.compile(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY: Final = re.compile(r"(?:(?:\\n|\s)*[A-Za-z0-9+/=]{8,})*")
_PEM_MOST: Final = 20_000
"""Characters of the longest private key that is looked for, RSA of 8,192 bits with room to spare."""


class _Form(NamedTuple):
    what: str
    triggers: tuple[str, ...]
    """Without one of these, in lower case, there is no match."""
    text: str
    """A pattern: the secret is group 1, or all of the match."""
    holds: Callable[[str], bool] = lambda _: True

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled when a text needs it for the first time: most never do."""
        return _compiled(self.text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _form(what: str, trigger: str, pattern: str, holds: Callable[[str], bool] = lambda _: True) -> _Form:
    return _Form(what, tuple(trigger.split()), pattern, holds)


def _mixed(text: str) -> bool:
    return all(re.search(kind, text) for kind in ("[a-z]", "[A-Z]", "[0-9]"))


def _has_digit(text: str) -> bool:
    return re.search("[0-9]", text) is not None


def _bits(text: str) -> bool:
    """Say whether base64 holds something else than text."""
    try:
        return not base64.b64decode(text, validate=True).decode("ascii").isprintable()
    except ValueError:
        return True


def _password(text: str) -> bool:
    return could_be(text, Level.LIKELY) or text.isdigit()


FORMS: Final = (
    _form("an AWS access key", "akia asia", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _form("a Hugging Face token", "hf_ api_org_", r"(?<![A-Za-z0-9])(?:hf_|api_org_)[A-Za-z0-9]{30,}"),
    _form("a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{30,}"),
    _form("a GitHub token", "github_pat_", r"(?<![A-Za-z0-9_])github_pat_[A-Za-z0-9_]{22,}"),
    _form("a GitLab token", "glpat- gldt- glrt- glptt-", r"(?<![\w-])gl(?:pat|dt|rt|ptt)-[\w-]{20,}"),
    _form("an Anthropic key", "sk-ant-", r"(?<![\w-])sk-ant-[\w-]{20,}"),
    _form("an OpenAI key", "sk-", r"(?<![\w-])sk-(?:proj|svcacct|admin|or-v1)-[\w-]{20,}", _has_digit),
    _form("an OpenAI key", "sk-", r"(?<![\w-])sk-[A-Za-z0-9]{32,}", _has_digit),
    _form("an NVIDIA key", "nvapi-", r"(?<![\w-])nvapi-[\w-]{40,}"),
    _form("a Groq key", "gsk_", r"(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{40,}"),
    _form("a Replicate token", "r8_", r"(?<![A-Za-z0-9])r8_[A-Za-z0-9]{37,}"),
    _form("a Databricks token", "dapi", r"(?<![A-Za-z0-9])dapi[0-9a-f]{32}(?![A-Za-z0-9])"),
    _form("a Slack token", "xox xapp-", r"(?<![\w-])(?:xox[abeoprs]|xapp)-[\w-]{10,}", _has_digit),
    _form("a Slack webhook", "hooks.slack", r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{20,}"),
    _form("a Discord webhook", "webhooks", r"https://discord(?:app)?\.com/api/webhooks/[0-9]+/[\w-]{20,}"),
    _form("a Google API key", "aiza", r"(?<![\w-])AIza[\w-]{35}(?![\w-])"),
    _form("a Google OAuth token", "ya29.", r"(?<![\w-])ya29\.[\w-]{20,}"),
    _form("a Google client secret", "gocspx-", r"(?<![\w-])GOCSPX-[\w-]{24,}"),
    _form(
        "an Azure key", "accountkey sharedaccesskey", r"(?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{20,}={0,2})"
    ),
    _form("an Azure key", "==", r"(?<![\w+/-])[A-Za-z0-9+/]{86}==(?![\w+/=])", _bits),
    _form("an Azure client secret", "8q~", r"(?<![\w~.-])[\w~.-]{3}8Q~[\w~.-]{31,34}(?![\w~.-])"),
    _form("an npm token", "npm_", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36,}"),
    _form("a PyPI token", "pypi-", r"(?<![\w-])pypi-[\w-]{50,}", _mixed),
    _form("a Docker Hub token", "dckr_", r"(?<![\w-])dckr_(?:pat|oat)_[\w-]{20,}"),
    _form("a Vault token", "hvs. hvb. hvr.", r"(?<![\w.-])hv[sbr]\.[\w-]{20,}"),
    _form("a Stripe key", "sk_ rk_", r"(?<![A-Za-z0-9])[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _form("a SendGrid key", "sg.", r"(?<![\w.-])SG\.[\w-]{16,}\.[\w-]{16,}"),
    _form("an age key", "age-secret-key-", r"(?i)(?<![\w-])AGE-SECRET-KEY-1[a-z0-9]{50,}"),
    _form("a JSON Web Token", "eyj", r"(?<![\w.-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{6,}"),
    _form("a bearer token", "bearer", r"(?i)(?<![\w-])Bearer +([\w.~+/-]{20,}=*)", _has_digit),
    # RFC 3986, 3.2.1: what stands before the host, behind a colon.
    _form("a password in a URL", "://", r"(?i)(?<=://)[^\s/?#@:\"'`]{0,256}:([^\s/?#@\"'`]{1,512})@", _password),
)
_BY_TRIGGER: Final = {
    trigger: [form for form in FORMS if trigger in form.triggers] for form in FORMS for trigger in form.triggers
}
_QUERY: Final = re.compile(r"[?&;]([A-Za-z][\w.-]{0,60})=([^\s&#\"'`<>]{8,})")
_SIGNATURES: Final = frozenset({"x-amz-signature", "x-amz-security-token", "x-goog-signature", "sig", "signature"})
# A secret access key of AWS has no mark of its own; beside an access key it is one.
_AWS_SECRET: Final = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_NEAR: Final = 300
"""Characters between an access key and its secret."""


def find(text: str) -> Iterator[Found]:
    """Yield what looks like a secret, in no order; some may overlap."""
    lowered = text.lower()
    for trigger, forms in _BY_TRIGGER.items():
        if trigger in lowered:
            for form in forms:
                yield from _matches(form, text)
    yield from commands.find(text, lowered)
    if "-----begin" in lowered:
        yield from _private_keys(text)
    if "=" in lowered and ("?" in lowered or "&" in lowered):
        yield from _queries(text)


def _matches(form: _Form, text: str) -> Iterator[Found]:
    pattern = form.pattern
    for match in pattern.finditer(text):
        group = 1 if pattern.groups else 0
        if form.holds(match[group]):
            yield Found(*match.span(group), form.what)
            if form is FORMS[0]:
                yield from _beside(match.start(), text)


def _beside(place: int, text: str) -> Iterator[Found]:
    start = max(0, place - _NEAR)
    for match in _AWS_SECRET.finditer(text, start, place + _NEAR):
        if _mixed(match[0]):
            yield Found(*match.span(), "an AWS secret key")


def _private_keys(text: str) -> Iterator[Found]:
    """Yield private keys in PEM (RFC 7468), to where they end, or are cut off."""
    begins = list(_PEM.finditer(text))
    for begin, following in zip_longest(begins, begins[1:]):
        least = following.start() if following is not None else len(text)
        end = _PEM_END.search(text, begin.end(), min(least, begin.end() + _PEM_MOST))
        body = _PEM_BODY.match(text, begin.end(), least)
        stop = end or body or begin
        yield Found(begin.start(), stop.end(), "a private key")


def _queries(text: str) -> Iterator[Found]:
    """Yield what signs a URL, or opens what it leads to."""
    for match in _QUERY.finditer(text):
        name, value = match.groups()
        says = meaning(name)
        if name.lower() in _SIGNATURES and could_be(value, Level.LIKELY):
            yield Found(*match.span(2), "a signature in a URL")
        elif says is not None and could_be(value, says.level):
            yield Found(*match.span(2), f"{says.what} in a URL")
