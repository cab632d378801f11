"""No credential is ever shown: not in a plan, its fields or its texts, whatever builds."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.os_build.pool.snapshots import LONG_AGO, NOW, REQUEST, TIMING, of_pool, seen
from windlass.api.batch import Job
from windlass.api.build import Build
from windlass.api.core import ConfigMap, Pod, Secret
from windlass.capability.planning.fields import field_changes
from windlass.kube.control.plan import Action
from windlass.kube.control.question import Answers, Indexed, Question
from windlass.kube.control.source import Mailbox
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.openshift import OpenShiftBackend
from windlass.os_build.builder import Backend
from windlass.os_build.credentials import Auths, auths
from windlass.os_build.environment import Files, lent, loans_of
from windlass.os_build.inputs.context import Context
from windlass.os_build.pool.decide import plan_of
from windlass.os_build.pool.observe import BY_NAME
from windlass.os_build.pool.questions import Answered, Borrowed, Credentials, Rendered, push_credentials
from windlass.os_build.registry.answers import Answer, Kind
from windlass.os_build.request import PULL_SECRET, BackendName
from windlass.os_build.turns import Turn

GRANTED = Answer(Kind.GRANTED, "")
CONTEXT = Context({"Containerfile": b"FROM x"})
PULL = Credentials("pull", PULL_SECRET, "", "v1")
PUSH = push_credentials(REQUEST, "v1")
TURN = Turn("worker", LONG_AGO)
KINDS: dict[str, type[Any]] = {"Secret": Secret, "ConfigMap": ConfigMap}
LOANS: tuple[Question[Any], ...] = tuple(
    Indexed(KINDS[loan.kind], BY_NAME, name) for loan in loans_of(REQUEST.pool) for name in loan.names
)
LENT = lent(REQUEST.pool, lambda kind, name: True)
PROBE = Answered(str(REQUEST.target), "v1")


def backends() -> dict[BackendName, Backend]:
    reader = MemoryReader(MemoryApi(Build, ConfigMap, Job, Pod))
    found: list[Backend] = [
        OpenShiftBackend(reader),
        JobBackend(reader),
        LocalBackend(Builds(Path("nowhere")), Mailbox()),
    ]
    for backend in found:
        for watch in backend.watches:
            for index, values in watch.indexes.items():
                reader.add_index(watch.kind, index, values)
    return {backend.name: backend for backend in found}


def texts(action: Action) -> Iterator[str]:
    """All that people may see of an action."""
    yield from (str(action), repr(action), repr(action.diff()), repr(field_changes(action)))


@given(
    st.text("abcdefghijkmnopqrstuvwxyz23456789", min_size=16, max_size=40),
    st.sampled_from(["auth", "password", "identitytoken"]),
)
def test_no_action_shows_a_credential(password: str, field: str) -> None:
    packed = base64.b64encode(f"robot:{password}".encode()).decode()
    entry = {"username": "robot", field: packed if field == "auth" else password}
    document = json.dumps({"auths": {"registry.example.com": entry}})
    secret = Secret(type="kubernetes.io/dockerconfigjson", string_data={".dockerconfigjson": document})
    read = auths(secret, key="finalImagePushSecretName")
    assert isinstance(read, Auths)
    files = Files({"key.pem": password.encode()})
    assert read.login("registry.example.com") is not None
    for name in BackendName:
        for answer in (None, GRANTED):
            known: dict[Question[Any], Any] = {PULL: read, PUSH: read, PROBE: answer, TURN: None}
            known[Rendered(REQUEST)] = CONTEXT
            known |= dict.fromkeys(LOANS, (object(),)) | {Borrowed(LENT): {each.at: files for each in LENT}}
            given = seen(of_pool(), backend=name, answers=Answers.of(known, at=NOW))
            plan = plan_of(given, now=NOW, backends=backends(), timing=TIMING)
            shown = [repr(given), str(plan), *(text for action in plan.actions for text in texts(action))]
            assert plan.actions
            assert not [text for text in shown if password in text or packed in text or packed[8:-4] in text]
