"""Law 10 for input that means harm: each class ends in a finding at its place, soon, and nothing leaks or is followed.

The classes, and where each is tried:

- size, of files, texts, keys, findings and projects: here; of values and documents in test_source.py
- depth, aliases, merge keys, tags and surrogates: test_source.py
- numbers with thousands of digits: test_scalars.py
- characters that hide or turn text: here
- traversal by `..`, absolute paths, symbolic links, devices: here; below generated/: test_files.py
- templates and patterns in names and text: here
- URIs that lead elsewhere, or hold credentials: here, and test_literals.py
- floods of one kind: test_cli.py; patches without end: test_patched.py; inputs without end: tests/fuzz
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_core import PydanticCustomError

from mlspec import source
from mlspec.model.handover import repository_path
from mlspec.model.sources import relative_path
from mlspec.model.uris import model_uri
from mlspec.spec import bounds, discover, opening, shipped
from tests.support import ENVIRONMENT, PEAK, PROJECT, make_root, mlspec, objects, snapshot, write_tree

_STEP = "steps: {a: {kind: job, image: 'a/b:1', command: [x]}}\n"


def _codes(text: str | bytes) -> list[tuple[str, int, int]]:
    """Return the findings of the reader: code, line, column."""
    found = source.read("f", text.encode() if isinstance(text, str) else text)[1]
    return [(item.code, item.span.line, item.span.column) for item in found]


# --- characters ---


@pytest.mark.parametrize("char", [*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"])
def test_what_turns_text_around_is_refused_wherever_it_stands(char: str) -> None:
    assert _codes(f"a: 1 # {char}\nb: x{char}\n") == [("MLS109", 1, 8), ("MLS109", 2, 5)]
    assert _codes(f'a: "\\u{ord(char):04x}"\n') == [("MLS109", 1, 4)]
    assert _codes(f"x{char}: 1\n") == [("MLS109", 1, 2)]


@pytest.mark.parametrize("char", [*"\u00ad\u115f\u200b\u2060\u2064\u3164\uffa0", "\U000e0041", "\U000e01ef"])
def test_what_cannot_be_seen_is_refused_wherever_it_stands(char: str) -> None:
    assert _codes(f"a: x{char}\n# {char}\n") == [("MLS109", 1, 5), ("MLS109", 2, 3)]
    assert _codes(f'a: "\\U{ord(char):08x}"\n') == [("MLS109", 1, 4)]


@pytest.mark.parametrize("char", [*"\u200c\u200d\ufe0f"])
def test_joiners_belong_to_words_and_pictures_but_make_two_keys_look_like_one(char: str) -> None:
    assert not _codes(f"a: x{char}y # {char}\n")
    assert _codes(f"a{char}: 1\n") == [("MLS109", 1, 1)]


def test_a_byte_order_mark_stands_at_the_beginning_and_nowhere_else() -> None:
    assert _codes("a: x\ufeff\n") == [("MLS109", 1, 5)]
    assert not _codes('a: "\\ufeff"\n'), "an escape is seen, and stays one in what is written"


@pytest.mark.parametrize("char", ["\x85", "\u2028", "\u2029", "\r"])
def test_a_comment_cannot_hold_a_field_behind_an_end_of_line_that_few_see(char: str) -> None:
    assert _codes(f"a: 1 # harmless{char}b: 2\n") == [("MLS109", 1, 16)]


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_one_kind_of_line_break_is_fine(line_break: str) -> None:
    assert not _codes(f"a: 1{line_break}# x{line_break}b: 2{line_break}")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp037"])
def test_other_encodings_are_refused(encoding: str) -> None:
    assert {code for code, _, _ in _codes("a: é\n".encode(encoding))} == {"MLS109"}


def test_every_character_is_reported_and_the_last_finding_says_that_there_are_more() -> None:
    assert len(_codes("a: \x01\x02\u202e\n")) == 3
    found = _codes("# " + "\u200b" * 20_000)
    assert len(found) == source.MAX_FINDINGS + 1
    assert found[-1][0] == "MLS108"


def test_no_character_of_a_users_moves_the_cursor_or_turns_the_output(tmp_path: Path) -> None:
    project = PROJECT + 'steps: {a: {kind: job, image: "\\e[31m\\u0007x"}} # \u202e\n'
    root = make_root(tmp_path, project)
    for output in ("full", "concise"):
        shown = mlspec(root, "check", "--output-format", output).stdout
        assert "MLS109" in shown
        assert not set(shown) & set("\x1b\x07\u202e")


def test_digits_of_other_scripts_are_text_to_yaml() -> None:
    assert _codes("3: a\n") == [("MLS107", 1, 1)]
    assert not _codes("\u0663: a\n")


# --- sizes ---


def test_long_keys_and_texts_are_refused_where_they_stand() -> None:
    fits = f"? {'k' * source.MAX_KEY}\n: {'x' * source.MAX_TEXT}\n"
    assert not _codes(fits)
    assert _codes(f"a: 1\n? k{'k' * source.MAX_KEY}\n: 2\n") == [("MLS108", 2, 3)]
    assert _codes(f"a: 1\nb: x{'x' * source.MAX_TEXT}\n") == [("MLS108", 2, 4)]


def test_what_is_too_long_is_not_printed(tmp_path: Path) -> None:
    long = "y" * 100_000
    fields = f"""\
    volumes: {{v: {{size: "{long}", class: "{long}"}}}}
    steps:
      a: {{kind: job, image: "{long}", script: "../{long}", deadline: "{long}", queue: "{long}"}}
      b: {{kind: job, image: "a/b:1", files: {{k: "{long}"}}}}
    services:
      s: {{kind: kserve, model: {{format: onnx, uri: "s3://b/{long} "}}}}
      t: {{kind: kserve, model: {{format: onnx, from: a, path: "/{long}"}}}}
    """
    result = mlspec(make_root(tmp_path, textwrap.dedent(fields)), "check", "--output-format", "concise")
    assert result.code == 1
    assert result.stdout.count("error[") >= 8
    assert max(map(len, result.stdout.splitlines())) < 300


def _measured(root: Path) -> tuple[int, str, float, float]:
    """Return what a check of its own process gave back: exit code, output, seconds of CPU, MiB."""
    out, peak = root / ".out", root / ".peak"
    arguments = ["mlspec", "check", "--root", str(root), "--output-format", "concise"]
    code = (
        f"{PEAK}import pathlib, sys\nsys.argv = {arguments}\nfrom mlspec.cli import run\nstatus = run()\n"
        f"pathlib.Path({str(peak)!r}).write_text(str(megabytes()))\nsys.exit(status)\n"
    )
    with out.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=file, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, out.read_text(), usage.ru_utime + usage.ru_stime, float(peak.read_text())


@pytest.mark.parametrize(
    ("name", "text", "findings"),
    [
        ("variables", "steps:\n  a:\n    kind: job\n    image: i\n    env:\n" + "      {}x: 1\n", 10_000),
        ("nulls", "steps:\n  a:\n    kind: job\n    image: i\n    env:\n" + "      A{}:\n", 10_000),
        ("unknown keys", "k{}: 1\n", 10_000),
        ("steps without anything", "steps:\n  k{}: 1\n", 10_000),
        ("steps with a typo", "steps:\n  k{}: {{kind: job, image: 'a/b:1', zz: 1}}\n", 5_000),
    ],
)
def test_ten_thousand_findings_are_all_reported(name: str, text: str, findings: int, tmp_path: Path) -> None:
    *head, repeated = text.splitlines(keepends=True)
    flood = "".join(head) + "".join(repeated.format(number) for number in range(findings))
    root = make_root(tmp_path, PROJECT + flood)
    code, shown, seconds, megabytes = _measured(root)
    assert code == 1
    assert findings <= shown.count("error[") <= findings + 2, shown[:500]
    assert "internal error" not in shown
    assert seconds < 5, name
    assert megabytes < 200, name


def test_of_more_findings_it_says_that_there_are_more(tmp_path: Path) -> None:
    root = make_root(tmp_path, PROJECT + "".join(f"k{number}: 1\n" for number in range(40_000)))
    code, shown, seconds, megabytes = _measured(root)
    assert code == 1
    assert shown.count("MLS102") == source.MAX_FINDINGS
    assert f"more than {source.MAX_FINDINGS} faults in one document" in shown
    assert seconds < 5
    assert megabytes < 200


def test_a_project_has_no_more_workloads_than_kustomize_can_build(tmp_path: Path) -> None:
    step = "  s{}: {{kind: job, image: 'a/b:1', command: [x]}}\n"
    steps = [step.format(number) for number in range(bounds.MAX_WORKLOADS + 1)]
    root = make_root(tmp_path, PROJECT + "steps:\n" + "".join(steps))
    result = mlspec(root, "check")
    assert result.code == 1
    assert (
        f"error[MLS108]: {len(steps)} steps, services and predictors in one project; at most {len(steps) - 1} fit"
        in result.stdout
    )
    assert "mlproject.yaml:206:3  (steps.s200)" in result.stdout
    make_root(root, PROJECT + "steps:\n" + "".join(steps[1:]))
    assert mlspec(root, "generate").code == 0


def test_an_override_adds_no_more_workloads_than_fit_either(tmp_path: Path) -> None:
    step = "s{}: {{kind: job, image: 'a/b:1', command: [x]}}"
    half = bounds.MAX_WORKLOADS // 2 + 1
    own, more = (", ".join(step.format(n) for n in range(start, start + half)) for start in (0, half))
    root = make_root(tmp_path, PROJECT + f"steps: {{{own}}}\nenvironments: {{dev: {{steps: {{{more}}}}}}}\n")
    result = mlspec(root, "check", "--output-format", "concise")
    assert result.code == 1
    assert "mlproject.yaml:6:" in result.stdout
    assert "MLS108" in result.stdout


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("predictors", "services: {{s: {{kind: seldon, predictors: {{{}}}}}}}\n"),
        ("files", "steps: {{a: {{kind: job, image: 'a/b:1', command: [x], files: {{{}}}}}}}\n"),
    ],
)
def test_a_service_and_a_step_hold_no_more_than_fit(name: str, text: str, tmp_path: Path) -> None:
    model = "{{traffic: 0, model: {{implementation: SKLEARN_SERVER, uri: 'gs://b/m'}}}}"
    item = f"p{{0}}: {model}" if name == "predictors" else "f{0}: /x/{0}"
    root = make_root(tmp_path, PROJECT + text.format(", ".join(item.format(number) for number in range(5000))))
    code, shown, seconds, megabytes = _measured(root)
    assert code == 1
    assert "mlproject.yaml:5:" in shown
    assert "error[MLS108] 5000 " in shown
    assert seconds < 5
    assert megabytes < 200


def _needing(number: int, more: str) -> str:
    """Return a step that needs every step before it."""
    needs = ", ".join(f"s{other}" for other in range(number))
    return f"  s{number}: {{kind: job, image: 'a/b:1', command: [x], mounts: {{m: /m}}, needs: [{needs}]{more}}}\n"


@pytest.mark.parametrize("more", ["", ", gpu: t4:1", ", gate: {a: {atLeast: 1}}"])
def test_steps_that_all_need_one_another_are_planned_soon(more: str, tmp_path: Path) -> None:
    """There are more ways through these steps than anybody could walk: 2 to the power of 58."""
    steps = "".join(_needing(number, more) for number in range(60))
    service = "services: {s: {kind: kserve, model: {format: onnx, from: s0}}}\n"
    environment = ENVIRONMENT + "promotion: follow\nquota: {cpu: 100, memory: 1Ti}\n"
    volumes = "volumes: {m: {size: 1Gi, access: ReadWriteMany}}\n"
    root = make_root(tmp_path, PROJECT + volumes + "steps:\n" + steps + service, {"dev": environment})
    began = time.process_time()
    assert mlspec(root, "generate").code == 0
    assert time.process_time() - began < 5


def test_a_file_of_a_hundred_megabytes_is_not_read(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    with (root / "mlproject.yaml").open("wb") as file:
        file.truncate(100 << 20)
    code, shown, seconds, megabytes = _measured(root)
    assert (code, "MLS108" in shown) == (1, True)
    assert seconds < 5
    assert megabytes < 200


# --- files that are none, and links ---


def _secret(folder: Path) -> Path:
    """Return a file outside of the root, which nobody may read through it."""
    return write_tree(folder / "outside", {"secret.yaml": f"{PROJECT}zz: precious\n"}) / "secret.yaml"


@pytest.mark.parametrize("name", ["mlproject.yaml", "environments/dev.yaml", "environments/common.yaml"])
def test_a_link_out_of_the_root_is_not_read(name: str, tmp_path: Path) -> None:
    secret, root = _secret(tmp_path), make_root(tmp_path / "root", _STEP)
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to(secret)
    for arguments in (("check",), ("generate",)):
        result = mlspec(root, *arguments)
        assert result.code == 2
        assert f"{name}:1:1" in result.output
        assert "error[MLS112]: a symbolic link leads out of the root" in result.output
        assert "precious" not in result.output
    assert not (root / "generated").exists()


def test_a_link_inside_the_root_is_read(tmp_path: Path) -> None:
    root = write_tree(make_root(tmp_path / "root"), {"shared/p.yaml": PROJECT + _STEP, "shared/e.yaml": ENVIRONMENT})
    (root / "mlproject.yaml").symlink_to("shared/p.yaml")
    (root / "environments/prod.yaml").symlink_to("../shared/e.yaml")
    (tmp_path / "also").symlink_to("root")
    assert mlspec(tmp_path / "also", "generate").code == 0, "the root itself may be reached by a link"
    assert (root / "generated/demo/overlays/prod").is_dir()


def test_the_folder_of_environments_leads_nowhere_else(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root", _STEP)
    (root / "environments").rename(tmp_path / "elsewhere")
    (root / "environments").symlink_to(tmp_path / "elsewhere")
    result = mlspec(root, "check")
    assert result.code == 2
    assert "environments/dev.yaml:1:1" in result.stdout


def test_a_project_named_through_a_linked_folder_is_not_read_outside(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root", _STEP)
    write_tree(tmp_path / "outside", {"mlproject.yaml": f"{PROJECT}zz: precious\n"})
    (root / "team").symlink_to(tmp_path / "outside")
    result = mlspec(root, "check", "team/mlproject.yaml")
    assert result.code == 2
    assert "team/mlproject.yaml:1:1" in result.stdout
    assert "precious" not in result.output


def test_a_device_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(opening.RefusedError, match="not a regular file"):
        opening.read_below(Path("/dev"), Path("/dev"), "zero", 10)
    with pytest.raises(opening.RefusedError, match="folder"):
        opening.read_below(tmp_path.parent, tmp_path.parent, tmp_path.name, 10)


def test_a_file_that_grows_is_cut(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 100)
    assert opening.read_linked(tmp_path, tmp_path / "f", 10) == b"x" * 10


def _dig(folder: Path, levels: int) -> None:
    """Make folders inside of one another; by steps, since a path has an end."""
    before = Path.cwd()
    try:
        os.chdir(folder)
        for _ in range(levels):
            Path("a").mkdir()
            os.chdir("a")
        Path("file").write_text("x")
    finally:
        os.chdir(before)


def test_folders_without_end_are_not_walked_to_theirs(tmp_path: Path) -> None:
    root = make_root(tmp_path, _STEP)
    assert mlspec(root, "generate").code == 0
    _dig(root / "generated/demo", discover.MAX_FOLDERS + 20)
    checked = mlspec(root, "generate", "--check")
    assert checked.code == 1
    assert checked.stdout.count("MLS504") == 1
    _dig(root, discover.MAX_FOLDERS + 20)
    result = mlspec(root, "check")
    assert result.code == 2
    assert f"cannot be read: folders are nested deeper than {discover.MAX_FOLDERS} levels" in result.stdout


def _swap_for_link(place: Path, secret: Path) -> None:
    place.unlink()
    place.symlink_to(secret)


def _swap_folder(place: Path, secret: Path) -> None:
    place.parent.rename(place.parent.with_name("moved"))
    write_tree(secret.parent, {place.name: "precious"})
    place.parent.symlink_to(secret.parent)


def _swap_for_pipe(place: Path, _: Path) -> None:
    place.unlink()
    os.mkfifo(place)


def _lose(place: Path, _: Path) -> None:
    place.unlink()


@pytest.mark.parametrize("swap", [_swap_for_link, _swap_folder, _swap_for_pipe, _lose])
def test_what_is_put_there_after_the_look_is_not_read(
    swap: Callable[[Path, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_root(tmp_path / "root", "steps: {a: {kind: job, image: 'a/b:1', script: src/t.py}}\n")
    place = write_tree(root, {"src/t.py": "print()\n"}) / "src/t.py"
    secret = _secret(tmp_path)
    looked = shipped._obstacle

    def obstacle(folder: Path, path: str) -> tuple[str, str] | None:
        found = looked(folder, path)
        swap(place, secret)
        return found

    monkeypatch.setattr(shipped, "_obstacle", obstacle)
    result = mlspec(root, "check")
    assert result.code == 1
    assert "error[MLS246]: `src/t.py` cannot be read" in result.stdout
    assert "mlproject.yaml:5:" in result.stdout
    assert "precious" not in result.output


def test_a_file_that_nobody_may_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_root(tmp_path, "steps: {a: {kind: job, image: 'a/b:1', script: t.py}}\n")
    write_tree(root, {"t.py": "print()\n"})
    real = os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path in ("t.py", "dev.yaml"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    result = mlspec(root, "check")
    assert result.code == 2
    assert "error[MLS112]: cannot be read: permission denied\n  --> environments/dev.yaml:1:1" in result.stdout
    assert "error[MLS246]: `t.py` cannot be read: permission denied" in result.stdout


def test_names_of_files_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    """What is in the name of a folder or an environment reaches neither the terminal nor a path below generated/."""
    root = make_root(tmp_path, _STEP)
    hostile = ["x\n", "\x1b[31m", "\u202eprod", "{{ x }}", "$(id)", "-e", " ", "a b", os.fsdecode(b"\xff"), "٣", "Prod"]
    for name in hostile:
        (root / "environments" / f"{name}.yaml").write_text(ENVIRONMENT)
        write_tree(root, {f"{name}/mlproject.yaml": PROJECT.replace("demo", "Not A Name") + _STEP})
    result = mlspec(root, "check", "--output-format", "concise")
    assert result.code == 1
    assert result.stdout.count("is not a name of an environment") == len(hostile)
    assert result.stdout.count("is not a name:") == len(hostile)
    assert not set(result.stdout) & set("\x1b\u202e")
    assert mlspec(root, "generate").code == 1
    assert not (root / "generated").exists()


# --- paths, URIs, templates ---

_PATHS = [
    *("../x", "a/../../x", "/etc/passwd", "..", "a/..", "a\\b", "..\\x", "a\0b", "a\nb", "a\u2028b", "a\x7f", ""),
    *("a/", ".", "./", "$(HOME)/x", "${HOME}", "x" * 5000),
]


@pytest.mark.parametrize("path", _PATHS)
def test_a_path_of_the_repository_stays_below_the_project(path: str) -> None:
    with pytest.raises(PydanticCustomError):
        repository_path(path)


@pytest.mark.parametrize(
    "path", [*_PATHS[:4], *_PATHS[5:12], ".", "./", "a?b", "a#b", "a b", "%2e%2e/x", "{x}", "$(X)"]
)
def test_a_path_of_a_model_stays_below_its_run(path: str) -> None:
    with pytest.raises(PydanticCustomError):
        relative_path(path)


_FINE = """
s3://bucket s3://b/a/m.onnx s3://b/modèle s3://b//x gs://b_u.c/m hf://org/model:rev hf://org/model@main
pvc://claim pvc://a.b/c/d oci://ghcr.io/acme/m:1.0 oci://localhost:5000/m
https://h:8443/m.tar https://10.0.0.1/m https://h/a%20b/c
"""
_UNSAFE = """
http://h/m file:///etc/passwd ftp://h/m S3://b/m s3:b/m //h/m javascript://h/m s3:// s3:///m https:///m
https://u:p@h/m https://u@h/m s3://k:s@b/m https://h/m?x=1 https://h/m#f
s3://b/../m s3://b/./m s3://../m pvc://../m pvc://c/../../m pvc://C/m pvc://c//m pvc:///m
https://h/%2e%2e/m https://h/%2E/m https://h/a%2fb https://h/%5cb https://h/%252e https://h/%0a https://h/% https://h/%zz
s3://bücket/m https://gооgle.com/m https://h/a\\b https://h\\@g/m
https://[::1]/m https://[fe80::1%25eth0]/m https://127.0.0.1/m https://localhost/m https://a.localhost/ https://0/m
https://2130706433/m https://0x7f000001/m https://0177.0.0.1/m https://127.1/m
https://169.254.169.254/latest/meta-data https://metadata.google.internal/m https://metadata/m
https://h/$(AWS_SECRET_ACCESS_KEY) s3://b/${X} s3://{project}/m s3://b/" s3://b/`id` s3://b/<x> s3://b/a|b s3://b/a^b
https://-h/m https://h-/m https://h..g/m https://h:123456/m https://h:x/m
"""
_NOT_PRINTABLE = [
    "s3://b/a b",
    "s3://b/m\n",
    "s3://b/\tm",
    "s3://b/\x00",
    "s3://b/\x7f",
    "s3://b/\u202e",
    "s3://b/\u200b",
]
_MORE_UNSAFE = [*_NOT_PRINTABLE, "s3://b/{{ x }}", "s3://b/" + "x" * 5000, ""]


@pytest.mark.parametrize("uri", _FINE.split())
def test_uris_of_models(uri: str) -> None:
    assert model_uri(uri) == uri


@pytest.mark.parametrize("uri", [*_UNSAFE.split(), *_MORE_UNSAFE])
def test_uris_that_are_refused(uri: str) -> None:
    with pytest.raises(PydanticCustomError):
        model_uri(uri)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(
            ("repoURL", url)
            for url in ("ssh://-oProxyCommand=id/x", "-oProxyCommand=id@h:x", "git@h:-x", "https://", "x")
        ),
        *(("repoURL", url) for url in ("https://u:p@h/x", "file:///x", "ext::sh -c id", "https://-h/x")),
        *(("revision", name) for name in ("--upload-pack=id", "-x", "a..b", "a b", "a\n", "a:b", "@{-1}")),
        *(("path", path) for path in ("../x", "a/../../x", "/x", "a/..", ".", "a/./b", "a b", "a//b")),
    ],
)
def test_argo_cd_is_told_no_option_and_no_way_out(field: str, value: str, tmp_path: Path) -> None:
    text = ENVIRONMENT.replace('argocd: {repoURL: "https://git.example.com/ml/models.git"}', "").rstrip()
    given = {"repoURL": "https://git.example.com/ml/models.git", field: value}
    fields = ", ".join(f'{key}: "{item}"'.replace("\n", "\\n") for key, item in given.items())
    root = make_root(tmp_path, _STEP, {"dev": f"{text}\nargocd: {{{fields}}}\n"})
    result = mlspec(root, "check")
    assert result.code == 1
    assert "error[MLS10" in result.stdout
    assert f"(argocd.{field})" in result.stdout


def test_templates_in_text_are_text(tmp_path: Path) -> None:
    """Nothing of ours expands what a user writes; `$(NAME)` in arguments is Kubernetes' own."""
    words = ["{{ .Values.x }}", "${HOME}", "{project}", "{0.__class__}", "%s", "$(id)", "`id`", "<% x %>"]
    args = ", ".join(f'"{word}"' for word in words)
    root = make_root(tmp_path, f"steps: {{a: {{kind: job, image: 'a/b:1', command: [x], args: [{args}]}}}}\n")
    assert mlspec(root, "generate").code == 0
    job = next(body for body in objects(root) if body["kind"] == "Job")
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert (container.get("command", []) + container.get("args", []))[-len(words) :] == words


