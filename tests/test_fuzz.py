"""The corpus of hostile specs, some hundred changed ones, and what hypothesis thinks of: none ends in a traceback."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlspec import source
from tests.fuzz import corpus
from tests.fuzz.__main__ import make, run
from tests.fuzz.corpus import Kind
from tests.fuzz.target import Outcome, Target
from tests.strategies import Root, roots

_FILES: list[tuple[Kind, Path]] = [
    *(("project", path) for path in corpus.files("project")),
    *(("environment", path) for path in corpus.files("environment")),
]
_MUTANTS = 300
_VALID = {"pipeline-to-kserve", "tensorflow-roles", "seldon-predictors", "kserve-own-container", "crlf", "everything"}
_VALID |= {"byte-order-mark"}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Target:
    """Return a root in which one file is exchanged for each input."""
    return Target(tmp_path_factory.mktemp("root"))


def _fine(outcome: Outcome) -> Outcome:
    assert not outcome.failure, outcome.failure
    assert outcome.seconds < 5
    return outcome


@pytest.mark.parametrize(("kind", "path"), _FILES, ids=[path.stem for _, path in _FILES])
def test_what_the_corpus_holds_is_judged(kind: Kind, path: Path, target: Target) -> None:
    outcome = _fine(target.run(kind, path.read_bytes()))
    errors = {code for code in outcome.codes if code < "MLS4"}
    assert bool(errors) != (path.stem in _VALID), outcome.codes


def test_changed_specs_are_judged() -> None:
    """In a process of its own, whose memory holds nothing of other tests."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        tally = pool.submit(run, seed=1, numbers=range(_MUTANTS)).result()
    assert not tally.failures, "\n".join(tally.failures)
    assert tally.count == _MUTANTS
    assert len(tally.codes) > 25, "most of them should get past the first finding"
    assert tally.slowest[0] < 5
    assert 20 < tally.largest[0] < 200, "MiB"


def test_an_input_is_the_same_every_time() -> None:
    assert [make(3, number) for number in range(20)] == [make(3, number) for number in range(20)]
    assert len({make(3, number)[1] for number in range(20)}) > 15


def test_a_traceback_is_found_and_the_input_kept(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("tests.fuzz.target.compile_workspace", fail)
    monkeypatch.setattr(corpus, "FOLDER", tmp_path)
    (tmp_path / "projects").mkdir()
    (tmp_path / "environments").mkdir()
    monkeypatch.setattr("tests.fuzz.__main__.Target", lambda _: target)
    monkeypatch.setattr("tests.fuzz.__main__.make", lambda *_: ("project", b"x: 1\n"))
    tally = run(seed=1, numbers=[0])
    assert len(tally.failures) == 1
    assert "on purpose" in tally.failures[0]
    assert len(list(tmp_path.rglob("found-*.yaml"))) == 1


# What hypothesis writes is valid; one place of its text is then exchanged for something else.
_pieces = st.sampled_from(
    [
        "",
        " ",
        "\t",
        "\n",
        "\r",
        ": ",
        "- ",
        "? ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "#",
        "&a ",
        "*a",
        "!!int ",
        "<<: ",
        "|\n",
        "'",
    ]
) | st.text(max_size=5)


@settings(max_examples=60)
@given(root=roots(), data=st.data())
def test_a_valid_root_with_other_pieces_is_judged(root: Root, data: st.DataObject, target: Target) -> None:
    files = root.files()
    name = data.draw(st.sampled_from(["mlproject.yaml", *(f"environments/{name}.yaml" for name in root.environments)]))
    text = files[name]
    assert isinstance(text, str)
    for _ in range(data.draw(st.integers(1, 3))):
        start, lost = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 30))
        text = text[:start] + data.draw(_pieces) + text[start + lost :]
    kind: Kind = "project" if name == "mlproject.yaml" else "environment"
    _fine(target.run(kind, text.encode("utf-8", "surrogatepass")))


@settings(max_examples=150)
@given(data=st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_judged(data: bytes, target: Target) -> None:
    outcome = _fine(target.run("project", data))
    documents, _ = source.read("mlproject.yaml", data)
    assert outcome.codes or documents
