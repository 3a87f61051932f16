"""Which texts are secrets, and which only look a little like them."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlspec.literals.keys import meaning
from mlspec.literals.places import in_entry, in_file, in_value
from mlspec.literals.redaction import Hidden, redact, redact_field, spans
from tests.literals import FORMS, letters, pem

_BASE64_OF_TEXT: Final = (
    "eyJlcG9jaHMiOiAxMCwgImxyIjogMWUtNCwgInNlZWQiOiA0MiwgIm5hbWUiOiAicmVzbmV0NTAiLCAiYmYxNiI6IHRydWV9"
)

SECRET_ENTRIES: Final = [
    ("DB_PASSWORD", "correct-horse"),
    ("PGPASSWORD", "hunter2"),
    ("MYSQL_PWD", "hunter2"),
    ("REDIS_PASSWD", "hunter2"),
    ("password", "changeme"),
    ("password", "password"),
    ("KEY_PASSPHRASE", "a few words of it"),
    ("DB_PASSWORD_PROD", "hunter2"),
    ("PIN_PASSCODE", "271828"),
    ("HF_TOKEN", "hunter2"),
    ("HUGGING_FACE_HUB_TOKEN", letters(20)),
    ("GITHUB_TOKEN_2", "hunter2"),
    ("accessToken", "hunter2"),
    ("auth-token", "hunter2"),
    ("NEPTUNE_API_TOKEN", "hunter2"),
    ("REFRESH_TOKEN", "00112233"),
    ("token", "some words"),
    ("CI_JOB_JWT", "hunter2"),
    ("OPENAI_API_KEY", "hunter2"),
    ("apiKey", "hunter2"),
    ("APIKEY", "hunter2"),
    ("api-keys", "a,b"),
    ("WANDB_KEY", "hunter2"),
    ("KAGGLE_KEY", "9f86d081884c7d659a2feaa0c55ad015"),
    ("AWS_SECRET_ACCESS_KEY", letters(40)),
    ("MINIO_SECRET_KEY", "minio123"),
    ("AZURE_STORAGE_KEY", "hunter2"),
    ("SSH_PRIVATE_KEY", "hunter2"),
    ("SIGNING_KEY", "hunter2"),
    ("ENCRYPTION_KEY_BASE64", "aHVudGVyMg=="),
    ("CLIENT_SECRET", "hunter2"),
    ("APP_SECRET", "hunter2"),
    ("SECRET", "hunter2"),
    ("WEBHOOK_SECRET", "hunter2"),
    ("SERVICE_CREDENTIALS", '{"user": "a", "password": "b"}'),
    ("db_creds", "etl:hunter2"),
    ("SESSION_KEY", letters(32)),
    ("HTTP_AUTHORIZATION", "Bearer " + letters(32)),
    ("HEADERS", f"Authorization: Bearer {letters(32)}"),
    ("DATABASE_URL", "postgresql://etl:hunter2@db.example.com/sales"),
    ("BROKER", "amqp://guest:guest@rabbit:5672//"),
    ("REDIS_URL", "redis://:hunter2@redis:6379/0"),
    ("PROXY", "http://etl:12345@proxy.example.com:3128"),
    ("DATA_URL", "https://b.s3.amazonaws.com/d?X-Amz-Credential=a&X-Amz-Signature=0f1e2d3c4b5a"),
    ("DATA_URL", "https://a.blob.core.windows.net/d?sv=2024&sig=aGVsbG8gd29ybGQhIQ%3D%3D"),
    ("DATA_URL", "https://storage.googleapis.com/b/d?X-Goog-Signature=0f1e2d3c4b5a6978"),
    ("DATA_URL", "https://api.example.com/v1?access_token=correct-horse"),
    ("DATA_URL", "https://api.example.com/v1?user=a&api_key=correct-horse"),
    ("CONNECTION", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + letters(86) + "=="),
    ("CONNECTION", "Endpoint=sb://a.example.com/;SharedAccessKeyName=root;SharedAccessKey=" + letters(43) + "="),
    ("CONNECTION", "Server=db;User=etl;Password=hunter2;Encrypt=true"),
    ("JAVA_OPTS", "-Xmx4g -Djavax.net.ssl.keyStorePassword=hunter2"),
    ("OPTIONS", "--epochs 3 --api-key hunter2"),
    ("OPTIONS", "--db-password=hunter2"),
    ("CONFIG", '{"api_key": "hunter2", "epochs": 3}'),
    ("DB_PASS", "hunter2"),
    ("mysqlPass", "hunter2"),
    ("PGPASS", "hunter2"),
    ("SMTP_PASS_PROD", "hunter2"),
    ("REDIS_AUTH", "hunter2"),
    ("UPLOAD", "curl -sS -u etl:hunter2 https://api.example.com"),
    ("UPLOAD", "curl https://api.example.com --proxy-user 'etl:hunter2'"),
    ("UPLOAD", '["curl", "-sSu", "etl:hunter2", "https://api.example.com"]'),
    ("UPLOAD", "- curl\n- --user\n- etl:hunter2"),
    ("DUMP", "mysqldump -uroot -phunter2 sales"),
    ("DUMP", "mysql -h db -p'hunter2' sales"),
    ("PULL", "docker login -u etl -p hunter2 ghcr.io"),
    ("COPY", "sshpass -p hunter2 scp a b:c"),
    ("PING", "redis-cli -h redis -a hunter2 ping"),
    ("NETRC", "machine api.example.com login etl password hunter2"),
    ("NETRC", "machine api.example.com\n  login etl\n  password hunter2\n"),
    ("PAIR", "AKIAIOSFODNN7EXAMPLE:" + letters(40)),
]
HARMLESS_ENTRIES: Final = [
    ("MAX_TOKENS", "4096"),
    ("MAX_NEW_TOKENS", "512"),
    ("TOKENIZER", "meta-llama/Llama-3.1-8B"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("TOKEN_LIMIT", "8192"),
    ("NUM_TOKEN", "77"),
    ("PAD_TOKEN", "<pad>"),
    ("eos_token", "</s>"),
    ("EOS_TOKEN", "eot"),
    ("mask_token", "[MASK]"),
    ("IMAGE_TOKEN", "image"),
    ("TOKENS_PER_BATCH", "65536"),
    ("TOKEN", "1024"),
    ("HF_TOKEN", "$(HUB_TOKEN)"),
    ("HF_TOKEN", "${HUB_TOKEN}"),
    ("HF_TOKEN", "<token>"),
    ("HF_TOKEN", "<your token>"),
    ("HF_TOKEN", "xxxxxxxx"),
    ("HF_TOKEN", "********"),
    ("HF_TOKEN", ""),
    ("HF_TOKEN", "false"),
    ("USE_AUTH_TOKEN", "true"),
    ("HF_TOKEN_PATH", "/var/run/secrets/hf/token"),
    ("HF_TOKEN", "/var/run/secrets/hf/token"),
    ("OPENAI_API_KEY", "EMPTY"),
    ("OPENAI_API_KEY", "not-needed"),
    ("PASSWORD_FILE", "/run/secrets/password"),
    ("PASSWORD_MIN_LENGTH", "12"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/var/run/gcp/key.json"),
    ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
    ("AWS_SECRET_ARN", "arn:aws:secretsmanager:eu-central-1:111122223333:secret:hub-AbCdEf"),
    ("SECRET", "arn:aws:secretsmanager:eu-central-1:111122223333:secret:hub-AbCdEf"),
    ("SECRET_NAME", "hub"),
    ("TLS_PRIVATE_KEY", "/etc/tls/tls.key"),
    ("PUBLIC_KEY", letters(40)),
    ("PRIMARY_KEY", "customer_id"),
    ("CACHE_KEY", "9f86d081884c7d659a2feaa0c55ad015"),
    ("LABEL_KEY", "target"),
    ("KEY", "value"),
    ("SORT_KEYS", "name,age"),
    ("KEYBOARD", "qwerty"),
    ("MONKEY_PATCH", "on"),
    ("AUTHOR", "A. Person"),
    ("AUTH", "oauth2"),
    ("PWD", "/workspace"),
    ("SECRETARY", "A. Person"),
    ("COMPASS_PASSES", "3"),
    ("LEARNING_RATE", "1e-4"),
    ("WARMUP_RATIO", "0.03"),
    ("NCCL_DEBUG", "WARN"),
    ("NCCL_IB_HCA", "mlx5_0,mlx5_1"),
    ("CUDA_VISIBLE_DEVICES", "0,1,2,3"),
    ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:512,expandable_segments:True"),
    ("MODEL", "mistralai/Mixtral-8x7B-Instruct-v0.1"),
    ("MODEL", "sk-learn-iris-classifier-v1-0-0-production"),
    ("MODEL_URI", "s3://models/llama/3.1/8b?versionId=3sL4kqtJlcpXroDTDmJ"),
    ("MODEL_URI", "hf://meta-llama/Llama-3.1-8B"),
    ("IMAGE", "ghcr.io/acme/train@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    (
        "IMAGE",
        "registry.example.com:5000/acme/train:1.0@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15",
    ),
    ("DIGEST", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("INTEGRITY", "sha512-" + letters(86) + "=="),
    ("COMMIT", "39951a0b6f6f4c2f8b1d4f7a3e5c9d8b7a6f5e4d"),
    ("RUN_ID", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
    ("CONFIG", _BASE64_OF_TEXT),
    ("CONFIG", '{"epochs": 10, "max_tokens": 512, "tokenizer": "bpe"}'),
    ("PROMPT", "Password: ask the user for it, then stop"),
    ("GREETING", "The secret of happiness is a token of love"),
    ("ENDPOINT", "https://models.example.com:8443/v1/predict?model=a&version=3"),
    ("ENDPOINT", "http://minio.minio.svc:9000"),
    ("GIT", "git@github.com:acme/models.git"),
    ("EMAIL", "ml-team@example.com"),
    ("PROXY", "http://$(USER):$(PROXY_PASSWORD)@proxy.example.com:3128"),
    ("DATABASE_URL", "postgresql://etl:$(DB_PASSWORD)@db.example.com/sales"),
    ("DATABASE_URL", "postgresql://etl:<password>@db.example.com/sales"),
    ("SCHEDULE", "cosine:0.1:1e-6@5000"),
    ("CERTIFICATE", "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIU\n-----END CERTIFICATE-----"),
    ("LAYERS", "hf_model_of_many_layers_and_many_many_heads"),
    ("FIRST_PASS", "fast"),
    ("NUM_PASS", "three"),
    ("BYPASS", "proxy"),
    ("COMPASS", "north"),
    ("SMTP_AUTH", "login"),
    ("OPENAI_API_KEY", "your-api-key-here"),
    ("OPENAI_API_KEY", "YOUR_API_KEY"),
    ("HF_TOKEN", "insert-your-token"),
    ("HF_TOKEN", "REPLACE_ME"),
    ("HF_TOKEN", "hf_xxxx"),
    ("WANDB_API_KEY", "TODO"),
    ("FETCH", "curl -u $USER:$PASSWORD https://api.example.com"),
    ("FETCH", "curl -u user:password https://api.example.com"),
    ("FETCH", "curl -sSfLO https://api.example.com:8443/a"),
    ("LOGIN", "docker login -u etl --password-stdin ghcr.io"),
    ("SERVE", "docker run -p 80:8080 -u 1000:1000 server"),
    ("DUMP", "mysql -P3306 -h db -p sales"),
    ("MAKE", "mkdir -p /data/out && python -u train.py"),
    ("TASK", "task-0123456789-abcdefghijklmnopqrstuvwxyz"),
]


@pytest.mark.parametrize(("name", "value"), SECRET_ENTRIES)
def test_a_secret_by_its_name_or_in_its_value(name: str, value: str) -> None:
    assert in_entry(name, value) is not None


@pytest.mark.parametrize(("name", "value"), HARMLESS_ENTRIES)
def test_what_is_no_secret(name: str, value: str) -> None:
    assert in_entry(name, value) is None
    assert redact_field(name, value) == value or name == "PROMPT"  # to hide too much does no harm


@pytest.mark.parametrize("issuer", FORMS)
def test_a_secret_by_its_form_alone(issuer: str) -> None:
    """Wherever it stands, in text of any kind; nothing of it is left."""
    secret = FORMS[issuer]
    for text in (secret, f"--with={secret}", f'x("{secret}")', f"a {secret} b", f"- {secret},\n", f"k: '{secret}'"):
        assert in_value(text) is not None, text
        assert secret[8:] not in redact(text), text
    assert in_value(secret[:7]) is None


def test_the_tables_are_as_large_as_they_should_be() -> None:
    assert len(SECRET_ENTRIES) + len(FORMS) >= 90
    assert len(HARMLESS_ENTRIES) >= 75
    assert len({meaning(name) for name, _ in SECRET_ENTRIES}) >= 8


PROGRAMS: Final = [
    ("a.py", 'api_key = "correct-horse"'),
    ("a.py", "PASSWORD = 'hunter2'"),
    ("a.py", 'def connect(password: str = "hunter2") -> None: ...'),
    ("a.py", f'os.environ["HF_TOKEN"] = "{letters(24)}"'),
    ("a.py", f'client(token="{letters(24)}")'),
    ("a.py", f'{{"access_token": "{letters(24)}"}}'),
    ("a.py", 'run(["tool", "--password", "hunter2"])'),
    ("a.py", 'url = "postgresql://etl:hunter2@db/sales"'),
    ("a.py", f"KEY = '''{pem()}'''"),
    ("a.sh", "export DB_PASSWORD=hunter2"),
    ("a.sh", "tool --api-key hunter2 --fast"),
    ("run", "#!/bin/sh\ntool --api-key=hunter2"),
    ("a.yaml", "db:\n  password: hunter2"),
    ("a.env", "SMTP_PASSWORD=hunter2"),
    ("a.ini", "[db]\npassword = hunter2"),
    ("a.json", '{"client_secret": "hunter2"}'),
    ("a.bin", f"\x00\x01{FORMS['hugging face']}"),
]
HARMLESS_PROGRAMS: Final = [
    ("a.py", 'token = os.environ["HF_TOKEN"]'),
    ("a.py", "model = load(name, token=token)"),
    ("a.py", 'tokenizer.add_special_tokens({"pad_token": "[PAD]"})'),
    ("a.py", "tokenizer.pad_token = tokenizer.eos_token"),
    ("a.py", 'next_token = "word"'),
    ("a.py", 'parser.add_argument("--token", help="the token: it is read from a file", default=None)'),
    ("a.py", 'parser.add_argument("--password", "-p", type=str)'),
    ("a.py", "def connect(password: str, secret: bytes) -> None: ..."),
    ("a.py", 'password = getpass("Password: ")'),
    ("a.py", 'client = OpenAI(api_key="EMPTY")'),
    ("a.py", 'headers = {"Authorization": f"Bearer {token}"}'),
    ("a.py", 'secret = client.read("kv/data/hub")["data"]'),
    ("a.py", 'if key == "value" and token != "end": pass'),
    ("a.py", 'PASSWORD_FIELD = "password"'),
    ("a.py", 'raise ValueError("no password: set DB_PASSWORD")'),
    ("a.py", 'url = f"postgresql://{user}:{password}@db/sales"'),
    ("a.sh", 'export DB_PASSWORD="$(cat /run/secrets/password)"'),
    ("a.sh", 'tool --api-key "$API_KEY" --fast'),
    ("a.sh", "tool --token --fast"),
    ("a.yaml", "secretKeyRef:\n  name: hub\n  key: token"),
    ("a.yaml", "password:\n  secret: hub\n  key: password"),
    ("a.yaml", "max_tokens: 512\neos_token: </s>"),
    ("a.json", '{"tokenizer": "bpe", "max_tokens": 512}'),
]


@pytest.mark.parametrize(("name", "text"), PROGRAMS)
def test_a_secret_in_a_file_with_its_line(name: str, text: str) -> None:
    found = in_file(name, b"\n\n" + text.encode("latin-1"))
    assert found
    assert found[0].line >= 3
    assert all(not any(part in item.what for part in ("hunter2", "correct-horse")) for item in found)


@pytest.mark.parametrize(("name", "text"), HARMLESS_PROGRAMS)
def test_a_file_without_secrets(name: str, text: str) -> None:
    assert in_file(name, text.encode()) == ()


HIDDEN: Final = [
    ("DB_PASSWORD: hunter2", "DB_PASSWORD: [hidden]"),
    ("  DB_PASSWORD: hunter2  # of the warehouse", "  DB_PASSWORD: [hidden]  # of the warehouse"),
    ("env: {DB_PASSWORD: hunter2, A: b}", "env: {DB_PASSWORD: [hidden], A: b}"),
    ('env: {"DB_PASSWORD": "hun, ter2", A: b}', 'env: {"DB_PASSWORD": "[hidden]", A: b}'),
    ("DB_PASSWORD: 'it''s'", "DB_PASSWORD: '[hidden]'"),
    ('DB_PASSWORD: "a\\"b"', 'DB_PASSWORD: "[hidden]"'),
    ('DB_PASSWORD: "never closed', 'DB_PASSWORD: "[hidden]'),
    ("DB_PASSWORD: |\n  one\n  two\nA: b", "DB_PASSWORD: |\n  [hidden]\nA: b"),
    ("DB_PASSWORD:\n  hunter2\nA: b", "DB_PASSWORD:\n  [hidden]\nA: b"),
    ("DB_PASSWORD:\n  secret: hub\n  key: token", "DB_PASSWORD:\n  secret: hub\n  key: token"),
    ("args: [--password, hunter2, --fast]", "args: [--password, [hidden], --fast]"),
    ('args: ["--password", "hunter2"]', 'args: ["--password", "[hidden]"]'),
    ("args:\n- --password\n- hunter2\n- --fast", "args:\n- --password\n- [hidden]\n- --fast"),
    ("args: {api-key: hunter2}", "args: {api-key: [hidden]}"),
    ("command: tool --api-key=hunter2 --fast", "command: tool --api-key=[hidden] --fast"),
    ("- name: DB_PASSWORD\n  value: hunter2", "- name: DB_PASSWORD\n  value: [hidden]"),
    ("{name: DB_PASSWORD, value: hunter2}", "{name: DB_PASSWORD, value: [hidden]}"),
    ("{value: hunter2, name: DB_PASSWORD}", "{value: [hidden], name: DB_PASSWORD}"),
    ('{"name": "DB_PASSWORD", "value": "hunter2"}', '{"name": "DB_PASSWORD", "value": "[hidden]"}'),
    ("DB_PASSWORD hunter2", "DB_PASSWORD hunter2"),
    ("s3://a:hunter2@b/c", "s3://a:[hidden]@b/c"),
    ("HF_TOKEN: {secret: hub, key: token}", "HF_TOKEN: {secret: hub, key: token}"),
    ("destinations: {s3: {cidrs: [], secret: s3-key}}", "destinations: {s3: {cidrs: [], secret: s3-key}}"),
    ("- secretKey: token\n  remoteRef:\n    key: ml", "- secretKey: token\n  remoteRef:\n    key: ml"),
    ("leave `automountServiceAccountToken: false`, then", "leave `automountServiceAccountToken: false`, then"),
    ("the token: it is not said", "the token: [hidden]"),
]


@pytest.mark.parametrize(("text", "shown"), HIDDEN)
def test_what_is_hidden(text: str, shown: str) -> None:
    assert redact(text) == shown
    assert redact(shown) == shown


def test_a_cut_secret_is_known_again() -> None:
    """Messages quote at most sixty characters of a value."""
    hidden = Hidden([f"KEY: {FORMS['web token']}\nDB_PASSWORD: correct-horse\nPIN_PASSWORD: abc"])
    cut = f"`{FORMS['web token'][:57]}…` is not a name"
    assert hidden.redact(cut) == "`[hidden]…` is not a name"
    assert hidden.redact("`correct-horse` is not a name") == "`[hidden]` is not a name"
    assert hidden.redact("`correct` is not a name") == "`[hidden]` is not a name"
    assert hidden.redact("corrected") == "corrected"
    assert hidden.redact("expected 3, got `abc`; abc") == "expected 3, got `[hidden]`; abc"


@given(st.text(max_size=400), st.sampled_from(sorted(FORMS)))
def test_spans_are_in_order_and_apart(text: str, issuer: str) -> None:
    whole = f"{text} {FORMS[issuer]} {text}"
    found = spans(whole)
    assert all(0 <= item.start < item.end <= len(whole) for item in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert FORMS[issuer] not in redact(whole)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "eyJ",
            "-eyJ",
            "eyJ.",
            "sk-",
            "sk-ant-",
            "a-sk-",
            "hf_",
            "-----BEGIN PRIVATE KEY-----",
            "token",
            "token=",
            "xox",
        ),
        *(
            "--token ",
            "password: |\n ",
            "://a:",
            "://",
            "?token=",
            "&a=",
            "value: a, name: token",
            "AKIA",
            "Bearer ",
            '"',
        ),
        *(
            "token: '",
            'token: "\\',
            "a",
            "A1",
            "=",
            "/",
            "\n",
            "name: token\nvalue:\n",
            "SG.",
            "pypi-",
            "8Q~",
            "key: {",
        ),
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    """Of what each pattern begins with, a quarter of what a run may ship."""
    text = (piece * (2**18 // len(piece)))[: 2**18]
    started = time.process_time()
    spans(text)
    in_file("a.yaml", text.encode())
    assert time.process_time() - started < 3  # what is quadratic would take minutes
