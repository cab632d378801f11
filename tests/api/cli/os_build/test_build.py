"""`windlass os-build build`: the image of a pool without a cluster."""

import json
import signal

from tests.api.cli.conftest import Begin, Windlass
from tests.api.cli.os_build.conftest import Desk
from windlass.capability.conventions.exit_codes import Exit


def test_an_image_is_built_from_files_and_its_pullspec_printed(windlass: Windlass, desk: Desk) -> None:
    done = windlass(*desk.arguments, *desk.containerfile("RUN cat /etc/motd > /etc/copied\n"))
    assert done.returncode == Exit.OK, done.stderr
    repository, _, digest = done.stdout.strip().partition("@")
    assert repository == f"{desk.registry.host}/cli/os"
    (tag,) = desk.registry.images.tags("cli/os")
    assert desk.registry.images.digest("cli/os", tag) == digest
    assert desk.registry.images.file("cli/os", digest, "/etc/motd") == b"welcome"
    assert desk.registry.images.file("cli/os", digest, "/etc/copied") == b"welcome"
    assert "RUN cat /etc/motd" in done.stderr


def test_the_machine_os_config_of_the_pool_says_what_is_built_and_where_it_is_pushed(
    windlass: Windlass, desk: Desk
) -> None:
    content = "FROM configs AS final\nENV LANG C.UTF-8\nRUN echo $LANG > /etc/lang\n"
    spec = {
        "machineConfigPool": {"name": "worker"},
        "imageBuilder": {"imageBuilderType": "Job"},
        "renderedImagePushSecret": {"name": "push"},
        "renderedImagePushSpec": f"{desk.registry.host}/claimed/os:latest",
        "containerFile": [{"containerfileArch": "NoArch", "content": content}],
    }
    desk.write("claim.json", {"kind": "MachineOSConfig", "metadata": {"name": "worker"}, "spec": spec})
    arguments = [each for each in desk.arguments if each not in ("--push", f"{desk.registry.host}/cli/os")]
    done = windlass(*arguments, "-f", str(desk.folder / "claim.json"))
    assert done.returncode == Exit.OK, done.stderr
    repository, _, digest = done.stdout.strip().partition("@")
    assert repository == f"{desk.registry.host}/claimed/os"
    assert desk.registry.images.file("claimed/os", digest, "/etc/lang") == b"C.UTF-8\n"


BASE_WITH_UNITS = """\
RUN mkdir -p /etc/systemd/system/multi-user.target.wants /etc/systemd/system/d.service.d
RUN ln -s /usr/lib/systemd/system/chronyd.service /etc/systemd/system/multi-user.target.wants/chronyd.service
RUN ln -s /dev/null /etc/systemd/system/unmasked.service && echo old > /etc/systemd/system/d.service.d/20-empty.conf
"""


def test_units_of_the_base_image_are_disabled_unmasked_and_stripped(windlass: Windlass, desk: Desk) -> None:
    base = windlass(*desk.arguments, *desk.containerfile(BASE_WITH_UNITS)).stdout.strip()
    unit = {"name": "a.service", "enabled": True, "contents": "[Install]\nWantedBy=multi-user.target\n"}
    dropins = [{"name": "10-new.conf", "contents": "[Service]\n"}, {"name": "20-empty.conf", "contents": ""}]
    desk.write_config(
        systemd={
            "units": [
                {"name": "chronyd.service", "enabled": False},
                {"name": "unmasked.service", "mask": False},
                {"name": "d.service", "dropins": dropins},
                unit,
            ]
        }
    )
    shown = "RUN cd /etc/systemd/system && find . ! -type d | sort > /etc/found\n"
    done = windlass(*desk.arguments, "--base", base, *desk.containerfile(shown))
    assert done.returncode == Exit.OK, done.stderr
    found = desk.registry.images.file("cli/os", done.stdout.strip().partition("@")[2], "/etc/found")
    assert found.decode().split() == ["./a.service", "./d.service.d/10-new.conf", "./multi-user.target.wants/a.service"]


PLAYED_OS = """\
RUN mkdir -p /usr/lib/dracut/modules.d/30ignition /etc/yum.repos.d /usr/lib/tmpfiles.d
RUN printf '#!/bin/sh\\necho Ignition >> /etc/done\\n' > /usr/lib/dracut/modules.d/30ignition/ignition
RUN printf '#!/bin/sh\\necho "$@" >> /etc/done\\n' > /bin/rpm-ostree
RUN printf '#!/bin/sh\\n' > /bin/ostree && printf '#!/bin/sh\\n' > /bin/jq
RUN chmod +x /usr/lib/dracut/modules.d/30ignition/ignition /bin/rpm-ostree /bin/ostree /bin/jq
"""
"""Programs of an OS that write down how they were called."""
PLAYED_EXTENSIONS = """\
RUN mkdir -p /usr/share/rpm-ostree/extensions
RUN touch /usr/share/rpm-ostree/extensions/openvswitch3.5-ipsec-3.5.2-43.el9fdp.x86_64.rpm
"""


def test_what_the_extensions_image_has_is_installed_after_ignition(windlass: Windlass, desk: Desk) -> None:
    base = windlass(*desk.arguments, *desk.containerfile(PLAYED_OS)).stdout.strip()
    image = windlass(*desk.arguments, *desk.containerfile(PLAYED_EXTENSIONS)).stdout.strip()
    desk.write_config(spec={"extensions": ["ipsec"], "baseOSExtensionsContainerImage": image})
    done = windlass(*desk.arguments, "--base", base, "--apply-by", "ignition")
    assert done.returncode == Exit.OK, done.stderr
    found = desk.registry.images.file("cli/os", done.stdout.strip().partition("@")[2], "/etc/done")
    assert found.decode().splitlines() == [
        "Ignition",
        "install NetworkManager-libreswan libreswan openvswitch3.5-ipsec",
    ]


def test_a_failure_is_one_line_after_the_log_with_the_remedy(windlass: Windlass, desk: Desk) -> None:
    done = windlass(*desk.arguments, *desk.containerfile("RUN printf '\\033[2J'; exit 4\n"))
    assert (done.returncode, done.stdout) == (Exit.FAILED, "")
    assert done.stderr.splitlines()[-1] == (
        "error: the build failed in step \"RUN printf '\\\\033[2J'; exit 4\" with exit code 4: correct the command, or "
        "what it needs; its output is above"
    )
    assert "\033" not in done.stderr


def test_a_failure_as_json(windlass: Windlass, desk: Desk) -> None:
    desk.write("auth.json", {"auths": {desk.registry.host: {"auth": "bm9ib2R5Ondyb25n"}}})
    done = windlass(*desk.arguments, "-o", "json")
    assert done.returncode == Exit.FAILED
    told = json.loads(done.stdout)
    assert (told["pool"], told["config"], told["image"]) == ("worker", "rendered-worker-1", "")
    assert told["failure"]["cause"] == "PullDenied"
    assert "log in, or give --authfile" in done.stderr


def test_ctrl_c_ends_the_build_and_leaves_nothing(begin: Begin, desk: Desk) -> None:
    building = begin(*desk.arguments, *desk.containerfile("RUN echo running; sleep 600\n"), text=True)
    assert building.stderr is not None
    assert any(line == "running\n" for line in building.stderr)
    building.send_signal(signal.SIGINT)
    out, err = building.communicate()
    assert (building.returncode, out) == (Exit.INTERRUPTED, "")
    assert "Traceback" not in err
