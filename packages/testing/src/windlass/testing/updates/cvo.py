"""Plays the Cluster Version Operator: ClusterVersion, ClusterOperators, and the Deployment of the MCO.

Each method is a step of a script. It writes what the real operator would write then, in its words; what the
ClusterVersion says follows from the ClusterOperators.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Namespace
from windlass.testing.updates.layout import MACHINE_CONFIG, MCO, MCO_NAMESPACE, Layout, image, release_image
from windlass.testing.updates.objects import Objects, Tree, condition, is_true

NAME: Final = "version"
"""The name of the one ClusterVersion of a cluster."""
PLATFORM: Final = {
    "exclude.release.openshift.io/internal-openshift-hosted": "true",
    "include.release.openshift.io/self-managed-high-availability": "true",
}
"""Annotations of the ClusterOperators that are part of a release."""

_AT_WORK: Final = {
    "etcd": ("NodeInstaller", "NodeInstallerProgressing: 2 nodes are at revision 33; 1 nodes are at revision 34"),
    "kube-apiserver": (
        "NodeInstaller",
        "NodeInstallerProgressing: 3 nodes are at revision 274; 0 nodes have achieved new revision 276",
    ),
    "monitoring": ("RollOutInProgress", "Rolling out the stack."),
    "network": (
        "Deploying",
        'DaemonSet "/openshift-ovn-kubernetes/ovnkube-node" update is rolling out (2 out of 9 updated)',
    ),
}


class ClusterVersionOperator:
    """The operator of the cluster that `layout` describes. The operator keeps no state: each step reads the objects."""

    def __init__(self, objects: Objects, layout: Layout) -> None:
        self._objects = objects
        self._layout = layout

    async def install(self) -> None:
        """Create the objects of a cluster that was just installed and is at rest."""
        version, now = self._layout.version, self._objects.now
        await self._objects.ensure(Namespace, {"metadata": {"name": MCO_NAMESPACE}})
        await self._objects.ensure(Deployment, _deployment(version), namespace=MCO_NAMESPACE)
        for name in self._layout.operators:
            conditions = [*_at_rest(name, version), condition("Upgradeable", True, "AsExpected", "All is well")]
            metadata = {"name": name, "annotations": PLATFORM}
            await self._objects.create(ClusterOperator, {"metadata": metadata, "spec": {}})
            await self._report_operator(name, *conditions, version=version)
        update = {**_history(version, now), "state": "Completed", "completionTime": now}
        spec = {"clusterID": "f56f7197-9910-4e94-ac77-c25c125751f2", "channel": f"stable-{version.rpartition('.')[0]}"}
        status = {
            "availableUpdates": [],
            "desired": _release(version),
            "history": [update],
            "observedGeneration": 1,
            "versionHash": "",
        }
        await self._objects.create(ClusterVersion, {"metadata": {"name": NAME}, "spec": spec, "status": status})
        await self._report(condition("Available", True, "", f"Done applying {version}"), _accepted(version))

    async def start(self, version: str) -> None:
        """Somebody asks for an update to `version`, and it begins. One that has not finished yet is superseded."""
        await self._objects.patch(ClusterVersion, NAME, {"spec": {"desiredUpdate": {"version": version}}})

        def begin(status: Tree) -> None:
            newest = status["history"][0]
            newest["completionTime"] = newest["completionTime"] or self._objects.now
            status["desired"] = _release(version)
            status["history"].insert(0, _history(version, self._objects.now))

        await self._objects.report(ClusterVersion, NAME, _accepted(version), change=begin)
        await self._report()

    async def refuse(self, version: str, *, reason: str = "RetrievePayload", why: str = "no signature") -> None:
        """Somebody asks for an update to `version`, and it does not begin: its release is not accepted.

        The operator reports the generation of the request first, and then why it does not follow it.
        """
        await self._objects.patch(ClusterVersion, NAME, {"spec": {"desiredUpdate": {"version": version}}})
        await self._report()
        failed = f'Retrieving payload failed version="{version}" image="{release_image(version)}" failure={why}'
        await self._objects.report(ClusterVersion, NAME, condition("ReleaseAccepted", False, reason, failed))

    async def progress(self, operator: str, *, reason: str | None = None, message: str | None = None) -> None:
        """The operator works on the update. The MCO's Deployment gets the new image just before machine-config does."""
        target = await self._target()
        if operator == MACHINE_CONFIG:
            await self._objects.patch(Deployment, MCO, {"spec": _deployment(target)["spec"]}, namespace=MCO_NAMESPACE)
        usual = _AT_WORK.get(operator, ("", f"Working towards {target}"))
        works = condition("Progressing", True, usual[0] if reason is None else reason, message or usual[1])
        await self._report_operator(operator, works)
        await self._report()

    async def finish(self, operator: str) -> None:
        """The operator is at the target, and healthy."""
        target = await self._target()
        await self._report_operator(operator, *_at_rest(operator, target), version=target)
        await self._report()

    async def degrade(self, operator: str, *, reason: str, message: str) -> None:
        """The operator reports that it is degraded; the CVO waits for it."""
        await self._report_operator(operator, condition("Degraded", True, reason, message))
        await self._report()

    async def fail(self, operator: str, *, reason: str, message: str) -> None:
        """The operator reports that it is not available; the CVO waits for it."""
        await self._report_operator(operator, condition("Available", False, reason, message))
        await self._report()

    async def recover(self, operator: str) -> None:
        """The operator is available and not degraded. Whether it progresses stays as it is."""
        versions = (await self._objects.get(ClusterOperator, operator))["status"]["versions"]
        available, _, healthy = _at_rest(operator, versions[0]["version"])
        await self._report_operator(operator, available, healthy)
        await self._report()

    async def give_up(self) -> None:
        """The CVO has waited for 40 minutes for operators that are not well: it says that it fails."""
        await self._report(exceeded=True)

    async def complete(self) -> None:
        """The update is done. Raises ValueError with the operators that are not at the target yet."""
        target = await self._target()
        found = await self._objects.all(ClusterOperator)
        if behind := _names(one for one in found if not _is_at(one, target)):
            raise ValueError(f"the update to {target} cannot be complete: {behind} did not finish")

        def end(status: Tree) -> None:
            status["history"][0] |= {"state": "Completed", "completionTime": self._objects.now}

        done = condition("Available", True, "", f"Done applying {target}")
        await self._objects.report(ClusterVersion, NAME, done, change=end)
        await self._report()

    async def _target(self) -> str:
        version: str = (await self._objects.get(ClusterVersion, NAME))["status"]["desired"]["version"]
        return version

    async def _report_operator(self, name: str, *conditions: Tree, version: str = "") -> None:
        def update(status: Tree) -> None:
            if version:
                status["versions"] = [{"name": "operator", "version": version}]
            if version and name == MACHINE_CONFIG:
                status["versions"].append({"name": "operator-image", "version": image(MCO, version)})

        await self._objects.report(ClusterOperator, name, *conditions, change=update)

    async def _report(self, *conditions: Tree, exceeded: bool = False) -> None:
        """Say in the ClusterVersion what follows from the ClusterOperators."""
        tree = await self._objects.get(ClusterVersion, NAME)
        operators = await self._objects.all(ClusterOperator)
        newest = tree["status"]["history"][0]
        if newest["state"] == "Completed":
            derived = _reconciling(newest["version"], operators)
        else:
            derived = self._in_progress(newest["version"], operators, exceeded=exceeded)

        def note(status: Tree) -> None:
            status["observedGeneration"] = tree["metadata"]["generation"]

        await self._objects.report(ClusterVersion, NAME, *conditions, *derived, change=note)

    def _in_progress(self, version: str, operators: Sequence[Tree], *, exceeded: bool) -> tuple[Tree, Tree]:
        behind = [one for one in operators if not _is_at(one, version)]
        total = self._layout.manifests
        done = total * (len(operators) - len(behind)) // len(operators)
        message = f"Working towards {version}: {done} of {total} done ({100 * done // total}% complete)"
        fails, reason = condition("Failing", False), ""
        if trouble := _trouble(operators):
            reason = trouble.reason
            message += f", waiting up to 40 minutes on {trouble.operators}"
            if exceeded:
                fails = trouble.failing
                message = f"Unable to apply {version}: wait has exceeded 40 minutes for these operators: "
                message += trouble.operators
        elif working := [one for one in behind if is_true(one, "Progressing")]:
            reason = f"ClusterOperator{'s' * (len(working) > 1)}Updating"
            message += f", waiting on {_names(working)}"
        return fails, condition("Progressing", True, reason, message)


