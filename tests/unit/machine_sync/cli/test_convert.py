"""`windlass convert`: what it prints where, and its exit codes."""

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.machine_sync.conversion.vectors import (
    TO_CLUSTER_API,
    TO_MACHINE_API,
    platform_of,
    row_id,
    rows,
)
from tests.unit.machine_sync.conversion.vectors import (
    convert as convert_directly,
)
from windlass.cli import main

MACHINE = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: w-0, namespace: openshift-cluster-api, creationTimestamp: null}
spec:
  clusterName: c
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachine, name: w-0}
status: {lastUpdated: 2026-01-02T03:04:05Z, phase: Running}
"""
INFRA = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachine
metadata: {name: w-0, namespace: openshift-cluster-api}
spec: {flavor: m1.large, image: {filter: {name: rhcos, tags: [a]}}}
"""
CLUSTER = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: c, namespace: openshift-cluster-api}
spec: {}
"""
TEMPLATE_REF = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachineTemplate", "name": "t"}
INFRA_TEMPLATE = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
    "kind": "OpenStackMachineTemplate",
    "metadata": {"name": "t", "namespace": "openshift-cluster-api"},
    "spec": {"template": {"spec": {"flavor": "m1", "image": {"filter": {"name": "rhcos"}}}}},
}
WHOLE = "---".join([MACHINE, INFRA, CLUSTER])
BROKEN = MACHINE.replace("name: w-0, namespace", "name: w-1, namespace").replace("clusterName: c", "version: v1")
WARNING = 'spec.image.filter.tags: Invalid value: ["a"]: MAPO does not support filtering image by tags'
UNSUPPORTED = 'spec.version: Invalid value: "v1": version is not supported'


class Terminal:
    """Runs the command with this on standard input, and tells what came out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        self._monkeypatch = monkeypatch
        self._captured = capfdbinary

    def __call__(self, *arguments: str, stdin: str = "") -> tuple[int, str, list[str]]:
        """Exit code, standard output, lines of standard error."""
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogatepass"))))
        code = main(["convert", *arguments])
        output = self._captured.readouterr()
        return code, output.out.decode(), output.err.decode().splitlines()


@pytest.fixture
def convert(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Terminal:
    return Terminal(monkeypatch, capfdbinary)


def test_a_machine_set_and_its_template_are_in_the_namespace_of_the_api(convert: Terminal) -> None:
    found = yaml.safe_load(MACHINE.replace("kind: Machine\n", "kind: MachineSet\n"))
    spec = {
        "clusterName": "c",
        "selector": {},
        "template": {"spec": found["spec"] | {"infrastructureRef": TEMPLATE_REF}},
    }
    given = yaml.safe_dump_all([{**found, "spec": spec}, yaml.safe_load(CLUSTER), INFRA_TEMPLATE])
    infrastructure = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "status": {"infrastructureName": "c", "platformStatus": {"type": "OpenStack"}},
    }

    _, there, _ = convert("--to", "MAPI", stdin=given)
    _, back, _ = convert("--to", "ClusterAPI", stdin=there + "---\n" + yaml.safe_dump(infrastructure))
    _, elsewhere, _ = convert("--to", "mapi", "-n", "here", "--no-status", stdin=given)

    assert [one["metadata"]["namespace"] for one in yaml.safe_load_all(there)] == ["openshift-machine-api"]
    assert [one["metadata"]["namespace"] for one in yaml.safe_load_all(back)] == ["openshift-cluster-api"] * 2
    assert [one["metadata"]["namespace"] for one in yaml.safe_load_all(elsewhere)] == ["here"]
    assert "status:" in there
    assert "status:" not in elsewhere


def test_a_machine_from_standard_input_is_printed_as_yaml(convert: Terminal) -> None:
    code, output, complaints = convert("--to", "machine-api", stdin=WHOLE)
    assert code == 0
    assert complaints == [f"warning: Machine/w-0: {WARNING}"]
    assert output.startswith("apiVersion: machine.openshift.io/v1beta1\nkind: Machine\nmetadata:\n  name: w-0\n")
    assert yaml.safe_load(output)["spec"]["providerSpec"]["value"]["flavor"] == "m1.large"
    assert "lastUpdated: '2026-01-02T03:04:05Z'" in output


