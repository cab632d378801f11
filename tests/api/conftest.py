"""Namespaces of tests that share a control plane."""

import pytest

from windlass.testing import PlaneAccess


@pytest.fixture
def windlass_namespace(windlass_plane: PlaneAccess) -> str:
    """The name of a new, empty namespace on the shared plane. It stays when the test is over, and goes with the plane.

    What is left there may have finalizers that nobody takes off: the controller manager would try to delete it again
    and again, and the API server would be busy with nothing else in the end.
    """
    return windlass_plane.blocking.create_namespace()
