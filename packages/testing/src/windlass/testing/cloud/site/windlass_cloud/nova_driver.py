"""Nova's fake hypervisor, which survives restarts and fails on demand.

Metadata of a server that it understands:

    windlass:spawn_delay     seconds that the boot takes
    windlass:spawn_error     abort: the server is in ERROR at once; reschedule: other hosts are tried, then ERROR;
                             once: the first host fails, the next one works
    windlass:destroy_delay   seconds that the deletion takes
"""

import time
import uuid
from typing import Any, ClassVar

from nova import context as nova_context
from nova import exception, objects
from nova.compute import power_state, vm_states
from nova.virt import fake

_NAMESPACE = uuid.UUID("7d1c60ac-6f0b-4a49-9f6e-0d5c0fbd4e11")
_WITHOUT_GUEST = (vm_states.BUILDING, vm_states.ERROR, vm_states.SHELVED_OFFLOADED)


class Driver(fake.FakeDriver):
    """A host of 64 CPUs, 256 GiB of memory and 4 TiB of disk."""

    vcpus = 64
    memory_mb = 262144
    local_gb = 4096
    spawn_delay = 0.0
    """Seconds that a boot takes unless the server's metadata says otherwise."""
    _failed_once: ClassVar[set[str]] = set()

    def init_host(self, host: str) -> None:
        super().init_host(host)
        # The hypervisor lives in memory: after a restart it is filled from the database.
        for instance in objects.InstanceList.get_by_host(nova_context.get_admin_context(), host):
            if instance.vm_state in _WITHOUT_GUEST:
                continue
            state = instance.power_state or power_state.RUNNING
            self.instances[instance.uuid] = fake.FakeInstance(instance.name, state, instance.uuid)
            flavor = instance.flavor
            self.resources.claim(flavor.vcpus, flavor.memory_mb, flavor.root_gb)
            for interface in instance.get_network_info():
                self._interfaces[interface["id"]] = interface

    # The ids of the parent are random in each process, and Nova does not start a host whose id has changed.
    @staticmethod
    def _node_uuid(name: str) -> str:
        return str(uuid.uuid5(_NAMESPACE, name))

    def get_available_resource(self, nodename: str) -> Any:
        found = super().get_available_resource(nodename)
        return found and {**found, "uuid": self._node_uuid(nodename)}

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        return {self._node_uuid(name): name for name in self.get_available_nodes()}

    def spawn(self, context: Any, instance: Any, *arguments: Any, **options: Any) -> None:
        metadata = instance.metadata or {}
        time.sleep(float(metadata.get("windlass:spawn_delay") or self.spawn_delay))
        error = metadata.get("windlass:spawn_error")
        if error == "abort":
            raise exception.BuildAbortException(instance_uuid=instance.uuid, reason="windlass:spawn_error")
        if error and not (error == "once" and instance.uuid in self._failed_once):
            self._failed_once.add(instance.uuid)
            raise exception.ComputeResourcesUnavailable(reason="windlass:spawn_error")
        super().spawn(context, instance, *arguments, **options)

    def destroy(self, context: Any, instance: Any, *arguments: Any, **options: Any) -> None:
        time.sleep(float((instance.metadata or {}).get("windlass:destroy_delay") or 0))
        super().destroy(context, instance, *arguments, **options)

    def get_console_output(self, _: Any, instance: Any) -> str:
        return f"[    0.000000] Linux version 0.0 (fake hypervisor)\n{instance.hostname} login: \n"


# Nova loads drivers from its package `nova.virt` only: this one as `fake.WindlassDriver`.
fake.WindlassDriver = Driver
