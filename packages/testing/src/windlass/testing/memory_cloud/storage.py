"""Glance and Cinder of the model: images, and volumes from `creating` to `available`, `in-use` or `error`."""

from typing import Any, Final

from windlass.testing.memory_cloud.services import Answer, Refused, Routes, Services, fits, nova


def _list_images(cloud: Services, project: str, asked: Any) -> Answer:
    tags = {value for name, value in asked.query if name == "tag"}
    query = [(name, value.removeprefix("in:")) for name, value in asked.query if name in ("name", "id")]
    found = [each for each in cloud.images.values() if fits(each, query) and tags <= {*each["tags"]}]
    return 200, {"images": found}


def _list_volumes(cloud: Services, project: str, asked: Any) -> Answer:
    return 200, {"volumes": [each for each in cloud.volumes.values() if each["project_id"] == project]}


def _create_volume(cloud: Services, project: str, asked: Any) -> Answer:
    body = dict(asked.body["volume"])
    if (limit := cloud.full("volumes", project, "volumes")) is not None:
        text = f"VolumeLimitExceeded: Maximum number of volumes allowed ({limit}) exceeded for quota 'volumes'."
        raise Refused(413, {"overLimit": {"code": 413, "message": text, "retryAfter": "0"}})
    fails = "fail" in body.get("name", "")
    state = {"metadata": {}, "availability_zone": "nova", **body}
    which = cloud.add(
        "volumes",
        **state,
        status="creating",
        project_id=project,
        multiattach=False,
        created_at=cloud.time(),
        ready=cloud.now + cloud.spawn,
        ends="error" if fails else "available",
        dies=False,
        gone=None,
    )
    return 202, {"volume": cloud.volumes[which]}


def _mark_volume(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    volume = cloud.owned("volumes", project, which)
    volume["metadata"].update(asked.body["metadata"])
    return 200, {"metadata": volume["metadata"]}


def _delete_volume(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    volume = cloud.owned("volumes", project, which)
    if volume["status"] in ("in-use", "reserved"):
        raise nova(400, "Invalid volume: Volume status must be available")
    volume.update(status="deleting", gone=cloud.now + cloud.destroy)
    return 202, None


def _list_attachments(cloud: Services, project: str, asked: Any) -> Answer:
    return 200, {"attachments": [each for each in cloud.attachments.values() if fits(each, asked.query)]}


def _delete_attachment(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    cloud.owned("volumes", project, cloud.attachments.pop(which)["volume_id"])["status"] = "available"
    return 200, {"attachments": []}


def _limits(cloud: Services, project: str, asked: Any) -> Answer:
    used = cloud.count("volumes", project)
    absolute = {
        "maxTotalVolumes": cloud.limit(project, "volumes"),
        "totalVolumesUsed": used,
        "maxTotalVolumeGigabytes": -1,
        "totalGigabytesUsed": used,
    }
    return 200, {"limits": {"rate": [], "absolute": absolute}}


IMAGES: Final[Routes] = (("GET", "/v2/images", _list_images),)
VOLUMES: Final[Routes] = (
    ("GET", "/volumes/detail", _list_volumes),
    ("GET", "/limits", _limits),
    ("POST", "/volumes", _create_volume),
    ("POST", "/volumes/([^/]+)/metadata", _mark_volume),
    ("DELETE", "/volumes/([^/]+)", _delete_volume),
    ("GET", "/attachments", _list_attachments),
    ("DELETE", "/attachments/([^/]+)", _delete_attachment),
)
