"""The registry of the tests itself: what is stored, who may do what, faults, and that nothing is left."""

import signal
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.pushing import layer, push
from tests.waiting import wait_until
from windlass.testing.registry import Auth, Registry, User

pytestmark = pytest.mark.registry


def ask(
    registry: Registry, path: str, user: str | None = None, *, method: str = "GET", data: bytes | None = None
) -> int:
    """The status of an answer; 0 if there is none."""
    headers = {}
    if user is not None:
        headers["Authorization"] = f"Basic {registry.auths(user)['auths'][registry.host]['auth']}"
    context = ssl.create_default_context(cafile=registry.ca_file) if registry.url.startswith("https") else None
    asked = urllib.request.Request(f"{registry.url}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=10, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0


def test_what_was_pushed_is_read_back(registry: Registry) -> None:
    layers = layer({"usr/etc/motd": b"hello", "etc": "usr/etc", "x": b""}), layer({".wh.x": b""})
    digest = push(registry, "stored/os", "v1", *layers, labels={"version": "1"})
    images = registry.images
    assert "stored/os" in images.repositories()
    assert images.tags("stored/os") == ["v1"]
    assert images.manifests("stored/os") == [images.digest("stored/os", "v1")] == [digest]
    assert images.labels("stored/os", digest) == {"version": "1"}
    assert images.file("stored/os", "v1", "/etc/motd") == b"hello"
    assert sorted(images.files("stored/os", "v1")) == ["etc", "usr/etc/motd"]


@pytest.mark.parametrize(
    ("user", "path", "method", "status"),
    [
        (None, "/v2/", "GET", 401),
        ("limited", "/v2/", "GET", 200),
        ("limited", "/v2/limited/os/blobs/uploads/", "POST", 202),
        ("limited", "/v2/limitedly/os/blobs/uploads/", "POST", 403),
        ("limited", "/v2/read/os/tags/list", "GET", 404),
        ("limited", "/v2/read/os/blobs/uploads/", "POST", 403),
        ("limited", "/v2/other/tags/list", "GET", 403),
        ("puller", "/v2/other/manifests/v1", "DELETE", 403),
    ],
)
def test_users_do_what_their_prefixes_allow(
    registry: Registry, user: str | None, path: str, method: str, status: int
) -> None:
    registry.add_user("limited", User("x", pull=("limited", "read/"), push=("limited/",)))
    assert ask(registry, path, user, method=method) == status
    (asked,) = registry.requests()
    assert (asked.method, asked.path, asked.user, asked.status) == (method, path, user or "", status)


def test_everybody_may_do_what_the_user_without_a_name_may() -> None:
    with Registry(users={"": User("", pull=("public/",), push=())}) as registry:
        assert ask(registry, "/v2/public/os/tags/list") == 404
        assert ask(registry, "/v2/private/os/tags/list") == 401
        assert ask(registry, "/v2/public/os/blobs/uploads/", method="POST") == 401


@pytest.mark.parametrize(
    ("rule", "statuses"),
    [
        ({"status": 429, "retry_after": 1, "count": 1}, [429, 200]),
        ({"status": 500, "skip": 1, "count": 1}, [200, 500, 200]),
        ({"status": 401, "user": "puller"}, [200]),
        ({"status": 403, "path": "/blobs/"}, [200]),
        ({"status": 403, "method": "GET"}, [403, 403]),
        ({"cut": True, "count": 1}, [0, 200]),
    ],
)
def test_a_fault_hits_the_requests_that_it_names(
    registry: Registry, rule: Mapping[str, Any], statuses: list[int]
) -> None:
    fault = registry.fault(**rule)
    assert [ask(registry, "/v2/", "pusher") for _ in statuses] == statuses
    assert fault.hits == len([status for status in statuses if status != 200])
    assert [asked.status for asked in registry.requests()] == statuses


def test_an_upload_is_cut_in_the_middle(registry: Registry) -> None:
    registry.fault(method="POST", cut=True, count=1)
    assert ask(registry, "/v2/cut/os/blobs/uploads/", "pusher", method="POST", data=b"x" * 5_000_000) == 0
    assert ask(registry, "/v2/", "pusher") == 200


def test_a_request_hangs_until_its_fault_is_cleared(registry: Registry) -> None:
    fault = registry.fault(hang=True)
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(ask(registry, "/v2/", "pusher")))
    asking.start()
    wait_until("the request hangs", lambda: fault.hits)
    assert answers == []
    registry.clear_faults()
    asking.join(10)
    assert answers == [200]


def test_a_slow_registry_answers_after_its_time_or_when_the_fault_is_cleared(registry: Registry) -> None:
    registry.fault(slow=0.01)
    assert ask(registry, "/v2/", "pusher") == 200
    registry.clear_faults()
    fault = registry.fault(slow=600)
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(ask(registry, "/v2/", "pusher")))
    asking.start()
    wait_until("the request waits", lambda: fault.hits)
    registry.clear_faults()
    asking.join(10)
    assert answers == [200]


def test_nobody_listens_while_it_is_down_and_then_all_is_there(registry: Registry) -> None:
    push(registry, "down/os", "v1", layer({"a": b"a"}))
    with registry.down():
        assert ask(registry, "/v2/", "pusher") == 0
    assert ask(registry, "/v2/down/os/tags/list", "puller") == 200


def test_nothing_is_left_of_a_registry() -> None:
    with Registry(auth=Auth.NONE, tls=True) as registry:
        assert ask(registry, "/v2/") == 200
        folder = registry.ca_file.parents[1]
        assert folder.is_dir()
    assert not folder.exists()
    assert [thread.name for thread in threading.enumerate() if registry.host in thread.name] == []


def test_a_process_that_is_killed_leaves_no_registry() -> None:
    program = (
        "from windlass.testing.registry import Registry\n"
        "with Registry() as registry:\n    print(registry.certificates, flush=True)\n    input()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        folder = Path(child.stdout.readline().decode().strip()).parent
        assert folder.is_dir()
        child.send_signal(signal.SIGKILL)
    wait_until("the folder is gone", lambda: not folder.exists())
