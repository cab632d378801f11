"""Writes the configuration of each service: one file in the form of oslo.config, from a layout."""

import shutil
from collections.abc import Mapping
from typing import Any

from windlass.testing.cloud.layout import HOST, PASSWORD, REGION, Layout

Sections = Mapping[str, Mapping[str, Any]]

_QUIET: Mapping[str, str] = {"driver": "noop"}
_STATE = ("db", "lock", "images", "staging", "tasks", "tokens", "nova", "neutron", "cinder")
# Nova does not start on a known host without this file; the fake hosts have ids of their own.
_COMPUTE_ID = "00000000-0000-0000-0000-000000000001"


def write(layout: Layout) -> None:
    """Write the files of all services of `layout`, and make the folders that they name."""
    for name in _STATE:
        (layout.state / name).mkdir(parents=True, exist_ok=True)
    layout.logs.mkdir(exist_ok=True)
    (layout.state / "nova" / "compute_id").write_text(_COMPUTE_ID, encoding="ascii")
    for service in layout.services:
        folder = layout.etc(service)
        folder.mkdir(parents=True, exist_ok=True)
        name = "glance-api.conf" if service == "glance" else f"{service}.conf"
        (folder / name).write_text(_text(_WRITERS[service](layout)), encoding="utf-8")
    shutil.copy(layout.packages / "etc" / "nova" / "api-paste.ini", layout.etc("nova"))


def _text(sections: Sections) -> str:
    lines: list[str] = []
    for section, options in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{name} = {value}" for name, value in options.items()]
    return "\n".join(lines) + "\n"


def _default(layout: Layout, **options: Any) -> dict[str, Any]:
    # RPC stays within a process: it needs no broker.
    return {
        "debug": layout.options.get("debug", False),
        "use_stderr": True,
        "transport_url": "fake:///",
        "host": "controller",
        **options,
    }


def _user(layout: Layout, name: str, **options: Any) -> dict[str, Any]:
    return {
        "auth_type": "password",
        "auth_url": layout.endpoint("keystone"),
        "username": name,
        "password": PASSWORD,
        "project_name": "service",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
        "region_name": REGION,
        **options,
    }


def _tokens(layout: Layout, name: str) -> dict[str, Any]:
    return _user(
        layout,
        name,
        www_authenticate_uri=layout.url("keystone"),
        service_token_roles_required=True,
        service_token_roles="service",
        interface="internal",
    )


def _database(layout: Layout, name: str) -> dict[str, Any]:
    return {"connection": f"sqlite:///{layout.database(name)}", "sqlite_synchronous": False}


def _shared(layout: Layout) -> dict[str, Mapping[str, Any]]:
    return {"oslo_concurrency": {"lock_path": layout.state / "lock"}, "oslo_messaging_notifications": _QUIET}


def _keystone(layout: Layout) -> Sections:
    return {
        "DEFAULT": _default(layout, public_endpoint=layout.url("keystone")),
        "database": _database(layout, "keystone"),
        "cache": {"enabled": True, "backend": "oslo_cache.dict"},
        "fernet_tokens": {"key_repository": layout.state / "fernet"},
        "fernet_receipts": {"key_repository": layout.state / "receipts"},
        "credential": {"key_repository": layout.state / "credential"},
        # Few rounds, or each login takes a quarter of a second; the length silences a warning per token.
        "identity": {"password_hash_rounds": 4, "max_password_length": 72},
        "token": {"provider": "fernet", "expiration": layout.options.get("token_life", 86400)},
        "oslo_messaging_notifications": _QUIET,
    }


def _placement(layout: Layout) -> Sections:
    return {
        "DEFAULT": {"debug": layout.options.get("debug", False), "use_stderr": True},
        "placement_database": _database(layout, "placement"),
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": _tokens(layout, "placement"),
    }


def _glance(layout: Layout) -> Sections:
    staging = layout.state / "staging"
    return {
        "DEFAULT": _default(
            layout,
            enabled_backends="files:file",
            enabled_import_methods="[web-download,glance-direct]",
            node_staging_uri=f"file://{staging}",
        ),
        "database": _database(layout, "glance"),
        "glance_store": {"default_backend": "files"},
        "files": {"filesystem_store_datadir": layout.state / "images"},
        "os_glance_staging_store": {"filesystem_store_datadir": staging},
        "os_glance_tasks_store": {"filesystem_store_datadir": layout.state / "tasks"},
        "paste_deploy": {
            "flavor": "keystone",
            "config_file": layout.packages / "etc" / "glance" / "glance-api-paste.ini",
        },
        "keystone_authtoken": _tokens(layout, "glance"),
        **_shared(layout),
    }


