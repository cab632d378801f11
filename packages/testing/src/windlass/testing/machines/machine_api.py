"""Runs the Machine API's own controllers and admission webhooks on a plane, with a simulated cloud.

Tests check our writes with OpenShift's own code: the real controllers of Machines, MachineSets, drains and node links,
and the real webhooks, from the module github.com/openshift/machine-api-operator. They are built on first use
(`windlass.testing.binaries.MACHINE_API`, about five minutes).

    judge = MachineApi(plane, platform="AWS", folder=tmp_path)
    judge.start()                       # Infrastructure and DNS `cluster` must be there: they are read once
    judge.admit(namespace)              # from here on its Machines and MachineSets pass the webhooks
    ...
    judge.close()

With `machines=False` the controllers of Machines and drains are left out: another program is in their place.

The cloud's instances are those of `simulators.instances`, so a simulated infrastructure provider can take them over
and hand them back. An instance runs, and its Node is ready, as soon as it is created.
"""

from pathlib import Path
from typing import Any

from windlass.testing.binaries import MACHINE_API, obtain
from windlass.testing.plane.access import BlockingAccess
from windlass.testing.plane.errors import PlaneError, Refused, StartFailed
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.waiting import wait_for

NAME = "machine-api"
START_SECONDS = 180.0
_GROUP, _VERSION = "machine.openshift.io", "v1beta1"
_KINDS = ("Machine", "MachineSet")


class MachineApi:
    """The process. `namespace` is that of the Machines that its controllers act on, `cloud` that of the instances.

    `kubeconfig` selects the user; the default is the plane's administrator. `folder` gets the log and the certificate.
    """

    def __init__(
        self,
        plane: BlockingAccess,
        *,
        platform: str,
        folder: Path,
        namespace: str = "openshift-machine-api",
        cloud: str = "openshift-cluster-api",
        kubeconfig: Path | None = None,
        machines: bool = True,
    ) -> None:
        self._plane = plane
        self.log = folder / f"{NAME}.log"
        (self._port,) = free_ports(1)
        self._certificate = plane.serving_certificate(folder / f"{NAME}-certificates")
        self._argv: list[str | Path] = [
            obtain([MACHINE_API]).program(NAME),
            f"--kubeconfig={kubeconfig or plane.kubeconfig()}",
            f"--namespace={namespace}",
            f"--cloud={cloud}",
            f"--platform={platform}",
            f"--machines={str(machines).lower()}",
            f"--webhook-port={self._port}",
            f"--webhook-cert-dir={self._certificate.folder}",
            "-v=3",
        ]
        self._processes = Processes(folders=[], log=folder / f"{NAME}.supervisor.log")

    def start(self) -> None:
        """Start it. Its controllers act a moment later; `admit` waits for its webhooks."""
        self._processes.start(NAME, self._argv, log=self.log)

    def kill(self) -> None:
        """SIGKILL: the controllers stop, and nothing is admitted where `admit` was called."""
        self._processes.kill(NAME)

    def close(self) -> None:
        """End it."""
        self._processes.stop(NAME)
        self._processes.close()

    def admit(self, namespace: str) -> None:
        """Have the webhooks judge what is written to `namespace`; returns when they do."""
        self._plane.apply(
            self._configuration("Mutating", "mutate", ["CREATE"], namespace),
            self._configuration("Validating", "validate", ["CREATE", "UPDATE"], namespace),
        )
        if wait_for(lambda: self._refuses(namespace), seconds=START_SECONDS) is None:
            raise StartFailed(f"the webhooks of the Machine API did not answer: see {self.log}")

    def _configuration(self, kind: str, verb: str, operations: list[str], namespace: str) -> dict[str, Any]:
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": f"{NAME}-{namespace}"},
            "webhooks": [
                {
                    "name": f"{verb}.{one.lower()}.{_GROUP}",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    # OpenShift has Ignore here. A test must notice a webhook that is down.
                    "failurePolicy": "Fail",
                    "clientConfig": {
                        "url": f"https://127.0.0.1:{self._port}/{verb}-machine-openshift-io-v1beta1-{one.lower()}",
                        "caBundle": self._certificate.ca_bundle,
                    },
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "rules": [
                        {
                            "apiGroups": [_GROUP],
                            "apiVersions": [_VERSION],
                            "operations": operations,
                            "resources": [f"{one.lower()}s"],
                        }
                    ],
                }
                for one in _KINDS
            ],
        }

    def _refuses(self, namespace: str) -> bool | None:
        """True when both kinds of webhooks refuse what they must."""
        if (code := self._processes.exit_code(NAME)) is not None:
            raise StartFailed(f"{NAME} ended with code {code}: see {self.log}")
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"providerSpec": {"value": {}}}}}
        body = {"metadata": {"name": "probe"}, "apiVersion": f"{_GROUP}/{_VERSION}", "kind": "MachineSet", "spec": spec}
        path = f"/apis/{_GROUP}/{_VERSION}/namespaces/{namespace}/machinesets?dryRun=All"
        try:
            self._plane.rest.request("POST", path, body)
        except Refused as refused:
            return True if refused.status == 403 and "validate.machineset" in str(refused) else None
        except PlaneError:
            return None
        return None