def test_a_dash_is_standard_input_among_files(convert: Terminal, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "infra.yaml").write_text(INFRA)
    (tmp_path / "cluster.yml").write_text(CLUSTER)
    code, output, _ = convert(
        "-f", str(tmp_path / "a"), "-f", "-", "-f", str(tmp_path / "cluster.yml"), "--to", "machine-api", stdin=MACHINE
    )
    assert (code, output.count("kind: Machine\n")) == (0, 1)


def test_several_machines_are_a_stream_of_documents(convert: Terminal, tmp_path: Path) -> None:
    second = WHOLE.replace("name: w-0", "name: w-1")
    (tmp_path / "all.yaml").write_text(f"{WHOLE}---{second}")
    code, output, _ = convert("-f", str(tmp_path), "--to", "machine-api")
    assert code == 0
    assert [tree["metadata"]["name"] for tree in yaml.safe_load_all(output)] == ["w-0", "w-1"]
    assert output.count("\n---\n") == 1


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("[" * 800 + "]" * 800, "nested more than 200 levels deep"),
        (
            "[&a0 [x], " + ", ".join(f"&a{n} [{', '.join([f'*a{n - 1}'] * 20)}]" for n in range(1, 9)) + "]",
            "its aliases expand to more than 4 MiB",
        ),
    ],
    ids=["deep", "aliases"],
)
def test_a_document_beyond_a_limit_is_named_with_it_and_the_others_are_converted(
    convert: Terminal, template: str, problem: str
) -> None:
    beyond = BROKEN.replace("version: v1", f"version: {template}")
    code, output, complaints = convert("--to", "machine-api", stdin=f"{WHOLE}---{beyond}")
    assert code == 1
    assert yaml.safe_load(output)["metadata"]["name"] == "w-0"
    line = WHOLE.count("\n") + 2
    assert complaints[-1] == f"error: Machine/w-1: object: {problem} (stdin:{line})"


def test_json_holds_items_warnings_and_errors_even_if_some_failed(convert: Terminal) -> None:
    code, output, complaints = convert("--to", "machine-api", "-o", "json", stdin=f"{WHOLE}---{BROKEN}")
    assert code == 1
    whole = json.loads(output)
    assert list(whole) == ["items", "warnings", "errors"]
    [item] = whole["items"]
    assert (item["apiVersion"], item["kind"]) == ("machine.openshift.io/v1beta1", "Machine")
    assert whole["warnings"] == [
        {"object": "Machine/w-0", "message": WARNING},
        {"object": "Machine/w-1", "message": WARNING},
    ]
    assert whole["errors"] == [{"object": "Machine/w-1", "message": UNSUPPORTED}]
    assert complaints == [
        f"warning: Machine/w-0: {WARNING}",
        'note: Machine/w-1: uses OpenStackCluster/c, the only one given; the cluster of the Machine is ""',
        f"warning: Machine/w-1: {WARNING}",
        f"error: Machine/w-1: {UNSUPPORTED}",
    ]


def test_every_collected_error_is_an_entry_in_order(convert: Terminal) -> None:
    several = BROKEN.replace("version: v1", "version: v1\n  deletion: {nodeDrainTimeoutSeconds: 0}")
    _, output, _ = convert("--to", "machine-api", "-o", "json", stdin="---".join([several, INFRA, CLUSTER]))
    assert [entry["message"] for entry in json.loads(output)["errors"]] == [
        UNSUPPORTED,
        "spec.deletion.nodeDrainTimeoutSeconds: Invalid value: 0: nodeDrainTimeoutSeconds is not supported",
    ]


def test_a_missing_part_is_the_error_of_conversion_and_a_note_says_which(convert: Terminal) -> None:
    code, output, complaints = convert("--to", "machine-api", stdin=f"{MACHINE}---{CLUSTER}")
    assert (code, output) == (1, "")
    assert complaints == [
        'note: Machine/w-0: there is no OpenStackMachine named "w-0" in namespace openshift-cluster-api '
        "among the documents",
        "error: Machine/w-0: provided Machine, OpenStackMachine and OpenStackCluster can not be nil",
    ]