def _neutron(layout: Layout) -> Sections:
    return {
        "DEFAULT": _default(
            layout,
            core_plugin="ml2",
            service_plugins="router,trunk,tag,qos,port_forwarding,auto_allocate,flavors,revisions,timestamp,"
            "network_ip_availability",
            state_path=layout.state / "neutron",
            api_paste_config=layout.packages / "etc" / "neutron" / "api-paste.ini",
            auth_strategy="keystone",
            dns_domain="windlass.invalid.",
            setproctitle="off",
            notify_nova_on_port_status_changes=True,
            notify_nova_on_port_data_changes=True,
            send_events_interval=1,
            network_scheduler_driver="neutron.scheduler.dhcp_agent_scheduler.AZAwareWeightScheduler",
            rpc_workers=0,
            rpc_state_report_workers=0,
        ),
        "database": _database(layout, "neutron"),
        "keystone_authtoken": _tokens(layout, "neutron"),
        "nova": _user(layout, "nova", endpoint_type="internal"),
        "placement": _user(layout, "placement", endpoint_type="internal"),
        "ml2": {
            "type_drivers": "local,flat,vlan,geneve,vxlan",
            "tenant_network_types": "geneve",
            "mechanism_drivers": "windlass",
            # Without the last one, tags in the POST of a port are accepted and lost.
            "extension_drivers": "port_security,dns_domain_ports,qos,tag_ports_during_bulk_creation",
        },
        "ml2_type_flat": {"flat_networks": "*"},
        "ml2_type_vlan": {"network_vlan_ranges": "physnet1:100:999"},
        "ml2_type_geneve": {"vni_ranges": "1:65535", "max_header_size": 38},
        "ml2_type_vxlan": {"vni_ranges": "1:65535"},
        "securitygroup": {"enable_security_group": True},
        **_shared(layout),
    }


def _nova(layout: Layout) -> Sections:
    return {
        "DEFAULT": _default(
            layout,
            compute_driver="fake.WindlassDriver",
            state_path=layout.state / "nova",
            my_ip=HOST,
            concurrency_backend="threading",
            block_device_allocate_retries_interval=1,
            allow_resize_to_same_host=True,
            sync_power_state_interval=-1,
            heal_instance_info_cache_interval=0,
            report_interval=10,
            service_down_time=60,
            default_availability_zone="nova",
        ),
        "database": _database(layout, "nova_cell1"),
        "api_database": _database(layout, "nova_api"),
        "keystone_authtoken": _tokens(layout, "nova"),
        "service_user": _user(layout, "nova", send_service_user_token=True),
        "placement": _user(layout, "placement", valid_interfaces="internal"),
        "neutron": _user(layout, "neutron", valid_interfaces="internal", default_floating_pool="public"),
        "cinder": _user(layout, "cinder", catalog_info="block-storage::internalURL"),
        "glance": {"valid_interfaces": "internal", "region_name": REGION, "num_retries": 1},
        "keystone": _user(layout, "nova", valid_interfaces="internal"),
        "api": {"auth_strategy": "keystone"},
        "cache": {"enabled": True, "backend": "oslo_cache.dict"},
        "conductor": {"workers": 1},
        "scheduler": {"workers": 1, "discover_hosts_in_cells_interval": -1, "max_attempts": 3},
        "filter_scheduler": {"track_instance_changes": False},
        "vnc": {"enabled": False},
        "workarounds": {"skip_hypervisor_version_check_on_lm": True},
        "notifications": {"notification_format": "unversioned"},
        **_shared(layout),
    }


def _cinder(layout: Layout) -> Sections:
    etc = layout.packages / "etc" / "cinder"
    return {
        "DEFAULT": _default(
            layout,
            enabled_backends="windlass",
            default_volume_type="windlass",
            auth_strategy="keystone",
            state_path=layout.state / "cinder",
            api_paste_config=etc / "api-paste.ini",
            resource_query_filters_file=etc / "resource_filters.json",
            glance_api_servers=layout.url("glance"),
            storage_availability_zone="nova",
            report_interval=10,
            scheduler_driver_init_wait_time=2,
            service_down_time=60,
            my_ip=HOST,
        ),
        "windlass": {"volume_driver": "windlass_cloud.cinder_driver.Driver", "volume_backend_name": "windlass"},
        "database": _database(layout, "cinder"),
        "keystone_authtoken": _tokens(layout, "cinder"),
        "nova": _user(layout, "nova", interface="internal"),
        "service_user": _user(layout, "cinder", send_service_user_token=True),
        "coordination": {"backend_url": f"file://{layout.state / 'lock'}"},
        **_shared(layout),
    }


def _octavia(layout: Layout) -> Sections:
    return {
        "DEFAULT": _default(layout),
        "api_settings": {
            "enabled_provider_drivers": "amphora: Fake, octavia: Fake, ovn: Fake",
            "default_provider_driver": "amphora",
            "auth_strategy": "keystone",
        },
        "database": _database(layout, "octavia"),
        "keystone_authtoken": _tokens(layout, "octavia"),
        "service_auth": _user(layout, "octavia"),
        "neutron": {"region_name": REGION, "valid_interfaces": "internal"},
        "controller_worker": {"network_driver": "allowed_address_pairs_driver"},
        "certificates": {"cert_manager": "noop_cert_manager"},
        "oslo_messaging": {"topic": "octavia"},
    }


_WRITERS = {
    "keystone": _keystone,
    "placement": _placement,
    "glance": _glance,
    "neutron": _neutron,
    "nova": _nova,
    "cinder": _cinder,
    "octavia": _octavia,
}
