"""The policies as the command prints them and as they are shipped."""

from pathlib import Path

import yaml
from click.testing import CliRunner

from windlass.cli.capabilities import CAPABILITIES
from windlass.cli.program import cli
from windlass.machine_sync import policies

SHIPPED = Path(__file__).parents[4] / "deploy" / "machine-sync" / "components" / "policies" / "policies.yaml"


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["manifests", "policies", *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.stdout


def test_what_is_shipped_is_what_conversion_cannot_express() -> None:
    assert SHIPPED.read_text(encoding="utf-8") == printed("machine-sync"), "conversion has changed; run: make generate"


def test_yaml_says_what_the_documents_say() -> None:
    assert list(yaml.safe_load_all(printed("machine-sync"))) == policies.documents()


def test_expressions_are_written_as_blocks_that_people_can_read() -> None:
    assert "''" not in [line.strip() for line in printed(*CAPABILITIES).splitlines()]
    assert "\\n" not in printed(*CAPABILITIES)


def test_the_command_takes_names_of_namespaces_and_accounts() -> None:
    text = printed(
        "machine-sync",
        "--machine-api-namespace=mapi",
        "--cluster-api-namespace=capi",
        "-n",
        "elsewhere",
        "--exempt=capo",
    )
    assert "openshift-machine-api" not in text
    assert "windlass-system" not in text
    assert "'system:serviceaccount:elsewhere:windlass-machine-sync'" in text
    assert "'system:serviceaccount:mapi:machine-api-controllers'" in text
    assert "'capo'" in text


def test_a_platform_can_be_left_out() -> None:
    assert "awsmachines" not in printed("machine-sync", "--platform=OpenStack")


def test_a_platform_that_is_not_served_is_a_usage_error() -> None:
    result = CliRunner().invoke(cli, ["manifests", "policies", "machine-sync", "--platform=PowerVS"])
    assert result.exit_code != 0
    assert "machine-sync serves AWS, GCP and OpenStack" in result.output
