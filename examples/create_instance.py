"""Make a server in your OpenStack and wait until it runs; the same command with --delete takes everything away again.

    python examples/create_instance.py my-cloud demo-0 --image cirros --flavor m1.tiny --network private

`my-cloud` is an entry of your clouds.yaml. Stop it at any point and start it again: there is one server all the same.
"""

import argparse
import asyncio
import sys

from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.query import Query
from windlass.openstack.create import Halted, Unresolvable, connect, wait_active, wait_deleted
from windlass.openstack.instance.spec import InstanceSpec


async def main() -> None:
    parser = argparse.ArgumentParser(description="Make a server in your OpenStack, and wait until it runs.")
    parser.add_argument("cloud", help="an entry of your clouds.yaml")
    parser.add_argument("name", help="of the server")
    for what in ("image", "flavor", "network"):
        parser.add_argument(f"--{what}", metavar="NAME", default="")
    parser.add_argument("--delete", action="store_true", help="delete the server and all that was made for it")
    given = parser.parse_args()
    async with connect(given.cloud) as cloud:
        if given.delete:
            await wait_deleted(cloud, owner=given.name, seconds=300)
            print(f"nothing is left of {given.name}")
            return
        image, flavor, network = (
            Query(what, filters=(("name", getattr(given, what)),)) for what in ("image", "flavor", "network")
        )
        spec = InstanceSpec(name=given.name, image=image, flavor=flavor, network=network, tags=("example",))
        status = await wait_active(cloud, spec, owner=given.name, user_data="#!/bin/sh\n", seconds=300)
        print(f"{status.name} is {status.state}", *(each.address for each in status.addresses), status.message)


try:
    asyncio.run(main())
except (CloudFailure, Halted, TimeoutError, Unresolvable) as error:
    sys.exit(str(error))
