"""preprocess.py: a source in, a whole and verified data set out, or one line that says what is wrong."""

from __future__ import annotations

import ast
import gzip
import hashlib
import http.server
import json
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support import REPOSITORY
from tests.training.launch import environment, polls

SCRIPT: Final = REPOSITORY / "mlspec" / "training" / "preprocess.py"
_FILES: Final = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def _images(count: int, side: int = 4) -> bytes:
    return struct.pack(">4I", 0x803, count, side, side) + bytes(number % 256 for number in range(count * side * side))


def _labels(count: int, classes: int = 3) -> bytes:
    return struct.pack(">2I", 0x801, count) + bytes(number % classes for number in range(count))


class Site:
    """A folder of four files, and how they are answered for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked, self.failures, self.cuts = folder, list[str](), 0, 0
        self.held = threading.Event()
        self.held.set()
        folder.mkdir()
        for name, data in zip(_FILES, (_images(25), _labels(25), _images(7), _labels(7)), strict=True):
            self.put(name, data)

    def put(self, name: str, data: bytes, *, raw: bool = False) -> None:
        """Give a file other contents."""
        (self.folder / name).write_bytes(data if raw else gzip.compress(data, mtime=0))

    def checksums(self) -> Path:
        """Write what the files' checksums are now."""
        path = self.folder / "checksums.json"
        path.write_text(
            json.dumps({name: hashlib.sha256((self.folder / name).read_bytes()).hexdigest() for name in _FILES})
        )
        return path


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


@pytest.fixture
def url(site: Site) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            site.held.wait()
            if site.failures:
                site.failures -= 1
                self.send_error(503)
                return
            path = site.folder / self.path.rpartition("/")[2]
            if not path.exists():
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(path.stat().st_size))
            self.end_headers()
            self.wfile.write(path.read_bytes()[: -1 if site.cuts else None])
            site.cuts = max(0, site.cuts - 1)

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mnist"
        site.held.set()
        server.shutdown()
        thread.join()


def _run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    alone = ["-S", "-E"] if "--source=mnist" in arguments else []
    return subprocess.run(
        [sys.executable, *alone, str(SCRIPT), *map(str, arguments)],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _mnist(site: Site, url: str, out: Path, *more: object) -> subprocess.CompletedProcess[str]:
    return _run("--source=mnist", "--url", url, "--checksums", site.checksums(), "--out", out, *more)


def _published(out: Path) -> list[str]:
    """Return what lies in a folder, without the file that is locked while a data set is made."""
    return sorted(path.name for path in out.iterdir() if path.name != ".dataset.lock") if out.exists() else []


def _told(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "dataset" / "_SUCCESS").read_text())
    return found


def test_files_in_mnists_format_become_shards(site: Site, url: str, tmp_path: Path) -> None:
    """With the standard library alone (`python -S`): sizes, counts and sha256 are told, the pixels are the source's."""
    result = _mnist(site, url, tmp_path / "out", "--shard-size=10")
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    told = _told(tmp_path / "out")
    assert (told["format"], told["shape"], told["classes"]) == (1, [1, 4, 4], 3)
    assert {name: [s["count"] for s in split["shards"]] for name, split in told["splits"].items()} == {
        "train": [10, 10, 5],
        "test": [7],
    }
    for name, count in (("train", 25), ("test", 7)):
        for part, data in (("images", _images(count)[16:]), ("labels", _labels(count)[8:])):
            shards = told["splits"][name]["shards"]
            found = [(tmp_path / "out" / "dataset" / shard[part]).read_bytes() for shard in shards]
            assert b"".join(found) == data
            assert [hashlib.sha256(each).hexdigest() for each in found] == [s["sha256"][part] for s in shards]
    assert _published(tmp_path / "out") == ["dataset"]


def test_a_second_call_fetches_nothing_and_one_with_other_arguments_does(site: Site, url: str, tmp_path: Path) -> None:
    assert _mnist(site, url, tmp_path).returncode == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "dataset").iterdir()}
    site.asked.clear()
    again = _mnist(site, url, tmp_path)
    assert (again.returncode, site.asked) == (0, [])
    assert again.stderr == f"preprocess.py: {tmp_path}/dataset is whole: 25 samples in train, 7 samples in test\n"
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "dataset").iterdir()}
    assert _mnist(site, url, tmp_path, "--shard-size=5").returncode == 0
    assert len(_told(tmp_path)["splits"]["train"]["shards"]) == 5


