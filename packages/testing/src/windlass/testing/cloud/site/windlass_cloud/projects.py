"""Loads one OpenStack project: its API as a WSGI application, and the workers that run beside it in the process.

Workers of one project talk over oslo.messaging's `fake` transport, which works within a process only. No two projects
can share a process: all of them use the one `oslo_config.cfg.CONF`.
"""

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from .settings import Settings

Loaded = tuple[Any, Callable[[], object]]
"""The WSGI application, and what starts the workers; its result is kept for as long as the process lives."""


def load(settings: Settings) -> Loaded:
    """The project that `settings` names.

    Policies are loaded here: projects do so at the first request, most of them without a lock, and refuse what comes at
    the same time.
    """
    os.environ[f"OS_{settings.name.upper()}_CONFIG_DIR"] = str(settings.etc)
    return _LOADERS[settings.name](settings)


def _keystone(_: Settings) -> Loaded:
    from keystone.common.sql import core

    # Else the roles of a deleted application credential stay, and the next one gets its number.
    core.enable_sqlite_foreign_key()
    from keystone.common.rbac_enforcer.enforcer import RBACEnforcer
    from keystone.server.flask.request_processing.middleware.auth_context import AuthContextMiddleware
    from keystone.wsgi.api import application

    AuthContextMiddleware.token = _OfThread()
    RBACEnforcer()._enforcer.load_rules()
    return application, lambda: None


class _OfThread:
    """An attribute with a value for each thread.

    Keystone's middleware keeps the token of the request that it is at in an attribute. With several threads a request
    would now and then be taken for somebody else's.
    """

    def __init__(self) -> None:
        self._here = threading.local()

    def __get__(self, _: object, __: type | None = None) -> Any:
        return getattr(self._here, "value", None)

    def __set__(self, _: object, value: Any) -> None:
        self._here.value = value


def _placement(_: Settings) -> Loaded:
    from placement.wsgi.api import application

    return application, lambda: None


def _glance(_: Settings) -> Loaded:
    from glance.wsgi.api import application

    return application, lambda: None


def _neutron(_: Settings) -> Loaded:
    os.environ["OS_NEUTRON_CONFIG_FILES"] = "neutron.conf"
    from neutron import policy
    from neutron.wsgi.api import application

    policy.init()
    return application, lambda: None


def _nova(settings: Settings) -> Loaded:
    from nova.wsgi.osapi_compute import application  # isort: skip - first, it patches what the others import
    import os_vif
    from nova import context, objects, service
    from nova.compute import rpcapi as compute
    from nova.conductor import rpcapi as conductor
    from nova.objects import host_mapping
    from nova.scheduler import rpcapi as scheduler

    from . import nova_driver

    nova_driver.Driver.spawn_delay = settings.spawn_delay
    os_vif.initialize()
    objects.Service.enable_min_version_cache()

    def work() -> object:
        workers = [
            service.Service.create(binary="nova-conductor", topic=conductor.RPC_TOPIC),
            service.Service.create(binary="nova-scheduler", topic=scheduler.RPC_TOPIC),
        ]
        for worker in workers:
            worker.start()
        # Computes register with Placement as soon as they start.
        settings.wait_for_ports()
        for host in settings.computes:
            workers.append(
                service.Service.create(
                    host=host, binary="nova-compute", topic=compute.RPC_TOPIC, topic_alt=compute.RPC_TOPIC_ALT
                )
            )
            workers[-1].start()
        for worker in workers:
            # Now and not after the first interval: until then the scheduler takes them for dead.
            worker.servicegroup_api._driver._report_state(worker)
        host_mapping.discover_hosts(context.get_admin_context())
        return workers

    return application, work


def _cinder(settings: Settings) -> Loaded:
    from cinder import monkey_patch

    monkey_patch.patch()
    sys.argv = ["cinder", "--config-file", str(settings.etc / "cinder.conf")]
    import cinder.cmd.volume  # noqa: F401 - it registers options
    from cinder import policy, service
    from cinder.common import constants
    from cinder.wsgi.api import application

    policy.init()

    class Service(service.Service):
        # Cinder keeps the id of a process's one service in the class: the second one would report as the first.
        _reporting = threading.Lock()

        def report_state(self) -> None:
            with self._reporting:
                service.Service.service_id = self.origin_service_id
                super().report_state()

    def work() -> object:
        # In this order: the scheduler waits until a volume service has reported to it.
        workers = [
            Service.create(binary=constants.VOLUME_BINARY, host="controller@windlass", service_name="windlass"),
            Service.create(binary=constants.SCHEDULER_BINARY),
        ]
        for worker in workers:
            worker.start()
            worker.report_state()
        return workers

    return application, work


def _octavia(settings: Settings) -> Loaded:
    from octavia.api.drivers import driver_factory
    from octavia.common import exceptions
    from oslo_config import cfg

    def get_driver(provider: Any) -> Any:
        """Our provider, under the names of the usual ones."""
        from . import octavia_driver

        options = cfg.CONF.api_settings
        if not isinstance(provider, str) or not provider:
            provider = options.default_provider_driver
        if provider not in options.enabled_provider_drivers:
            raise exceptions.ProviderNotEnabled(prov=provider)
        octavia_driver.Provider.delay = settings.lb_delay
        driver = octavia_driver.Provider()
        driver.name = provider
        return driver

    driver_factory.get_driver = get_driver
    sys.argv = ["octavia-api", "--config-file", str(settings.etc / "octavia.conf")]
    from octavia.common import policy
    from octavia.wsgi.api import application

    policy.get_enforcer().load_rules()
    return application, lambda: None


_LOADERS = {
    "keystone": _keystone,
    "placement": _placement,
    "glance": _glance,
    "neutron": _neutron,
    "nova": _nova,
    "cinder": _cinder,
    "octavia": _octavia,
}
