"""What is wrong with a rendered MachineConfig is said with its name, the path of the field, and the remedy."""

import json
from typing import Any

import pytest

from tests.unit.os_build.inputs.cases import NAME, context, machine_config, problem, with_files
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.inputs.machine_config import read

FILE = {"path": "/etc/foo"}
SOURCE = "correct it in the MachineConfig that it comes from"


REFUSED = {
    "version 2": (
        {"ignition": {"version": "2.2.0"}},
        "spec.config.ignition.version: '2.2.0' is no version 3.x of Ignition's format",
    ),
    "no version": ({"ignition": {}}, "spec.config.ignition.version: '' is no version 3.x of Ignition's format"),
    "relative path": (
        {"storage": {"files": [FILE, {"path": "etc/foo"}]}},
        "spec.config.storage.files[1] etc/foo: 'etc/foo' is not an absolute path",
    ),
    "outside the root": (
        {"storage": {"directories": [{"path": "/etc/../../foo"}]}},
        "spec.config.storage.directories[0] /etc/../../foo: '/etc/../../foo' may lie outside the root: '..' and "
        "NUL are no parts of a path",
    ),
    "NUL": (
        {"storage": {"links": [{"path": "/etc/a\0b", "target": "x"}]}},
        "spec.config.storage.links[0] /etc/a\\x00b: '/etc/a\\\\x00b' may lie outside the root: '..' and NUL are "
        "no parts of a path",
    ),
    "the root": (
        {"storage": {"directories": [{"path": "//."}]}},
        "spec.config.storage.directories[0] //.: the root itself cannot be replaced",
    ),
    "duplicate": (
        {"storage": {"files": [FILE], "links": [{"path": "/etc//foo", "target": "x"}]}},
        "spec.config.storage.links[0] /etc//foo: it has the same path as spec.config.storage.files[0] /etc/foo",
    ),
    "below a link": (
        {"storage": {"files": [{"path": "/a/b/c"}], "links": [{"path": "/a", "target": "/etc"}]}},
        "spec.config.storage.files[0] /a/b/c: it lies below spec.config.storage.links[0] /a, which is no directory",
    ),
    "wrong type": (
        {"storage": {"files": [{"path": "/etc/foo", "mode": "0644"}]}},
        "spec.config.storage.files[0].mode: Expected `int | null`, got `str`",
    ),
    "no path": ({"storage": {"files": [{}]}}, "spec.config.storage.files[0]: Object missing required field `path`"),
}


@pytest.mark.parametrize("apply_by", ApplyBy)
@pytest.mark.parametrize(
    ("config", "said"),
    REFUSED.values(),
    ids=REFUSED,
)
def test_bad_configurations_are_refused(config: Any, said: str, apply_by: ApplyBy) -> None:
    found = problem(machine_config(config), apply_by=apply_by)
    assert found.reason == "MachineConfigInvalid"
    assert found.text == f"MachineConfig {NAME}: {said}: {SOURCE}"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (b"{", "JSON: Input data was truncated"),
        (b'{"metadata": {}}', "JSON: Object missing required field `spec`"),
        (b'{"metadata": {}, "spec": {}}', "spec.config: it has no Ignition configuration"),
        (b'{"metadata": {}, "spec": {"config": null}}', "spec.config: it has no Ignition configuration"),
        (b'{"metadata": {}, "spec": {"osImageURL": "\xff"}}', "spec"),
        (b'{"metadata": {}, "spec": {"osImageURL": "\\ud800"}}', "JSON"),
    ],
    ids=["truncated", "no spec", "no config", "config null", "not UTF-8", "half a surrogate"],
)
def test_bad_documents_are_refused(document: bytes, said: str) -> None:
    assert problem(document).text.startswith(f"MachineConfig {NAME}: {said}")


def test_unknown_fields_and_nulls_do_no_harm() -> None:
    document = machine_config(
        {
            "ignition": {"version": "3.9.1", "config": {"replace": {"verification": {}}}, "timeouts": {}},
            "storage": {"files": None, "disks": [{"device": "/dev/sda"}], "filesystems": []},
            "systemd": {"units": [{"name": "a.service", "contents": None, "dropins": None, "new": 1}]},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": None}], "groups": None},
            "kernelArguments": {"shouldExist": ["a"]},
        },
        newField=1,
    )
    context(document)


def test_the_document_keeps_the_spec_and_drops_what_differs_between_equal_objects() -> None:
    spec = {"config": {"ignition": {"version": "3.4.0"}, "unknown": [1.50, "é"]}, "unknown": {"b": 1, "a": 2}}
    metadata = {"name": NAME, "annotations": {"machineconfiguration.openshift.io/release-image-version": "4.19.1"}}
    volatile = {"uid": "1", "resourceVersion": "2", "managedFields": [{}], "creationTimestamp": "2026-01-01T00:00:00Z"}
    found = read(json.dumps({"metadata": {**metadata, **volatile}, "spec": spec}).encode())
    assert found.release == "4.19.1"
    assert json.loads(found.document) == {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {**metadata, "labels": None},
        "spec": spec,
    }


def test_equal_machine_configs_give_equal_bytes() -> None:
    document = json.loads(with_files(FILE))
    document["metadata"] |= {"uid": "another", "resourceVersion": "99"}
    for apply_by in ApplyBy:
        first = context(with_files(FILE), apply_by=apply_by)
        assert context(json.dumps(document).encode(), apply_by=apply_by).files == first.files
        (packed,) = (data for name, data in first.files.items() if name.endswith(".gz"))
        assert packed[4:8] == bytes(4), "the time of gzip"
