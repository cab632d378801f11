"""User data from Secrets: what is sent as it is, and what is refused."""

import base64

import msgspec
import pytest

from windlass.api.core import Secret
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine_api.user_data import user_data


def secret(**data: str) -> Secret:
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
    return msgspec.convert({"metadata": {"name": "worker-user-data"}, "data": encoded}, Secret)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"userData": '{"ignition": {}}'}, id="no template"),
        pytest.param({"userData": "{{.Machine.Name}}", "disableTemplating": "true"}, id="templating is disabled"),
        pytest.param({"userData": ""}, id="empty"),
    ],
)
def test_user_data_is_sent_as_it_is(data: dict[str, str]) -> None:
    sent = user_data(secret(**data), where="Secret")
    assert isinstance(sent, str)
    assert base64.b64decode(sent).decode() == data["userData"]


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        ({}, "Dependency", "no key `userData`"),
        ({"userData": "{{.Machine.Name}}"}, "Invalid", "add the key `disableTemplating`"),
        ({"userData": "a", "postprocessor": "ct"}, "Invalid", "the key `postprocessor`, which is not supported"),
    ],
)
def test_user_data_that_is_refused(data: dict[str, str], kind: str, text: str) -> None:
    problem = user_data(secret(**data), where="Secret shop/data")
    assert isinstance(problem, Problem)
    assert problem.kind == kind
    assert problem.message.startswith("Secret shop/data")
    assert text in problem.message
