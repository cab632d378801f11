"""A person who types the blocks of a page into a shell, in a copy of the checkout and on a plane of its own.

No Pods run on the plane, so `nodes` tells of each Deployment that its Pods are ready. Without the program kustomize,
which kubectl is not, `kustomize edit` changes no file.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.pages import ROOT, Block
from tests.waiting import wait_until
from windlass.machine_sync.constants import LEASE_NAME, Namespaces
from windlass.testing import BlockingControlPlane
from windlass.testing.plane.access import found
from windlass.testing.plane.rest import MERGE_PATCH, Rest

NOT_HERE = {
    r"podman (?:build|push) ": "needs an engine for containers and a registry",
    r"windlass openstack orphans ": "needs a cloud: tests/api/cli/openstack",
}
"""Lines that are left out, and why."""
MAY_FIND_NOTHING = re.compile(r"\| grep [^|]*$")
"""Such a line asks whether something is left: it fails if nothing is."""
ASKS = re.compile(r"^windlass release --all(?! --dry-run)")
"""It asks on a terminal, where people say yes."""
WENT_ALONG = re.compile(r"^Error from server \(NotFound\): error when deleting \"deploy/.*$", re.MULTILINE)
"""Said of what went with its namespace before kubectl came to it, or of a ClusterRole that went with another folder."""
PLACEHOLDERS = {"NAMESPACE": "prod", "NAME": "one", "GROUP": "admins"}
NO_KUSTOMIZE = "" if shutil.which("kustomize") else "kustomize() { :; }; "

FAILED = re.compile(r"^failed: (\d+)$", re.MULTILINE)

OPERATOR = "capi-controllers-7d9f"
MINUTES = 3


class Reader:
    """`types` fails with what a command said that failed."""

    def __init__(self, plane: BlockingControlPlane, folder: Path) -> None:
        self.rest = plane.rest
        self.plane = plane
        self._folder = folder
        self._kubeconfig = plane.kubeconfig()

    def checks_out(self) -> None:
        """The folders are as they are in the repository."""
        for each in ("deploy", "examples"):
            shutil.rmtree(self._folder / each, ignore_errors=True)
            shutil.copytree(ROOT / each, self._folder / each)

    def types(self, block: Block) -> str:
        """Type all of it; returns what was printed."""
        lines = [line for line in block.script.splitlines() if not any(re.match(each, line) for each in NOT_HERE)]
        for word, name in PLACEHOLDERS.items():
            lines = [re.sub(rf"(?<=[ =]){word}\b(?!:)", name, line) for line in lines]
        lines = [ASKS.sub(r"\g<0> --yes", line) for line in lines]
        # Bash says at which line something failed, and goes on as it does when a person types.
        script = "\n".join([f"{NO_KUSTOMIZE}trap 'echo \"failed: $LINENO\" >&2' ERR", *lines])
        said = self._run(["bash", "-o", "pipefail", "-c", script])
        failed = {lines[int(number) - 2].partition(" # ")[0] for number in FAILED.findall(said.stderr)}
        wrong = [line for line in failed if not MAY_FIND_NOTHING.search(line) and not self._has_gone(line, said.stderr)]
        assert not wrong, f"{block}\n{said.stdout}{said.stderr}"
        return said.stdout

    def _has_gone(self, line: str, said: str) -> bool:
        """Whether it deleted a folder, all of which goes, although kubectl missed some of it."""
        match = re.match(r"kubectl delete -k (\S+)", line)
        errors = [each for each in said.splitlines() if each.startswith(("Error", "error"))]
        if match is None or not all(WENT_ALONG.match(each) for each in errors):
            return False
        looking = ["kubectl", "get", "-k", match[1], "--ignore-not-found", "-o", "name"]
        return wait_until(f"{line} is through", lambda: not self._run(looking).stdout)

    def _run(self, argv: list[str]) -> "subprocess.CompletedProcess[str]":
        env = {
            **os.environ,
            "KUBECONFIG": str(self._kubeconfig),
            "HOME": str(self._folder),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        return subprocess.run(
            argv, cwd=self._folder, env=env, capture_output=True, text=True, check=False, timeout=60 * MINUTES
        )

    def operator_works(self) -> None:
        """OpenShift's operator runs and has the Lease."""
        where = Namespaces().cluster_api
        pod = {"containers": [{"name": "controllers", "image": "controllers"}]}
        self.plane.apply(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": LEASE_NAME, "namespace": where},
                "spec": {"holderIdentity": f"{OPERATOR}_0b1c"},
            },
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": OPERATOR, "namespace": where}, "spec": pod},
        )

    def there(self, path: str) -> dict[str, Any] | None:
        return found(self.rest, path)


def no_schema(group: str, version: str, kind: str, plural: str) -> dict[str, Any]:
    """The CRD of somebody else's kind, of which pages say only that it must be there."""
    anything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": anything}],
        },
    }


@contextmanager
def nodes(plane: BlockingControlPlane) -> Iterator[None]:
    """Deployments are rolled out: their controller and kubelets are not part of a plane."""
    over = threading.Event()

    def report() -> None:
        rest = Rest(plane.url, ca_file=plane.connection.ca_file, token=plane.connection.tokens["admin"])
        while not over.wait(0.2):
            for each in rest.request("GET", "/apis/apps/v1/deployments")["items"]:
                roll_out(rest, each)

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def roll_out(rest: Rest, deployment: dict[str, Any]) -> None:
    metadata, count = deployment["metadata"], deployment["spec"]["replicas"]
    if deployment.get("status", {}).get("observedGeneration") == metadata["generation"]:
        return
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), count)
    path = f"/apis/apps/v1/namespaces/{metadata['namespace']}/deployments/{metadata['name']}"
    status = {"observedGeneration": metadata["generation"], **counts}
    if found(rest, path) is not None:
        rest.request("PATCH", f"{path}/status", {"status": status}, content_type=MERGE_PATCH)
