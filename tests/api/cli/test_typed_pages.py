"""Every block of a page that changes a cluster is typed here into a shell, as it stands and in the page's order.

kubectl is the real one, and so is the API server. A block that cannot be typed here is listed with the reason, so a new
block of any page fails until it is one or the other.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.pages import DOCS, PAGES, ROOT, Block, blocks
from windlass.machine_sync.constants import Namespaces
from windlass.openstack.constants import SERVER_FINALIZER
from windlass.testing import BlockingControlPlane, crds

from .reader import NOT_HERE, PLACEHOLDERS, Reader, no_schema, nodes

CHANGES = re.compile(
    r"\bkubectl(?: -n \S+)? (?:apply|create|delete|replace|scale|patch|annotate|label)(?: -k \S| -f \w| [^-\s])"
    r"|\S.*\| kubectl (?:apply|delete|replace) -f -|\bkustomize edit [^`]* "
)
TYPED = [
    ROOT / "README.md",
    *(
        DOCS / f"{name}.md"
        for name in ("install", "policies", "cli", "informers", "web", "os-build", "runbook", "controllers")
    ),
]

SESSION = "a session beside running controllers, whose answers are on the page"
TAKEOVER = "tests/e2e/test_openstack_takeover.py types it"
ONE = "of one object, under its name"
LISTED = {
    ("cli.md", "windlass release"): ONE,
    ("demo.md", "A recorded session"): "`windlass demo` does all of it: tests/e2e/test_demo.py",
    ("demo.md", "The demo of OpenStack"): "the same",
    ("demo.md", "The demo of OS builds"): "the same",
    ("demo.md", "The demo of Update status"): "the same",
    ("machine-sync.md", "Moving authority"): "of a Machine beside running controllers: tests/e2e/test_migration.py",
    ("machine-sync.md", "What cannot be expressed"): SESSION,
    ("machine-sync.md", "Removing one of the two APIs"): "tests/api/machine_sync/test_uninstall.py deletes it",
    ("never.md", "Copied"): SESSION,
    ("never.md", "Moved or restored"): SESSION,
    ("never.md", "The mark is not in the manifest"): SESSION,
    ("openstack.md", "Quick start"): SESSION,
    ("openstack.md", "Take over from Cluster API's provider"): TAKEOVER,
    ("openstack.md", "The way back"): TAKEOVER,
    ("openstack.md", "A cluster of its own"): SESSION,
    ("openstack.md", "Networks and security groups"): ONE,
    ("openstack.md", "Restored without status"): ONE,
    ("openstack.md", "The bastion"): SESSION,
    ("openstack.md", "Machine API"): "one line is cut short; install.md has the same folders",
    ("openstack.md", "Credentials"): ONE,
    ("os-build.md", "A session"): "tests/api/cli/os_build/test_session.py types it, and compares the answers",
    ("os-build.md", "A session with two architectures"): "tests/api/cli/os_build/test_architectures_session.py",
    ("plan.md", "On a cluster"): SESSION,
    ("runbook.md", "Writes that are refused"): TAKEOVER,
    ("testing.md", "Quick start"): "on a plane of `windlass dev`: tests/api/testing/test_dev.py",
}
"""Page and heading of what is not typed here."""
ONE_OBJECT = re.compile(r"\b(?:NAME|KIND|ID|POD_OF_THE_LEADER)\b|kubectl get \.\.\.|secret docker-registry$")
"""In the runbook, of an object that a failure made. Those who uninstall type commands with names of their own, too."""

POOL = {"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool"}
WORKER = {**POOL, "metadata": {"name": "worker"}, "spec": {"paused": False}}
CLUSTER: dict[str, Any] = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Cluster",
    "metadata": {"name": PLACEHOLDERS["NAME"], "namespace": PLACEHOLDERS["NAMESPACE"]},
    "spec": {"controlPlaneEndpoint": {"host": "api.example.org", "port": 6443}},
}
SERVER: dict[str, Any] = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
    "kind": "OpenStackServer",
    "metadata": CLUSTER["metadata"],
    "spec": {
        "flavor": "m1.small",
        "image": {"filter": {"name": "cirros"}},
        "identityRef": {"name": "cloud", "cloudName": "demo"},
        "ports": [{"network": {"filter": {"name": "machines"}}}],
        "sshKeyName": "",
    },
}
"""Of which the controllers are not there: it has their finalizer only where people remove it."""

pytestmark = [
    pytest.mark.plane,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="pages are typed with kubectl"),
]


def changing(page: Path) -> list[Block]:
    return [each for each in blocks(page) if CHANGES.search(each.script)]


def listed(block: Block) -> bool:
    of_one = block.page == "runbook.md" and ONE_OBJECT.search(block.script) and "Uninstall" not in block.heading
    return bool(of_one) or (block.page, block.heading) in LISTED


class Cluster(Reader):
    """Has what a block is about: what the page says must be there, and what was installed earlier."""

    def __init__(self, plane: BlockingControlPlane, folder: Path) -> None:
        super().__init__(plane, folder)
        self._there: set[str] = set()

    def before(self, block: Block) -> None:
        self.operator_works()
        self.plane.apply(WORKER, CLUSTER)
        script = block.script
        if block.page == "runbook.md":
            self._install(*(name for name in FOLDERS if f"deploy/{name}" in script or f"windlass-{name} " in script))
            if "openstackservers" in script and "deploy/" in script:
                held = {"finalizers": [SERVER_FINALIZER]} if "jq" in script else {}
                self.plane.apply({**SERVER, "metadata": {**CLUSTER["metadata"], **held}})
        if "updateinformer webhooks" in script and "examples/" not in script:
            self._install("update-status")
            self.types(Block("", "", "kubectl apply -k examples/informer", True))
        self._there -= {name for name in FOLDERS if f"delete -k deploy/{name}" in script}

    def _install(self, *names: str) -> None:
        for name in names:
            if name in self._there:
                continue
            if name == "web":
                self._install("update-status")
            self._there.add(name)
            for folder in (f"deploy/{name}/crds", f"deploy/{name}"):
                if (ROOT / folder).is_dir():
                    self.types(Block("", "", f"kubectl apply -k {folder}", True))


FOLDERS = sorted(each.name for each in (ROOT / "deploy").iterdir() if each.is_dir())


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    known = [*crds.documents(*crds.MACHINES, *crds.UPDATES), *of_prometheus()]
    with BlockingControlPlane(assets=request.config.getoption("windlass_assets"), crds=known) as plane, nodes(plane):
        for name in (*Namespaces(), "openshift-config", "openshift-machine-config-operator", "openshift-monitoring"):
            plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        where = PLACEHOLDERS["NAMESPACE"]
        account = {"name": PLACEHOLDERS["NAME"], "namespace": where}
        plane.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": where}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        )
        yield Cluster(plane, tmp_path_factory.mktemp("checkout"))


def of_prometheus() -> Sequence[dict[str, Any]]:
    group = "monitoring.coreos.com"
    return [
        no_schema(group, "v1", "ServiceMonitor", "servicemonitors"),
        no_schema(group, "v1", "PrometheusRule", "prometheusrules"),
    ]


@pytest.mark.parametrize("page", TYPED, ids=lambda page: page.name)
def test_a_page_can_be_typed_from_its_beginning_to_its_end(cluster: Cluster, page: Path) -> None:
    cluster.checks_out()
    above: list[Block] = []
    undone = False
    for block in (each for each in changing(page) if not listed(each)):
        if not block.block and undone:
            # A sentence is about what the blocks above it have made, not about what another sentence left of that.
            for earlier in above:
                if earlier.heading == block.heading:
                    cluster.types(earlier)
        cluster.before(block)
        cluster.types(block)
        undone = not block.block and bool(re.search("delete|scale", block.script))
        above += [block] if block.block else []


def test_every_block_that_changes_a_cluster_is_typed_or_listed_with_the_reason() -> None:
    found = [each for page in PAGES for each in changing(page)]
    typed = {page.name for page in TYPED}
    assert [str(each) for each in found if each.page not in typed and not listed(each)] == []
    assert {*LISTED} <= {(each.page, each.heading) for each in found}, "no page has such a block any more"
    lines = [line for page in TYPED for each in blocks(page) for line in each.script.splitlines()]
    assert [each for each in NOT_HERE if not any(re.match(each, line) for line in lines)] == []
