"""`windlass plan update-status --informers -f`: what would be asked, without asking."""

from pathlib import Path

import pytest

from windlass.cli import main

INFORMER = """
apiVersion: update.openshift.io/v1alpha1
kind: UpdateInformer
metadata: {name: disks, generation: 1}
spec:
  enabled: true
  clientConfig: {service: {namespace: storage, name: disks}}
"""
SERVICE = """---
apiVersion: v1
kind: Service
metadata: {name: disks, namespace: storage}
spec: {type: ClusterIP, clusterIPs: [172.30.1.2], ports: [{port: 443}]}
"""


def planned(text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    """The exit code, and all that was printed."""
    (file := tmp_path / "objects.yaml").write_text(text)
    code = main(["plan", "update-status", "-f", str(file), *more])
    return code, "".join(capfd.readouterr())


def test_the_token_and_the_question_are_shown_and_nothing_is_sent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, shown = planned(INFORMER + SERVICE, tmp_path, capfd, "--informers", "--rounds", "disks")
    assert code == 3
    assert '+ audiences: ["update.openshift.io/informer/disks"]' in shown
    assert '+ url: "https://disks.storage.svc:443/"' in shown
    assert "not sent: nothing here carries requests to informers" in shown


def test_a_service_that_is_missing_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, shown = planned(INFORMER, tmp_path, capfd, "--informers", "disks")
    assert "Service storage/disks is not there: create it or correct spec.clientConfig.service" in shown


def test_without_the_flag_no_informer_is_planned(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "disks" not in planned(INFORMER + SERVICE, tmp_path, capfd)[1]
