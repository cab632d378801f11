"""A cluster without machine controllers: what people and Cluster API do there, and what can be seen of it."""

import contextlib
import sys
from pathlib import Path
from typing import Any

from tests.objects import Kind, Objects, Tree, usual_namespaces
from tests.patience import PATIENCE
from tests.waiting import wait_until
from windlass.api import capi, capo, config, core, mapi
from windlass.machine_sync.constants import (
    CLUSTER_API_FINALIZER,
    MACHINE_API,
    MACHINE_API_FINALIZER,
    PAUSED_ANNOTATION,
)
from windlass.testing import BlockingControlPlane
from windlass.testing.plane.errors import Refused, Unreachable
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.rest import Rest

OURS, NAME = "windlass-system", "windlass-machine-sync"
USER = f"system:serviceaccount:{OURS}:{NAME}"


class Cluster(Objects):
    """The plane with what a cluster has before Windlass comes, and what people and other controllers do there."""

    def __init__(self, plane: BlockingControlPlane) -> None:
        super().__init__(plane, usual_namespaces(plane))

    def force_away(self, kind: Kind, name: str) -> None:
        """Deleted, and the finalizers that hold it taken off by force."""
        with contextlib.suppress(Refused):  # somebody may have been faster
            self.delete(kind, name)
            self.patch(kind, name, {"metadata": {"finalizers": None}})

    # what people do

    def runs_on(self, platform: str, **described: Tree) -> None:
        status = {"platformStatus": {"type": platform, **described}}
        self.patch(config.Infrastructure, "cluster", {"status": status}, part="status")

    def make_sets(self) -> None:
        """A MachineSet on both sides, to which `make_machine` gives its Machines."""
        selector = {"matchLabels": {"set": "workers"}}
        template = {"metadata": {"labels": {"set": "workers"}}, "spec": _machine_spec("template", "OpenStackMachine")}
        twin = {"authoritativeAPI": "ClusterAPI", "selector": selector, "template": {"spec": {}}}
        spec = {"clusterName": "c", "selector": selector, "template": template}
        self.make(mapi.MachineSet, "workers", twin)
        self.make(capi.MachineSet, "workers", spec)

    def make_machine(
        self, name: str, *, infra: Tree | None, kind: Kind = capo.OpenStackMachine, cluster: str = "c", **spec: Any
    ) -> None:
        """A Cluster API Machine of the MachineSet, and its infrastructure machine unless `infra` is None."""
        owner = self.reference(capi.MachineSet, "workers", controller=True, blockOwnerDeletion=True)
        self.make(
            capi.Machine,
            name,
            {**_machine_spec(name, kind.RESOURCE.kind), "clusterName": cluster, **spec},
            ownerReferences=[owner],
            # Here and below: what Cluster API's core controller does, which does not run here.
            finalizers=[CLUSTER_API_FINALIZER],
        )
        if infra is not None:
            self.make(kind, name, infra, ownerReferences=[self.reference(capi.Machine, name)])

    def make_core_cluster(self, infra: Kind) -> None:
        """The Cluster that owns what nobody else owns."""
        reference = {"apiGroup": infra.RESOURCE.group, "kind": infra.RESOURCE.kind, "name": "c"}
        self.make(capi.Cluster, "c", {"infrastructureRef": reference})

    def make_machine_api_machine(
        self, name: str, provider_spec: Tree, *, authority: str = MACHINE_API, of_set: str = ""
    ) -> None:
        """A Machine of the Machine API, of its MachineSet `of_set` if there is to be one."""
        metadata: Tree = {}
        if of_set:
            owner = self.reference(mapi.MachineSet, of_set, controller=True, blockOwnerDeletion=True)
            metadata = {"ownerReferences": [owner]}
        spec = {"authoritativeAPI": authority, "providerSpec": {"value": provider_spec}}
        self.make(mapi.Machine, name, spec, **metadata)

    def make_machine_api_set(self, name: str, provider_spec: Tree) -> None:
        """A MachineSet of the Machine API, whose Machines somebody else makes."""
        labels = {"set": name}
        template = {"metadata": {"labels": labels}, "spec": {"providerSpec": {"value": provider_spec}}}
        spec = {"authoritativeAPI": MACHINE_API, "replicas": 1, "selector": {"matchLabels": labels}}
        self.make(mapi.MachineSet, name, {**spec, "template": template})

    def hand_over(self, kind: Kind, name: str, to: str) -> None:
        self.patch(kind, name, {"spec": {"authoritativeAPI": to}})

    # what the other controllers do

    def say_paused(self, kind: Kind, name: str, *, paused: bool = True) -> None:
        """What the controllers of an object say once they (do not) leave it alone."""
        there = self.there(kind, name)
        said = {
            "type": "Paused",
            "status": "True" if paused else "False",
            "reason": "Paused" if paused else "NotPaused",
            "message": "as asked",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }
        others = [one for one in there.get("status", {}).get("conditions", []) if one["type"] != "Paused"]
        self.patch(kind, name, {"status": {"conditions": [*others, said]}}, part="status")

    def let_machine_go(self, name: str) -> None:
        """What Cluster API's core controller does when the infrastructure of a machine is gone."""
        self._take_off(capi.Machine, name, CLUSTER_API_FINALIZER)

    def let_instance_go(self, name: str) -> None:
        """What the Machine API's controller does when the instance of a machine is gone."""
        self._take_off(mapi.Machine, name, MACHINE_API_FINALIZER)

    def _take_off(self, kind: Kind, name: str, finalizer: str) -> None:
        before = self.get(kind, name)
        if before is not None:
            kept = [one for one in before["metadata"].get("finalizers", []) if one != finalizer]
            self.patch(kind, name, {"metadata": {"finalizers": kept}})

    # what is seen

    def until_synchronized(self, name: str, *, kind: Kind = mapi.Machine) -> None:
        """Its condition says so, and of what its authority is today."""
        wait_until(f"{name} is synchronized", lambda: self._synchronized(kind, name))

    def until_reported(self, kind: Kind, name: str, text: str) -> None:
        """The condition says why it is not synchronized."""
        wait_until(f"{name} says: {text}", lambda: text in self._condition(kind, name).get("message", ""))

    def until_authority(self, kind: Kind, name: str, authority: str) -> None:
        wait_until(
            f"{name}: {authority}",
            lambda: (self.get(kind, name) or {}).get("status", {}).get("authoritativeAPI") == authority,
        )

    def until_paused(self, kind: Kind, name: str) -> None:
        """It is asked to pause."""
        wait_until(f"{name} is to pause", lambda: PAUSED_ANNOTATION in self.metadata(kind, name).get("annotations", {}))

    def until_gone(self, *kinds: Kind, name: str) -> None:
        wait_until(f"{name} is gone", lambda: all(self.get(kind, name) is None for kind in kinds))

    def until_event(self, namespace: str, about: str, reason: str, text: str = "") -> None:
        wait_until(f"event {reason} about {about}", lambda: self._reported(namespace, about, reason, text))

    def until_deleting(self, name: str, *, kind: Kind = capi.Machine) -> None:
        wait_until(f"{name} is being deleted", lambda: self.metadata(kind, name).get("deletionTimestamp"))

    def metadata(self, kind: Kind, name: str) -> Tree:
        metadata: Tree = self.there(kind, name)["metadata"]
        return metadata

    def _synchronized(self, kind: Kind, name: str) -> bool:
        if self._condition(kind, name).get("status") != "True":
            return False
        there = self.get(kind, name) or {}
        status = there.get("status", {})
        if status.get("authoritativeAPI") != MACHINE_API:
            return True
        return bool(status.get("synchronizedGeneration", 0) >= there["metadata"]["generation"])

    def _condition(self, kind: Kind, name: str) -> Tree:
        conditions = (self.get(kind, name) or {}).get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "Synchronized"), {})

    def _reported(self, namespace: str, about: str, reason: str, text: str) -> bool:
        events = self.rest.request("GET", core.Event.RESOURCE.path(namespace=namespace))["items"]
        return any(
            event["involvedObject"]["name"] == about and event["reason"] == reason and text in event["message"]
            for event in events
        )


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
            f"--health-probe-bind-address=127.0.0.1:{probes}",
            f"--metrics-bind-address=127.0.0.1:{metrics}",
        ]
        processes.start("machine-sync", argv, log=log)
        wait_until("machine-sync is ready", self._ready)

    def _ready(self) -> bool | None:
        assert self._processes.exit_code("machine-sync") is None, self.log.read_text(encoding="utf-8")
        try:
            self.probes.text("GET", "/readyz")
        except (Refused, Unreachable):
            return None
        return True

    def stop(self) -> None:
        # Killed, it could not give back its Lease.
        self._processes.stop("machine-sync", grace=PATIENCE)


def _machine_spec(name: str, kind: str) -> Tree:
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name}
    bootstrap = {"dataSecretName": "worker-user-data"}
    return {"clusterName": "c", "bootstrap": bootstrap, "infrastructureRef": reference}
