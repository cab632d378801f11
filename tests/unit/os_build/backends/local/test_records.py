"""The folders of builds: what is in them, and what is left."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from windlass.os_build.backends.local.records import Folder, Kills, empty, swept
from windlass.os_build.backends.local.requests import StartBuild
from windlass.os_build.builder import BuildState, Cause, Failed, Phase
from windlass.os_build.credentials import Auths
from windlass.os_build.inputs.context import Context
from windlass.os_build.request import BackendName

REQUEST = StartBuild(
    name="one",
    pool="worker",
    inputs="abc",
    config="rendered-worker-1",
    attempt=1,
    image="r.example.com/os:one",
    context=Context({"Containerfile": b"FROM x"}),
    pull_secret="pull",
    push_secret="push",
    secrets="1",
    pull=Auths({}, b"pull"),
    push=None,
)
STATE = BuildState(
    name="one",
    backend=BackendName.LOCAL,
    pool="worker",
    inputs="abc",
    phase=Phase.FAILED,
    failed=Failed(cause=Cause.STEP, step="RUN x", exit_code=1, tail="no"),
    started=datetime(2026, 1, 1, tzinfo=UTC),
    ended=datetime(2026, 1, 2, tzinfo=UTC),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for inner in ("builds", "trash"):
        (tmp_path / inner).mkdir()
    return tmp_path


def folder(root: Path, name: str = "one") -> Folder:
    return Folder(root / "builds" / name, trash=root / "trash")


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_only_this_user_reads_credentials_and_the_mode_of_other_files_does_not_depend_on_the_umask(root: Path) -> None:
    folder(root).prepare(REQUEST)
    assert files(root) == ["builds/one/context/Containerfile", "builds/one/pull.json"]
    assert stat.S_IMODE((root / "builds/one").stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "builds/one/pull.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((root / "builds/one/context/Containerfile").stat().st_mode) == 0o644


def test_of_a_build_that_is_over_its_state_and_a_safe_log_are_left(root: Path) -> None:
    folder(root).prepare(REQUEST)
    (root / "builds/one/tmp/blob").write_bytes(b"gigabytes")
    folder(root).finish(STATE, log="\x1b[31mred\n")
    assert files(root / "builds") == ["one/log", "one/outcome.json"]
    assert (root / "builds/one/log").read_text() == "red\n"
    empty(root / "trash")
    assert files(root / "trash") == []


def test_a_full_disk_leaves_no_credentials(root: Path) -> None:
    folder(root).prepare(REQUEST)
    (root / "builds/one/outcome.json.new").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        folder(root).finish(STATE, log="")
    assert files(root) == []


def test_states_are_read_back_oldest_first_and_builds_without_an_end_are_removed(root: Path) -> None:
    later = structs.replace(STATE, name="later", ended=datetime(2026, 1, 3, tzinfo=UTC))
    folder(root, "later").finish(later, log="")
    folder(root).finish(STATE, log="")
    folder(root, "begun").prepare(REQUEST)
    folder(root, "torn").prepare(REQUEST)
    (root / "builds/torn/outcome.json").write_bytes(b'{"name": "to')
    assert swept(root / "builds", trash=root / "trash") == [STATE, later]
    assert files(root) == ["builds/later/outcome.json", "builds/one/outcome.json"]


def test_a_crash_after_the_end_leaves_no_credentials_to_the_next_process(root: Path) -> None:
    folder(root).finish(STATE, log="")
    (root / "builds/one/push.json").write_bytes(b"secret")
    assert swept(root / "builds", trash=root / "trash") == [STATE]
    assert files(root) == ["builds/one/outcome.json"]


def test_the_next_process_goes_on_counting_kills_until_they_are_forgotten(root: Path) -> None:
    kills = Kills(root / "kills.json")
    assert [kills.count("one"), kills.count("other"), kills.count("one")] == [1, 1, 2]
    kills = Kills(root / "kills.json")
    assert kills.count("one") == 3
    kills.forget("one")
    kills.forget("unknown")
    kills = Kills(root / "kills.json")
    assert [kills.count("one"), kills.count("other")] == [1, 2]
    assert files(root) == ["kills.json"]


def test_kills_of_builds_that_nobody_wants_any_more_do_not_pile_up(root: Path) -> None:
    kills = Kills(root / "kills.json")
    for number in range(300):
        kills.count(f"build-{number}")
    assert [kills.count("build-0"), kills.count("build-299")] == [1, 2]


@pytest.mark.parametrize("damage", [b"", b"{", b'{"one": "two"}', b"[1]"])
def test_a_damaged_count_begins_anew(root: Path, damage: bytes) -> None:
    (root / "kills.json").write_bytes(damage)
    assert Kills(root / "kills.json").count("one") == 1


def test_a_count_that_cannot_be_stored_is_known_to_this_process(root: Path) -> None:
    kills = Kills(root / "missing" / "kills.json")
    assert [kills.count("one"), kills.count("one")] == [1, 2]
