"""A cluster without machine controllers: what people and Cluster API do there, and what can be seen of it."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from windlass.api import capi, capo, config, core, mapi
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, MACHINE_API_NAMESPACE
from windlass.testing import BlockingControlPlane
from windlass.testing.plane.access import found
from windlass.testing.plane.errors import Refused, Unreachable
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.rest import MERGE_PATCH, Rest
from windlass.testing.plane.waiting import wait_for

Tree = dict[str, Any]
T = TypeVar("T")
Kind = type[KubernetesObject]

OURS, NAME = "windlass-system", "windlass-machine-sync"
USER = f"system:serviceaccount:{OURS}:{NAME}"
PATIENCE = 60.0
CLUSTER_API_FINALIZER = "machine.cluster.x-k8s.io"


class Use(NamedTuple):
    """One request, in the words of a grant."""

    namespace: str
    group: str
    resource: str
    verb: str
    name: str


class Cluster:
    """The plane with what a cluster has before Windlass comes, and what people and other controllers do there."""

    def __init__(self, plane: BlockingControlPlane) -> None:
        self.plane = plane
        self.rest = plane.rest
        self.sets: dict[Kind, Tree] = {}

    def make(self, kind: Kind, name: str, content: Tree, **metadata: Any) -> Tree:
        resource = kind.RESOURCE
        place = _namespace(kind)
        made: Tree = self.rest.request(
            "POST",
            resource.path(namespace=place),
            {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, **metadata}}
            | content,
        )
        return made

    def merge(self, kind: Kind, name: str, body: Tree, *, subresource: str = "") -> None:
        path = kind.RESOURCE.path(name, namespace=_namespace(kind), subresource=subresource)
        self.rest.request("PATCH", path, body, content_type=MERGE_PATCH)

    def delete(self, kind: Kind, name: str) -> None:
        self.rest.request("DELETE", kind.RESOURCE.path(name, namespace=_namespace(kind)))

    def look(self, kind: Kind, name: str) -> Tree | None:
        return found(self.rest, kind.RESOURCE.path(name, namespace=_namespace(kind)))

    def force_away(self, kind: Kind, name: str) -> None:
        """Deleted, and the finalizers that hold it taken off by force."""
        with contextlib.suppress(Refused):  # somebody may have been faster
            self.delete(kind, name)
            self.merge(kind, name, {"metadata": {"finalizers": None}})

    # what people do

    def runs_on(self, platform: str) -> None:
        self.merge(
            config.Infrastructure, "cluster", {"status": {"platformStatus": {"type": platform}}}, subresource="status"
        )

    def make_sets(self) -> None:
        """A MachineSet on both sides."""
        selector = {"matchLabels": {"set": "workers"}}
        template = {"metadata": {"labels": {"set": "workers"}}, "spec": _machine_spec("template", "OpenStackMachine")}
        twin = {"authoritativeAPI": "ClusterAPI", "selector": selector, "template": {"spec": {}}}
        spec = {"clusterName": "c", "selector": selector, "template": template}
        self.sets = {
            mapi.MachineSet: self.make(mapi.MachineSet, "workers", {"spec": twin}),
            capi.MachineSet: self.make(capi.MachineSet, "workers", {"spec": spec}),
        }

    def make_machine(
        self, name: str, *, infra: Tree | None, kind: Kind = capo.OpenStackMachine, cluster: str = "c", **spec: Any
    ) -> None:
        """A Cluster API Machine of the MachineSet, and its infrastructure machine unless `infra` is None."""
        owner = {
            "apiVersion": capi.MachineSet.RESOURCE.api_version,
            "kind": "MachineSet",
            "name": "workers",
            "uid": self.sets[capi.MachineSet]["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        made = self.make(
            capi.Machine,
            name,
            {"spec": {**_machine_spec(name, kind.RESOURCE.kind), "clusterName": cluster, **spec}},
            ownerReferences=[owner],
            # Here and below: what Cluster API's core controller does, which does not run here.
            finalizers=[CLUSTER_API_FINALIZER],
        )
        if infra is not None:
            resource = capi.Machine.RESOURCE
            owned_by = {"apiVersion": resource.api_version, "kind": resource.kind, "uid": made["metadata"]["uid"]}
            self.make(kind, name, {"spec": infra}, ownerReferences=[{**owned_by, "name": name}])

    def let_machine_go(self, name: str) -> None:
        """What Cluster API's core controller does when the infrastructure of a machine is gone."""
        before = self.look(capi.Machine, name)
        if before is not None:
            kept = [one for one in before["metadata"].get("finalizers", []) if one != CLUSTER_API_FINALIZER]
            self.merge(capi.Machine, name, {"metadata": {"finalizers": kept}})

    # what is seen

    def until(self, what: str, look: Callable[[], T | None]) -> T:
        seen = wait_for(look, seconds=PATIENCE)
        assert seen is not None, f"not within {PATIENCE:.0f} s: {what}"
        return seen

    def until_synchronized(self, name: str) -> None:
        self.until(f"{name} is synchronized", lambda: self._synchronized(name) or None)

    def until_gone(self, *kinds: Kind, name: str) -> None:
        self.until(f"{name} is gone", lambda: all(self.look(kind, name) is None for kind in kinds) or None)

    def until_event(self, namespace: str, about: str, reason: str, text: str = "") -> None:
        self.until(f"event {reason} about {about}", lambda: self._reported(namespace, about, reason, text) or None)

    def until_deleting(self, name: str) -> None:
        self.until(f"{name} is being deleted", lambda: self.metadata(capi.Machine, name).get("deletionTimestamp"))

    def metadata(self, kind: Kind, name: str) -> Tree:
        there = self.look(kind, name)
        assert there is not None, f"{name} is gone"
        metadata: Tree = there["metadata"]
        return metadata

    def _synchronized(self, name: str) -> bool:
        mirror = self.look(mapi.Machine, name) or {}
        conditions = mirror.get("status", {}).get("conditions", [])
        return any(one["type"] == "Synchronized" and one["status"] == "True" for one in conditions)

    def _reported(self, namespace: str, about: str, reason: str, text: str) -> bool:
        events = self.rest.request("GET", core.Event.RESOURCE.path(namespace=namespace))["items"]
        return any(
            event["involvedObject"]["name"] == about and event["reason"] == reason and text in event["message"]
            for event in events
        )

    def uses(self, decision: str) -> set[Use]:
        """What the ServiceAccount asked for and was allowed ("allow") or refused ("forbid")."""
        result = set()
        for event in self.plane.audit.events(user=USER):
            target = event.get("objectRef", {})
            if event.get("annotations", {}).get("authorization.k8s.io/decision") == decision and "resource" in target:
                resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
                result.add(
                    Use(
                        target.get("namespace", ""),
                        target.get("apiGroup", ""),
                        resource,
                        event["verb"],
                        target.get("name", ""),
                    )
                )
        return result


