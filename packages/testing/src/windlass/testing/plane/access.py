"""Uses a running plane without owning it: kubeconfigs, set-up of objects and CRDs, the audit log.

Blocking; `windlass.testing.ControlPlane` offers the same to asyncio.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from windlass.testing.plane.audit import AuditLog
from windlass.testing.plane.connection import ADMIN, Connection
from windlass.testing.plane.errors import NotRunning, NotServed, PlaneError, Refused
from windlass.testing.plane.manifests import read_manifests
from windlass.testing.plane.rest import APPLY_PATCH, Rest
from windlass.testing.plane.waiting import wait_for
from windlass.testing.plane.webhooks import ServingCertificate, copy_certificate

FIELD_MANAGER = "windlass-testing"
KNOWN_SECONDS = 30.0
"""How long to look for a kind whose CRD was not applied here: it may still be coming, or be misspelt."""

SETTLE_SECONDS = 180.0
"""How long to wait for the control plane to serve a kind after its CRD was applied, or to create the ServiceAccount of
a new namespace. Usually it takes a second, but a minute after the API server was down for one."""

Document = Mapping[str, Any]
"""A Kubernetes object as JSON or YAML holds it."""


class BlockingAccess:
    """A running plane that another object or process owns."""

    def __init__(self, connection: Connection | None) -> None:
        self._connection = connection
        self._rest: Rest | None = None
        self._served: dict[tuple[str, str], tuple[str, bool]] = {}

    @property
    def connection(self) -> Connection:
        """How to reach the plane. Raises NotRunning if it does not run."""
        if self._connection is None:
            raise NotRunning("the control plane is not running: use it inside `with`, or call start() first")
        return self._connection

    @property
    def url(self) -> str:
        """`https://127.0.0.1:<port>`."""
        return self.connection.url

    @property
    def audit(self) -> AuditLog:
        """The requests to the API server so far."""
        return AuditLog(self.connection.logs / "audit.log")

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """A kubeconfig file for one of the users that the plane was started with."""
        tokens = self.connection.tokens
        if user not in tokens:
            raise PlaneError(
                f"this plane has no user {user!r}, only {', '.join(sorted(tokens))}: name it when the plane is made, "
                f"ControlPlane(users={{{user!r}: ['some-group']}}), or use a service account"
            )
        return self.connection.write_kubeconfig(user, token=tokens[user])

    def service_account_kubeconfig(self, namespace: str, name: str, *, seconds: int = 3600) -> Path:
        """A kubeconfig file for an existing ServiceAccount, with a token (TokenRequest) valid for `seconds`.

        A controller that runs with it is subject to RBAC exactly as it would be in a cluster.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        token: str = self.rest.request("POST", path, body)["status"]["token"]
        return self.connection.write_kubeconfig(f"system:serviceaccount:{namespace}:{name}", token=token)

    def serving_certificate(self, folder: Path) -> ServingCertificate:
        """A certificate for 127.0.0.1, put into `folder`, for webhooks that the API server calls; see `at_loopback`.

        It is the API server's own: tests with it say nothing about how the webhook's certificate is managed.
        """
        pki = self.connection.directory / "pki"
        return copy_certificate(self.connection.ca_file, pki / "apiserver.key", folder)

    @property
    def rest(self) -> Rest:
        """Plain requests as admin, for anything that the methods here do not cover."""
        connection = self.connection
        if self._rest is None:
            self._rest = Rest(connection.url, ca_file=connection.ca_file, token=connection.tokens[ADMIN])
        return self._rest

    def apply(self, *documents: Document) -> list[dict[str, Any]]:
        """Server-side apply each document in order and return the resulting objects.

        Waits for the kinds to be served. A namespaced object without a namespace goes to `default`.
        """
        return [self._apply(document) for document in documents]

    def apply_files(self, *paths: Path) -> list[dict[str, Any]]:
        """`apply` the documents of YAML files and of the `*.yaml` files in folders, CRDs first and waited for."""
        documents = list(read_manifests(paths))
        crds = [document for document in documents if document["kind"] == "CustomResourceDefinition"]
        rest = [document for document in documents if document["kind"] != "CustomResourceDefinition"]
        return [*self.apply_crds(*crds), *self.apply(*rest)]

    def apply_crds(self, *crds: Path | Document) -> list[dict[str, Any]]:
        """Apply CRDs, given as documents, files or folders, and wait until each is established and served."""
        applied = self.apply(*read_crds(crds))
        for crd_object in applied:
            self._wait_until_established(crd_object["metadata"]["name"])
        for crd_object in applied:
            self._wait_until_served(crd_object)
        return applied

    def create_namespace(self, prefix: str = "test-") -> str:
        """Make a namespace with a generated name; returns the name once its default ServiceAccount exists."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": prefix}}
        rest = self.rest
        name: str = rest.request("POST", "/api/v1/namespaces", body)["metadata"]["name"]
        if not self.connection.controller_manager:
            self.create_default_service_account(name)
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        if wait_for(lambda: found(rest, account), seconds=SETTLE_SECONDS) is None:
            raise PlaneError(f"namespace {name} got no ServiceAccount: is kube-controller-manager running?")
        return name

    def create_default_service_account(self, namespace: str) -> None:
        """What kube-controller-manager does in each namespace: without the account, no Pod can be created there."""
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        self.rest.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", account)

    def delete_namespace(self, name: str) -> None:
        """Start the deletion of a namespace; kube-controller-manager empties it in the background.

        Raises PlaneError on a plane without kube-controller-manager, where the namespace would stay Terminating.
        """
        if not self.connection.controller_manager:
            raise PlaneError(
                f"namespace {name} cannot be deleted: this plane runs no kube-controller-manager, which empties "
                "namespaces. Leave it, it goes with the plane, or make the plane with controller_manager=True"
            )
        self.rest.request("DELETE", f"/api/v1/namespaces/{name}")

    def wait_until_namespace_is_gone(self, name: str, *, seconds: float = SETTLE_SECONDS) -> None:
        """Return when a namespace whose deletion was started does not exist any more.

        Raises PlaneError after `seconds`, with what the namespace still holds.
        """
        path = f"/api/v1/namespaces/{name}"
        last: dict[str, Any] = {}

        def look() -> bool | None:
            try:
                last.update(self.rest.request("GET", path))
            except Refused as refused:
                if refused.status == 404:
                    return True
                raise
            return None

        if wait_for(look, seconds=seconds) is None:
            conditions = (last.get("status") or {}).get("conditions") or ()
            remaining = "; ".join(one["message"] for one in conditions if one["status"] == "True")
            raise PlaneError(
                f"namespace {name} still exists after {seconds:g} s: "
                f"{remaining or 'was delete_namespace called, and does kube-controller-manager run?'}"
            )

    def _apply(self, document: Document) -> dict[str, Any]:
        metadata = document["metadata"]
        path, namespaced = self._collection(document["apiVersion"], document["kind"])
        if namespaced:
            prefix, _, plural = path.rpartition("/")
            path = f"{prefix}/namespaces/{metadata.get('namespace', 'default')}/{plural}"
        applied: dict[str, Any] = self.rest.request(
            "PATCH",
            f"{path}/{metadata['name']}?fieldManager={FIELD_MANAGER}&force=true",
            document,
            content_type=APPLY_PATCH,
        )
        return applied

    def _collection(self, api_version: str, kind: str, *, seconds: float = KNOWN_SECONDS) -> tuple[str, bool]:
        """The path of a kind's collection and whether it is namespaced, from discovery; asked for once."""
        if (known := self._served.get((api_version, kind))) is not None:
            return known
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        rest = self.rest

        def look() -> tuple[str, bool] | None:
            for resource in (found(rest, root) or {}).get("resources", ()):
                if resource["kind"] == kind and "/" not in resource["name"]:
                    return f"{root}/{resource['name']}", resource["namespaced"]
            return None

        if (collection := wait_for(look, seconds=seconds)) is None:
            raise NotServed(f"{kind} of {api_version} is not served: apply its CRD first, or correct the apiVersion")
        self._served[api_version, kind] = collection
        return collection

    def _wait_until_established(self, name: str) -> None:
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        last: dict[str, Any] = {}

        def look() -> bool | None:
            last.update(self.rest.request("GET", path))
            conditions = {one["type"]: one for one in (last.get("status") or {}).get("conditions") or ()}
            accepted = conditions.get("NamesAccepted", {})
            if accepted.get("status") == "False":
                raise NotServed(f"CRD {name} is refused: {accepted['reason']}: {accepted['message']}")
            return True if conditions.get("Established", {}).get("status") == "True" else None

        if wait_for(look, seconds=SETTLE_SECONDS) is None:
            raise NotServed(f"CRD {name} was not established within {SETTLE_SECONDS:.0f} s: {last.get('status')}")

    def _wait_until_served(self, crd: Document) -> None:
        """Check requests and discovery: both may work a moment later than the condition Established."""
        spec = crd["spec"]
        for version in (version["name"] for version in spec["versions"] if version["served"]):
            path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1"
            if wait_for(partial(found, self.rest, path), seconds=SETTLE_SECONDS) is None:
                raise NotServed(f"CRD {crd['metadata']['name']} is established, but GET {path} says 404")
            self._collection(f"{spec['group']}/{version}", spec["names"]["kind"], seconds=SETTLE_SECONDS)


def read_crds(crds: Iterable[Path | Document]) -> Iterator[Document]:
    """The CRDs that are given as documents, files or folders, all as documents."""
    for crd in crds:
        yield from read_manifests([crd]) if isinstance(crd, Path) else [crd]


def found(rest: Rest, path: str) -> dict[str, Any] | None:
    """The answer to a GET, None if it is 404 (not there yet) or 503 (its handler is still being made)."""
    try:
        answer: dict[str, Any] = rest.request("GET", path)
    except Refused as refused:
        if refused.status in (404, 503):
            return None
        raise
    return answer
