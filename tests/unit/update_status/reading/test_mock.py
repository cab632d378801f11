"""The files of --mock-clusterversion are read as oc reads them."""

import json
from pathlib import Path
from typing import Any

import pytest

from windlass.capability.documents.yaml_dialect import dump_all
from windlass.update_status.assessment import Problem
from windlass.update_status.reading import Reading
from windlass.update_status.reading.mock import read_mock
from windlass.update_status.times import ZERO, moment, rfc3339_nano

VERSION = """\
apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {name: version}
status:
  desired: {version: 4.15.0, image: new}
  conditions:
  - {type: Progressing, status: "True", lastTransitionTime: 2024-02-27T15:00:00Z}
"""
OPERATORS = """\
apiVersion: v1
kind: List
items:
- apiVersion: config.openshift.io/v1
  kind: ClusterOperator
  metadata: {name: etcd}
  status:
    conditions:
    - {type: Upgradeable, status: "True", lastTransitionTime: 2024-02-27T15:10:00Z}
"""
EMPTY = "apiVersion: v1\nkind: List\nitems: []\n"


class Files:
    """The files of one case, each replaced by a test as it needs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = str(folder / "case-cv.yaml")
        for suffix, text in {"cv": VERSION, "co": OPERATORS, "mcp": EMPTY, "mc": EMPTY, "node": EMPTY}.items():
            self.write(f"{suffix}.yaml", text)

    def write(self, suffix: str, text: str) -> None:
        (self.folder / f"case-{suffix}").write_text(text)

    def read(self) -> Reading:
        return read_mock(self.path, wall=0)

    def problem(self) -> str:
        with pytest.raises(Problem) as raised:
            self.read()
        return str(raised.value).replace(f"{self.folder}/", "")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def _operator(name: str, **condition: Any) -> str:
    item = {"metadata": {"name": name}, "status": {"conditions": [{"type": "A", "status": "True", **condition}]}}
    return dump_all([{"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperatorList", "items": [item]}])


def test_the_clock_stands_a_little_after_the_last_transition(files: Files) -> None:
    assert rfc3339_nano(files.read().now) == "2024-02-27T15:10:00.000368975Z"


def test_a_transition_in_the_same_moment_does_not_move_the_clock_again(files: Files) -> None:
    files.write("co.yaml", _operator("etcd", lastTransitionTime="2024-02-27T15:00:00.000100Z"))

    assert rfc3339_nano(files.read().now) == "2024-02-27T15:00:00.000368975Z"


def test_without_transitions_the_clock_stands_at_the_zero_time(files: Files) -> None:
    files.write("cv.yaml", "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\n")
    files.write("co.yaml", _operator("etcd"))

    assert files.read().now == ZERO


@pytest.mark.parametrize("kind", ["ClusterVersionList", "List"])
def test_of_a_list_of_cluster_versions_the_first_is_read(files: Files, kind: str) -> None:
    api_version = "v1" if kind == "List" else "config.openshift.io/v1"
    items = "".join(
        f"- {{apiVersion: config.openshift.io/v1, kind: ClusterVersion, metadata: {{name: {name}}}}}\n"
        for name in ("first", "second")
    )
    files.write("cv.yaml", f"apiVersion: {api_version}\nkind: {kind}\nitems:\n{items}")

    assert files.read().sources.cluster_version.metadata.name == "first"


@pytest.mark.parametrize("kind", ["ClusterVersionList", "List"])
def test_an_empty_list_of_cluster_versions_is_an_error_in_the_words_of_oc(files: Files, kind: str) -> None:
    api_version = "v1" if kind == "List" else "config.openshift.io/v1"
    files.write("cv.yaml", f"apiVersion: {api_version}\nkind: {kind}\nitems: []\n")

    assert files.problem() == (
        "no cluster version information available - you must be connected to an OpenShift version 4 server to fetch "
        "the current version"
    )


def test_only_the_first_document_of_a_file_is_read(files: Files) -> None:
    files.write("cv.yaml", f"{VERSION}---\n[not, an: object\n")

    assert files.read().sources.cluster_version.status.desired.version == "4.15.0"


def test_a_file_may_be_json_with_characters_that_yaml_refuses_or_folds(files: Files) -> None:
    message = "\x7f\x85 \U0001f642"
    for ascii_only in (True, False):
        version = {
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterVersion",
            "status": {"conditions": [{"type": "Progressing", "status": "True", "message": message}]},
        }
        files.write("cv.yaml", json.dumps(version, ensure_ascii=ascii_only))

        assert files.read().sources.cluster_version.status.conditions[0].message == message


def test_an_unquoted_time_of_day_stays_text(files: Files) -> None:
    files.write("co.yaml", _operator("etcd").replace("name: etcd", "name: 12:30:45"))

    assert files.read().sources.operators[0].metadata.name == "12:30:45"


def test_a_null_annotation_is_present_and_empty(files: Files) -> None:
    annotated = "name: etcd, annotations: {include.release.openshift.io/x: null}"
    files.write("co.yaml", OPERATORS.replace("name: etcd", annotated))

    assert files.read().sources.operators[0].metadata.annotations == {"include.release.openshift.io/x": ""}


def test_missing_and_null_fields_have_zero_values(files: Files) -> None:
    files.write("cv.yaml", VERSION.replace("{version: 4.15.0, image: new}", "null"))

    status = files.read().sources.cluster_version.status

    assert status.desired.version == ""
    assert status.history == []


def test_releases_are_known_of_machine_configs_that_name_one(files: Files) -> None:
    configs = [
        {
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig",
            "metadata": {
                "name": name,
                "annotations": {"machineconfiguration.openshift.io/release-image-version": release},
            },
            "spec": {"config": {"storage": {"files": ["large"] * 5}}},
        }
        for name, release in (("rendered-a", "4.15.0"), ("rendered-b", ""))
    ]
    files.write("mc.yaml", dump_all([{"apiVersion": "v1", "kind": "List", "items": configs}]))

    assert files.read().sources.versions == {"rendered-a": "4.15.0"}


def test_the_image_of_the_machine_config_operator_is_that_of_its_container(files: Files) -> None:
    containers = [{"name": "proxy", "image": "x"}, {"name": "machine-config-operator", "image": "quay.io/a@sha256:b"}]
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "machine-config-operator"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }
    assert files.read().sources.operator_image == ""

    files.write("mco-deployment.yaml", dump_all([deployment]))

    assert files.read().sources.operator_image == "quay.io/a@sha256:b"


def test_alerts_are_read_if_their_file_is_there(files: Files) -> None:
    assert files.read().sources.alerts == ()

    files.write("alerts.json", '{"data": {"alerts": [{"labels": {"alertname": "A"}, "state": "firing"}]}}')

    assert [alert.labels.alertname for alert in files.read().sources.alerts] == ["A"]


def test_a_missing_file_is_named_as_oc_names_it(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"^open /nowhere/x-cv\.yaml: no such file or directory$"):
        read_mock("/nowhere/x-cv.yaml", wall=0)


@pytest.mark.parametrize("suffix", ["co", "mcp", "mc", "node"])
def test_each_file_but_alerts_and_deployment_must_be_there(files: Files, suffix: str) -> None:
    (files.folder / f"case-{suffix}.yaml").unlink()

    assert files.problem() == f"open case-{suffix}.yaml: no such file or directory"


def test_a_wrong_type_is_an_error_that_names_file_object_and_field(files: Files) -> None:
    files.write("co.yaml", OPERATORS.replace('status: "True"', "status: yes"))

    assert files.problem() == (
        "case-co.yaml: ClusterOperator etcd: status.conditions[0].status: expected str, got bool"
    )


@pytest.mark.parametrize("time", ["yesterday", "''", "2024-02-30T00:00:00Z"])
def test_a_malformed_time_is_an_error_that_names_file_object_and_field(files: Files, time: str) -> None:
    files.write("cv.yaml", VERSION.replace("2024-02-27T15:00:00Z", time))

    assert files.problem().startswith(
        "case-cv.yaml: ClusterVersion version: status.conditions[0].lastTransitionTime: '"
    )


def test_a_time_of_the_history_must_be_one_too(files: Files) -> None:
    files.write("cv.yaml", f"{VERSION}  history: [{{version: 4.15.0, startedTime: soon}}]\n")

    assert "ClusterVersion version: status.history[0].startedTime: 'soon' is not a time" in files.problem()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (VERSION, "ClusterVersion (config.openshift.io/v1)"),
        ("", "nothing"),
        ("[]", "a list"),
        ("a: 1", "no kind (no apiVersion)"),
    ],
)
def test_a_file_of_another_kind_is_an_error(files: Files, text: str, found: str) -> None:
    files.write("co.yaml", text)

    assert files.problem() == f"case-co.yaml: expected ClusterOperator (config.openshift.io/v1), found {found}"


def test_a_list_with_another_kind_in_it_is_an_error(files: Files) -> None:
    files.write("node.yaml", OPERATORS)

    assert files.problem() == (
        "case-node.yaml: expected a list of Node (v1), found ClusterOperator (config.openshift.io/v1) in it"
    )


@pytest.mark.parametrize("items", ["5", "{a: 1}", "text"])
def test_a_list_whose_items_are_none_is_an_error(files: Files, items: str) -> None:
    files.write("node.yaml", f"apiVersion: v1\nkind: List\nitems: {items}\n")

    assert files.problem().startswith("case-node.yaml: List: items: expected a list, found ")


def test_what_is_no_yaml_is_an_error_with_its_line(files: Files) -> None:
    files.write("mcp.yaml", "a: 1\nb: [\n")

    assert files.problem().startswith("case-mcp.yaml:3: invalid YAML: ")


def test_a_path_of_another_name_names_one_file_for_all_kinds(files: Files) -> None:
    (files.folder / "version.yaml").write_text(VERSION)

    with pytest.raises(Problem, match=r"version\.yaml: expected ClusterOperator"):
        read_mock(str(files.folder / "version.yaml"), wall=0)


def test_the_wall_clock_is_not_that_of_the_files(files: Files) -> None:
    reading = read_mock(files.path, wall=moment("2030-01-01T00:00:00Z"))

    assert rfc3339_nano(reading.wall) == "2030-01-01T00:00:00Z"
