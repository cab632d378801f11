import stat
from pathlib import Path

import pytest
import yaml

from windlass.testing.plane.connection import Connection


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    (tmp_path / "ca.crt").write_text("certificate")
    return Connection("https://127.0.0.1:1", tmp_path / "ca.crt", {"admin": "secret"}, tmp_path)


def test_a_connection_survives_the_way_to_another_process(connection: Connection) -> None:
    assert Connection.from_json(connection.to_json()) == connection


def test_a_kubeconfig_is_readable_by_its_owner_alone(connection: Connection) -> None:
    assert stat.S_IMODE(connection.write_kubeconfig("admin", token="secret").stat().st_mode) == 0o600


def test_a_kubeconfig_stands_alone(connection: Connection) -> None:
    content = yaml.safe_load(connection.write_kubeconfig("admin", token="secret").read_text())
    assert content["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:1",
        "certificate-authority-data": "Y2VydGlmaWNhdGU=",
    }
    assert content["users"][0]["user"] == {"token": "secret"}
    assert content["current-context"] == content["contexts"][0]["name"]


def test_names_of_service_accounts_make_plain_file_names(connection: Connection) -> None:
    path = connection.write_kubeconfig("system:serviceaccount:a:b", token="t")
    assert path.name == "system-serviceaccount-a-b.yaml"
    assert path.parent == connection.directory / "kubeconfigs"
