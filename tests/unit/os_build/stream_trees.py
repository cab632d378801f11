"""An OSImageStream with two streams, and the images of each."""

from typing import Any

from tests.unit.os_build.world import API
from windlass.os_build.request import OsImages

OF_RELEASE = OsImages(base="r.example.com/os@sha256:0", extensions="r.example.com/ext@sha256:0", release="5.0.1")
NINE = OsImages(
    base="r.example.com/nine@sha256:9", extensions="r.example.com/nine-ext@sha256:9", release="5.0.1", stream="rhel-9"
)
TEN = OsImages(
    base="r.example.com/ten@sha256:a", extensions="r.example.com/ten-ext@sha256:a", release="5.0.1", stream="rhel-10"
)


def stream_tree(*, status: bool = True) -> dict[str, Any]:
    streams = [
        {"name": "rhel-9", "osImage": NINE.base, "osExtensionsImage": NINE.extensions},
        {"name": "rhel-10", "osImage": TEN.base, "osExtensionsImage": TEN.extensions},
    ]
    return {
        "apiVersion": API,
        "kind": "OSImageStream",
        "metadata": {"name": "cluster", "uid": "uid-of-streams"},
        "spec": {"defaultStream": "rhel-9"},
        **({"status": {"availableStreams": streams, "defaultStream": "rhel-9"}} if status else {}),
    }
