"""The label with the name of the MachineSet of a Machine of Cluster API."""

import pytest

from windlass.machine_sync.machine.mirror_in_cluster_api import set_name_label


@pytest.mark.parametrize("name", ["ms", "a.b-c_D", "m" * 63, "0"])
def test_a_name_that_can_be_the_value_of_a_label_is_it(name: str) -> None:
    assert set_name_label(name) == name


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("m" * 64, "hash_NiQWhQ_z"),
        ("ms.", "hash_KYDR7Q_z"),
        ("-ms", "hash_H4M69A_z"),
    ],
)
def test_another_name_is_hashed_as_cluster_api_does(name: str, label: str) -> None:
    assert set_name_label(name) == label
    assert len(label) == 13
