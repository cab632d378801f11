"""Names of endpoints become addresses, or a sentence that says why not."""

import pytest

from windlass.openstack.cluster.resolve import resolve
from windlass.openstack.cluster.snapshot import Unresolved


async def test_a_name_has_the_address_that_the_system_knows() -> None:
    assert await resolve("localhost") == "127.0.0.1"


@pytest.mark.parametrize("host", ["api.example.invalid", "x" * 64, "a..b"])
async def test_a_name_without_an_address_is_said(host: str) -> None:
    found = await resolve(host)
    assert isinstance(found, Unresolved)
    assert f"host {host} has no address: " in found.why