@pytest.mark.parametrize("fault", ["shard changed", "shard missing", "no _SUCCESS"])
def test_what_is_not_whole_is_made_again(site: Site, url: str, tmp_path: Path, fault: str) -> None:
    assert _mnist(site, url, tmp_path).returncode == 0
    shard = tmp_path / "dataset" / "train-00000.images"
    good = shard.read_bytes()
    if fault == "shard changed":
        shard.write_bytes(b"x" * len(good))
    elif fault == "shard missing":
        shard.unlink()
    else:
        (tmp_path / "dataset" / "_SUCCESS").unlink()
    assert _mnist(site, url, tmp_path).returncode == 0
    assert shard.read_bytes() == good
    assert _published(tmp_path) == ["dataset", "site"]


def test_leftovers_of_a_killed_attempt_are_removed(site: Site, url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / ".dataset-elsewhere-1").mkdir(parents=True)
    (out / ".dataset-elsewhere-1" / "train-00000.images").write_bytes(b"x")
    assert _mnist(site, url, out).returncode == 0
    assert _published(out) == ["dataset"]


def test_a_server_that_fails_at_first_is_asked_again(site: Site, url: str, tmp_path: Path) -> None:
    site.failures = 2
    result = _mnist(site, url, tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("503 Service Unavailable, trying again") == 2


def test_an_answer_that_is_cut_short_is_asked_for_again(site: Site, url: str, tmp_path: Path) -> None:
    site.cuts = 1
    result = _mnist(site, url, tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("trying again") == 1
    assert len(site.asked) == 5


def _start(site: Site, url: str, out: Path) -> subprocess.Popen[bytes]:
    arguments = ("--source=mnist", "--url", url, "--checksums", site.checksums(), "--out", out)
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=environment())


def _asked(site: Site, process: subprocess.Popen[bytes]) -> None:
    for _ in polls("the first request"):
        assert process.poll() is None
        if site.asked:
            return


def test_two_at_once_make_one_data_set(site: Site, url: str, tmp_path: Path) -> None:
    """As two pods of a Job do when a node is lost: the second waits, and neither takes the other's for a leftover."""
    site.held.clear()
    with _start(site, url, tmp_path / "out") as first:
        _asked(site, first)
        with _start(site, url, tmp_path / "out") as second:
            assert second.stderr is not None
            assert second.stderr.readline().startswith(b"preprocess.py: waiting for another process that writes to ")
            site.held.set()
            assert (first.wait(20), second.wait(20)) == (0, 0)
            assert first.stderr is not None
            first.stderr.read()
            second.stderr.read()
    assert len(site.asked) == 4
    assert _published(tmp_path / "out") == ["dataset"]


def test_after_a_kill_the_next_attempt_cleans_up(site: Site, url: str, tmp_path: Path) -> None:
    site.held.clear()
    with _start(site, url, tmp_path / "out") as process:
        _asked(site, process)
        process.kill()
        process.wait(20)
    assert "dataset" not in _published(tmp_path / "out")
    assert len(_published(tmp_path / "out")) == 1
    site.held.set()
    assert _mnist(site, url, tmp_path / "out").returncode == 0
    assert _published(tmp_path / "out") == ["dataset"]


def test_memory_does_not_grow_with_the_data(tmp_path: Path) -> None:
    """67 MB of images, not packed, pass through a process that never holds more than a few."""
    heads = [struct.pack(">4I", 0x803, count, 512, 512) for count in (256, 7)]
    contents = (heads[0] + bytes(256 << 18), _labels(256), heads[1] + bytes(7 << 18), _labels(7))
    sums = {}
    for name, content in zip(_FILES, contents, strict=True):
        (tmp_path / name.removesuffix(".gz")).write_bytes(content)
        sums[name.removesuffix(".gz")] = hashlib.sha256(content).hexdigest()
    (tmp_path / "checksums").write_text(json.dumps(sums))
    script = (
        "import runpy, sys, tracemalloc\n"
        "main = runpy.run_path(sys.argv[1])['main']\n"
        "tracemalloc.start()\n"
        "assert main(sys.argv[2:]) == 0\n"
        "print(tracemalloc.get_traced_memory()[1])\n"
    )
    arguments = ("--source=mnist", "--url", tmp_path.as_uri(), "--checksums", tmp_path / "checksums")
    command = [sys.executable, "-S", "-c", script, SCRIPT, *arguments, "--out", tmp_path / "out"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=True)
    assert int(result.stdout) < 5_000_000
    assert (tmp_path / "out/dataset/train-00000.images").stat().st_size == 256 << 18


def test_a_file_url_needs_no_server(site: Site, tmp_path: Path) -> None:
    assert _mnist(site, site.folder.as_uri(), tmp_path / "out").returncode == 0
    assert _told(tmp_path / "out")["splits"]["test"]["count"] == 7


def test_digits_are_the_same_each_time_and_held_out(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert _run("--source=digits", "--out", tmp_path / name).returncode == 0
    told = _told(tmp_path / "a")
    assert told == _told(tmp_path / "b")
    assert {name: split["count"] for name, split in told["splits"].items()} == {"train": 1437, "test": 360}
    labels = (tmp_path / "a/dataset/test-00000.labels").read_bytes()
    assert set(labels) == set(range(10))


def test_digits_without_scikit_learn_is_one_line(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-S", "-E", SCRIPT, "--source=digits", "--out", tmp_path / "out"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr == (
        "preprocess.py: --source digits needs scikit-learn: pip install scikit-learn, or give another source\n"
    )
    assert not (tmp_path / "out" / "dataset").exists()


def test_out_is_the_run_directory(tmp_path: Path) -> None:
    assert _run("--source=digits", MLSPEC_RUN_DIR=str(tmp_path)).returncode == 0
    assert (tmp_path / "dataset" / "_SUCCESS").exists()


def _bad(site: Site, fault: str) -> str:
    train, labels = _FILES[:2]
    if fault == "cut":
        whole = (site.folder / train).read_bytes()
        site.put(train, whole[: len(whole) // 2], raw=True)
        return "train: cannot be unpacked at sample"
    if fault == "short":
        site.put(train, _images(25)[:-1])
        return "train: ends at sample 24 of 25"
    if fault == "no gzip":
        site.put(train, b"<html>", raw=True)
        return f"{train} is not an idx file of bytes in 3 dimensions"
    if fault == "magic":
        site.put(labels, _images(25))
        return f"{labels} is not an idx file of bytes in 1 dimension"
    if fault == "long":
        site.put(train, _images(25) + b"x")
        return "train: does not end after its 25 samples"
    if fault == "no pixels":
        site.put(train, _images(25, side=0))
        site.put(_FILES[2], _images(7, side=0))
        return "images of 0 × 0 pixels cannot be meant"
    if fault == "fewer labels":
        site.put(labels, _labels(24))
        return "train: 25 images, but 24 labels"
    if fault == "sizes":
        site.put(_FILES[2], _images(7, side=5))
        return "images of the two splits differ in size: [(4, 4), (5, 5)]"
    site.put(train, _images(0))
    site.put(labels, _labels(0))
    return "split train has no samples"


@pytest.mark.parametrize(
    "fault", ["cut", "short", "long", "no gzip", "magic", "no pixels", "fewer labels", "sizes", "empty"]
)
def test_bad_files_are_one_line(site: Site, url: str, tmp_path: Path, fault: str) -> None:
    words = _bad(site, fault)
    _refused(_mnist(site, url, tmp_path / "out"), words, tmp_path / "out")


def _refused(result: subprocess.CompletedProcess[str], words: str, out: Path) -> None:
    assert result.returncode == 2, result.stderr
    lines = [line for line in result.stderr.splitlines() if "trying again" not in line]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("preprocess.py: ")
    assert words in lines[0]
    assert _published(out) == []


def test_another_checksum_names_both(site: Site, url: str, tmp_path: Path) -> None:
    checksums = site.checksums()
    site.put(_FILES[1], _labels(25, classes=2))
    found = hashlib.sha256((site.folder / _FILES[1]).read_bytes()).hexdigest()
    wanted = json.loads(checksums.read_text())[_FILES[1]]
    out = tmp_path / "out"
    result = _run("--source=mnist", "--url", url, "--checksums", checksums, "--out", out)
    _refused(result, f"{_FILES[1]}: sha256 is {found}, {wanted} wanted", out)


def test_mnists_own_checksums_are_the_default(site: Site, url: str, tmp_path: Path) -> None:
    result = _run("--source=mnist", "--url", url, "--out", tmp_path / "out")
    _refused(result, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609 wanted", tmp_path / "out")


def test_a_page_that_is_not_there_is_not_asked_for_again(site: Site, url: str, tmp_path: Path) -> None:
    checksums = site.checksums()
    (site.folder / _FILES[0]).unlink()
    result = _run("--source=mnist", "--url", url, "--checksums", checksums, "--out", tmp_path / "out")
    _refused(result, "cannot be fetched: 404 Not Found (tried 1 time)", tmp_path / "out")


def test_nobody_there_is_said_after_some_tries(site: Site, tmp_path: Path) -> None:
    result = _mnist(site, "http://127.0.0.1:9/mnist", tmp_path / "out")
    _refused(result, "Connection refused (tried 4 times)", tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--source=digits", "--shard-size=0"], "--shard-size must be at least 1, got 0"),
        (["--source=mnist"], "--source mnist wants --url"),
        (["--source=mnist", "--url=ftp://host/mnist"], "--url must begin with https://, http:// or file://, got ftp:"),
        (["--source=mnist", "--url=mnist"], "--url must begin with https://, http:// or file://, got mnist"),
        (["--source=mnist", "--url=https://me:word@host/"], "--url must not hold a user or a password"),
        (["--source=mnist", "--url=http://[host/"], "--url is no URL: "),
        (["--source=mnist", "--url=http://host:port/"], "nonnumeric port: 'port' (tried 1 time)"),
        (["--source=mnist", "--url=file:///nowhere"], "No such file or directory"),
        (["--source=cifar"], "invalid choice: 'cifar'"),
        ([], "--source"),
    ],
)
def test_wrong_calls_are_one_line(tmp_path: Path, arguments: list[str], words: str) -> None:
    result = _run(*arguments, "--out", tmp_path / "out")
    _refused(result, words, tmp_path / "out")
    assert ":word@" not in result.stderr


def test_no_place_to_write_to_is_one_line() -> None:
    result = _run("--source=digits")
    assert (result.returncode, result.stderr) == (2, "preprocess.py: --out is wanted, or MLSPEC_RUN_DIR\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no JSON", "is not JSON of sha256 by file name: "),
        ("[]", "is not JSON of sha256 by file name: "),
        ("{}", "must give a sha256 (64 hexadecimal digits) to each of train-images-idx3-ubyte.gz, "),
        (json.dumps(dict.fromkeys(_FILES, "0" * 63)), "must give a sha256 (64 hexadecimal digits) to each of "),
        (json.dumps(dict.fromkeys(_FILES, "x" * 64)), "is not JSON of sha256 by file name: "),
        (json.dumps(dict.fromkeys((*_FILES[:3], "../t10k-labels-idx1-ubyte"), "0" * 64)), "to each of "),
    ],
)
def test_bad_checksums_are_one_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "checksums").write_text(text)
    out = tmp_path / "out"
    result = _run("--source=mnist", "--url=file:///x", "--checksums", tmp_path / "checksums", "--out", out)
    _refused(result, words, out)


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = _run("--source=digits", "--out", tmp_path / "file" / "out")
    assert result.returncode == 2
    assert result.stderr == f"preprocess.py: {tmp_path}/file/out: Not a directory\n"


def test_no_space_left_publishes_nothing(tmp_path: Path) -> None:
    """A limit on a file's size stands for a full disk: the write fails in the same place."""
    script = f"ulimit -f 8; trap '' XFSZ; exec {sys.executable} {SCRIPT} --source=digits --out {tmp_path}/out"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2, result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "File too large" in result.stderr
    assert _published(tmp_path / "out") == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stop_publishes_nothing(site: Site, url: str, tmp_path: Path, number: signal.Signals, code: int) -> None:
    site.held.clear()
    with _start(site, url, tmp_path / "out") as process:
        _asked(site, process)
        process.send_signal(number)
        assert process.wait(20) == code
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert _published(tmp_path / "out") == []


def test_it_is_python_3_9_and_the_standard_library() -> None:
    tree = ast.parse(SCRIPT.read_text(), feature_version=(3, 9))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert imported - set(sys.stdlib_module_names) == {"sklearn"}
