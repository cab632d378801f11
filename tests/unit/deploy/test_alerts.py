"""The alerts of each capability: named once, about series that exist, answered in the runbook."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from windlass.kube.control import metrics as runtime_metrics
from windlass.machine_sync import metrics as sync_metrics
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, LEASE_NAME
from windlass.openstack import metrics as openstack_metrics
from windlass.openstack.installation import HOME as OPENSTACK_HOME
from windlass.openstack.service import OWN_LEASE
from windlass.os_build import counters as build_counters
from windlass.os_build import metrics as build_metrics
from windlass.os_build.constants import OWN_LEASE as OS_BUILD_LEASE
from windlass.os_build.installation import HOME as OS_BUILD_HOME
from windlass.update_status import metrics as update_metrics
from windlass.update_status.reading.kept import HOME, LEASE

ROOT = Path(__file__).parents[3]
RULES = sorted((ROOT / "deploy").glob("*/components/alerts/prometheus-rule.yaml"))
DOCUMENTED = (runtime_metrics, sync_metrics, openstack_metrics, build_metrics, build_counters, update_metrics)
KNOWN = "".join(str(module.__doc__) for module in DOCUMENTED)

Tree = dict[str, Any]


def alerts(file: Path) -> list[Tree]:
    (group,) = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]["groups"]
    rules: list[Tree] = group["rules"]
    return rules


def capability(file: Path) -> str:
    return file.parents[2].name


every_alert = pytest.mark.parametrize(
    ("job", "rule"),
    [
        pytest.param(f"windlass-{capability(file)}", rule, id=f"{capability(file)}-{rule['alert']}")
        for file in RULES
        for rule in alerts(file)
    ],
)


def the_alert(capability: str, name: str) -> Tree:
    file = ROOT / "deploy" / capability / "components" / "alerts" / "prometheus-rule.yaml"
    (rule,) = [rule for rule in alerts(file) if rule["alert"] == name]
    return rule


@pytest.mark.parametrize("file", RULES, ids=capability)
def test_every_alert_has_a_name_of_its_own(file: Path) -> None:
    names = [rule["alert"] for rule in alerts(file)]
    assert len(names) == len(set(names))


@every_alert
def test_every_alert_asks_for_series_that_exist(job: str, rule: Tree) -> None:
    asked = re.findall(r"\b([a-z]+_[a-z_]+)\{", rule["expr"])
    assert asked
    for series in asked:
        assert f"`{series.removesuffix('_count')}`" in KNOWN, series


@every_alert
def test_every_alert_is_about_its_own_job(job: str, rule: Tree) -> None:
    assert set(re.findall(r'\bjob="([^"]*)"', rule["expr"])) == {job}


@every_alert
def test_every_alert_has_its_section_in_the_runbook(job: str, rule: Tree) -> None:
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert rule["alert"] in headings
    assert anchor == rule["alert"].lower()


@every_alert
def test_no_alert_can_keep_itself_firing(job: str, rule: Tree) -> None:
    """A critical alert that begins during an update is a critical insight, and there is an alert on these."""
    assert rule["labels"]["severity"] == "warning"


def test_the_alerts_on_leadership_ask_for_our_leases() -> None:
    for rule, namespace, lease in (
        (the_alert("machine-sync", "WindlassMachineSyncNotLeading"), CLUSTER_API_NAMESPACE, LEASE_NAME),
        (the_alert("openstack", "WindlassOpenStackNotLeading"), OPENSTACK_HOME, OWN_LEASE),
        (the_alert("os-build", "WindlassOSBuildNotLeading"), OS_BUILD_HOME, OS_BUILD_LEASE),
        (the_alert("update-status", "WindlassUpdateStatusNotLeading"), HOME, LEASE),
    ):
        assert f'name="{lease}"' in rule["expr"]
        assert f"{namespace}/{lease}" in rule["annotations"]["description"]
