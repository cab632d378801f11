"""What a decision about a pool may look at."""

from datetime import datetime
from typing import Final

from msgspec import Struct

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.seen import Absent, Seen
from windlass.os_build.builder import BuildState, Deadlines
from windlass.os_build.credentials import Secrets
from windlass.os_build.identity import Inputs
from windlass.os_build.inputs.context import Context
from windlass.os_build.machine_os.claim import Claim
from windlass.os_build.registry.answers import Answer
from windlass.os_build.request import BackendName, Problem, Request


class Timing(Struct, frozen=True, kw_only=True):
    """Seconds.

    debounce     a pool rests so long after its inputs changed, while further changes come
    retries      the pauses before the second, third, ... attempt after a transient failure
    lost         the pause before a build that the infrastructure lost is started again
    ask_again    when a registry or an API server that refused is asked again: somebody may grant the right there, and
                 nothing tells
    grace        how long a build may outlast its deadlines before it is cancelled from here
    """

    debounce: float = 5.0
    retries: tuple[float, ...] = (15.0, 60.0, 240.0)
    lost: float = 10.0
    ask_again: float = 300.0
    grace: float = 60.0


TIMING: Final = Timing()


class Refusal(Struct, frozen=True):
    """The API server refused to create what a build needs: `why`, with the remedy. It is asked again at `until`."""

    why: str
    until: datetime


class Materials(Struct, frozen=True):
    """What only a build that is about to start needs; each part is read when the one before it is there.

    answer   what the registry says to a push with this Secret; None: not asked yet
    context  None: not rendered yet
    """

    secrets: Secrets | Problem
    answer: Answer | None = None
    context: Context | Problem | None = None


class PoolSnapshot(Struct, frozen=True, kw_only=True):
    """A pool and its builds.

    name       the key: the pool's name, also when there is no pool
    claimed    the MachineOSConfig that names the pool, if one does: then it asks, and not the pool
    claim      what it asks for; None: that is for another process to serve
    request    None: the pool is not opted in
    inputs     the identity of what is asked for; None without a Request
    wanted     when this process saw these inputs first
    backend    the one that builds, or why none can
    builds     builder objects of the pool, of all backends
    versions   of the Secrets that the Request names
    refused    what the API server refused a moment ago; None: nothing that is still asked for
    confirmed  the digest of a build whose backend did not tell it, from the registry; or why it is not known
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
    versions: str = ""
    refused: Refusal | None = None
    materials: Materials | None = None
    confirmed: str | Problem = ""
    deadlines: Deadlines = Deadlines()
