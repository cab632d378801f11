"""Which files of a rendered MachineConfig a builder gets: mirrors, policy and certificates, as nodes have them."""

import gzip
from typing import Any

import pytest

from tests.unit.os_build.inputs.cases import REQUEST, context, data_url, machine_config, problem, with_files
from windlass.os_build.inputs.context import ApplyBy

CONF = b'unqualified-search-registries = ["registry.example.com"]\n'


def file(path: str, content: bytes = CONF, **more: Any) -> dict[str, Any]:
    return {"path": path, "contents": {"source": data_url(content)}, **more}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/etc/containers/registries.conf", "registries.conf"),
        ("/etc/containers/registries.conf.d/99-mirror.conf", "registries.conf.d/99-mirror.conf"),
        ("/etc/containers/policy.json", "policy.json"),
        ("/etc/containers/registries.d/sigstore.yaml", "registries.d/sigstore.yaml"),
        ("/etc/containers/certs.d/r.example.com:5000/ca.crt", "certs.d/r.example.com:5000/ca.crt"),
        ("/etc/docker/certs.d/r.example.com/client.key", "certs.d/r.example.com/client.key"),
        ("/etc//containers/./policy.json", "policy.json"),
        # Where a node keeps its images, and how it runs containers: neither is a builder's.
        ("/etc/containers/storage.conf", ""),
        ("/etc/containers/containers.conf", ""),
        ("/etc/containers/registries.conf.d/deeper/file", ""),
        ("/etc/containers/registries.config", ""),
        ("/usr/etc/containers/policy.json", ""),
    ],
)
@pytest.mark.parametrize("apply_by", ApplyBy)
def test_the_files_about_registries_are_found(path: str, name: str, apply_by: ApplyBy) -> None:
    found = context(with_files(file(path)), apply_by=apply_by).containers
    assert found == ({name: CONF} if name else {})


def test_contents_are_decoded_expanded_and_joined() -> None:
    packed = {"compression": "gzip", "source": data_url(gzip.compress(CONF))}
    whole = {"path": "/etc/containers/registries.conf", "contents": packed, "append": [{"source": "data:,more"}]}
    assert context(with_files(whole)).containers == {"registries.conf": CONF + b"more"}


def test_a_link_is_no_file_and_an_empty_file_is_one() -> None:
    storage = {"links": [{"path": "/etc/containers/policy.json", "target": "/dev/null"}]}
    assert context(machine_config({"storage": storage})).containers == {}
    empty = {"path": "/etc/containers/registries.conf"}
    assert context(with_files(empty)).containers == {"registries.conf": b""}


def test_a_file_that_would_have_to_be_fetched_is_refused_since_the_builder_needs_it() -> None:
    remote = {"path": "/etc/containers/policy.json", "contents": {"source": "https://example.com/policy.json"}}
    found = problem(with_files(remote), apply_by=ApplyBy.IGNITION)
    assert found.reason == "MachineConfigInvalid"
    assert (
        "storage.files[0] /etc/containers/policy.json: contents.source: nothing is fetched for a builder" in found.text
    )


def test_these_files_stay_in_the_configuration_of_the_image() -> None:
    assert (
        context(with_files(file("/etc/containers/policy.json"))).files
        == context(with_files(file("/etc/containers/policy.json")), REQUEST).files
    )
