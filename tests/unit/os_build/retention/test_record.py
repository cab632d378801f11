"""The record of images: what is read from annotations that anybody may write, and from MachineOSBuilds."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.unit.os_build.world import pool
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG
from windlass.os_build.retention.record import BUILT, LONGEST, Record, read, with_current, written
from windlass.os_build.retention.use import use_of

NOW = datetime(2026, 11, 29, tzinfo=UTC)
DIGEST = "sha256:" + "a" * 64
IMAGE_OF = f"registry.example.com/org/os@{DIGEST}"


def a_pool(**annotations: str) -> MachineConfigPool:
    return msgspec.convert(pool("worker", "rendered-worker-2", annotations=annotations), MachineConfigPool)


def test_what_is_written_is_read_again() -> None:
    records = (Record(IMAGE_OF, "rendered-worker-1", "2026-11-28T00:00:00Z"),)
    assert read(a_pool(**{BUILT: written(records)})) == records
    assert written(()) == ""


@pytest.mark.parametrize(
    "value",
    [
        "",
        "{",
        "null",
        "7",
        '{"image": "x"}',
        "[" * 100_000,
        '["x", 7, null, {}]',
        '[{"image": 7}]',
        '[{"image": "a@b"}]',
    ],
)
def test_what_is_no_record_is_left_out(value: str) -> None:
    assert read(a_pool(**{BUILT: value})) == ()


def test_the_rest_of_a_broken_record_is_read() -> None:
    value = json.dumps([{"image": "no digest"}, {"image": IMAGE_OF, "more": 1}, 7])
    assert read(a_pool(**{BUILT: value})) == (Record(IMAGE_OF),)


def test_the_image_of_the_pool_is_recorded_first_and_once() -> None:
    other = Record(IMAGE_OF.replace("a" * 64, "b" * 64), "rendered-worker-1", "2026-11-28T00:00:00Z")
    here = a_pool(**{IMAGE: IMAGE_OF, IMAGE_CONFIG: "rendered-worker-2"})
    one = with_current([other], here, now=NOW)
    assert one == (Record(IMAGE_OF, "rendered-worker-2", "2026-11-29T00:00:00Z"), other)
    assert with_current(one, here, now=NOW.replace(hour=9)) == one


def test_an_image_that_is_built_again_counts_as_new() -> None:
    first, second = Record(IMAGE_OF.replace("a" * 64, "b" * 64)), Record(IMAGE_OF)
    again = with_current([first, second], a_pool(**{IMAGE: IMAGE_OF}), now=NOW)
    assert [each.image for each in again] == [second.image, first.image]
    assert again[0].built == "2026-11-29T00:00:00Z"


def test_a_record_does_not_grow_for_ever() -> None:
    many = [Record(f"registry.example.com/org/os@sha256:{number:064x}") for number in range(LONGEST)]
    found = with_current(many, a_pool(**{IMAGE: IMAGE_OF}), now=NOW)
    assert len(found) == LONGEST
    assert found[0].image == IMAGE_OF


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {"machineconfiguration.openshift.io/currentImage": IMAGE_OF}},
        {"annotations": {"machineconfiguration.openshift.io/a-name-of-a-later-release": f"ostree:{IMAGE_OF},x"}},
        {"labels": {"x": "y"}, "annotations": {"a.third/party": json.dumps({"rollback": [IMAGE_OF]})}},
    ],
)
def test_a_digest_anywhere_in_an_object_is_a_use(metadata: dict[str, Any]) -> None:
    use = use_of((), [("Node a", json.dumps(metadata).encode())])
    assert use.digests == {DIGEST: "Node a"}


def test_only_nodes_and_pools_use_configs() -> None:
    text = b'{"x": "rendered-worker-1", "y": "rendered-a.b-2."}'
    assert use_of([("ConfigMap a", text)], ()).configs == {}
    assert use_of((), [("Node a", text)]).configs == {"rendered-worker-1": "Node a", "rendered-a.b-2": "Node a"}
