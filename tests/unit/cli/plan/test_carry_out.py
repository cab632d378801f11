"""The model of a cluster that `windlass plan -f` makes from files."""

import base64
from datetime import UTC, datetime
from typing import Any

from windlass.api.core import Secret
from windlass.capability.planning import Given, Scope
from windlass.cli.plan.carry_out import changed, model
from windlass.kube.verbs import PatchType

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloud", "namespace": "prod"}}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def made(**content: Any) -> Any:
    given = Given(({**SECRET, **content},), (), ())
    return model(given, Scope(kinds=(Secret,), subjects=()), rules=(), clock=lambda: NOW)


async def test_text_of_a_secret_becomes_data_as_an_api_server_stores_it() -> None:
    api = made(stringData={"clouds.yaml": "new"}, data={"clouds.yaml": encoded("old"), "cacert": encoded("ca")})
    found = await api.get(Secret, "cloud", namespace="prod")
    assert found.tree()["data"] == {"clouds.yaml": encoded("new"), "cacert": encoded("ca")}
    assert "stringData" not in found.tree()


async def test_a_secret_that_was_written_is_shown_without_its_data() -> None:
    api = made(stringData={"clouds.yaml": "password"})
    before = api.version
    body = {"metadata": {"finalizers": ["openstack.windlass.dev/credentials"]}}
    await api.patch(Secret, "cloud", body, type=PatchType.MERGE, namespace="prod")
    (shown,) = changed(api, since=before)
    assert shown["metadata"]["finalizers"] == ["openstack.windlass.dev/credentials"]
    assert shown["data"] == {"clouds.yaml": "(not shown)"}
