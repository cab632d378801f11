"""A builder backend that a test steps by hand.

Its builder objects live in `FakeBuilders`, as those of a cluster do: they survive the process that started them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from windlass.api.core import Pod
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.controller import Watch
from windlass.kube.control.permissions import Declaration, calls
from windlass.kube.control.plan import Action, Call, Request, Target
from windlass.kube.control.source import Source
from windlass.os_build.builder import BuildState, Cause, Failed, Obstacle, Order, Phase, Waits
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.credentials import Secrets
from windlass.os_build.inputs.context import Context, fits_build, fits_config_map
from windlass.os_build.request import BackendName, Problem
from windlass.os_build.request import Request as Asked

SYSTEM = "fake builders"
DIGEST = "sha256:" + "ab" * 32


class StartFake(Request, frozen=True):
    SYSTEM = SYSTEM
    state: BuildState


class RenewFake(Request, frozen=True):
    SYSTEM = SYSTEM
    name: str
    secrets: str


class CancelFake(Request, frozen=True):
    SYSTEM = SYSTEM
    name: str
    cause: Cause


class CleanFake(Request, frozen=True):
    SYSTEM = SYSTEM
    name: str


class FakeBuilders:
    """The builder objects by name, and the names of all that ever began."""

    def __init__(self) -> None:
        self.builds: dict[str, BuildState] = {}
        self.begun: list[str] = []
        self.now = datetime(2026, 11, 22, 12, tzinfo=UTC)

        self.orders: dict[str, Order] = {}

    # steps of a test

    def run(self, name: str) -> None:
        self._change(name, phase=Phase.RUNNING, started=self.now, runs=self.now, waits=None)

    def wait(self, name: str, obstacle: Obstacle | None, text: str = "") -> None:
        """Its Pod was made now, and its container does not start."""
        about = Target(Pod, f"{name}-pod", NAMESPACE)
        self._change(name, waits=Waits(about=about, since=self.now, obstacle=obstacle, text=text))

    def doom(self, name: str, cause: Cause) -> None:
        self._change(name, doomed=cause)

    def succeed(self, name: str, *, digest: str = DIGEST) -> None:
        self._change(name, phase=Phase.SUCCEEDED, digest=digest, ended=self.now)

    def fail(self, name: str, cause: Cause = Cause.STEP, **fields: Any) -> None:
        self._change(name, phase=Phase.FAILED, failed=Failed(cause=cause, **fields), ended=self.now)

    def lose(self, name: str) -> None:
        self._change(name, phase=Phase.INTERRUPTED, ended=self.now)

    def _change(self, name: str, **fields: Any) -> None:
        self.builds[name] = replace(self.builds[name], **fields)

    # the carrier

    async def send(self, request: Request, /) -> None:
        match request:
            case StartFake(state) if state.name not in self.builds:
                self.builds[state.name] = state
                self.begun.append(state.name)
            case RenewFake(name, secrets) if name in self.builds:
                self._change(name, secrets=secrets)
            case CancelFake(name, cause) if name in self.builds:
                self.fail(name, cause)
            case CleanFake(name):
                self.builds.pop(name, None)

    def doubt(self, request: Request, /) -> None:
        return None


class FakeBackend:
    """The backend over these builders."""

    def __init__(
        self, builders: FakeBuilders, *, name: BackendName = BackendName.OPENSHIFT, refers: bool = True
    ) -> None:
        self._builders = builders
        self._name = name
        self._refers = refers

    @property
    def name(self) -> BackendName:
        return self._name

    @property
    def watches(self) -> tuple[Watch[str], ...]:
        return ()

    @property
    def sources(self) -> tuple[Source[str], ...]:
        return ()

    @property
    def permissions(self) -> tuple[Declaration, ...]:
        return (calls(StartFake, RenewFake, CancelFake, CleanFake),)

    @property
    def usual(self) -> bool:
        return True

    @property
    def mounts_secrets(self) -> bool:
        return self._refers and self._name is not BackendName.LOCAL

    @property
    def in_cluster(self) -> bool:
        return self._name is not BackendName.LOCAL

    def unfit(self, context: Context, request: Asked) -> Problem | None:
        unfit = fits_config_map(context)
        return fits_build(context, request) if unfit is None and self._name is BackendName.OPENSHIFT else unfit

    def look(self, pool: str) -> Sequence[BuildState]:
        return [each for each in self._builders.builds.values() if each.pool == pool and each.backend == self._name]

    def start(self, order: Order) -> tuple[Action, ...]:
        self._builders.orders[order.name] = order
        state = BuildState(
            name=order.name,
            backend=self._name,
            pool=order.request.pool,
            inputs=order.inputs,
            phase=Phase.PENDING,
            config=order.request.config,
            attempt=order.attempt,
            secrets=order.secrets.state,
            image=order.image,
            architecture=order.request.architecture,
            part_of=order.part_of,
        )
        return (Call(target=order.pool, request=StartFake(state), why="the pool asks for an image"),)

    def renew(self, state: BuildState, secrets: Secrets) -> tuple[Action, ...]:
        renewed = RenewFake(state.name, secrets.state)
        return (Call(target=_pool(state), request=renewed, why="the Secrets have changed"),)

    def cancel(self, state: BuildState, cause: Cause) -> tuple[Action, ...]:
        return (Call(target=_pool(state), request=CancelFake(state.name, cause), why=str(cause)),)

    def clean(self, state: BuildState, *, why: str) -> tuple[Action, ...]:
        return (Call(target=_pool(state), request=CleanFake(state.name), why=why),)


def _pool(state: BuildState) -> Target:
    return Target(MachineConfigPool, state.pool, uid=f"uid-of-{state.pool}")
