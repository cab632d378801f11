"""`windlass plan machine-sync` from files: what it prints where, and its exit codes."""

import io
import json
import sys
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from tests.unit.machine_sync.planning.documents import ALONE, AT_REST, INFRASTRUCTURE, MACHINE, UNMIRRORED
from windlass.api import mapi
from windlass.capability.conventions import plan_as_text
from windlass.capability.planning import KeyPlan
from windlass.capability.planning.following import Course
from windlass.cli import main
from windlass.kube.control.merge import FieldChange
from windlass.kube.control.plan import Call, Emit, Merge, Request, RequeueAfter, Result, Retry, Target, WaitFor
from windlass.kube.errors import Withheld

NEW_SET = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "MachineSet",
    "metadata": {"name": "new", "namespace": "openshift-machine-api"},
    "spec": {
        "selector": {"matchLabels": {"role": "new"}},
        "template": {
            "metadata": {"labels": {"role": "new"}},
            "spec": {"providerSpec": {"value": {"kind": "OpenstackProviderSpec", "flavor": "m1", "image": "rhcos"}}},
        },
    },
}
MIRROR = "Machine.machine.openshift.io openshift-machine-api/worker-0"
SYNC = "sync.machine.openshift.io/finalizer"


class Terminal:
    """Runs the command with this on standard input, and tells what came out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        self._monkeypatch = monkeypatch
        self._captured = capfdbinary

    def __call__(self, *arguments: str, given: str = UNMIRRORED) -> tuple[int, list[str], list[str]]:
        """Exit code, lines of standard output, lines of standard error."""
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        code = main(["plan", "machine-sync", "-f", "-", *arguments])
        output = self._captured.readouterr()
        return code, output.out.decode().splitlines(), output.err.decode().splitlines()

    def json(self, *arguments: str, given: str = UNMIRRORED) -> Any:
        """What `-o json` prints."""
        _, output, _ = self("-o", "json", *arguments, given=given)
        return json.loads("\n".join(output))


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Terminal:
    return Terminal(monkeypatch, capfdbinary)


# What is printed


def test_each_write_stands_with_its_reason_and_its_fields_and_then_what_comes_next(plan: Terminal) -> None:
    code, output, complaints = plan("machine/worker-0")

    assert (code, complaints) == (3, [])
    assert output[0] == "machine/worker-0"
    (create,) = [at for at, line in enumerate(output) if line.startswith(f"  create {MIRROR}: ")]
    assert output[create].partition(": ")[2]
    assert '    + spec.providerSpec.value.flavor: "m1.large"' in output[create + 1 :]
    assert '    + spec.authoritativeAPI: "ClusterAPI"' in output[create + 1 :]
    assert output[-1] == "  then look again at once"


@pytest.mark.parametrize(("option", "mirrored"), [((), False), (("--machine-taint-propagation",), True)])
def test_taints_are_mirrored_if_the_user_says_that_cluster_api_takes_them(
    plan: Terminal, option: tuple[str, ...], mirrored: bool
) -> None:
    tainted = {**NEW_SET["spec"]["template"]["spec"], "taints": [{"key": "gpu", "effect": "NoSchedule"}]}  # type: ignore[index]
    cluster = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster"}
    given = [
        {**NEW_SET, "spec": {**NEW_SET["spec"], "template": {"spec": tainted}}},  # type: ignore[dict-item]
        {**cluster, "metadata": {"name": "c", "namespace": "openshift-cluster-api"}},
    ]
    _, output, _ = plan("--rounds", *option, given=f"{INFRASTRUCTURE}---\n{yaml.safe_dump_all(given)}")
    assert any("spec.template.spec.taints" in line for line in output) == mirrored


def test_what_needs_nothing_is_counted_in_one_line(plan: Terminal) -> None:
    assert plan(given=AT_REST) == (0, ["Nothing to do for 1 Machine."], [])


@pytest.mark.parametrize("arguments", [["--all"], ["alone"], ["machine/alone"], ["machines.cluster.x-k8s.io/alone"]])
def test_what_needs_nothing_is_shown_with_the_reason_if_it_is_asked_for(plan: Terminal, arguments: list[str]) -> None:
    code, output, _ = plan(*arguments, given=AT_REST)

    assert code == 0
    assert output == [
        "machine/alone",
        "  nothing to do: an independent Cluster API machine: no v1beta2 MachineSet owns it",
    ]


def test_nothing_but_what_is_named_is_planned(plan: Terminal) -> None:
    assert [item["name"] for item in plan.json("worker-0", "alone")["items"]] == ["alone", "worker-0"]
    assert [item["name"] for item in plan.json("alone")["items"]] == ["alone"]


def test_json_has_every_documented_key(plan: Terminal) -> None:
    document = plan.json("machine/worker-0")

    assert document.keys() == {"items", "errors"}
    assert document["errors"] == []
    (item,) = document["items"]
    assert item.keys() == {"kind", "name", "actions", "next"}
    assert (item["kind"], item["name"], item["next"]) == ("Machine", "worker-0", {"type": "Done", "note": ""})
    held = next(action for action in item["actions"] if action["target"]["kind"] == "OpenStackMachine")
    assert held["target"] == {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "OpenStackMachine",
        "namespace": "openshift-cluster-api",
        "name": "worker-0",
    }
    assert (held["verb"], held["subresource"]) == ("add finalizer to", "")
    assert held["why"]
    assert held["diff"] == [{"path": "metadata.finalizers", "before": None, "after": SYNC}]


def test_json_has_what_needs_nothing_too(plan: Terminal) -> None:
    (item,) = plan.json(given=AT_REST)["items"]

    assert item["actions"] == []
    assert item["next"]["note"].startswith("an independent Cluster API machine")


def test_a_later_file_overrides_what_an_earlier_one_has_and_that_is_said(plan: Terminal, tmp_path: Path) -> None:
    changed = tmp_path / "changed.yaml"
    changed.write_text(MACHINE.replace("role: worker", "role: infra"))

    code, output, complaints = plan("worker-0", "-f", str(changed))

    assert code == 3
    assert '    + metadata.labels.role: "infra"' in output
    (note,) = complaints
    assert note.startswith("note: Machine/worker-0 (stdin:")
    assert note.endswith(f"given more than once, what counts is in {changed}:2")


def test_names_in_files_can_do_nothing_to_a_terminal(plan: Terminal) -> None:
    _, output, _ = plan(given=UNMIRRORED.replace("worker-0", r'"w\e[2Jz"'))

    assert r"machine/w\x1b[2Jz" in output
    assert not any("\x1b" in line for line in output)


# From plan to rest


def test_a_plan_for_objects_without_status_says_that_there_are_more_steps(plan: Terminal) -> None:
    fresh = "\n---\n".join([INFRASTRUCTURE, json.dumps(NEW_SET)])

    code, _, complaints = plan(given=fresh)
    _, _, of_rounds = plan("--rounds", given=fresh)

    assert code == 3
    assert complaints == ["note: 1 object has no status, so this is only the first step; --rounds shows all of them"]
    assert not any("--rounds" in line for line in of_rounds)


def test_rounds_show_one_round_after_the_other(plan: Terminal) -> None:
    code, output, complaints = plan("machine/worker-0", "--rounds")

    assert (code, complaints) == (3, [])
    first, second = output.index("  round 1"), output.index("  round 2")
    assert any(line.startswith(f"    create {MIRROR}: ") for line in output[first:second])
    assert any(line.startswith(f"    merge {MIRROR} (status): ") for line in output[second:])
    assert '      + status.phase: "Running"' in output[second:]
    assert output[-1] == "  then nothing is left to do"


def test_rounds_end_with_objects_about_which_nothing_is_left_to_do(plan: Terminal) -> None:
    followed = plan.json("--rounds")
    assert followed["errors"] == []

    objects = "\n---\n".join(json.dumps(tree) for tree in followed["objects"])
    code, output, complaints = plan(given=f"{UNMIRRORED}\n---\n{objects}")

    assert code == 0, output
    assert any(line.startswith("note: Machine/worker-0 (stdin:") and "more than once" in line for line in complaints)


def test_rounds_keep_what_the_files_say_about_identity(plan: Terminal) -> None:
    objects = plan.json("--rounds", "machine/worker-0")["objects"]
    source = next(tree for tree in objects if tree["apiVersion"] == "cluster.x-k8s.io/v1beta2")

    assert source["metadata"]["uid"] == "00000000-0000-4000-8000-0000000000a0"
    assert source["status"] == yaml.safe_load(MACHINE)["status"]


def test_rounds_of_what_is_at_rest_are_none(plan: Terminal) -> None:
    assert plan("--rounds", given=AT_REST) == (0, ["Nothing to do for 1 Machine."], [])
    (item,) = plan.json("--rounds", given=AT_REST)["items"]
    assert item["rounds"] == []


def test_rounds_need_files(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "machine-sync", "--rounds"]) == 64
    assert "give files with -f" in capfd.readouterr().err


# What cannot be planned


def test_without_the_infrastructure_there_is_an_error_with_the_remedy(plan: Terminal) -> None:
    code, output, complaints = plan(given=MACHINE)

    assert (code, output) == (1, [])
    assert complaints == [
        "error: Infrastructure cluster does not exist: it says for which platform to plan; "
        "get it with kubectl get infrastructure cluster -o yaml"
    ]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("platformStatus: {type: PowerVS}", "Machine sync does not serve platform PowerVS"),
        ("platformStatus: {}", "does not say on which platform the cluster runs"),
        ("platformStatus: 1", "Infrastructure cluster cannot be read: "),
    ],
)
def test_a_platform_that_is_not_served_is_an_error(plan: Terminal, written: str, said: str) -> None:
    code, output, (complaint,) = plan(given=UNMIRRORED.replace("platformStatus: {type: OpenStack}", written))

    assert (code, output) == (1, [])
    assert said in complaint
    assert "status.platformStatus" in complaint


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\n",
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Machine\n",
            "Machine/worker-0 (stdin:7): apiVersion cluster.x-k8s.io/v1beta1 is not supported, "
            "only cluster.x-k8s.io/v1beta2: get it in that version",
        ),
        ("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\n", "kind: Machine\n", "apiVersion is missing: add it"),
        ("  name: worker-0\n", "", "Machine/? (stdin:7): metadata.name is missing"),
        ('resourceVersion: "70"', "resourceVersion: 70", "(in YAML, quote it)"),
        ("---", "---\n{", "invalid YAML"),
    ],
)
def test_an_object_that_cannot_be_taken_in_leaves_nothing_planned(
    plan: Terminal, before: str, after: str, said: str
) -> None:
    """A plan without it would be another plan: what is missing looks like what does not exist."""
    code, output, complaints = plan(given=UNMIRRORED.replace(before, after, 1))

    assert (code, output) == (2, [])
    assert said in complaints[0]


def test_a_file_that_is_not_there_is_exit_code_2(plan: Terminal, tmp_path: Path) -> None:
    code, _, complaints = plan("-f", str(tmp_path / "none.yaml"))

    assert code == 2
    assert complaints == [f"error: {tmp_path / 'none.yaml'}: No such file or directory"]


def test_documents_without_machines_are_an_error(plan: Terminal) -> None:
    code, _, complaints = plan(given=INFRASTRUCTURE)

    assert code == 1
    assert complaints == ["error: no Machine or MachineSet among the 1 objects that were read"]


def test_a_name_that_nothing_has_is_an_error_and_the_others_are_shown(plan: Terminal) -> None:
    code, output, complaints = plan("alone", "machine/none", given=AT_REST)

    assert code == 1
    assert output[0] == "machine/alone"
    assert complaints == ["error: no machine 'none' in openshift-machine-api or openshift-cluster-api"]


def test_a_name_of_another_kind_is_a_usage_error(plan: Terminal) -> None:
    code, _, complaints = plan("node/worker-0")

    assert code == 64
    assert "machine/NAME or machineset/NAME" in complaints[0]


# What is worth a word


def test_machines_in_other_namespaces_are_left_out_with_a_note(plan: Terminal) -> None:
    elsewhere = ALONE.replace("openshift-cluster-api", "elsewhere").replace("alone", "far")
    code, output, complaints = plan("--all", given=f"{AT_REST}---{elsewhere}")

    assert code == 0
    assert output[0] == "machine/alone"
    assert complaints == [
        "note: 1 Machine in namespace elsewhere left out: machines are looked for in openshift-machine-api and "
        "openshift-cluster-api; --machine-api-namespace and --cluster-api-namespace say otherwise"
    ]
    _, output, _ = plan("--all", "--cluster-api-namespace", "elsewhere", given=f"{AT_REST}---{elsewhere}")
    assert output[0] == "machine/far"


def test_a_feature_gate_that_is_off_is_said_and_the_plan_is_shown(plan: Terminal) -> None:
    gate = """
