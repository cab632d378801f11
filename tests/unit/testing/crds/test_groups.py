"""CRDs are asked for by API group."""

import pytest

from windlass.testing import crds


def test_a_group_without_crds_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"no CRDs here for nobody\.example\.com: apply your own"):
        crds.documents("machine.openshift.io", "nobody.example.com")
