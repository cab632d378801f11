"""`windlass web` as a process: the link that it prints, how it ends, and what it refuses."""

import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.patience import PATIENCE
from windlass.cli.program import cli

CLUSTER = """\
apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {name: version}
status:
  desired: {version: 4.16.1}
  history:
  - {state: Partial, version: 4.16.1, startedTime: "2026-11-22T23:34:28Z", completionTime: null}
  - {state: Completed, version: 4.16.0, startedTime: "2026-11-20T10:00:00Z", completionTime: "2026-11-20T11:00:00Z"}
  conditions:
  - {type: Progressing, status: "True", reason: x, message: y, lastTransitionTime: "2026-11-22T23:34:28Z"}
---
apiVersion: config.openshift.io/v1
kind: ClusterOperator
metadata:
  name: etcd
  annotations: {include.release.openshift.io/self-managed-high-availability: "true"}
status:
  versions: [{name: operator, version: 4.16.0}]
  conditions:
  - {type: Available, status: "True", lastTransitionTime: "2026-11-22T23:34:28Z"}
  - {type: Progressing, status: "False", lastTransitionTime: "2026-11-20T10:34:28Z"}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(CLUSTER)
    return file


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "windlass", "web", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_the_link_and_ends_when_told(cluster: Path, number: signal.Signals) -> None:
    with started("--from", str(cluster)) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Open http://127.0.0.1:"), line
        link = line.split()[1]
        with urllib.request.urlopen(link) as answer:
            assert "HttpOnly" in answer.headers["Set-Cookie"]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(link.partition("/?")[0] + "/api/session")
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == "Ctrl-C ends it.\n"


def test_a_port_that_is_taken_is_an_error_in_a_line(cluster: Path) -> None:
    with started("--from", str(cluster)) as one:
        assert one.stdout is not None
        port = one.stdout.readline().split(":")[2].partition("/")[0]
        result = CliRunner().invoke(cli, ["web", "--from", str(cluster), "--bind", f"127.0.0.1:{port}"])
    assert f"cannot listen on 127.0.0.1:{port}" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--tls-cert", "x"], "belong together"),
        (["--from", "x", "--view", "machine-sync"], "files show an update"),
        (["--bind", "8443"], "is not an address"),
        (["--view", "nothing"], "machine-sync"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(cli, ["web", *arguments])
    assert result.exit_code != 0
    assert told in result.output


def test_files_without_a_cluster_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("apiVersion: v1\nkind: List\nitems: []\n")
    result = CliRunner().invoke(cli, ["web", "--from", str(tmp_path)])
    assert result.exit_code != 0
    assert f"no report can be made of {tmp_path}" in result.output
