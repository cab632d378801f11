"""Bases of image mode: what a script and a Containerfile do with bootc, and without rpm-ostree."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.os_build.inputs.cases import EXTENSIONS, context, machine_config, request
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.inputs.image_mode import COMMIT, INSTALL, LINT, linted

IGNITION = ApplyBy.IGNITION
CALLED = '#!/bin/sh\necho "$(basename "$0") $*"\n'


def ran(script: str, folder: Path, *programs: str) -> tuple[int, str]:
    """The exit code and the output of a script where there are these programs, which say how they were called."""
    (bin_ := folder / "bin").mkdir()
    for name in programs:
        (bin_ / name).write_text(CALLED)
        (bin_ / name).chmod(0o755)
    for name in ("sh", "basename"):
        found = next(each for each in ("/bin", "/usr/bin") if os.path.exists(f"{each}/{name}"))
        (bin_ / name).symlink_to(f"{found}/{name}")
    done = subprocess.run(
        ["/bin/sh", "-euc", script],
        env={"PATH": str(bin_)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        (("rpm-ostree", "ostree"), "ostree container commit"),
        (("rpm-ostree", "ostree", "bootc"), "ostree container commit"),
        (("dnf", "ostree", "bootc"), ""),
        (("dnf", "bootc"), ""),
        (("ostree",), "ostree container commit"),
    ],
    ids=lambda each: "+".join(each) if isinstance(each, tuple) else None,
)
def test_only_bootc_without_rpm_ostree_has_nothing_to_commit(
    programs: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    assert ran(COMMIT, tmp_path, *programs) == (0, said)


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        (("rpm-ostree", "dnf"), "rpm-ostree install a b"),
        (("dnf", "bootc"), "dnf -y install a b\ndnf clean all"),
    ],
    ids=["rpm-ostree", "dnf-alone"],
)
def test_packages_are_installed_by_rpm_ostree_or_else_by_dnf(
    programs: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    assert ran(f"{INSTALL}install a b", tmp_path, *programs) == (0, said)


def test_a_base_with_neither_is_told(tmp_path: Path) -> None:
    said = "the base image has neither rpm-ostree nor dnf to install packages"
    assert ran(f"{INSTALL}install a b", tmp_path, "bootc") == (127, said)


def test_a_base_without_ignition_is_told(tmp_path: Path) -> None:
    found = context(machine_config(), apply_by=IGNITION).files["ignition.sh"].decode()
    code, said = ran(f"mktemp() {{ echo {tmp_path}; }}\n{found}", tmp_path, "bootc")
    ignition = "/usr/lib/dracut/modules.d/30ignition/ignition"
    told = f"the base image has no Ignition ({ignition}): apply the configuration by --apply-by tree"
    assert (code, said) == (127, told)


@pytest.mark.parametrize(
    ("programs", "said"),
    [((), ""), (("bootc",), "bootc container lint")],
    ids=["no-bootc", "bootc"],
)
def test_the_lint_runs_where_there_is_bootc(programs: tuple[str, ...], said: str, tmp_path: Path) -> None:
    assert ran(LINT.removeprefix("RUN "), tmp_path, *programs) == (0, said)


def test_a_bootc_without_a_lint_is_not_asked_for_one(tmp_path: Path) -> None:
    code, said = ran(
        f"bootc() {{ case $* in *--help) return 2 ;; esac; return 1; }}\n{LINT.removeprefix('RUN ')}", tmp_path
    )
    assert (code, said) == (0, "")


@pytest.mark.parametrize(
    ("apply_by", "part", "last"),
    [
        (IGNITION, "", True),
        (IGNITION, "FROM configs AS final\nRUN true\n", True),
        (ApplyBy.TREE, "FROM configs AS final\nRUN true\n", True),
        (ApplyBy.TREE, "run true", True),
        (ApplyBy.TREE, "ENV A=1", False),
        (ApplyBy.TREE, "", False),
    ],
    ids=["ignition", "ignition-user", "tree-run", "tree-small-letters", "tree-env", "tree-no-shell-known"],
)
def test_the_lint_is_the_last_step_where_a_shell_is_known(apply_by: ApplyBy, part: str, last: bool) -> None:
    text = context(machine_config(), request(part), apply_by=apply_by).containerfile
    assert text.rstrip().endswith(LINT) == last
    without = context(machine_config(), request(part), apply_by=apply_by, lint=False).containerfile
    assert LINT not in without
    assert text.startswith(without.rstrip())


def test_a_backslash_at_the_end_of_the_users_part_joins_nothing() -> None:
    assert linted("FROM a\nRUN true \\\n\n") == f"FROM a\nRUN true\n\n{LINT}\n"


def test_the_extensions_script_has_both_ways() -> None:
    document = machine_config(extensions=["sysstat"], baseOSExtensionsContainerImage=EXTENSIONS)
    script = context(document, apply_by=IGNITION).files["extensions.sh"].decode()
    assert INSTALL in script
    assert script.endswith(COMMIT)