apiVersion: config.openshift.io/v1
kind: FeatureGate
metadata: {name: cluster}
status: {featureGates: [{version: 4.21.0, enabled: []}]}
"""
    code, output, (complaint,) = plan("worker-0", given=f"{UNMIRRORED}---{gate}")

    assert code == 3
    assert output[0] == "machine/worker-0"
    assert complaint.startswith("warning: Machine sync idles on this cluster: feature gate MachineAPIMigration is not")
    assert "enable the feature gate" in complaint


class Noon(datetime):
    """It is always now."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Noon":
        return cls(2026, 5, 1, 12, tzinfo=tz)


def test_a_must_gather_is_read(plan: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Plans say from when on a condition would hold, and the two that are compared here are made one after the other.
    monkeypatch.setattr("windlass.cli.plan.carry_out.datetime", Noon)
    for document in yaml.safe_load_all(UNMIRRORED.replace("creationTimestamp: null", "creationTimestamp:")):
        meta, group = document["metadata"], document["apiVersion"].split("/")[0]
        place = Path("namespaces", meta["namespace"]) if "namespace" in meta else Path("cluster-scoped-resources")
        folder = tmp_path / "must-gather" / "quay-io-1" / place / group / f"{document['kind'].lower()}s"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{meta['name']}.yaml").write_text(yaml.safe_dump(document))

    assert plan("-f", str(tmp_path / "must-gather"), given="") == plan()


# How it looks


MACHINE_TARGET = Target(mapi.Machine, "worker-0", "openshift-machine-api", "uid", "1")
CHANGED = Merge(
    target=MACHINE_TARGET,
    observed={"spec": {"a": 1, "gone": {"deep": [1, 2]}}},
    desired={"spec": {"a": 2, "new": {"list": [{"x": True}]}}},
    why="because",
)


def test_a_field_that_changes_is_a_line_that_goes_and_a_line_that_comes() -> None:
    assert plan_as_text.lines(KeyPlan("Machine", "worker-0", (CHANGED,)), colour=False) == [
        "machine/worker-0",
        f"  merge {MIRROR}: because",
        "    - spec.a: 1",
        "    + spec.a: 2",
        "    + spec.new.list[0].x: true",
        "    - spec.gone.deep: [1,2]",
        "  then look again at once",
    ]


class ResizeServer(Request, frozen=True):
    SYSTEM: ClassVar[str] = "cloud"
    before: str
    after: str

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("flavor", self.before, self.after),)


