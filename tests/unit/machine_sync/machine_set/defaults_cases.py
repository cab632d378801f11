"""Platforms whose provider adds defaults to templates."""

import pytest

from windlass.machine_sync.platforms import AWS, OPENSTACK

from ..machine.aws_cases import AWS_INFRASTRUCTURE, AWS_VALUE
from .cases import INFRASTRUCTURE, PROVIDER_SPEC

LOOKS = 3
PLATFORMS = [
    pytest.param(AWS, AWS_VALUE, AWS_INFRASTRUCTURE, id="AWS"),
    pytest.param(OPENSTACK, PROVIDER_SPEC, INFRASTRUCTURE, id="OpenStack"),
]