def _reconciling(version: str, operators: Sequence[Tree]) -> tuple[Tree, Tree]:
    if (trouble := _trouble(operators)) is None:
        return condition("Failing", False), condition("Progressing", False, "", f"Cluster version is {version}")
    message = f"Error while reconciling {version}: the {trouble.sentence}"
    return trouble.failing, condition("Progressing", False, trouble.reason, message)


def _at_rest(name: str, version: str) -> tuple[Tree, Tree, Tree]:
    if name == MACHINE_CONFIG:
        deployed = f"Cluster has deployed [{{operator {version}}} {{operator-image {image(MCO, version)}}}]"
        return (
            condition("Available", True, "AsExpected", deployed),
            condition("Progressing", False, "", f"Cluster version is {version}"),
            condition("Degraded", False),
        )
    return (
        condition("Available", True, "AsExpected", "All is well"),
        condition("Progressing", False, "AsExpected", "All is well"),
        condition("Degraded", False, "AsExpected", "All is well"),
    )


class _Trouble(Struct, frozen=True):
    """Operators that are not well: the reason that the CVO gives, and the sentence."""

    reason: str
    operators: str
    sentence: str

    @property
    def failing(self) -> Tree:
        return condition("Failing", True, self.reason, f"C{self.sentence[1:]}")


