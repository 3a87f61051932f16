"""Secrets that are none: made of parts, so that no scanner takes this repository for a leak."""

from __future__ import annotations

import base64
from typing import Final

_LETTERS: Final = "q7Rk2ZpXw9LdT4vNbY6sHj3GmF8cAeUo5KiPrWtQx1yBzDnSgJ0hVfMlCuEaOIkR"
"""64 characters, of both cases and digits, in no order."""
_HEX: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def letters(count: int) -> str:
    """Return so many characters that look random."""
    return (_LETTERS * (count // 64 + 1))[:count]


def pem(kind: str = "RSA ") -> str:
    """Return what looks like a private key."""
    body = "\n".join(letters(256)[start : start + 64] for start in range(0, 256, 64))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


def web_token() -> str:
    """Return what looks like a signed JSON Web Token."""
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"1234567890","name":"A. Person"}')
    head = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]
    return ".".join([*head, letters(43)])


FORMS: Final[dict[str, str]] = {
    "aws": "AKIA" + "QX7ZT2MNB4KD5PLW",
    "aws, temporary": "ASIA" + "QX7ZT2MNB4KD5PLW",
    "aws, of the documentation": "AKIAIOSFODNN7EXAMPLE",
    "hugging face": "hf_" + letters(34),
    "github": "ghp_" + letters(36),
    "github, oauth": "gho_" + letters(36),
    "github, app": "ghs_" + letters(36),
    "github, fine-grained": "github_pat_" + letters(22) + "_" + letters(59),
    "gitlab": "glpat-" + letters(20),
    "gitlab, runner": "glrt-" + letters(20),
    "openai": "sk-" + letters(48),
    "openai, project": "sk-proj-" + letters(48),
    "anthropic": "sk-ant-" + "api03-" + letters(80),
    "nvidia": "nvapi-" + letters(64),
    "groq": "gsk_" + letters(52),
    "replicate": "r8_" + letters(37),
    "databricks": "dapi" + _HEX[:32],
    "slack, bot": "xoxb-" + "123456789012-" + letters(24),
    "slack, user": "xoxp-" + "123456789012-" + letters(24),
    "slack, webhook": "https://hooks.slack.com/" + "services/T00000000/B00000000/" + letters(24),
    "google": "AIza" + letters(35),
    "google, oauth": "ya29." + letters(60),
    "google, client": "GOCSPX-" + letters(28),
    "azure, storage": base64.b64encode(bytes(range(7, 71))[::-1] + b"").decode(),
    "azure, client": letters(3) + "8Q~" + letters(34),
    "npm": "npm_" + letters(36),
    "pypi": "pypi-" + letters(120),
    "docker hub": "dckr_pat_" + letters(27),
    "vault": "hvs." + letters(24),
    "stripe": "sk_live_" + letters(24),
    "sendgrid": "SG." + letters(22) + "." + letters(43),
    "age": "AGE-SECRET-KEY-1" + letters(58).upper(),
    "web token": web_token(),
    "private key": pem(),
    "private key, pkcs8": pem(""),
    "private key, openssh": pem("OPENSSH "),
}
"""By issuer; each is found wherever it stands."""
