"""What the systemd units of a configuration become, as `systemctl` and Ignition would have it."""

from typing import Any

import pytest

from tests.unit.os_build.inputs.cases import context, machine_config, problem
from tests.unit.os_build.inputs.unpacked import unpacked

SYSTEM = "/etc/systemd/system"
PRESET = "/etc/systemd/system-preset/20-ignition.preset"


def made(*units: Any) -> dict[str, str]:
    """Files by their content and links by `-> target`; paths in the directory of units without it."""
    found = unpacked(context(machine_config({"systemd": {"units": units}})))
    assert {(entry.kind, entry.mode) for entry in found.values()} <= {
        ("file", 0o644),
        ("symlink", 0o777),
        ("file", 0o600),
    }
    return {
        path.removeprefix(f"{SYSTEM}/"): f"-> {entry.target}" if entry.kind == "symlink" else entry.data.decode()
        for path, entry in found.items()
        if path.startswith("/etc/systemd")
    }


def unit(name: str, install: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "enabled": True, "contents": f"[Install]\n{install}\n", **more}


def links(*units: Any) -> dict[str, str]:
    return {path: target for path, target in made(*units).items() if target.startswith("->")}


def test_units_and_drop_ins_become_files() -> None:
    drop_ins = [{"name": "10-a.conf", "contents": "[Service]\n"}, {"name": "20-b.conf"}]
    assert made(
        {"name": "a.service", "contents": "[Unit]\nDescription=é\n"},
        {"name": "b.service", "dropins": drop_ins},
        {"name": "c.service", "contents": ""},
    ) == {"a.service": "[Unit]\nDescription=é\n", "b.service.d/10-a.conf": "[Service]\n"}


def test_a_masked_unit_is_a_link_to_nowhere_even_if_it_is_enabled() -> None:
    assert made(unit("a.service", "WantedBy=x.target", mask=True)) == {"a.service": "-> /dev/null"}


def test_an_enabled_unit_of_the_base_image_is_in_the_preset() -> None:
    drop_in = {"name": "a.conf", "contents": "[Service]\n"}
    found = made(
        {"name": "sshd.service", "enabled": True}, {"name": "b@1.timer", "enabled": True, "dropins": [drop_in]}
    )
    assert found[PRESET] == "enable sshd.service\nenable b@1.timer\n"


def test_a_disabled_unit_is_in_the_preset_so_that_a_first_boot_does_not_enable_it() -> None:
    found = made(
        {"name": "a.service", "enabled": False},
        unit("b.service", "WantedBy=x.target", enabled=False),
        {"name": "c.service", "enabled": True},
    )
    assert found == {
        "b.service": "[Install]\nWantedBy=x.target\n",
        PRESET: "enable c.service\ndisable a.service\ndisable b.service\n",
    }


LINKED = {
    "wanted, required, upheld": (
        [unit("a.service", "WantedBy=x.target y.target\nRequiredBy=z.target\nUpheldBy=u.target")],
        {
            "x.target.wants/a.service": "a.service",
            "y.target.wants/a.service": "a.service",
            "z.target.requires/a.service": "a.service",
            "u.target.upholds/a.service": "a.service",
        },
    ),
    "alias": ([unit("a.service", "Alias=b.service  c.service")], {"b.service": "a.service", "c.service": "a.service"}),
    "disabled": ([unit("a.service", "WantedBy=x.target", enabled=False)], {}),
    "reset": ([unit("a.service", "WantedBy=x.target\nWantedBy=\nWantedBy=y.target")], {"y.target": ""}),
    "continuation": (
        [unit("a.service", "# WantedBy=n.target\nWantedBy=x.target \\\n ; no\n  y.target")],
        {"x.target": "", "y.target": ""},
    ),
    "another section": ([unit("a.service", "[Unit]\nWantedBy=x.target")], {}),
    "drop-in": (
        [unit("a.service", dropins=[{"name": "x.conf", "contents": "[Install]\nWantedBy=x.target"}])],
        {"x.target": ""},
    ),
    "also": (
        [unit("a.service", "Also=a.socket"), unit("a.socket", "WantedBy=x.target", enabled=None)],
        {"x.target.wants/a.socket": "a.socket"},
    ),
    "template with default": (
        [unit("a@.service", "WantedBy=x.target\nDefaultInstance=one")],
        {"x.target.wants/a@one.service": "a@.service"},
    ),
    "template without default": ([unit("a@.service", "WantedBy=x.target")], {}),
    "instance": (
        [unit("a@.service", "WantedBy=dev-%i.device", enabled=False), {"name": "a@sda.service", "enabled": True}],
        {"dev-sda.device.wants/a@sda.service": "a@.service"},
    ),
}


@pytest.mark.parametrize(
    ("units", "linked"),
    LINKED.values(),
    ids=LINKED,
)
def test_an_enabled_unit_is_linked_as_it_asks_to_be(units: list[Any], linked: dict[str, str]) -> None:
    """A key without a dot after it is a target that wants `a.service`."""
    wanted = {
        path if file else f"{path}.wants/a.service": f"-> {SYSTEM}/{file or 'a.service'}"
        for path, file in linked.items()
    }
    assert links(*units) == wanted


@pytest.mark.parametrize(
    ("units", "said"),
    [
        ([{"name": "../a.service"}], "units[0] ../a.service: it is no name of a unit"),
        ([{"name": "a"}], "units[0] a: it is no name of a unit"),
        ([{"name": "a.service"}, {"name": "a.service"}], "units[1] a.service: another unit has the same name"),
        ([{"name": "a.service", "dropins": [{"name": "../b.conf"}]}], "dropins ../b.conf: it is no name of a drop-in"),
        ([{"name": "a.service", "dropins": [{"name": "b"}]}], "dropins b: it is no name of a drop-in"),
        (
            [unit("a.service", "WantedBy=../../x")],
            "[Install] of a.service: '/etc/systemd/system/../../x.wants/a.service'",
        ),
    ],
    ids=["path", "no type", "twice", "path of a drop-in", "not .conf", "path in [Install]"],
)
def test_bad_units_are_refused(units: list[Any], said: str) -> None:
    assert said in problem(machine_config({"systemd": {"units": units}})).text