def _trouble(found: Sequence[Tree]) -> _Trouble | None:
    """What the CVO complains about, None if all is well. Operators that are not available come first."""
    if sick := [one for one in found if not is_true(one, "Available")]:
        return _complaint(sick, "NotAvailable", "not available")
    if sick := [one for one in found if is_true(one, "Degraded")]:
        return _complaint(sick, "Degraded", "degraded")
    return None


def _complaint(sick: Sequence[Tree], reason: str, state: str) -> _Trouble:
    names, several = _names(sick), len(sick) > 1
    sentence = f"cluster operator{'s' * several} {names} {'are' if several else 'is'} {state}"
    return _Trouble(f"ClusterOperator{'s' * several}{reason}", names, sentence)


def _names(found: Iterable[Tree]) -> str:
    return ", ".join(one["metadata"]["name"] for one in found)


def _is_at(operator: Tree, version: str) -> bool:
    return {"name": "operator", "version": version} in (operator["status"].get("versions") or [])


def _release(version: str) -> Tree:
    return {"version": version, "image": release_image(version)}


def _history(version: str, now: str) -> Tree:
    """An update that begins."""
    return {**_release(version), "state": "Partial", "startedTime": now, "completionTime": None, "verified": True}


def _accepted(version: str) -> Tree:
    loaded = f'Payload loaded version="{version}" image="{release_image(version)}" architecture="amd64"'
    return condition("ReleaseAccepted", True, "PayloadLoaded", loaded)


def _deployment(version: str) -> Tree:
    labels = {"k8s-app": MCO}
    container = {"name": MCO, "image": image(MCO, version), "args": ["start", f"--payload-version={version}"]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": MCO, "labels": labels, "annotations": PLATFORM}, "spec": spec}