def test_nothing_to_convert_is_a_failure_that_says_so(convert: Terminal) -> None:
    mirror = "apiVersion: machine.openshift.io/v1beta1\nkind: Machine\nmetadata: {name: m}\n"
    for given, count in (("", 0), (mirror, 1), (f"{INFRA}---{CLUSTER}", 2)):
        code, output, complaints = convert("--to", "machine-api", stdin=given)
        assert (code, output) == (1, "")
        assert complaints == [f"error: no Cluster API Machine or MachineSet among the {count} objects that were read"]
    code, _, complaints = convert("--to", "cluster-api", stdin=WHOLE)
    assert (code, complaints) == (1, ["error: no Machine API Machine or MachineSet among the 3 objects that were read"])
    code, output, _ = convert("--to", "machine-api", "-o", "json")
    assert (code, json.loads(output)) == (1, {"items": [], "warnings": [], "errors": []})


MACHINE_API_MACHINE = """
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {name: w-0, namespace: openshift-machine-api}
spec:
  providerSpec: {value: {kind: OpenstackProviderSpec, flavor: m1.large, image: rhcos, sshUserName: core}}
"""
MACHINE_API_SET = """
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {name: workers, namespace: openshift-machine-api}
spec:
  replicas: 2
  template: {spec: {providerSpec: {value: {kind: OpenstackProviderSpec, flavor: m1.large, image: rhcos}}}}
"""
INFRASTRUCTURE = """
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {name: cluster}
status: {infrastructureName: c-x7k2p, platformStatus: {type: OpenStack}}
"""


def test_machines_and_sets_go_to_cluster_api_with_their_infrastructure(convert: Terminal) -> None:
    given = "---".join([MACHINE_API_MACHINE, MACHINE_API_SET, INFRASTRUCTURE])
    code, output, complaints = convert("--to", "cluster-api", stdin=given)
    assert code == 0
    assert complaints == [
        'warning: Machine/w-0: spec.providerSpec.value.sshUserName: Invalid value: "core": '
        "sshUserName has no equivalent in Cluster API and is dropped"
    ]
    trees = list(yaml.safe_load_all(output))
    assert [(tree["apiVersion"], tree["kind"]) for tree in trees] == [
        ("cluster.x-k8s.io/v1beta2", "Machine"),
        ("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackMachine"),
        ("cluster.x-k8s.io/v1beta2", "MachineSet"),
        ("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackMachineTemplate"),
    ]
    assert trees[2]["spec"]["template"]["spec"]["infrastructureRef"]["name"] == trees[3]["metadata"]["name"]


def test_what_was_converted_can_be_converted_back(convert: Terminal) -> None:
    there = convert("--to", "cluster-api", stdin="---".join([MACHINE_API_MACHINE, MACHINE_API_SET, INFRASTRUCTURE]))[1]
    code, output, _ = convert("--to", "machine-api", stdin=f"{there}---{CLUSTER}")
    assert code == 0
    assert [(tree["kind"], tree["metadata"]["name"]) for tree in yaml.safe_load_all(output)] == [
        ("Machine", "w-0"),
        ("MachineSet", "workers"),
    ]


def test_without_an_infrastructure_every_machine_has_an_error(convert: Terminal) -> None:
    code, output, complaints = convert("--to", "cluster-api", stdin=f"{MACHINE_API_MACHINE}---{MACHINE_API_SET}")
    assert (code, output) == (1, "")
    assert [text.partition(": there is no Infrastructure")[0] for text in complaints] == [
        "error: Machine/w-0",
        "error: MachineSet/workers",
    ]


