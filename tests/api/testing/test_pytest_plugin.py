"""The plugin as a stranger's project uses it: pytest runs in another process, on the example project."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lines import line_in
from tests.patience import PATIENCE
from windlass.testing.plane.waiting import wait_for

pytestmark = pytest.mark.plane

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "envtest"
CONTROLLER = ROOT / "examples" / "controller"
WHERE = """
import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("number", range(4))
def test_where(windlass_plane, windlass_namespace, windlass_kubeconfig, number):
    (HERE / f"seen-{number}").write_text(f"{windlass_plane.url} {os.getpid()} {windlass_namespace}")
    assert windlass_plane.url in windlass_kubeconfig.read_text()
"""
OPTIONS = """
import pytest

@pytest.fixture(scope="session")
def windlass_plane_options():
    return {
        "controller_manager": False,
        "admission_plugins": ["AlwaysPullImages"],
        "feature_gates": {"ComponentStatusz": False},
        "apiserver_flags": ["--runtime-config=batch/v1=false"],
    }
"""
CHOSEN = """
def test_chosen(windlass_plane, windlass_namespace):
    rest = windlass_plane.blocking.rest
    assert "batch" not in [group["name"] for group in rest.request("GET", "/apis")["groups"]]
    gates = [line for line in rest.text("GET", "/metrics").splitlines() if 'name="ComponentStatusz"' in line]
    assert [line.rpartition(" ")[2] for line in gates] == ["0"]
    container = {"name": "c", "image": "registry.example.com/x", "imagePullPolicy": "Never"}
    metadata = {"name": "p", "namespace": windlass_namespace}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    [made] = windlass_plane.blocking.apply(pod)
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    assert not (windlass_plane.logs / "kube-controller-manager.log").exists()
"""
FOR_EVER = """
import time
from pathlib import Path

def test_for_ever(windlass_plane):
    Path(__file__).with_name("seen").write_text(f"{windlass_plane.connection.directory}\\n")
    time.sleep(600)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    return copied(EXAMPLE, folder)


def copied(example: Path, to: Path) -> Path:
    shutil.copytree(example, to, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    return to


def pytest_in(project: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def output_of(process: subprocess.Popen[str]) -> str:
    with process:
        return process.communicate(timeout=PATIENCE)[0]


def test_the_example_project_passes(project: Path) -> None:
    output = output_of(pytest_in(project))
    assert "2 passed" in output, output


@pytest.mark.parametrize(("page", "tests"), [("docs/testing.md", 2), ("packages/testing/README.md", 1)])
def test_a_quick_start_passes_as_it_is_written_without_any_configuration(page: str, tests: int, tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "test_quick_start.py").write_text(text.partition("```python\n")[2].partition("```")[0])
    if installed := re.search(r"pip install (\S*windlass)/packages", text):  # else the page installs in the checkout
        Path(os.path.normpath(project / installed[1])).symlink_to(ROOT)
    output = output_of(pytest_in(project))
    assert f"collected {tests} item" in output, output
    assert f"{tests} passed" in output, output


def test_the_example_of_a_whole_controller_passes(tmp_path: Path) -> None:
    output = output_of(pytest_in(copied(CONTROLLER, tmp_path / "mirror")))
    assert "7 passed" in output, output


def test_all_workers_share_one_plane_that_is_gone_afterwards(project: Path) -> None:
    (project / "test_greeter.py").write_text(WHERE)
    output = output_of(pytest_in(project, "-n", "2", "--dist", "load"))
    assert "4 passed" in output, output
    seen = [(project / f"seen-{number}").read_text().split() for number in range(4)]
    assert len({url for url, _, _ in seen}) == 1
    assert len({worker for _, worker, _ in seen}) == 2
    assert len({namespace for _, _, namespace in seen}) == 4
    assert not listening(seen[0][0])


def test_a_plane_is_not_started_for_tests_that_do_not_want_one(project: Path) -> None:
    (project / "test_greeter.py").write_text("def test_nothing():\n    pass\n")
    output = output_of(pytest_in(project, "--windlass-assets", "/no/such/folder"))
    assert "1 passed" in output, output


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "with a worker"])
def test_a_plane_that_cannot_start_is_an_error_that_says_why(project: Path, workers: list[str]) -> None:
    output = output_of(pytest_in(project, "--windlass-assets", "/no/such/folder", *workers))
    assert "2 errors" in output, output
    assert "/no/such/folder is not a folder: name one that holds etcd and kube-apiserver" in output


def test_a_version_of_kubernetes_that_is_not_there_is_an_error_that_says_what_to_do(project: Path) -> None:
    output = output_of(pytest_in(project, "-o", "windlass_kubernetes=1.30"))
    assert "2 errors" in output, output
    assert "Kubernetes 1.30 cannot be built here, only v1.36.3, which is pinned: have setup-envtest" in output
    output = output_of(pytest_in(project, "-o", "windlass_kubernetes=1.30", "--windlass-kubernetes", "1.36"))
    assert "2 passed" in output, output


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "with a worker"])
def test_a_project_chooses_the_options_of_its_plane(project: Path, workers: list[str]) -> None:
    (project / "conftest.py").write_text(OPTIONS)
    (project / "test_greeter.py").write_text(CHOSEN)
    output = output_of(pytest_in(project, *workers))
    assert "1 passed" in output, output


def test_logs_are_kept_when_asked_for_and_the_summary_says_where(project: Path) -> None:
    output = output_of(pytest_in(project, "--windlass-keep"))
    [line] = [line for line in output.splitlines() if line.startswith("windlass: logs and kubeconfigs are kept in ")]
    kept = Path(line.removeprefix("windlass: logs and kubeconfigs are kept in "))
    assert (kept / "logs" / "audit.log").stat().st_size > 0
    shutil.rmtree(kept)


def test_nothing_is_left_of_a_test_run_that_is_killed(project: Path) -> None:
    (project / "test_greeter.py").write_text(FOR_EVER)
    with pytest_in(project) as run:
        directory = wait_for(lambda: line_in(project / "seen"), seconds=PATIENCE)
        assert directory is not None
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
    assert wait_for(lambda: None if directory in running() else True, seconds=PATIENCE)
    assert wait_for(lambda: None if Path(directory).exists() else True, seconds=PATIENCE)


def running() -> str:
    return subprocess.run(["ps", "-axww", "-o", "args="], capture_output=True, text=True, check=True).stdout


def listening(url: str) -> bool:
    return f"--secure-port={url.rpartition(':')[2]}" in running()
