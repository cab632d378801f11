"""The policies on Jobs follow the account and the settings of the process; tests/api tries what they refuse."""

from windlass.capability.manifests.rights import ServiceAccount
from windlass.os_build.installation import installation
from windlass.os_build.placement import Placement
from windlass.os_build.settings import OsBuildSettings


def test_they_concern_the_account_that_the_process_acts_as_and_nobody_else() -> None:
    for account in (ServiceAccount("builds", "windlass-os-build"), ServiceAccount("elsewhere", "other")):
        for policy in installation().policies(account, ()):
            assert policy.when == {"is-os-build": f"request.userInfo.username == '{account.user}'"}
            assert not policy.namespace, "wherever it has rights"


def test_the_service_account_of_builders_is_that_of_the_settings() -> None:
    made = installation(settings=OsBuildSettings(placement=Placement(service_account="builder-of-ours")))
    rules = [rule for policy in made.policies(made.service_account, ()) for rule in policy.rules]
    assert any("== 'builder-of-ours'" in rule.expression for rule in rules)
    assert not any("machine-os-builder" in rule.expression + rule.message for rule in rules)
