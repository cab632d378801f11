"""Builds on a base of image mode, by real buildah. Played in the base are bootc, dnf, rpm-ostree, jq and Ignition: they
say how they were called, and no real image of bootc was run."""

from tests.api.cli.conftest import Windlass
from tests.api.cli.os_build.conftest import Desk
from windlass.capability.conventions.exit_codes import Exit
from windlass.testing.builder import push_base

WRITES = b'#!/bin/sh\necho "${0##*/} $*" >> /etc/done\n'
IGNITION = "usr/lib/dracut/modules.d/30ignition/ignition"
REPOSITORIES = "etc/yum.repos.d/base.repo"
FAILS = b'#!/bin/sh\ncase $* in *--help) exit 0 ;; esac\necho "error: linting: Checks failed: 1" >&2\nexit 1\n'


def arguments(desk: Desk) -> list[str]:
    """With a repository of these tests alone."""
    return [*desk.arguments, "--push", f"{desk.registry.host}/cli/image-mode"]


def test_a_bootc_base_without_rpm_ostree_gets_packages_by_dnf_and_is_linted_last(
    windlass: Windlass, desk: Desk
) -> None:
    programs = {"bin/bootc": WRITES, "bin/dnf": WRITES, "bin/jq": WRITES, IGNITION: WRITES, REPOSITORIES: b""}
    base = push_base(desk.registry, "os/bootc", programs=programs)
    content = "usr/share/rpm-ostree/extensions/sysstat-1-1.x86_64.rpm"
    extensions = push_base(desk.registry, "os/extensions", programs={content: b""})
    desk.write_config(spec={"extensions": ["sysstat"], "baseOSExtensionsContainerImage": extensions})
    user = "FROM configs AS final\nRUN echo user >> /etc/done \\\n"
    done = windlass(*arguments(desk), "--base", base, "--apply-by", "ignition", *desk.containerfile(user))
    assert done.returncode == Exit.OK, done.stderr
    found = desk.registry.images.file("cli/image-mode", done.stdout.strip().partition("@")[2], "/etc/done").decode()
    said = [line.partition(" --ignore")[0] for line in found.splitlines() if not line.startswith("jq ")]
    assert said == [
        "ignition-apply",
        "dnf -y install sysstat",
        "dnf clean all",
        "user",
        "bootc container lint --help",
        "bootc container lint",
    ]


def test_a_failed_lint_has_its_name_and_remedy_and_can_be_switched_off(windlass: Windlass, desk: Desk) -> None:
    base = push_base(desk.registry, "os/bootc", programs={"bin/bootc": FAILS})
    given = [*arguments(desk), "--base", base, *desk.containerfile("RUN true\n")]
    done = windlass(*given)
    assert done.returncode == Exit.FAILED
    assert "error: linting: Checks failed: 1" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "error: the build failed in step 'bootc container lint' with exit code 1: bootc could not boot the image, as "
        "it says above: correct that, or give --no-bootc-lint"
    )
    assert windlass(*given, "--no-bootc-lint").returncode == Exit.OK


def test_a_base_without_bootc_is_built_as_before(windlass: Windlass, desk: Desk) -> None:
    done = windlass(*arguments(desk), *desk.containerfile("RUN true\n"))
    assert done.returncode == Exit.OK, done.stderr
