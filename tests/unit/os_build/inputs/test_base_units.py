"""Units of the base image, changed as the node daemon and `systemctl` change them."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.unit.os_build.inputs.cases import context, machine_config, problem
from tests.unit.os_build.inputs.unpacked import Entry, unpacked
from windlass.os_build.inputs.context import CONTAINERFILE

SYSTEM = "/etc/systemd/system"
VENDOR = "/usr/lib/systemd/system"
LINK = {"link": "/dev/null"}
TABLE = Path(__file__).parents[3] / "data" / "os_build" / "node_daemon" / "table.jsonl"
ROWS = [json.loads(line) for line in TABLE.read_text().splitlines()]
SYSTEMCTL = shutil.which("systemctl") or ""


def laid_out(root: Path, base: dict[str, Any]) -> Path:
    for path, content in base.items():
        (file := root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            file.write_text(content)
            file.chmod(0o644)
        else:
            file.symlink_to(content["link"])
    return root


def changed(root: Path, script: bytes, *, programs: str = "/usr/bin:/bin") -> str:
    """What the script says, run for this root. It removes itself."""
    (file := root.with_suffix(".sh")).write_bytes(script)
    ran = subprocess.run(
        ["sh", file, root], cwd=root.parent, env={"PATH": programs}, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, file.exists()) == (0, False), ran.stderr
    return ran.stdout


def found(root: Path) -> dict[str, Any]:
    """Links by their target, files by their content."""
    files = sorted(path for path in root.rglob("*") if path.is_symlink() or path.is_file())
    return {
        f"/{path.relative_to(root)}": {"link": str(path.readlink())} if path.is_symlink() else path.read_text()
        for path in files
    }


def shown(entry: Entry | None, beneath: Any) -> Any:
    """A path of the image: what the archive has, or what the base image still has."""
    if entry is None:
        return {"data": beneath, "mode": 0o644, "uid": 0, "gid": 0} if isinstance(beneath, str) else beneath
    if entry.kind == "symlink":
        return {"link": entry.target}
    if entry.kind == "directory":
        return {"directory": entry.mode}
    return {"data": entry.data.decode(), "mode": entry.mode, "uid": entry.uid, "gid": entry.gid}


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in ROWS])
def test_an_image_has_what_the_node_daemon_would_write(row: dict[str, Any], tmp_path: Path) -> None:
    expected = row.get("tree", row["daemon"])
    if isinstance(expected, str):
        assert expected in problem(machine_config(row["config"])).text
        return
    root = laid_out(tmp_path / "root", row["base"])
    made = context(machine_config(row["config"]))
    if "units.sh" in made.files:
        changed(root, made.files["units.sh"])
    beneath, above = found(root), unpacked(made)
    assert {path: shown(above.get(path), beneath.get(path)) for path in expected} == expected


def script(*units: dict[str, Any]) -> bytes:
    return context(machine_config({"systemd": {"units": units}})).files.get("units.sh", b"")


@pytest.mark.parametrize(
    "unit",
    [
        {"name": "a.service", "contents": "[Unit]\n", "enabled": True},
        {"name": "a.service", "mask": True, "enabled": True},
        {"name": "a.service", "mask": False, "contents": "[Unit]\n"},
        {"name": "a.service", "dropins": [{"name": "x.conf", "contents": "[Unit]\n"}]},
    ],
)
def test_nothing_runs_if_the_base_image_stays_as_it_is(unit: dict[str, Any]) -> None:
    assert script(unit) == b""


def test_the_base_image_is_changed_before_the_files_are_added() -> None:
    made = context(machine_config({"systemd": {"units": [{"name": "a.service", "enabled": False}]}}))
    lines = made.files[CONTAINERFILE].decode().splitlines()
    assert lines[1:4] == ["COPY units.sh /tmp/units.sh", "RUN sh /tmp/units.sh", "ADD rootfs.tar.gz /"]


def vendor(**install: str) -> dict[str, Any]:
    return {f"{VENDOR}/{name}": f"[Unit]\n[Install]\n{text}\n" for name, text in install.items()}


def linked(*paths: str, to: str = "") -> dict[str, Any]:
    """Links in the directory of units, to the unit of their name if `to` is empty."""
    return {f"{SYSTEM}/{path}": {"link": f"{VENDOR}/{to or path.rpartition('/')[2]}"} for path in paths}


WANTED = {"a.service": "WantedBy=x.target", "b.service": "WantedBy=x.target"}
BASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "one of two": (["a.service"], vendor(**WANTED) | linked("x.target.wants/a.service", "x.target.wants/b.service")),
    "alias": (
        ["a.service"],
        vendor(**{"a.service": "Alias=c.service\nWantedBy=x.target"})
        | linked("c.service", to="a.service")
        | linked("x.target.wants/a.service", "y.target.requires/a.service"),
    ),
    "by hand": (["a.service"], vendor(**WANTED) | linked("z.target.wants/other.service", to="a.service")),
    "relative": (
        ["a.service"],
        vendor(**WANTED) | {f"{SYSTEM}/x.target.wants/a.service": {"link": f"../../../..{VENDOR}/a.service"}},
    ),
    "also": (
        ["a.service"],
        vendor(**{"a.service": "Also=a.socket b.service\nWantedBy=x.target", "a.socket": "WantedBy=s.target"})
        | vendor(**{"b.service": "Also=a.service\nWantedBy=x.target"})
        | linked("x.target.wants/a.service", "s.target.wants/a.socket", "x.target.wants/b.service"),
    ),
    "template": (
        ["a@.service"],
        vendor(**{"a@.service": "WantedBy=x.target"})
        | linked("x.target.wants/a@1.service", "x.target.wants/a@2.service", to="a@.service"),
    ),
    "instance": (
        ["a@1.service"],
        vendor(**{"a@.service": "WantedBy=x.target"})
        | linked("x.target.wants/a@1.service", "x.target.wants/a@2.service", to="a@.service"),
    ),
    "several": (
        ["a.service", "b.service"],
        vendor(**WANTED) | linked("x.target.wants/a.service", "x.target.wants/b.service"),
    ),
    "not enabled": (["a.service"], vendor(**WANTED)),
    "masked": (["a.service"], vendor(**WANTED) | {f"{SYSTEM}/a.service": LINK}),
}


@pytest.mark.skipif(not SYSTEMCTL, reason="systemctl is missing")
@pytest.mark.parametrize(("names", "base"), BASES.values(), ids=BASES)
def test_units_are_disabled_as_systemctl_disables_them(names: list[str], base: dict[str, Any], tmp_path: Path) -> None:
    ours, theirs = laid_out(tmp_path / "ours", base), laid_out(tmp_path / "theirs", base)
    subprocess.run([SYSTEMCTL, f"--root={theirs}", "disable", *names], capture_output=True, check=True)
    changed(ours, script(*({"name": name, "enabled": False} for name in names)), programs=without_systemctl(tmp_path))
    assert found(ours) == found(theirs)


def without_systemctl(folder: Path) -> str:
    """A PATH with the few programs that a small base image has."""
    (programs := folder / "programs").mkdir()
    for name in ("sh", "rm", "readlink", "sed"):
        (programs / name).symlink_to(shutil.which(name) or "")
    return str(programs)


@pytest.mark.skipif(not SYSTEMCTL, reason="systemctl is missing")
def test_a_unit_of_the_base_image_is_enabled_by_the_systemctl_of_that_image(tmp_path: Path) -> None:
    root = laid_out(tmp_path / "root", vendor(**WANTED) | {f"{SYSTEM}/b.service": LINK})
    asked = script(
        {"name": "a.service", "enabled": True},
        {"name": "b.service", "enabled": True, "mask": False},
        {"name": "later.service", "enabled": True},
    )
    said = changed(root, asked, programs=f"{Path(SYSTEMCTL).parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    wants = {path for path in found(root) if path.startswith(SYSTEM)}
    assert wants == {f"{SYSTEM}/x.target.wants/a.service", f"{SYSTEM}/x.target.wants/b.service"}
    assert said == "later.service is enabled when the machine boots first\n"


def test_without_systemctl_units_of_the_base_image_are_enabled_at_the_first_boot(tmp_path: Path) -> None:
    root = laid_out(tmp_path / "root", vendor(**WANTED))
    assert changed(root, script({"name": "a.service", "enabled": True}), programs=without_systemctl(tmp_path)) == ""
    assert found(root) == vendor(**WANTED)


def test_names_that_a_shell_would_read_are_only_names(tmp_path: Path) -> None:
    name = "a $(touch pwned) ' \" b.service"
    root = laid_out(tmp_path / "root", linked(f"x.target.wants/{name}", "x.target.wants/b.service"))
    dropin = {"name": "'; touch pwned #.conf", "contents": ""}
    changed(root, script({"name": name, "enabled": False, "mask": False, "dropins": [dropin]}))
    assert found(root) == linked("x.target.wants/b.service")
    assert not (tmp_path / "pwned").exists()
