"""What caches say of a pool, and what is known of it once its decision has asked."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from windlass.api.machineconfiguration import ControllerConfig, MachineConfigPool, OSImageStream
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.control.plan import Outcome, Target
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Absent, ForbiddenKind, Present, Seen, Unreadable
from windlass.os_build import constants
from windlass.os_build.architectures import Machines
from windlass.os_build.builder import BuildState, Deadlines
from windlass.os_build.environment import Egress
from windlass.os_build.identity import Inputs
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.machine_os.claim import Claim
from windlass.os_build.registry.answers import Denied, Gone, NotAsked, Shown
from windlass.os_build.request import BackendName, Given, Problem, Request
from windlass.os_build.turns import LIMIT


def lacking(wanted: tuple[str, ...], shown: Shown | Gone | Denied | NotAsked | None) -> tuple[str, ...]:
    """The architectures of `wanted` that an image lacks. A registry that does not tell says nothing."""
    return tuple(each for each in wanted if each not in shown.architectures) if isinstance(shown, Shown) else ()


class Timing(Struct, frozen=True, kw_only=True):
    """Seconds.

    debounce     a pool rests so long after its inputs changed, while further changes come
    retries      the pauses before the second, third, ... attempt after a transient failure
    anew         the pause after the last attempt, if its cause may pass: then attempts begin anew
    lost         the pause before a build that the infrastructure lost is started again; each time twice as long as the
                 last time, up to `anew`
    ask_again    when a registry or an API server that refused is asked again: somebody may grant the right there, and
                 nothing tells
    patience     how long a builder may take to start, or a registry to answer, before people are told
    silence      how long a registry may not tell whether it has an image, before it is built anew, or taken unseen
    grace        how long a build may outlast its deadlines before it is cancelled from here
    images       how long a pool rests after its images were looked at
    """

    debounce: float = 5.0
    retries: tuple[float, ...] = (15.0, 60.0, 240.0)
    anew: float = 1800.0
    lost: float = 10.0
    ask_again: float = 300.0
    patience: float = 45.0
    silence: float = 300.0
    grace: float = 60.0
    images: float = 60.0


TIMING: Final = Timing()


class Settings(Struct, frozen=True, kw_only=True):
    """How builds are made.

    namespace           of ConfigMaps and Secrets
    machine_os_configs  serve MachineOSConfigs too, in the place of the Machine Config Operator's builder
    max_builds          so many builds run in the cluster at a time; 0: all that are due
    egress              how the world outside is reached where no ControllerConfig says that
    registry_ca         a file, or a folder of *.crt, with CAs of registries that builders and this process trust
    signing_key         the Secret with the key that images are signed by; empty: they are not signed
    sbom                attach a list of contents to each image
    keep_images         so many images of each pool are kept beside those in use; None: all images
    bootc_lint          the last step of a build looks whether bootc could boot the image, if the base has bootc
    """

    namespace: str = constants.NAMESPACE
    apply_by: ApplyBy = ApplyBy.IGNITION
    machine_os_configs: bool = False
    max_builds: int = LIMIT
    timing: Timing = Timing()
    deadlines: Deadlines = Deadlines()
    egress: Egress = Egress()
    registry_ca: Path | None = None
    signing_key: str = ""
    sbom: bool = False
    keep_images: int | None = None
    bootc_lint: bool = True


class PoolSnapshot(Asking, frozen=True, kw_only=True):
    """What caches say of a pool.

    name       the key: the pool's name, also when there is no pool
    config     the MachineOSConfig that names the pool; None: none does
    ignored    the names of others that name it, too
    os_builds  the MachineOSBuilds of that
    given      the data of the ConfigMaps
    builds     builder objects of the pool, of all backends
    unserved   the backends whose kinds this cluster lacks, and the API server's words
    last       the outcome of the round before
    controller_config  the Machine Config Operator's; None: there is none
    machines  the architectures of Nodes
    streams   the streams of the OS; None: the cluster has none
    """

    name: str
    pool: Seen[MachineConfigPool] = Absent()
    config: Present[MachineOSConfig] | Unreadable | None = None
    ignored: tuple[str, ...] = ()
    os_builds: tuple[Present[MachineOSBuild], ...] = ()
    given: Given = Given()
    builds: tuple[BuildState, ...] = ()
    unserved: Mapping[BackendName, str] = {}
    last: Outcome = Outcome()
    controller_config: Present[ControllerConfig] | Unreadable | ForbiddenKind | None = None
    streams: Present[OSImageStream] | Unreadable | ForbiddenKind | None = None
    machines: Machines | ForbiddenKind = Machines()


class Refusal(Struct, frozen=True):
    """The API server refused to create what a build needs: `why`, with the remedy. It is asked again at `until`."""

    why: str
    until: datetime


class Signer(Struct, frozen=True):
    """The Secret with the key that images are signed by; `versions`: the state that it is in."""

    secret: str
    versions: str


class PoolFacts(Asking, frozen=True, kw_only=True):
    """What is known of a pool: the request, and the builds.

    name      the key: the pool's name, also when there is no pool
    claimed   the MachineOSConfig that names the pool, if one does: then it asks, and not the pool
    claim     what it asks for; None: that is for another process to serve
    request   None: the pool is not opted in
    inputs    the identity of what is asked for; None without a Request
    wanted    when this process saw these inputs first
    backend   the one that builds, or why none can
    builds    builder objects of the pool, of all backends
    os_builds the MachineOSBuilds of the MachineOSConfig that names the pool
    versions  of the Secrets that the Request names
    refused   what the API server refused a moment ago; None: nothing that is still asked for
    unfit     why the backend cannot build this Request, if that was found out before
    signer    None: images are not signed
    lists_contents  a list of contents is attached to each image
    shown     for which architectures the recorded image is, as the registry says; None: that does not matter
    losses    when builds of these inputs ended that the infrastructure lost, as far as this process knows
    config_gone  the MachineOSConfig that named the pool until it was deleted, as far as this process has seen it
    """

    name: str
    pool: Seen[MachineConfigPool] = Absent()
    claimed: str = ""
    claim: Claim | None = None
    request: Request | Problem | None = None
    inputs: Inputs | None = None
    wanted: datetime | None = None
    backend: BackendName | Problem | None = None
    builds: tuple[BuildState, ...] = ()
    os_builds: tuple[Present[MachineOSBuild], ...] = ()
    versions: str = ""
    refused: Refusal | None = None
    unfit: Problem | None = None
    shown: Shown | Gone | Denied | NotAsked | None = None
    losses: tuple[datetime, ...] = ()
    config_gone: Target | None = None
    signer: Signer | None = None
    lists_contents: bool = False
    deadlines: Deadlines = Deadlines()

    @property
    def architectures(self) -> tuple[str, ...]:
        """The architectures that builders are chosen for."""
        return self.request.architectures if isinstance(self.request, Request) else ()

    @property
    def lacking(self) -> tuple[str, ...]:
        """The architectures that the image lacks which there is. A registry that does not tell says nothing."""
        return lacking(self.architectures, self.shown)
