"""A volume backend without storage. A volume whose name contains `windlass:fail` ends in status `error`."""

from typing import Any

from cinder import exception
from cinder.volume import driver

FAIL = "windlass:fail"


class Driver(driver.VolumeDriver):
    """Reports success for everything."""

    VERSION = "1.0"

    def check_for_setup_error(self) -> None:
        pass

    def get_volume_stats(self, refresh: bool = False) -> dict[str, Any]:
        self._stats = {
            "volume_backend_name": "windlass",
            "vendor_name": "windlass",
            "driver_version": self.VERSION,
            "storage_protocol": "iscsi",
            "multiattach": True,
            "thin_provisioning_support": True,
            "total_capacity_gb": 100_000,
            "free_capacity_gb": 100_000,
            "reserved_percentage": 0,
            "QoS_support": False,
        }
        return self._stats

    def create_volume(self, volume: Any) -> None:
        if FAIL in (volume.display_name or ""):
            raise exception.VolumeBackendAPIException(data=FAIL)

    def clone_image(self, _context: Any, volume: Any, *_: Any) -> tuple[dict[str, Any], bool]:
        self.create_volume(volume)
        return {}, True

    def _succeed(self, *_: Any, **__: Any) -> None:
        pass

    create_volume_from_snapshot = create_cloned_volume = delete_volume = extend_volume = _succeed
    create_snapshot = delete_snapshot = _succeed
    ensure_export = create_export = remove_export = terminate_connection = _succeed
    copy_image_to_volume = copy_volume_to_image = _succeed

    def initialize_connection(self, volume: Any, _: Any) -> dict[str, Any]:
        data = {
            "volume_id": volume.id,
            "target_lun": 1,
            "target_iqn": f"iqn.2000-01.invalid.windlass:{volume.id}",
            "target_portal": "127.0.0.1:3260",
            "access_mode": "rw",
        }
        return {"driver_volume_type": "iscsi", "data": data}
