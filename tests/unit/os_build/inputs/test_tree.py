"""The root file system that an Ignition configuration asks for, read back from its archive."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from tests.unit.os_build.inputs.cases import NAME, context, data_url, machine_config, packed, problem, with_files
from tests.unit.os_build.inputs.unpacked import Entry, unpacked
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.inputs.tree import CURRENT_CONFIG, ONLY_IGNITION

HELLO = {"source": "data:,hello"}


def made(config: Any) -> dict[str, Entry]:
    """What this configuration adds to the MachineConfig itself."""
    found = unpacked(context(machine_config(config)))
    del found[CURRENT_CONFIG]
    return found


def test_files_directories_and_links_are_as_declared() -> None:
    root, core = {"name": "root"}, {"name": "core"}
    storage = {
        "files": [
            {"path": "/etc/foo", "contents": HELLO},
            {"path": "//usr/./bin/tool/", "mode": 0o4755, "user": core, "group": {"id": 7}, "contents": packed(b"x")},
            {"path": "/etc/none", "user": root},
            {"path": "/etc/parts", "contents": HELLO, "append": [{"source": "data:,1"}, packed(b"2")]},
        ],
        "directories": [{"path": "/srv"}, {"path": "/srv/data", "mode": 0o1777, "user": {"id": 5}}],
        "links": [
            {"path": "/etc/soft", "target": "../usr/bin/tool", "group": {"id": 3}},
            {"path": "/bin/hard", "target": "/usr/bin/tool", "hard": True},
        ],
    }
    assert made({"storage": storage}) == {
        "/etc/foo": Entry("file", 0o644, 0, 0, b"hello"),
        "/etc/none": Entry("file", 0o644, 0, 0),
        "/etc/parts": Entry("file", 0o644, 0, 0, b"hello12"),
        "/etc/soft": Entry("symlink", 0o777, 0, 3, target="../usr/bin/tool"),
        "/srv": Entry("directory", 0o755, 0, 0),
        "/srv/data": Entry("directory", 0o1777, 5, 0),
        "/usr/bin/tool": Entry("file", 0o4755, 1000, 7, b"x"),
        "/bin/hard": Entry("hardlink", 0o4755, 1000, 7, target="usr/bin/tool"),
    }


def test_parents_come_first_and_hard_links_last() -> None:
    storage = {
        "files": [{"path": "/b/f"}, {"path": "/b-/f"}],
        "directories": [{"path": "/b"}],
        "links": [{"path": "/a", "target": "/b/f", "hard": True}],
    }
    assert list(made({"storage": storage})) == ["/b", "/b-/f", "/b/f", "/a"]


def test_the_machine_config_itself_is_there_and_only_root_reads_it() -> None:
    document = with_files({"path": "/etc/foo"})
    entry = unpacked(context(document))[CURRENT_CONFIG]
    assert (entry.kind, entry.mode, entry.uid, entry.gid) == ("file", 0o600, 0, 0)
    assert json.loads(entry.data)["spec"] == json.loads(document)["spec"]


def test_what_an_account_has_anyway_may_be_said() -> None:
    users = [{"name": "core", "shouldExist": True, "system": False, "groups": [], "gecos": None, "shell": ""}]
    assert made({"passwd": {"users": users}}) == {}


def test_keys_are_written_where_sshd_and_ignition_look_for_them() -> None:
    users = [
        {"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 A a", "ssh-rsa B\n"]},
        {"name": "root", "sshAuthorizedKeys": ["ssh-rsa C"]},
    ]
    directory = Entry("directory", 0o700, 1000, 1000)
    declared = {"path": "/home/core", "mode": 0o711, "user": {"id": 1000}}
    found = made({"passwd": {"users": users}, "storage": {"directories": [declared]}})
    assert found == {
        "/home/core": Entry("directory", 0o711, 1000, 0),
        "/home/core/.ssh": directory,
        "/home/core/.ssh/authorized_keys.d": directory,
        "/home/core/.ssh/authorized_keys.d/ignition": Entry("file", 0o600, 1000, 1000, b"ssh-ed25519 A a\nssh-rsa B\n"),
        "/root": Entry("directory", 0o700, 0, 0),
        "/root/.ssh": Entry("directory", 0o700, 0, 0),
        "/root/.ssh/authorized_keys.d": Entry("directory", 0o700, 0, 0),
        "/root/.ssh/authorized_keys.d/ignition": Entry("file", 0o600, 0, 0, b"ssh-rsa C\n"),
    }


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"storage": {"files": [{"path": "/a", "contents": {"source": "https://example.com/a"}}]}},
            "storage.files[0] /a: contents.source: 'https://example.com/a' would have to be fetched: write the content "
            f"as a data URL, or {ONLY_IGNITION}",
        ),
        (
            {"storage": {"files": [{"path": "/a", "contents": HELLO, "append": [{"source": "s3://a/b"}]}]}},
            "storage.files[0] /a: append[0].source: 's3://a/b' would have to be fetched: write the content as a data "
            f"URL, or {ONLY_IGNITION}",
        ),
        (
            {"storage": {"files": [{"path": "/a", "append": [HELLO]}]}},
            f"storage.files[0] /a: append: what it appends to is in the base image: {ONLY_IGNITION}",
        ),
        (
            {"storage": {"files": [{"path": "/a", "user": {"name": "chrony"}}]}},
            "storage.files[0] /a: user.name: the number of 'chrony' is in the base image: write its number, or "
            f"{ONLY_IGNITION}",
        ),
        (
            {"storage": {"links": [{"path": "/a", "target": "/etc/passwd", "hard": True}]}},
            f"storage.links[0] /a: /etc/passwd is no file of this configuration: {ONLY_IGNITION}",
        ),
        (
            {"passwd": {"users": [{"name": "core"}, {"name": "me"}]}},
            f"passwd.users[1] me: a user cannot be added: {ONLY_IGNITION}",
        ),
        (
            {"passwd": {"users": [{"name": "core", "passwordHash": "$6$"}]}},
            f"passwd.users[0] core: passwordHash: a password cannot be set: {ONLY_IGNITION}",
        ),
        (
            {"passwd": {"users": [{"name": "core", "shouldExist": False}]}},
            f"passwd.users[0] core: shouldExist: a user cannot be removed: {ONLY_IGNITION}",
        ),
        (
            {"passwd": {"users": [{"name": "core", "homeDir": "/srv/core"}]}},
            f"passwd.users[0] core: homeDir: an account cannot be changed: {ONLY_IGNITION}",
        ),
        (
            {"passwd": {"users": [{"name": "core", "groups": ["wheel"]}]}},
            f"passwd.users[0] core: groups: an account cannot be changed: {ONLY_IGNITION}",
        ),
        ({"passwd": {"groups": [{"name": "g"}]}}, f"passwd.groups[0] g: a group cannot be added: {ONLY_IGNITION}"),
        (
            {"ignition": {"version": "3.4.0", "config": {"merge": [{"source": "data:,{}"}]}}},
            f"ignition.config: other configurations would have to be fetched: {ONLY_IGNITION}",
        ),
    ],
    ids=[
        *("remote", "remote append", "append", "user by name", "hard link", "user", "password"),
        *("removed user", "home", "groups of a user", "group", "merge"),
    ],
)
def test_what_only_ignition_can_do_is_said(config: Any, said: str) -> None:
    assert problem(machine_config(config)).text == f"MachineConfig {NAME}: spec.config.{said}"
    context(machine_config(config), apply_by=ApplyBy.IGNITION)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"storage": {"files": [{"path": "/a", "mode": 4096}]}}, "files[0] /a: mode: 4096 is no mode"),
        ({"storage": {"directories": [{"path": "/a", "mode": -1}]}}, "directories[0] /a: mode: -1 is no mode"),
        (
            {"storage": {"files": [{"path": "/a", "group": {"id": -1}}]}},
            "files[0] /a: group.id: -1 is not between 0 and",
        ),
        ({"storage": {"links": [{"path": "/a"}]}}, "links[0] /a: it has no target"),
        (
            {
                "storage": {"files": [{"path": "/etc/systemd"}]},
                "systemd": {"units": [{"name": "a.service", "contents": "[Unit]"}]},
            },
            "spec.config: /etc/systemd/system/a.service would lie below /etc/systemd, which it makes no directory",
        ),
    ],
    ids=["mode", "negative mode", "negative group", "no target", "file as directory"],
)
def test_what_no_file_system_can_hold_is_refused(config: Any, said: str) -> None:
    assert said in problem(machine_config(config)).text


PARTS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/"), min_size=1, max_size=90).filter(
    lambda part: part not in (".", "..")
)
PATHS = st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
MODES = st.integers(0, 0o7777)
IDS = st.integers(0, 2**32 - 2)
ENTRIES = st.one_of(
    st.builds(Entry, st.just("file"), MODES, IDS, IDS, st.binary(max_size=60)),
    st.builds(Entry, st.just("directory"), MODES, IDS, IDS),
    st.builds(Entry, st.just("symlink"), st.just(0o777), IDS, IDS, st.just(b""), PATHS),
)


def without_files_as_directories(drawn: dict[str, Entry]) -> dict[str, Entry]:
    closed = tuple(f"{path}/" for path, entry in drawn.items() if entry.kind != "directory")
    return {path: entry for path, entry in drawn.items() if not path.startswith(closed)}


def declared(entries: dict[str, Entry]) -> dict[str, Any]:
    storage: dict[str, Any] = {"files": [], "directories": [], "links": []}
    for path, entry in entries.items():
        node = {"path": path, "user": {"id": entry.uid}, "group": {"id": entry.gid}, "mode": entry.mode}
        if entry.kind == "file":
            contents = packed(entry.data) if len(entry.data) % 2 else {"source": data_url(entry.data)}
            storage["files"].append({**node, "contents": contents})
        elif entry.kind == "directory":
            storage["directories"].append(node)
        else:
            storage["links"].append({**node, "target": entry.target})
    return {"storage": storage}


@examples(60)
@given(st.dictionaries(PATHS, ENTRIES, max_size=8).map(without_files_as_directories))
def test_the_archive_reads_back_lossless(entries: dict[str, Entry]) -> None:
    assert made(declared(entries)) == entries
