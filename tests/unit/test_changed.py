"""Which unit tests mirror what changed."""

import subprocess
from pathlib import Path

import pytest

from tests.changed import changed, mirrors_of

KUBE, MACHINES = (f"packages/{name}/src/windlass" for name in ("kube", "machines"))


@pytest.mark.parametrize(
    ("files", "tests"),
    [
        pytest.param([f"{KUBE}/kube/control/queue.py"], {"tests/unit/kube/control/test_queue.py"}, id="module"),
        pytest.param(
            [f"{MACHINES}/machine_sync/cli/migrate/look.py"],
            {"tests/unit/machine_sync/cli/migrate"},
            id="folder",
        ),
        pytest.param([f"{MACHINES}/web/static/page.js"], set(), id="not Python"),
        pytest.param([f"{MACHINES}/informer.py"], {"tests/unit/test_informer.py"}, id="at the top"),
        pytest.param(["tests/unit/web/serving.py"], {"tests/unit/web"}, id="what tests share"),
        pytest.param(["tests/unit/web/test_home.py"], {"tests/unit/web/test_home.py"}, id="a test"),
        pytest.param(["tests/unit/web/test_gone.py"], {"tests/unit/web"}, id="a test that is gone"),
        pytest.param(["docs/web.md", "deploy/web/base/rbac.yaml"], {"tests/unit/deploy"}, id="pages and manifests"),
        pytest.param(["tests/unit/web/serving.py", "tests/unit/web/test_home.py"], {"tests/unit/web"}, id="each once"),
        pytest.param(["bench/web.py", "tests/e2e/rights.py", "packages/testing/pyproject.toml"], set(), id="none"),
    ],
)
def test_the_tests_that_mirror_it_are_chosen(files: list[str], tests: set[str]) -> None:
    assert mirrors_of(files) == tests


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def branch(tmp_path: Path) -> Path:
    """A clone of the branch `mine`, on which the file `b` is new; `a` is on main."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    git(origin, "init", "--initial-branch=main")
    for name in ("a", "b"):
        (origin / name).write_text("")
        git(origin, "add", name)
        git(origin, "commit", "--message", name)
        git(origin, "switch", "--force-create", "mine")
    git(tmp_path, "clone", "--branch=mine", str(origin), str(clone))
    return clone


def test_a_clone_without_a_branch_main_is_compared_with_that_of_its_origin(branch: Path) -> None:
    (branch / "c").write_text("")
    assert changed(branch) == ["b", "c"]


def test_without_any_main_one_sentence_says_what_to_do(branch: Path) -> None:
    git(branch, "remote", "remove", "origin")
    with pytest.raises(SystemExit, match=r"no branch main .* run `git fetch"):
        changed(branch)