class MachineSync:
    """The process under test, with the rights of the ServiceAccount alone."""

    def __init__(self, cluster: Cluster, processes: Processes, log: Path) -> None:
        probes, metrics = free_ports(2)
        self.log = log
        self.probes = Rest(f"http://127.0.0.1:{probes}")
        self.metrics_url = f"http://127.0.0.1:{metrics}"
        self._processes = processes
        argv = [
            *(sys.executable, "-m", "windlass", "run", "machine-sync"),
            f"--kubeconfig={cluster.plane.service_account_kubeconfig(OURS, NAME)}",
            f"--leader-election-namespace={OURS}",
            f"--health-probe-bind-address=127.0.0.1:{probes}",
            f"--metrics-bind-address=127.0.0.1:{metrics}",
        ]
        processes.start("machine-sync", argv, log=log)
        cluster.until("machine-sync is ready", self._ready)

    def _ready(self) -> bool | None:
        assert self._processes.exit_code("machine-sync") is None, self.log.read_text(encoding="utf-8")
        try:
            self.probes.text("GET", "/readyz")
        except (Refused, Unreachable):
            return None
        return True

    def stop(self) -> None:
        self._processes.stop("machine-sync")


def _namespace(kind: Kind) -> str | None:
    if not kind.RESOURCE.namespaced:
        return None
    return MACHINE_API_NAMESPACE if kind.RESOURCE.group == mapi.Machine.RESOURCE.group else CLUSTER_API_NAMESPACE


def _machine_spec(name: str, kind: str) -> Tree:
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name}
    bootstrap = {"dataSecretName": "worker-user-data"}
    return {"clusterName": "c", "bootstrap": bootstrap, "infrastructureRef": reference}
