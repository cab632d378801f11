"""All files of a build: what is refused before, and whether a ConfigMap can hold them."""

import random
import time

import pytest
from msgspec.structs import replace

from tests.unit.os_build.inputs.cases import context, data_url, problem, request, with_files
from windlass.os_build.inputs.context import (
    BUILD_LIMIT,
    CONFIG_MAP_LIMIT,
    ApplyBy,
    Context,
    fits_build,
    fits_config_map,
)


@pytest.mark.parametrize("apply_by", ApplyBy)
def test_a_wrong_users_part_is_refused_with_config_map_key_and_line(apply_by: ApplyBy) -> None:
    found = problem(with_files(), request("RUN true\nRUNN make\nENV a\n"), apply_by=apply_by)
    assert found.reason == "ContainerfileInvalid"
    assert found.text == (
        "ConfigMap openshift-machine-config-operator/on-cluster-build-custom-dockerfile, key worker, line 2: unknown "
        "Dockerfile instruction: RUNN; line 3: ENV instruction must use key=value form: correct it there"
    )


def test_a_users_part_from_elsewhere_is_refused_with_its_own_place() -> None:
    of = replace(request("BOGUS"), claimed_by="worker")
    text = problem(with_files(), of).text
    assert (
        text
        == "MachineOSConfig worker: spec.containerFile, line 1: unknown Dockerfile instruction: BOGUS: correct it there"
    )


def test_a_text_that_is_no_containerfile_is_not_quoted_whole() -> None:
    text = problem(with_files(), request("prose\n" * 100)).text
    assert text.endswith("; line 5: unknown Dockerfile instruction: PROSE; and 95 more: correct it there")


def test_control_characters_of_users_are_not_shown() -> None:
    text = problem(with_files(), request("\x1b[2J\n")).text
    assert "unknown Dockerfile instruction: \\x1b[2J: correct" in text


def test_a_config_map_holds_a_mebibyte_names_counted() -> None:
    largest = CONFIG_MAP_LIMIT - len("Containerfile") - len("a") - 3
    assert fits_config_map(Context({"Containerfile": b"xxx", "a": bytes(largest)})) is None
    found = fits_config_map(Context({"Containerfile": b"xxx", "a": bytes(largest + 1)}))
    assert found is not None
    assert found.reason == "ContextTooLarge"
    assert found.text.startswith(
        f"the build context has 1048577 bytes (a: {largest + 1}), and a ConfigMap holds 1048576:"
    )


def test_a_build_of_openshift_takes_60_000_bytes_of_containerfile() -> None:
    of = request("RUN é")
    assert fits_build(Context({"Containerfile": bytes(BUILD_LIMIT)}), of) is None
    found = fits_build(Context({"Containerfile": bytes(BUILD_LIMIT + 1)}), of)
    assert found is not None
    assert found.reason == "ContainerfileTooLarge"
    assert found.text == (
        "ConfigMap openshift-machine-config-operator/on-cluster-build-custom-dockerfile, key worker: with its 6 bytes "
        "the Containerfile has 60001, and a Build of OpenShift takes 60000: set imageBuilderType to Job, or make it "
        "shorter"
    )


def test_the_text_of_a_context_shows_sizes_and_no_content() -> None:
    made = context(with_files({"path": "/secret", "contents": {"source": data_url(b"password")}}))
    assert repr(made).startswith("Context(Containerfile: ")
    assert "FROM" not in repr(made)
    assert made.size == sum(map(len, made.files.values()))


@pytest.mark.parametrize("apply_by", ApplyBy)
def test_the_largest_machine_config_is_rendered_in_half_a_second(apply_by: ApplyBy) -> None:
    """CPU time of this thread, so that what else a machine does is not counted; 0.06 to 0.4 s were measured."""
    files = [
        {"path": f"/etc/{number}", "contents": {"source": data_url(random.Random(number).randbytes(3500))}}
        for number in range(330)
    ]
    document = with_files(*files)
    assert 1_500_000 < len(document) <= 1_572_864
    began = time.thread_time()
    context(document, apply_by=apply_by)
    assert time.thread_time() - began < 0.5