def test_an_effect_outside_kubernetes_reads_like_a_write() -> None:
    resize = Call(target=MACHINE_TARGET, request=ResizeServer("m1", "m2"), why="the flavor changed")
    assert plan_as_text.lines(KeyPlan("Machine", "worker-0", (resize,)), colour=False) == [
        "machine/worker-0",
        f"  resize server (cloud) for {MIRROR}: the flavor changed",
        '    - flavor: "m1"',
        '    + flavor: "m2"',
        "  then look again at once",
    ]


def test_a_request_that_a_model_cannot_answer_reads_as_not_sent() -> None:
    resize = Call(target=MACHINE_TARGET, request=ResizeServer("m1", "m2"), why="the flavor changed")
    tried = (Result(resize, error=Withheld("nothing here carries requests to cloud")),)
    assert plan_as_text.lines(Course("Machine", "worker-0", WaitFor("the answer"), [tried]), colour=False)[-2:] == [
        "      not sent: nothing here carries requests to cloud",
        "  then wait for the answer (look again in 10m at the latest)",
    ]


def test_on_a_terminal_what_goes_is_red_and_what_comes_is_green() -> None:
    heading, action, gone, come, *_ = plan_as_text.lines(KeyPlan("Machine", "worker-0", (CHANGED,)), colour=True)

    assert heading == "\x1b[1mmachine/worker-0\x1b[0m"
    assert action == f"  \x1b[36mmerge {MIRROR}: because\x1b[0m"
    assert gone == "    \x1b[31m- spec.a: 1\x1b[0m"
    assert come == "    \x1b[32m+ spec.a: 2\x1b[0m"


@pytest.mark.parametrize(
    ("coming", "text"),
    [
        (RequeueAfter(90, "it takes a while"), "look again in 90s: it takes a while"),
        (WaitFor("the provider", 600), "wait for the provider (look again in 10m at the latest)"),
        (Retry("no route"), "try again, with growing delays: no route"),
    ],
)
def test_what_comes_next_is_a_sentence(coming: Any, text: str) -> None:
    assert plan_as_text.lines(KeyPlan("Machine", "m", next=coming), colour=False) == ["machine/m", f"  {text}"]
    assert plan_as_text.lines(KeyPlan("Machine", "m", (CHANGED,), coming), colour=False)[-1] == f"  then {text}"


def test_text_out_of_objects_can_do_nothing_to_the_terminal() -> None:
    note = "first\nsecond \x1b[2Jthird"
    event = Emit(target=MACHINE_TARGET, type="Warning", reason="Odd", note=note, source="here")

    _, line, _ = plan_as_text.lines(KeyPlan("Machine", "m", (event,)), colour=False)

    assert line == rf"  event Warning Odd on {MIRROR}: first\nsecond \x1b[2Jthird"
