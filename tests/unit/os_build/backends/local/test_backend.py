"""What the backend asks for, and on behalf of which pool: the runtime sends no Call without the uid of its target."""

from pathlib import Path

from tests.unit.os_build.backends.conformance import order
from windlass.kube.control.plan import Call
from windlass.kube.control.source import Mailbox
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.requests import StartBuild
from windlass.os_build.builder import Cause


async def test_every_request_names_the_pool_that_the_build_was_started_for_by_its_uid(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    backend = LocalBackend(builds, Mailbox())
    (start,) = backend.start(order("worker"))
    assert isinstance(start, Call)
    assert isinstance(start.request, StartBuild)
    # Nobody has opened the slots, so it stays in the queue.
    state = await builds.start(start.request)
    calls = [start, *backend.cancel(state, Cause.DEADLINE), *backend.clean(state, why="superseded")]
    assert [call.target.uid for call in calls] == ["uid-of-worker"] * 3
    await builds.remove(state.name)
    assert backend.look("worker") == ()
