"""Which unit tests mirror what changed."""

import pytest

from tests.changed import mirrors_of

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