@pytest.mark.parametrize(
    "pattern", ["{0.__class__}", "{project.name}", "{{project}}", "{", "}", "{environment!r}", "{}"]
)
def test_patterns_know_three_words_and_nothing_of_python(pattern: str, tmp_path: Path) -> None:
    environment = ENVIRONMENT + f'namespace: {{pattern: "{pattern}"}}\n'
    result = mlspec(make_root(tmp_path, _STEP, {"dev": environment}), "check")
    assert result.code == 1
    assert "error[MLS105]: unknown placeholder" in result.stdout


def test_what_a_placeholder_stands_for_is_not_read_again(tmp_path: Path) -> None:
    environment = ENVIRONMENT + 'serviceAccounts: {annotations: {a/b: "{owner}-{environment}"}}\n'
    project = PROJECT.replace("owner: team", 'owner: "{environment}{project}"') + _STEP
    root = make_root(tmp_path, project, {"dev": environment})
    assert mlspec(root, "generate").code == 0
    written = b"".join(content for path, content in snapshot(root / "generated").items() if "/dev/" in path)
    assert b'value: "{environment}{project}-dev"' in written


_NAMES = [
    "a\n",
    "a\r",
    " a",
    "a ",
    "٣",
    "a٣",
    "ａ",
    "..",
    ".",
    "a/b",
    "a\\b",
    "{{x}}",
    "${x}",
    "$(x)",
    "a.b",
    "A",
    "-a",
    "",
]


@pytest.mark.parametrize("name", _NAMES)
def test_names_are_names_to_every_reader(name: str, tmp_path: Path) -> None:
    """A trailing line break, digits of other scripts, and paths: none of them is a name anywhere."""
    written = json.dumps(name, ensure_ascii=False)
    fields = f"""\
    volumes: {{{written}: {{size: 1Gi}}}}
    steps: {{{written}: {{kind: job, image: 'a/b:1', env: {{{written}: x}}}}}}
    services: {{{written}: {{kind: kserve, model: {{format: onnx, uri: 's3://b/m'}}}}}}
    """
    project = PROJECT.replace("demo", written) + textwrap.dedent(fields)
    result = mlspec(make_root(tmp_path, project), "check", "--output-format", "concise")
    assert result.code == 1
    for line in ("3:7", "5:11", "6:9", "7:12"):
        assert f"mlproject.yaml:{line}: error[MLS105]" in result.stdout, line