OLD_CLUSTER = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: c, namespace: prod}
spec: {networkMTU: 1400}
status: {ready: true}
"""
OLD_MACHINE = INFRA.replace("flavor: m1.large,", "flavor: m1.large, flavorID: f-1,")


def test_objects_of_the_provider_get_another_version_and_all_others_pass(convert: Terminal) -> None:
    given = "---".join([MACHINE, OLD_CLUSTER, OLD_MACHINE])
    code, output, complaints = convert("--to", "v1beta2", stdin=given)
    machine, cluster, infra = yaml.safe_load_all(output)
    assert code == 0
    assert complaints == [
        "warning: OpenStackMachine/w-0: spec.flavor: v1beta2 cannot say it: kept in the annotation "
        "cluster.x-k8s.io/conversion-data"
    ]
    assert machine["status"] == {"lastUpdated": "2026-01-02T03:04:05Z", "phase": "Running"}
    assert cluster == {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "OpenStackCluster",
        "metadata": {"name": "c", "namespace": "prod"},
        "spec": {"managedNetwork": {"mtu": 1400}},
        "status": {"initialization": {"provisioned": True}},
    }
    assert infra["spec"]["flavor"] == {"id": "f-1"}

    code, back, complaints = convert("--to", "v1beta1", "--no-status", stdin=output)
    assert (code, complaints) == (0, [])
    before = list(yaml.safe_load_all(given))
    assert [tree["spec"] for tree in yaml.safe_load_all(back)] == [tree["spec"] for tree in before]
    assert "status" not in back


def test_of_several_versions_that_cannot_be_converted_each_is_named(convert: Terminal) -> None:
    wrong = OLD_CLUSTER.replace("networkMTU: 1400", "apiServer: {port: 1}")
    listed = {"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(one) for one in (wrong, INFRA)]}
    code, output, complaints = convert("--to", "v1beta2", "-o", "json", stdin=json.dumps(listed))
    text = "spec.apiServer: v1beta1 has no such field, only v1beta2 has: remove it"
    assert (code, complaints) == (1, [f"error: OpenStackCluster/c: {text}"])
    assert json.loads(output)["errors"] == [{"object": "OpenStackCluster/c", "message": text}]
    assert [item["kind"] for item in json.loads(output)["items"]] == ["OpenStackMachine"]


def test_without_objects_of_the_provider_there_is_no_version_to_convert_to(convert: Terminal) -> None:
    code, output, complaints = convert("--to", "v1beta2", stdin=MACHINE)
    kinds = "OpenStackCluster or OpenStackClusterTemplate or OpenStackMachine or OpenStackMachineTemplate"
    assert (code, output, complaints) == (1, "", [f"error: no {kinds} among the 1 objects that were read"])
    code, _, complaints = convert("--to", "v1beta2", "-n", "here", stdin=OLD_CLUSTER)
    assert (code, complaints[0]) == (64, "error: objects keep their namespace with --to v1beta2: leave out -n")
    beyond = OLD_CLUSTER.replace("1400", "[" * 800 + "]" * 800)
    code, _, complaints = convert("--to", "v1beta2", stdin=beyond)
    assert (code, complaints) == (1, ["error: OpenStackCluster/c: object: nested more than 200 levels deep (stdin:2)"])


def test_a_must_gather_is_read(convert: Terminal, tmp_path: Path) -> None:
    for name, text in (
        ("namespaces/openshift-machine-api/machine.openshift.io/machines/w-0.yaml", MACHINE_API_MACHINE),
        ("cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml", INFRASTRUCTURE),
        ("namespaces/openshift-machine-api/core/events.yaml", "broken: [\n"),
    ):
        path = tmp_path / "must-gather.local" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    code, output, _ = convert("-f", str(tmp_path), "--to", "cluster-api")
    assert (code, output.count("kind: OpenStackMachine\n")) == (0, 2)


def test_input_that_cannot_be_read_is_named_with_its_line_and_nothing_is_printed(
    convert: Terminal, tmp_path: Path
) -> None:
    whole, bad, worse = tmp_path / "whole.yaml", tmp_path / "bad.yaml", tmp_path / "worse.json"
    whole.write_text(WHOLE)
    bad.write_text("kind: A\nx: y: z\n")
    worse.write_text('{"kind": "A",\n"x": \n')
    missing = tmp_path / "missing"
    arguments = [argument for path in (whole, bad, worse, missing) for argument in ("-f", str(path))]
    code, output, complaints = convert(*arguments, "--to", "machine-api", "-o", "json")
    assert (code, output) == (2, "")
    assert complaints == [
        f"error: {bad}:2: invalid YAML: mapping values are not allowed in this context",
        f"error: {worse}:3: invalid JSON: Expecting value (column 1)",
        f"error: {missing}: No such file or directory",
    ]


@pytest.mark.parametrize("arguments", [[], ["--to", "cluster"], ["--to", "machine-api", "-o", "table"], ["--nonsense"]])
def test_a_wrong_command_line_is_a_usage_error(convert: Terminal, arguments: list[str]) -> None:
    code, output, _ = convert(*arguments, stdin=WHOLE)
    assert (code, output) == (64, "")


def test_a_terminal_on_standard_input_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    ours, theirs = os.openpty()
    with open(theirs) as terminal, open(ours):
        monkeypatch.setattr(sys, "stdin", terminal)
        code = main(["convert", "--to", "machine-api"])
    assert code == 64
    assert b"nothing to read: give files with -f, or pipe them in" in capfdbinary.readouterr().err


def test_an_object_cannot_forge_a_line_of_standard_error(convert: Terminal) -> None:
    forged = BROKEN.replace("name: w-1", r'name: "x\nerror: y"')
    _, output, complaints = convert("--to", "machine-api", "-o", "json", stdin="---".join([forged, INFRA, CLUSTER]))
    assert complaints[-1] == rf"error: Machine/x\nerror: y: {UNSUPPORTED}"
    assert json.loads(output)["errors"][0]["object"] == "Machine/x\nerror: y"


def documents(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The row's input as a user would have it: with kinds, and infrastructure as it is, even without a name."""
    given, platform = row["input"], platform_of(row)
    api = "cluster.x-k8s.io/v1beta2" if row["direction"] == TO_MACHINE_API else "machine.openshift.io/v1beta1"
    infra = "infrastructure.cluster.x-k8s.io/v1beta2"
    identity = {
        "machine": (api, "Machine"),
        "machineSet": (api, "MachineSet"),
        "infraMachine": (infra, platform.infra_machine.RESOURCE.kind),
        "infraMachineTemplate": (infra, platform.infra_template.RESOURCE.kind),
        "infraCluster": (infra, platform.infra_cluster.RESOURCE.kind),
        "infrastructure": ("config.openshift.io/v1", "Infrastructure"),
    }
    whole = []
    for name, tree in given.items():
        if tree is not None:
            api_version, kind = identity[name]
            whole.append({"apiVersion": api_version, "kind": kind, **tree})
    if row["direction"] == TO_CLUSTER_API and given["infrastructure"]:
        # As it is on every cluster; few of those that were recorded say it.
        whole[0]["status"] = {"platformStatus": {"type": platform.name}, **whole[0]["status"]}
    return whole


