"""Law 10, located: whatever is wrong in a file that a user wrote, a finding stands in such a file."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import Root, roots
from tests.support import Result, mlspec

Way = tuple[str | int, ...]
_WRONG = {"zz9": {"zz9": 1}}
"""No field takes it: no map of ours has such a key, and no value is such a map."""
# Maps whose keys are names of the user's choice; a misspelt name there is another name.
_FREE = {
    "steps",
    "services",
    "volumes",
    "secrets",
    "environments",
    "env",
    "args",
    "mounts",
    "gpus",
    "storage",
    "destinations",
}
_FREE |= {"podLabels", "nodeSelector", "annotations", "target"}


def ways(value: Any, way: Way = ()) -> Iterator[Way]:
    """Yield the way to every value inside data."""
    if way:
        yield way
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield from ways(item, (*way, key))


def closed(way: Way) -> bool:
    """Say whether the last key is a field, which cannot be spelt otherwise."""
    parent = way[-2] if len(way) > 1 else None
    return isinstance(way[-1], str) and parent not in _FREE and "/" not in way[-1]


def parent_of(data: Any, way: Way) -> Any:
    """Return the map or list that holds the last key."""
    for key in way[:-1]:
        data = data[key]
    return data


def misspell(data: Any, way: Way) -> None:
    """Double the last letter of a key, at its place."""
    parent = parent_of(data, way)
    entries = [(f"{key}{key[-1]}" if key == way[-1] else key, value) for key, value in parent.items()]
    parent.clear()
    parent.update(entries)


@st.composite
def damaged(draw: st.DrawFn) -> Root:
    """Draw a root with one field misspelt, of the wrong type, or null where nothing is overridden."""
    root: Root = copy.deepcopy(draw(roots()))
    data = draw(st.sampled_from([*root.projects, *root.environments.values(), *([root.common] if root.common else [])]))
    found = sorted(ways(data), key=str)
    overrides = root.common is not None and data in root.environments.values()
    damage = draw(st.sampled_from(["key", "type", "key" if overrides else "null"]))
    if damage == "key":
        way = draw(st.sampled_from([way for way in found if closed(way) and parent_of(data, way)[way[-1]] is not None]))
        misspell(data, way)
    elif damage == "null":
        way = draw(st.sampled_from([way for way in found if way[0] != "environments"]))
        parent_of(data, way)[way[-1]] = None
    else:
        way = draw(st.sampled_from(found))
        parent_of(data, way)[way[-1]] = copy.deepcopy(_WRONG)
    return root


def check_findings(result: Result, files: dict[str, str | bytes]) -> None:
    """Fail unless an error stands inside one of the files, and every finding inside what it names."""
    assert result.code == 1, result.output
    assert "Traceback" not in result.output
    assert "internal error" not in result.output
    found = result.json()["diagnostics"]
    assert any(item["severity"] == "error" for item in found)
    for item in found:
        assert item["file"] in files, item
        content = files[item["file"]]
        lines = (content if isinstance(content, str) else content.decode()).split("\n")
        start, end = item["range"]["start"], item["range"]["end"]
        assert 1 <= start["line"] <= end["line"] <= len(lines), item
        assert 1 <= start["column"] <= len(lines[start["line"] - 1]) + 1, item
        assert item["code"].startswith("MLS")
        assert item["message"]


@settings(max_examples=120)
@given(root=damaged())
def test_one_wrong_field_gives_a_located_finding(root: Root, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = root.write(tmp_path_factory.mktemp("root"))
    check_findings(mlspec(folder, "check", "--output-format", "json"), root.files())
    assert mlspec(folder, "generate").code == 1
    assert not (folder / "generated").exists()


@settings(max_examples=40)
@given(root=roots(), data=st.data())
def test_a_damaged_text_gives_a_finding_or_is_fine(
    root: Root, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Bytes are lost, doubled or put in: what comes of it is a finding, or a spec that means something else."""
    files = root.files()
    name = data.draw(st.sampled_from(sorted(name for name in files if name.endswith(".yaml"))))
    text = files[name]
    assert isinstance(text, str)
    start = data.draw(st.integers(0, len(text)))
    lost = data.draw(st.integers(0, 5))
    put = data.draw(
        st.sampled_from(["", "{", "}", '"', "'", "\t", "&a ", "*a", "!t ", "\n", ": ", "- ", "---\n", "\x00", "é"])
    )
    (folder := tmp_path_factory.mktemp("root")).mkdir(exist_ok=True)
    root.write(folder)
    broken = text[:start] + put + text[start + lost :]
    Path(folder / name).write_bytes(broken.encode())
    result = mlspec(folder, "generate")
    assert result.code in (0, 1), result.output
    assert "internal error" not in result.output
