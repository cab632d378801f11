"""The backend `local`: builds are children of this process, and are found in its memory.

    mailbox = Mailbox()
    async with Builds(folder, changed=mailbox.post) as builds:
        backend = LocalBackend(builds, mailbox)
        Manager(client, systems={BUILDAH: LocalCarrier(builds)}, ...)

When this process leads no longer, its builds are stopped: the next leader, which sees none of them, begins its own.
"""

from collections.abc import Sequence

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.controller import Watch
from windlass.kube.control.permissions import Declaration, calls
from windlass.kube.control.plan import Action, Call, Target
from windlass.kube.control.source import Detach, Mailbox, Source, Wake
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.requests import CancelBuild, RemoveBuild, RenewCredentials, StartBuild
from windlass.os_build.builder import BuildState, Cause, Order
from windlass.os_build.constants import ARCHITECTURE
from windlass.os_build.credentials import Secrets
from windlass.os_build.inputs.context import Context
from windlass.os_build.request import BackendName, Problem, Request


class Term(Source[str]):
    """Wakes the pools whose builds change. It is detached when leadership ends."""

    def __init__(self, builds: Builds, mailbox: Mailbox[str]) -> None:
        self._builds = builds
        self._mailbox = mailbox

    def attach(self, wake: Wake[str]) -> Detach:
        detach = self._mailbox.attach(wake)

        def end() -> None:
            detach()
            self._builds.interrupt()

        return end


class LocalBackend:
    """See the module. `mailbox` is what `builds` posts to."""

    name = BackendName.LOCAL
    usual = False
    mounts_secrets = False
    in_cluster = False
    watches: tuple[Watch[str], ...] = ()
    permissions: tuple[Declaration, ...] = (calls(StartBuild, RenewCredentials, CancelBuild, RemoveBuild),)

    def __init__(self, builds: Builds, mailbox: Mailbox[str]) -> None:
        self._builds = builds
        self.sources: tuple[Source[str], ...] = (Term(builds, mailbox),)

    def unfit(self, context: Context, request: Request) -> Problem | None:
        others = sorted({*request.architectures} - {ARCHITECTURE})
        if not others:
            return None
        return Problem(
            "ArchitectureUnavailable",
            f"pool {request.pool} needs an image for {', '.join(others)}, and builds on this machine are for "
            f"{ARCHITECTURE}: RUN cannot run there for others; set imageBuilderType to Job",
        )

    def look(self, pool: str) -> Sequence[BuildState]:
        return self._builds.states(pool)

    def start(self, order: Order) -> tuple[Action, ...]:
        request = StartBuild(
            name=order.name,
            pool=order.request.pool,
            owner=order.pool.uid,
            inputs=order.inputs,
            config=order.request.config,
            attempt=order.attempt,
            image=order.image,
            context=order.context,
            pull_secret=order.request.pull_secret,
            push_secret=order.request.push_secret,
            secrets=order.secrets.state,
            pull=order.secrets.pull,
            push=order.secrets.push,
            deadlines=order.deadlines,
            environment=order.environment,
            lent=order.lent_files,
        )
        return (Call(target=order.pool, request=request, why=f"{order.request.config} has no image yet"),)

    def renew(self, state: BuildState, secrets: Secrets) -> tuple[Action, ...]:
        request = RenewCredentials(name=state.name, pull=secrets.pull, push=secrets.push, secrets=secrets.state)
        return (Call(target=_pool(state), request=request, why="its Secrets have changed since it began"),)

    def cancel(self, state: BuildState, cause: Cause) -> tuple[Action, ...]:
        if state.is_over:
            return ()
        why = f"it has failed: {cause}"
        return (Call(target=_pool(state), request=CancelBuild(name=state.name), why=why),)

    def clean(self, state: BuildState, *, why: str) -> tuple[Action, ...]:
        return (Call(target=_pool(state), request=RemoveBuild(name=state.name), why=why),)


def _pool(state: BuildState) -> Target:
    return Target(MachineConfigPool, state.pool, uid=state.owner)
