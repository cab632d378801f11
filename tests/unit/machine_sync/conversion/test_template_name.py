"""Names of infrastructure templates. The recorded MachineSets have more of them."""

import pytest

from windlass.api import capo
from windlass.machine_sync.conversion.template_name import fnv1a, template_name


@pytest.mark.parametrize(("data", "value"), [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)])
def test_the_hash_is_fnv_1a(data: bytes, value: int) -> None:
    assert fnv1a(data) == value


def test_a_name_is_that_of_the_set_and_eight_hexadecimal_digits_of_the_spec() -> None:
    spec = capo.OpenStackMachineSpec(flavor="m1")
    name = template_name("ms", spec)
    hashed = fnv1a(b'{"flavor":"m1","image":{}}')
    assert name == f"ms-{hashed:08x}"
    assert template_name("ms", capo.OpenStackMachineSpec(flavor="m1")) == name
    assert template_name("ms", capo.OpenStackMachineSpec(flavor="m2")) != name
