"""`windlass openstack orphans`: on the models of an API server and a cloud."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.unit.openstack.clouded import NAMESPACE, PROJECT, START, World
from windlass.api import mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.cli import main
from windlass.cli.openstack.left_over import Found, OrphansRequest, Unknowable, deleted, look, render
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.marks import described
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import MARK_ANNOTATION
from windlass.openstack.overview.orphans import Orphan
from windlass.testing.memory import MemoryApi
