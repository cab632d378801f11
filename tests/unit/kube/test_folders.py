"""Where files of a user are kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from windlass.kube.folders import cache_folder, state_folder


@pytest.mark.parametrize(
    ("variable", "folder", "default"),
    [("XDG_CACHE_HOME", cache_folder, ".cache"), ("XDG_STATE_HOME", state_folder, ".local/state")],
    ids=["cache", "state"],
)
@pytest.mark.parametrize("value", [None, "", "relative/path", "/absolute/path"])
def test_an_absolute_path_in_the_environment_replaces_the_default_below_the_home_folder(
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    folder: Callable[[str], Path],
    default: str,
    value: str | None,
) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.setenv(variable, value or "")
    if value is None:
        monkeypatch.delenv(variable)
    base = "/absolute/path" if value == "/absolute/path" else f"/home/user/{default}"
    assert folder("part") == Path(base, "windlass", "part")
