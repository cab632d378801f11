"""The page "Write a controller": its code is that of the example, and its tables and names are those of the runtime."""

import re

import pytest
import yaml

import windlass.kube
from tests.house import ROOT, source
from windlass.kube.control import plan
from windlass.kube.control.metrics import Metrics
from windlass.kube.process.figures import ProcessMetrics
from windlass.kube.process.pool import Figures

PAGE = (ROOT / "docs" / "controllers.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "controller"
CODE = [file.read_text(encoding="utf-8") for file in (*EXAMPLE.glob("*.py"), source("api/core.py"))]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0].strip())
def test_each_block_is_code_that_runs(block: str) -> None:
    assert any(block in code for code in CODE)


def test_no_other_block_is_shown_as_code() -> None:
    assert PAGE.count("```") == 2 * len(BLOCKS)
    assert len(BLOCKS) == 10


def test_the_table_has_every_action_of_a_plan() -> None:
    table = PAGE.partition("What a plan may ask for:")[2].partition("and what comes next:")[0]
    named = set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if "|" in line)))
    assert named == {each.__name__ for each in _below(plan.Action)}
    assert named <= windlass.kube._MODULES.keys()


def _below(kind: type[plan.Action]) -> set[type[plan.Action]]:
    return {each for sub in kind.__subclasses__() if sub.__module__ == plan.__name__ for each in (sub, *_below(sub))}


def test_the_metrics_that_it_names_are_there() -> None:
    metrics, process = Metrics(prefix="mirror"), ProcessMetrics(prefix="mirror")
    metrics.caches(lambda: [Figures("configmaps", "shop", True, 3, 1.5)])
    process.add(metrics.registry)
    text = process.text().decode()
    named = set(re.findall(r"`(mirror_\w+)`", PAGE))
    assert named
    assert [name for name in named if f"# TYPE {name} " not in text] == []


def test_the_deployment_passes_what_the_program_takes_and_probes_where_it_listens() -> None:
    documents = yaml.safe_load_all((EXAMPLE / "deploy" / "deployment.yaml").read_text(encoding="utf-8"))
    (deployment,) = [each for each in documents if each["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    program = (EXAMPLE / "mirror.py").read_text(encoding="utf-8")
    for argument in container["args"]:
        assert f'add_argument("{argument.partition("=")[0]}"' in program
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    for name, port in ports.items():
        assert f'"--{name}", type=int, default={port}' in program
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "probes"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "probes"}
