"""Builds by Jobs, on the model. The job controller is played here; tests/api has the real one."""

from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from tests.unit.os_build.backends.cluster import ClusterSide
from tests.unit.os_build.backends.conformance import BackendConformance, order
from windlass.api.batch import Job
from windlass.api.core import ConfigMap, Pod
from windlass.api.machineconfiguration import Proxy
from windlass.kube.clock import rfc3339
from windlass.kube.control.permissions import rules
from windlass.kube.verbs import PatchType
from windlass.os_build.backends.job import JobBackend, scripts
from windlass.os_build.builder import ATTEMPTS, Deadlines, Phase
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.environment import Egress, Environment, Lent
from windlass.os_build.failure import explain
from windlass.os_build.placement import Placement, Toleration
from windlass.testing.builds.openshift import contents
from windlass.testing.builds.pods import Ended, PlayedPods


class JobSide(ClusterSide):
    """A played job controller with one Pod a Job, and a played kubelet."""

    def __init__(self, placement: Placement | None = None) -> None:
        super().__init__(Job, Pod, make=lambda reader: JobBackend(reader, placement=placement))
        self.pods = PlayedPods(self.api, namespace=NAMESPACE, clock=self.clock)

    async def run(self, name: str) -> None:
        job = await self.api.get(Job, name, namespace=NAMESPACE)
        await self.api.get(ConfigMap, name, namespace=NAMESPACE)  # a kubelet could not mount it otherwise
        template = job.tree()["spec"]["template"]
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job.uid, "controller": True}
        assigned = {"batch.kubernetes.io/job-name": name, "batch.kubernetes.io/controller-uid": job.uid}
        metadata = {
            **template["metadata"],
            "name": f"{name}-pod",
            "labels": {**template["metadata"]["labels"], **assigned},
            "ownerReferences": [owner],
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        await self.pods.run(await self.api.create(Pod, body, namespace=NAMESPACE))
        await self.report(name, active=1, startTime=rfc3339(self.clock()))

    async def succeed(self, name: str, *, digest: str) -> None:
        await self._end(name, Ended(message=digest))
        await self.report(name, "Complete", succeeded=1, completionTime=rfc3339(self.clock()))

    async def fail(self, name: str, *, log: str, pushing: bool = False) -> None:
        transient = explain(log, exit_code=None, doing="push" if pushing else "build").transient
        await self._end(name, Ended(exit_code=(75 if transient else 65) + pushing, message=log))
        reason = "BackoffLimitExceeded" if transient else "PodFailurePolicy"
        await self.report(name, "Failed", reason, failed=ATTEMPTS if transient else 1)

    async def lose(self, name: str) -> None:
        await self.api.delete(Job, name, namespace=NAMESPACE, propagation="Background")
        await self.settle()

    async def end_cancelled(self) -> None:
        for job in self.api.listing(Job):
            if job.decode().spec.suspend and not job.decode().status.conditions:
                for pod in await self.pods.of(job.name):
                    await self.api.delete(Pod, pod.name, namespace=NAMESPACE)
                await self.report(job.name, "Suspended", "JobSuspended")

    async def report(self, name: str, kind: str = "", reason: str = "", **counters: Any) -> None:
        """Write the status of the Job: a condition, unless it has none, and its counters."""
        now = rfc3339(self.clock())
        conditions = [{"type": kind, "status": "True", "reason": reason, "lastTransitionTime": now}] if kind else []
        status = {"active": 0, **counters, "conditions": conditions}
        await self.api.patch(
            Job, name, {"status": status}, type=PatchType.MERGE, namespace=NAMESPACE, subresource="status"
        )

    async def _end(self, name: str, ended: Ended) -> None:
        [pod] = await self.pods.of(name)
        await self.pods.end(pod, ended)

    async def spec(self, **changes: Any) -> Any:
        """The `spec` of the Job of a build."""
        await self.apply(*self.backend.start(order(**changes)))
        [job] = self.api.listing(Job)
        return job.tree()["spec"]


class TestJobs(BackendConformance):
    @pytest.fixture
    def other_side(self) -> JobSide:
        return JobSide()


async def test_a_job_repeats_what_may_pass_and_nothing_else() -> None:
    spec = await JobSide().spec(deadlines=Deadlines(build=100.0, push=20.0))
    assert (spec["completions"], spec["backoffLimit"]) == (1, 3)
    assert "activeDeadlineSeconds" not in spec, "it would count while no container has started"
    environment = {each["name"]: each["value"] for each in spec["template"]["spec"]["containers"][0]["env"]}
    assert (environment["BUILD_SECONDS"], environment["PUSH_SECONDS"]) == ("100", "20")
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert spec["podFailurePolicy"]["rules"] == [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailJob", "onExitCodes": {"containerName": "build", "operator": "In", "values": [65, 66, 67, 137]}},
    ]
    assert "ttlSecondsAfterFinished" not in spec, "a failed build stays until it is cleaned"


@pytest.mark.parametrize(("attempt", "more"), [(1, 3), (3, 1), (4, 0), (9, 0)])
async def test_a_later_attempt_leaves_the_job_fewer_of_its_own(attempt: int, more: int) -> None:
    assert (await JobSide().spec(attempt=attempt))["backoffLimit"] == more


async def test_a_job_that_is_being_deleted_was_interrupted() -> None:
    side, wanted = JobSide(), order()
    await side.apply(*side.backend.start(wanted))
    await side.run(wanted.name)
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    await side.api.patch(Job, wanted.name, held, type=PatchType.MERGE, namespace=NAMESPACE)
    await side.api.delete(Job, wanted.name, namespace=NAMESPACE)
    [state] = side.backend.look("worker")
    assert (state.phase, state.ending, state.note) == (Phase.INTERRUPTED, True, f"Job {wanted.name} is being deleted")
    assert state.started is not None


async def test_secrets_are_volumes_and_the_pod_has_no_token() -> None:
    spec = (await JobSide().spec())["template"]["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes["pull"]["secret"] == {"secretName": "pull"}
    assert volumes["push"]["secret"] == {"secretName": "push"}
    assert spec["automountServiceAccountToken"] is False
    assert spec["serviceAccountName"] == "machine-os-builder"
    assert spec["terminationGracePeriodSeconds"] <= 3, "a superseded build is gone within three seconds"


async def test_a_build_for_an_architecture_runs_on_its_nodes_and_is_found_as_such() -> None:
    side = JobSide(Placement(node_selector=(("build", "here"),)))
    wanted = order()
    await side.apply(*side.backend.start(replace(wanted, request=wanted.request.on("arm64"), part_of="all")))
    [job] = side.api.listing(Job)
    spec = job.tree()["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"build": "here", "kubernetes.io/arch": "arm64"}
    [state] = side.backend.look("worker")
    assert (state.architecture, state.part_of) == ("arm64", "all")


async def test_the_settings_reach_the_pod() -> None:
    settings = Placement(
        image="registry.example.com/builder:1",
        service_account="builder",
        priority_class="builds",
        node_selector=(("build", "here"),),
        tolerations=(Toleration("build", effect="NoSchedule"),),
        limits=(("memory", "4Gi"),),
    )
    spec = (await JobSide(settings).spec())["template"]["spec"]
    [container] = spec["containers"]
    assert (container["image"], spec["serviceAccountName"]) == ("registry.example.com/builder:1", "builder")
    assert (spec["nodeSelector"], container["resources"]) == ({"build": "here"}, {"limits": {"memory": "4Gi"}})
    assert spec["tolerations"] == [{"key": "build", "operator": "Exists", "effect": "NoSchedule"}]
    assert spec["priorityClassName"] == "builds"


async def test_what_the_config_map_says_of_builders_counts_instead_of_the_settings() -> None:
    side = JobSide(Placement(image="registry.example.com/builder:1", limits=(("memory", "4Gi"),)))
    asked = structs.replace(order().request, placement=Placement(image="mirror.example.com/builder:2"))
    await side.apply(*side.backend.start(structs.replace(order(), request=asked)))
    [job] = side.api.listing(Job)
    [container] = job.tree()["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["resources"]) == (
        "mirror.example.com/builder:2",
        {"limits": {"memory": "4Gi"}},
    )


ENVIRONMENT = Environment(
    egress=Egress(
        proxy=Proxy(https_proxy="http://proxy:3128", no_proxy=".svc"),
        trust_bundle="bundle",
        authorities="registries",
        registries=(("r.example.com:5000", "of r"),),
    ),
    containers={
        "certs.d/s.example.com/client.cert": b"of s",
        "policy.json": b"{}",
        "registries.conf": b"mirrors",
        "registries.conf.d/a.conf": b"more",
        "registries.d/a.yaml": b"signatures",
    },
    lent=(
        Lent("/etc/pki/entitlement", "Secret", "etc-pki-entitlement-worker"),
        Lent("/etc/yum.repos.d", "ConfigMap", "etc-yum-repos-d"),
    ),
)
HOME = "/home/build/.config/containers"


async def test_the_environment_is_files_of_the_builds_own_config_map_and_volumes_that_may_be_gone() -> None:
    side = JobSide()
    await side.apply(*side.backend.start(structs.replace(order(), environment=ENVIRONMENT)))
    [job], [config_map] = side.api.listing(Job), side.api.listing(ConfigMap)
    spec = job.tree()["spec"]["template"]["spec"]
    [container] = spec["containers"]
    at = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    held = dict(contents(config_map.decode()))
    mounted: dict[str, bytes] = {}
    for volume in spec["volumes"]:
        for source in volume.get("projected", {}).get("sources", [volume]):
            for item in source.get("configMap", {}).get("items", ()):
                if source["configMap"]["name"] == order().name:
                    mounted[f"{at[volume['name']]}/{item['path']}"] = held[item["key"]]
    assert mounted == {
        "/context/Containerfile": order().context.files["Containerfile"],
        "/context/rootfs.tar.gz": order().context.files["rootfs.tar.gz"],
        "/context/job_build.sh": scripts()["job_build.sh"],
        "/containers/registries.conf": b"mirrors",
        "/home/build/.config/containers/registries.conf.d/a.conf": b"more",
        "/containers/policy.json": b"{}",
        f"{HOME}/certs.d/r.example.com:5000/ca.crt": b"of r",
        f"{HOME}/certs.d/s.example.com/client.cert": b"of s",
        f"{HOME}/registries.d/a.yaml": b"signatures",
        "/trust/trusted.crt": b"bundle\nregistries\n",
    }
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes["entitlement"]["secret"] == {"secretName": "etc-pki-entitlement-worker", "optional": True}
    assert volumes["repositories"]["configMap"] == {"name": "etc-yum-repos-d", "optional": True}
    variables = {each["name"]: each["value"] for each in container["env"]}
    for name, value in {
        "HTTPS_PROXY": "http://proxy:3128",
        "https_proxy": "http://proxy:3128",
        "NO_PROXY": ".svc",
        "no_proxy": ".svc",
        "CONTAINERS": "/containers",
        "ENTITLEMENT": "/lent/entitlement",
        "REPOSITORIES": "/lent/repositories",
    }.items():
        assert variables[name] == value
    assert {"PACKAGE_KEYS", "HTTP_PROXY"}.isdisjoint(variables)


async def test_without_an_environment_there_is_nothing_of_it_but_the_ca_of_openshift() -> None:
    spec = (await JobSide().spec())["template"]["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["context", "pull", "push", "trust", "work", "images"]
    [trust] = [volume["projected"]["sources"] for volume in spec["volumes"] if volume["name"] == "trust"]
    assert [(each["configMap"]["name"], each["configMap"]["optional"]) for each in trust] == [
        ("openshift-service-ca.crt", True)
    ]
    assert {"tolerations", "priorityClassName", "nodeSelector"}.isdisjoint(spec)


async def test_volumes_are_only_of_kinds_that_need_no_right_on_the_node() -> None:
    side = JobSide()
    await side.apply(*side.backend.start(structs.replace(order(), environment=ENVIRONMENT)))
    [job] = side.api.listing(Job)
    volumes = job.tree()["spec"]["template"]["spec"]["volumes"]
    assert {*(key for volume in volumes for key in volume)} == {"name", "configMap", "secret", "projected", "emptyDir"}


async def test_the_config_map_has_the_context_and_the_script() -> None:
    side = JobSide()
    await side.spec()
    [config_map] = side.api.listing(ConfigMap)
    assert dict(contents(config_map.decode())) == {**order().context.files, **scripts()}


BASES = (f"quay.io/os/base@sha256:{'1' * 64}", f"quay.io/os/extensions@sha256:{'2' * 64}")


def based(*bases: str) -> Any:
    """An order whose build needs these images."""
    base, extensions = (*bases, "", "")[:2]
    context = structs.replace(order().context, base=base, extensions=extensions)
    return structs.replace(order(), context=context, environment=ENVIRONMENT)


async def test_with_a_claim_the_bases_are_unpacked_before_the_build_which_cannot_change_them() -> None:
    side = JobSide(Placement(cache_claim="bases"))
    await side.apply(*side.backend.start(based(*BASES)))
    [job], [config_map] = side.api.listing(Job), side.api.listing(ConfigMap)
    spec = job.tree()["spec"]["template"]["spec"]
    [first], [build] = spec["initContainers"], spec["containers"]
    [volume] = [each for each in spec["volumes"] if "persistentVolumeClaim" in each]
    assert volume == {"name": "cache", "persistentVolumeClaim": {"claimName": "bases"}}
    mounts = {each["name"]: {m["name"]: m for m in each["volumeMounts"]} for each in (first, build)}
    assert mounts["bases"]["cache"] == {"name": "cache", "mountPath": "/cache"}
    assert mounts["build"]["cache"] == {"name": "cache", "mountPath": "/cache", "readOnly": True}
    # Whatever writes to the cache has nothing that must not get there.
    needed = {"context", "pull", "trust", "work", "cache", "containers", "drop-ins", "certificates", "lookaside"}
    assert mounts["bases"].keys() == needed
    given = {each["name"]: {v["name"]: v["value"] for v in each["env"]} for each in (first, build)}
    assert given["bases"]["BASES"] == given["build"]["BASES"] == " ".join(BASES)
    assert given["bases"]["FILL"] == "1"
    assert "FILL" not in given["build"]
    assert {"PUSH_SECRET", "ENTITLEMENT", "IMAGE"}.isdisjoint(given["bases"])
    assert given["bases"]["HTTPS_PROXY"] == "http://proxy:3128"
    assert (first["image"], first["command"]) == (build["image"], build["command"])
    assert spec["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
    assert dict(contents(config_map.decode())).keys() >= scripts(shares=True).keys()


async def test_only_images_that_are_named_by_a_digest_are_shared() -> None:
    for bases, shared in (((), None), (("quay.io/os/base:v1",), None), (("quay.io/os/base:v1", BASES[1]), BASES[1])):
        side = JobSide(Placement(cache_claim="bases"))
        await side.apply(*side.backend.start(based(*bases)))
        [job] = side.api.listing(Job)
        containers = job.tree()["spec"]["template"]["spec"].get("initContainers", ())
        found = [v["value"] for each in containers for v in each["env"] if v["name"] == "BASES"]
        assert found == ([shared] if shared else [])


async def test_a_deleted_pod_is_replaced_and_the_build_goes_on() -> None:
    side = JobSide()
    await side.spec()
    name = order().name
    await side.run(name)
    [pod] = await side.pods.of(name)
    await side.api.delete(Pod, pod.name, namespace=NAMESPACE)
    await side.report(name, active=1, failed=1)
    assert [(state.phase, state.attempt) for state in side.backend.look("worker")] == [("Running", 2)]


async def test_files_that_are_left_over_are_replaced_since_they_may_be_gone_by_now() -> None:
    side = JobSide()
    await side.spec()
    await side.api.delete(Job, order().name, namespace=NAMESPACE)
    [state] = side.backend.look("worker")
    await side.apply(*side.backend.clean(state, why="again"), *side.backend.start(order()))
    assert [kind for kind in (Job, ConfigMap) if len(side.api.listing(kind)) == 1] == [Job, ConfigMap]


async def test_a_pod_of_a_job_wakes_the_pool_and_is_found_by_the_uid_of_its_job() -> None:
    side = JobSide()
    await side.spec()
    await side.run(order().name)
    [pod], [job] = side.api.listing(Pod), side.api.listing(Job)
    [watch] = [watch for watch in side.backend.watches if watch.kind is Pod]
    assert list(watch.map(pod)) == ["worker"]
    assert [value for index in watch.indexes.values() for value in index(pod)] == [job.uid]


def test_the_permissions_are_those_that_jobs_need() -> None:
    assert rules(JobSide().backend.permissions) == {
        None: [
            {
                "apiGroups": ["machineconfiguration.openshift.io"],
                "resources": ["machineconfigpools/finalizers"],
                "verbs": ["update"],
            }
        ],
        NAMESPACE: [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "delete"]},
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "delete", "patch"]},
        ],
    }
