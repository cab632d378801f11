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
