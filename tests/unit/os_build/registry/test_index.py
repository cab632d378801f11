"""What an index says, and how one is made: recorded forms, and what is none."""

import itertools
import json
from typing import Any

import pytest

from windlass.os_build.registry.index import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_MANIFEST,
    Child,
    architectures_of,
    children_of,
    config_of,
    index_of,
    media_type_of,
    platform_of,
)

A, B, C = (f"sha256:{digit * 64}" for digit in "abc")
AMD = Child(digest=A, media_type=OCI_MANIFEST, size=500, architecture="amd64")
ARM = Child(digest=B, media_type=OCI_MANIFEST, size=501, architecture="arm64", variant="v8")
DOCKERS = Child(digest=C, media_type=DOCKER_MANIFEST, size=502, architecture="s390x")


def entry(digest: str, architecture: str, os: str = "linux") -> dict[str, Any]:
    return {"digest": digest, "size": 1, "platform": {"architecture": architecture, "os": os}}


def body(*entries: Any, **more: Any) -> bytes:
    return json.dumps({"schemaVersion": 2, "manifests": [*entries], **more}).encode()


def test_an_index_names_each_image_by_its_platform() -> None:
    made = index_of([ARM, AMD])
    assert made.media_type == OCI_INDEX
    assert json.loads(made.body) == {
        "schemaVersion": 2,
        "mediaType": OCI_INDEX,
        "manifests": [
            {"mediaType": OCI_MANIFEST, "digest": A, "size": 500, "platform": {"architecture": "amd64", "os": "linux"}},
            {
                "mediaType": OCI_MANIFEST,
                "digest": B,
                "size": 501,
                "platform": {"architecture": "arm64", "os": "linux", "variant": "v8"},
            },
        ],
    }
    assert (children_of(made.body), architectures_of(made.body)) == ((A, B), ("amd64", "arm64"))


def test_equal_images_in_any_order_are_the_same_index() -> None:
    assert len({index_of(order).digest for order in itertools.permutations([AMD, ARM, DOCKERS])}) == 1


@pytest.mark.parametrize(
    ("children", "media_type"), [([AMD], OCI_INDEX), ([DOCKERS], DOCKER_LIST), ([AMD, DOCKERS], OCI_INDEX)]
)
def test_only_docker_manifests_make_a_docker_list(children: list[Child], media_type: str) -> None:
    made = index_of(children)
    assert made.media_type == json.loads(made.body)["mediaType"] == media_type


@pytest.mark.parametrize(
    ("found", "children", "architectures"),
    [
        (body(entry(A, "amd64"), entry(B, "arm64")), (A, B), ("amd64", "arm64")),
        (body(entry(B, "arm64"), entry(A, "amd64"), entry(C, "amd64")), (B, A, C), ("amd64", "arm64")),
        (body(entry(A, "amd64"), entry(B, "unknown", "unknown")), (A, B), ("amd64",)),
        (body(entry(A, "amd64", "windows")), (A,), ()),
        (body({"digest": A}, {"digest": "sha256:short"}, {"size": 1}, 7, None), (A,), ()),
        (body({"digest": A, "platform": {"architecture": 7, "os": "linux"}}), (A,), ()),
        (body(), (), ()),
        (json.dumps({"manifests": {"digest": A}}).encode(), (), None),
        (json.dumps({"schemaVersion": 2, "config": {"digest": A}}).encode(), (), None),
        (json.dumps([A]).encode(), (), None),
        (b"<html>", (), None),
        (b"\xff\xfe", (), None),
        (b"[" * 100_000, (), None),
    ],
)
def test_what_an_index_names_and_what_is_none(
    found: bytes, children: tuple[str, ...], architectures: tuple[str, ...] | None
) -> None:
    assert children_of(found) == children
    assert architectures_of(found) == architectures


@pytest.mark.parametrize(
    ("config", "platform"),
    [
        ({"architecture": "arm64", "os": "linux"}, ("arm64", "linux", "")),
        ({"architecture": "arm64", "os": "linux", "variant": "v8"}, ("arm64", "linux", "v8")),
        ({"architecture": "arm64", "os": "linux", "variant": 8}, ("arm64", "linux", "")),
        ({"architecture": "", "os": "linux"}, None),
        ({"os": "linux"}, None),
        ({"architecture": ["arm64"], "os": "linux"}, None),
        ([], None),
    ],
)
def test_the_configuration_of_an_image_names_its_platform(config: Any, platform: Any) -> None:
    assert platform_of(json.dumps(config).encode()) == platform


@pytest.mark.parametrize("config", [{"digest": "sha256:1"}, {"digest": 7}, {}, None, A])
def test_a_manifest_without_the_digest_of_a_configuration_is_none_of_an_image(config: Any) -> None:
    assert config_of(json.dumps({"config": config}).encode()) is None
    assert config_of(json.dumps({"config": {"digest": A}}).encode()) == A


@pytest.mark.parametrize(
    ("inner", "told", "expected"),
    [
        (DOCKER_MANIFEST, OCI_MANIFEST, DOCKER_MANIFEST),
        (None, DOCKER_MANIFEST, DOCKER_MANIFEST),
        (None, f"{DOCKER_MANIFEST}; charset=utf-8", DOCKER_MANIFEST),
        ("text/html", "application/json", OCI_MANIFEST),
        (7, "", OCI_MANIFEST),
    ],
)
def test_the_media_type_is_the_word_of_the_manifest_then_that_of_the_registry(
    inner: Any, told: str, expected: str
) -> None:
    found = {} if inner is None else {"mediaType": inner}
    assert media_type_of(json.dumps(found).encode(), told) == expected