def is_whole(row: dict[str, Any]) -> bool:
    """Whether there is something to convert, and what a cluster always has."""
    given = row["input"]
    return (given.get("machine") or given.get("machineSet")) and given.get("infrastructure", "there") is not None


@pytest.mark.parametrize(
    "row", [*filter(is_whole, rows(TO_MACHINE_API)), *filter(is_whole, rows(TO_CLUSTER_API))], ids=row_id
)
def test_recorded_inputs_give_what_conversion_gives(convert: Terminal, row: dict[str, Any]) -> None:
    trees, direction = documents(row), row["direction"]
    # Every other one as YAML, which is slow to write and read but must give the same.
    text = yaml.dump_all(trees, allow_unicode=True) if len(row["case"]) % 2 else "\n".join(map(json.dumps, trees))
    target = "machine-api" if direction == TO_MACHINE_API else "cluster-api"
    code, output, _ = convert("--to", target, "-o", "json", stdin=text)
    printed, expected = json.loads(output), convert_directly(row)

    assert [entry["message"] for entry in printed["errors"]] == expected.errors
    told = [entry["message"] for entry in printed["warnings"]]
    # Documents do not say whether Cluster API takes taints, so all that have some get a warning after those of theirs.
    about_gate = [text for text in told if "feature gate MachineTaintPropagation" in text]
    assert told == expected.warnings + expected.losses + about_gate
    assert code == (1 if expected.errors else 0)
    assert list(map(without_identity, printed["items"])) == list(
        map(without_identity, (expected.output or {}).values())
    )
    assert all(item["apiVersion"] and item["kind"] for item in printed["items"])
    assert {item["metadata"]["namespace"] for item in printed["items"]} <= {f"openshift-{target}"}


def without_identity(tree: dict[str, Any]) -> dict[str, Any]:
    """Without what `windlass convert` decides: kind and namespace."""
    metadata = {key: value for key, value in tree["metadata"].items() if key != "namespace"}
    return {key: value for key, value in tree.items() if key not in ("apiVersion", "kind")} | {"metadata": metadata}
