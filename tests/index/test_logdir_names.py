"""Names of log directories."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tensortap.index.logdir_index import names_of

PARTS = st.lists(st.sampled_from(["a", "b", "logs"]), min_size=1, max_size=4)


def test_one_directory_has_its_own_name(tmp_path: Path) -> None:
    assert names_of([tmp_path / "logs"]) == ["logs"]
    assert names_of([Path("/")]) == ["/"]


def test_one_below_another() -> None:
    assert names_of([Path("/nowhere/logs"), Path("/nowhere/logs/logs")]) == ["nowhere/logs", "logs/logs"]
    assert names_of([Path("/logs"), Path("/x/logs")]) == ["/logs", "x/logs"]


@given(st.lists(PARTS, min_size=1, max_size=5))
def test_different_directories_have_different_names_that_end_their_paths(parts: list[list[str]]) -> None:
    paths = [Path("/nowhere").joinpath(*each) for each in parts]
    named = dict(zip(paths, names_of(paths), strict=True))
    assert len(set(named.values())) == len(named)
    for path, name in named.items():
        assert path.as_posix().endswith(name)
