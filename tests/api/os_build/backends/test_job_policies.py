"""The account of OS builds makes only Jobs of builds: its policies on a real API server, with its rights."""

import copy
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from tests.api.os_build.backends.stage import ACCOUNT, Stage, at_work, order
from tests.waiting import eventually
from windlass.api.batch import Job
from windlass.api.machineconfiguration import MachineConfigPool, Proxy
from windlass.capability.manifests.rights import ServiceAccount
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.plan import Create, Target
from windlass.kube.errors import Conflict, Invalid
from windlass.kube.verbs import PatchType
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.builder import Cause
from windlass.os_build.constants import BUILD_LABEL
from windlass.os_build.environment import Egress, Environment, lent
from windlass.os_build.placement import Placement, Toleration
from windlass.os_build.policies import policies
from windlass.testing import ControlPlane

pytestmark = pytest.mark.plane

Tree = dict[str, Any]
POD = "spec.template.spec"
CONTAINER = f"{POD}.containers[0]"
PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
DENIED = "denied request: "
TOKEN = {"name": "more", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
OTHERS = {"apiVersion": "v1", "kind": "ConfigMap", "name": "any", "uid": "1", "controller": True}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
OTHER = {"name": "other", "image": "other", "command": ["/bin/sh", "/context/job_build.sh"]}
FORBIDDEN = [
    ("metadata.labels", {"app": "other"}, "with the label"),
    ("metadata.ownerReferences", [], "owned by a MachineConfigPool"),
    ("metadata.ownerReferences[0].controller", False, "owned by a MachineConfigPool"),
    ("metadata.ownerReferences", [OTHERS], "owned by a MachineConfigPool"),
    ("spec.template.metadata.labels.app", "machine-config-server", "no other labels"),
    ("spec.template.metadata.annotations.k8s", "io", "no other annotations"),
    (f"{CONTAINER}.command", ["/bin/sh", "-c", "id"], "runs /bin/sh /context/job_build.sh"),
    (f"{CONTAINER}.command", None, "runs /bin/sh /context/job_build.sh"),
    (f"{CONTAINER}.args", ["-x"], "without args"),
    (f"{CONTAINER}.lifecycle", {"postStart": {"exec": {"command": ["id"]}}}, "without args, lifecycle"),
    (f"{CONTAINER}.livenessProbe", {"httpGet": {"port": 80, "host": "169.254.169.254"}}, "and probes"),
    (f"{CONTAINER}.readinessProbe", {"tcpSocket": {"port": 80}}, "and probes"),
    (f"{CONTAINER}.startupProbe", {"tcpSocket": {"port": 80}}, "and probes"),
    (f"{POD}.containers[1]", OTHER, "one container"),
    (f"{POD}.initContainers", [OTHER], "one container"),
    (f"{POD}.serviceAccountName", "machine-config-daemon", "serviceAccountName machine-os-builder"),
    (f"{POD}.serviceAccountName", None, "serviceAccountName machine-os-builder"),
    (f"{POD}.automountServiceAccountToken", True, "automountServiceAccountToken false"),
    (f"{POD}.automountServiceAccountToken", None, "automountServiceAccountToken false"),
    (f"{POD}.volumes[6]", TOKEN, "volumes are"),
    (f"{POD}.volumes[6]", {"name": "more", "hostPath": {"path": "/"}}, "volumes are"),
    (f"{POD}.volumes[6]", {"name": "more", "persistentVolumeClaim": {"claimName": "disk"}}, "volumes are"),
    (f"{POD}.volumes[6]", {"name": "more", "csi": {"driver": "secrets-store.csi.k8s.io"}}, "volumes are"),
    (f"{POD}.volumes[6]", {"name": "more", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}, "volumes are"),
    (f"{POD}.volumes[6]", {"name": "more", "nfs": {"server": "nfs", "path": "/"}}, "volumes are"),
    (f"{POD}.resourceClaims", [{"name": "device", "resourceClaimName": "device"}], "without resourceClaims"),
    (f"{POD}.hostNetwork", True, "without hostNetwork"),
    (f"{POD}.hostPID", True, "without hostNetwork, hostPID"),
    (f"{POD}.hostIPC", True, "without hostNetwork, hostPID, hostIPC"),
    (f"{CONTAINER}.ports", [{"containerPort": 80, "hostPort": 80}], "and hostPort"),
    (f"{POD}.securityContext", None, "a runAsUser that is not 0"),
    (f"{POD}.securityContext.runAsUser", 0, "a runAsUser that is not 0"),
    (f"{POD}.securityContext.seLinuxOptions", {"type": "spc_t"}, "seLinuxOptions"),
    (f"{POD}.securityContext.sysctls", [{"name": "kernel.msgmax", "value": "1"}], "sysctls"),
    (f"{POD}.securityContext.windowsOptions", {"runAsUserName": "SYSTEM"}, "windowsOptions"),
    (f"{CONTAINER}.securityContext", {"runAsUser": 0}, "a runAsUser that is not 0"),
    (f"{CONTAINER}.securityContext", {"privileged": True}, "without privileged"),
    (f"{CONTAINER}.securityContext", {"capabilities": {"add": ["SYS_ADMIN"]}}, "capabilities"),
    (f"{CONTAINER}.securityContext", {"seLinuxOptions": {"type": "spc_t"}}, "seLinuxOptions"),
    (f"{CONTAINER}.securityContext", {"windowsOptions": {"runAsUserName": "SYSTEM"}}, "windowsOptions"),
]
ALLOWED = [
    (f"{POD}.volumes[6]", {"name": "more", "secret": {"secretName": "etc-pki-entitlement"}}),
    (f"{POD}.volumes[6]", {"name": "more", "configMap": {"name": "etc-yum-repos-d"}}),
    (f"{POD}.volumes[6]", {"name": "more", "emptyDir": {"medium": "Memory"}}),
    (f"{POD}.volumes[6]", {"name": "more", "projected": {"sources": [{"secret": {"name": "etc-pki-rpm-gpg"}}]}}),
    (f"{POD}.tolerations", [{"operator": "Exists"}]),
    (f"{POD}.priorityClassName", "system-cluster-critical"),
    (f"{CONTAINER}.resources", {"requests": {"cpu": "1"}, "limits": {"memory": "4Gi"}}),
    (f"{CONTAINER}.securityContext", {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}),
    (f"{CONTAINER}.securityContext", {"runAsUser": 1000, "seccompProfile": {"type": "Unconfined"}}),
]
PLACED = Placement(
    image="registry.example.com/buildah@sha256:" + "1" * 64,
    node_selector=(("kubernetes.io/os", "linux"),),
    tolerations=(Toleration("build"),),
    requests=(("cpu", "1"),),
    limits=(("cpu", "2"),),
)
ENVIRONMENT = Environment(
    egress=Egress(
        proxy=Proxy(https_proxy="http://proxy:3128"),
        trust_bundle="bundle",
        registries=(("registry.example.com:5000", "certificate"),),
    ),
    containers={"registries.conf": b"", "registries.d/a.yaml": b"", "certs.d/r/client.cert": b""},
    lent=lent("any", lambda _kind, _name: True),
)
BASE = f"quay.io/os/base@sha256:{'1' * 64}"
SETTINGS = [(Placement(), Environment()), (PLACED, ENVIRONMENT)]


@pytest.fixture(scope="module")
def policed(build_plane: ControlPlane) -> Iterator[str]:
    """A namespace whose account of OS builds is under the policies; they go with the module."""
    plane = build_plane.blocking
    namespace = plane.create_namespace()
    documents = [each for policy in policies(ServiceAccount(namespace, ACCOUNT)) for each in policy.documents()]
    plane.apply(*documents)
    yield namespace
    for document in reversed(documents):
        plural = PLURALS[document["kind"]]
        plane.rest.request("DELETE", f"/apis/{document['apiVersion']}/{plural}/{document['metadata']['name']}")


class Acting:
    """The account, and the Job of a build that it would make."""

    def __init__(self, client: Client, stage: Stage, job: Tree) -> None:
        self.client = client
        self.stage = stage
        self.job = job

    async def refusal(self, job: Tree, *, by: Client | None = None) -> str:
        """The message with which a policy refuses to create this Job; empty if it would be created."""
        path = Job.RESOURCE.path(namespace=self.stage.namespace)
        try:
            await (by or self.client).request("POST", path, query={"dryRun": "All"}, body=job)
        except Invalid as refused:
            return denied(refused)
        return ""

    async def refusal_of_change(self, name: str, patch: Tree) -> str:
        """The same of a merge patch."""
        try:
            await self.client.patch(Job, name, patch, type=PatchType.MERGE, namespace=self.stage.namespace)
        except Invalid as refused:
            return denied(refused)
        return ""


def denied(refused: Invalid) -> str:
    _, found, message = str(refused).partition(DENIED)
    assert found, str(refused)
    return message


@pytest.fixture
async def acting(build_plane: ControlPlane, policed: str) -> AsyncIterator[Acting]:
    """With the rights of the controller, and the policies in force."""
    async with at_work(build_plane, policed, lambda reader: JobBackend(reader, namespace=policed)) as stage:
        kubeconfig = await build_plane.service_account_kubeconfig(policed, ACCOUNT)
        async with Client(config.load(kubeconfig=kubeconfig)) as client:
            acting = Acting(client, stage, job_of(stage, Target(MachineConfigPool, "pool", uid="1")))
            await until_in_force(acting)
            yield acting


def job_of(stage: Stage, pool: Target, *, base: str = "") -> Tree:
    """The Job of a build of the pool, as the controller sends it."""
    wanted = order(pool)
    (body,) = (
        action.body
        for action in stage.backend.start(replace(wanted, context=replace(wanted.context, base=base)))
        if isinstance(action, Create) and action.target.kind is Job
    )
    metadata = {**body["metadata"], "name": "build", "namespace": stage.namespace}
    return {"apiVersion": Job.RESOURCE.api_version, "kind": Job.RESOURCE.kind, **body, "metadata": metadata}


def changed(job: Tree, path: str, value: Any) -> Tree:
    """The Job with this value at `path`, where an index behind the end appends; None: without the field."""
    made = copy.deepcopy(job)
    *way, last = path.replace("[", ".").replace("]", "").split(".")
    at: Any = made
    for name in way:
        at = at[int(name)] if name.isdecimal() else at[name]
    if isinstance(at, list):
        at.append(value)
    elif value is None:
        del at[last]
    else:
        at[last] = value
    return made


async def until_in_force(acting: Acting) -> None:
    """Until both policies refuse what they must."""
    pool = await acting.stage.pool(f"probe-{time.monotonic_ns()}")
    await acting.stage.start(order(pool))
    forbidden = changed(acting.job, f"{POD}.hostPID", True)
    await eventually(lambda: acting.refusal(forbidden), bool, what="the policy on new Jobs")
    change = {"metadata": {"labels": {BUILD_LABEL: None}}}
    await eventually(lambda: acting.refusal_of_change(order(pool).name, change), bool, what="the policy on changes")


@pytest.mark.parametrize(("placement", "environment"), SETTINGS, ids=["as usual", "with all settings"])
async def test_the_controller_makes_suspends_and_removes_its_jobs(
    build_plane: ControlPlane, acting: Acting, placement: Placement, environment: Environment
) -> None:
    namespace = acting.stage.namespace
    async with at_work(
        build_plane, namespace, lambda reader: JobBackend(reader, namespace=namespace, placement=placement)
    ) as stage:
        pool = await stage.pool(f"own-{time.monotonic_ns()}")
        await stage.start(replace(order(pool), environment=environment))
        await eventually(lambda: cancelled(stage, pool), what="it is suspended beside the writes of the job controller")
        await stage.until(pool, lambda state: state.is_over or state.ending)
        await stage.clean(pool)
        await stage.until_gone(pool, Job)


async def cancelled(stage: Stage, pool: Target) -> bool:
    [state] = stage.backend.look(pool.name)
    outcome = await stage.tried(*stage.backend.cancel(state, Cause.DEADLINE))
    assert outcome.error is None or isinstance(outcome.error, Conflict), str(outcome.error)
    return outcome.error is None


async def test_what_builds_do_not_need_is_refused_and_the_message_says_what(acting: Acting) -> None:
    assert await acting.refusal(acting.job) == ""
    said = [(*case, await acting.refusal(changed(acting.job, *case[:2]))) for case in FORBIDDEN]
    assert [(path, value, message) for path, value, words, message in said if words not in message] == []
    assert all("windlass manifests policies os-build" in message for *_, message in said)


async def test_what_options_may_add_is_admitted(acting: Acting) -> None:
    said = [(*case, await acting.refusal(changed(acting.job, *case))) for case in ALLOWED]
    assert [each for each in said if each[-1]] == []


async def test_an_unmasked_proc_is_refused_even_with_users_of_its_own(acting: Acting) -> None:
    job = changed(changed(acting.job, f"{POD}.hostUsers", False), f"{CONTAINER}.securityContext", {})
    assert await acting.refusal(job) == ""
    assert "procMount" in await acting.refusal(changed(job, f"{CONTAINER}.securityContext", {"procMount": "Unmasked"}))


async def test_jobs_of_others_are_not_concerned(acting: Acting) -> None:
    admin = acting.stage.client
    said = [(*case, await acting.refusal(changed(acting.job, *case[:2]), by=admin)) for case in FORBIDDEN]
    assert [each for each in said if each[-1]] == []


async def test_only_jobs_of_builds_may_be_changed_and_only_suspended(acting: Acting) -> None:
    stage = acting.stage
    pool = await stage.pool(f"own-{time.monotonic_ns()}")
    await stage.start(order(pool))
    name = order(pool).name
    assert await acting.refusal_of_change(name, {"spec": {"suspend": True}}) == ""
    elsewhere = {"spec": {"template": {"spec": {"nodeSelector": {"node-role.kubernetes.io/master": ""}}}}}
    changes: list[Tree] = [
        elsewhere,
        {"metadata": {"labels": {BUILD_LABEL: None}}},
        {"metadata": {"ownerReferences": []}},
    ]
    for change in changes:
        assert "may not be changed" in await acting.refusal_of_change(name, change), change

    other = changed(changed(acting.job, "metadata.labels", {}), "metadata.ownerReferences", [])
    await stage.client.create(Job, other, namespace=stage.namespace)
    changes = [{"spec": {"suspend": True}}, {"metadata": acting.job["metadata"]}]
    for change in changes:
        assert "Only Jobs of builds may be changed" in await acting.refusal_of_change("build", change), change


async def test_with_a_claim_for_base_images_only_the_container_before_the_build_may_write_there(
    build_plane: ControlPlane,
) -> None:
    plane = build_plane.blocking
    namespace = plane.create_namespace()
    placement = Placement(cache_claim="bases")
    made = [
        renamed
        for policy in policies(ServiceAccount(namespace, ACCOUNT), placement=placement)
        for each in policy.documents()
        for renamed in (in_namespace(each, namespace),)
    ]
    plane.apply(*made)
    try:
        await claimed(build_plane, namespace, placement)
    finally:
        for document in reversed(made):
            plural = PLURALS[document["kind"]]
            plane.rest.request("DELETE", f"/apis/{document['apiVersion']}/{plural}/{document['metadata']['name']}")


async def claimed(plane: ControlPlane, namespace: str, placement: Placement) -> None:
    async with at_work(
        plane, namespace, lambda reader: JobBackend(reader, namespace=namespace, placement=placement)
    ) as stage:
        kubeconfig = await plane.service_account_kubeconfig(namespace, ACCOUNT)
        async with Client(config.load(kubeconfig=kubeconfig)) as client:
            acting = Acting(client, stage, job_of(stage, Target(MachineConfigPool, "pool", uid="1"), base=BASE))
            await until_in_force(acting)
            assert await acting.refusal(acting.job) == ""
            [mount] = [
                number
                for number, each in enumerate(acting.job["spec"]["template"]["spec"]["containers"][0]["volumeMounts"])
                if each["name"] == "cache"
            ]
            said = [
                (*case, await acting.refusal(changed(acting.job, *case[:2])))
                for case in (
                    (f"{CONTAINER}.volumeMounts[{mount}].readOnly", False, "read-only"),
                    (f"{CONTAINER}.volumeMounts[{mount}].readOnly", None, "read-only"),
                    (f"{POD}.volumes[9]", {"name": "d", "persistentVolumeClaim": {"claimName": "disk"}}, "bases"),
                    (f"{POD}.volumes[9]", {"name": "d", "persistentVolumeClaim": {"claimName": "bases"}}, "bases"),
                    (f"{POD}.initContainers[1]", OTHER, "one before it"),
                    (f"{POD}.initContainers[0].command", ["/bin/sh", "-c", "id"], "runs /bin/sh"),
                )
            ]
            assert [each for each in said if each[2] not in each[3]] == []


def in_namespace(document: Tree, namespace: str) -> Tree:
    """A policy or its binding under a name that no other test has."""
    made = copy.deepcopy(document)
    made["metadata"]["name"] += f"-{namespace}"
    if "policyName" in made["spec"]:
        made["spec"]["policyName"] += f"-{namespace}"
    return made
