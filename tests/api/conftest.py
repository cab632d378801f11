import pytest

from windlass.testing import ControlPlane, crds
from windlass.testing.plane.pool import PlanePool


@pytest.fixture
def update_plane(windlass_planes: PlanePool) -> ControlPlane:
    """A plane with the kinds in which an update of a cluster is seen, and none of their objects."""
    return windlass_planes.plane("module", crds=crds.documents(*crds.UPDATES))
