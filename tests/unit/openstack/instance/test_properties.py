"""Whatever is in the cloud, there is a next step; steps come to an end; nothing is lost or made twice."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.unit.openstack.instance.model import Model
from windlass.openstack.cloud.inventory import MARK, Recorded, ServerInventory
from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.cloud.query import EXTENSIONS, Query
from windlass.openstack.cloud.requests import Creation, Intent
from windlass.openstack.cloud.resources import Attachment, Extension, Network, Port, Server, SubPort, Trunk, Volume
from windlass.openstack.instance.delete import next_deletion
from windlass.openstack.instance.next import next_step
from windlass.openstack.instance.resolve import queries, resolve
from windlass.openstack.instance.spec import FixedAddress, InstanceSpec, LocalDisk, PortSpec, Resolved, VolumeSpec
from windlass.openstack.instance.step import Await, Send, Standing, Step, Stuck, Vanished

TAGGING = frozenset({"standard-attr-tag", "trunk"})
LIMIT = 60
"""Steps after which it counts as endless; the longest way that these specs have takes 20."""

networks = st.sampled_from([None, Query("network", id="lan"), Query("network", filters=(("name", "storage"),))])
subnets = st.sampled_from([None, Query("subnet", id="nodes"), Query("subnet", filters=(("name", "others"),))])
volumes = st.builds(VolumeSpec, name=st.sampled_from(["root", "etcd", "logs"]), size=st.integers(1, 9))
ports = st.builds(
    PortSpec,
    suffix=st.sampled_from(["", "", "a", "0"]),
    network=networks,
    addresses=st.lists(st.builds(FixedAddress, subnets), max_size=2).map(tuple),
    tags=st.lists(st.sampled_from("abc"), max_size=2).map(tuple),
    trunk=st.sampled_from([None, True, False]),
    port_security=st.sampled_from([None, True, False]),
)
specs = st.builds(
    InstanceSpec,
    name=st.just("w"),
    image=st.sampled_from([Query("image", id="i"), Query("image", filters=(("name", "rhcos"),))]),
    flavor=st.just(Query("flavor", id="f")),
    ports=st.lists(ports, max_size=3).map(tuple),
    network=networks,
    subnets=st.lists(subnets.filter(bool), max_size=1).map(tuple),
    root=st.none() | volumes,
    disks=st.lists(
        volumes | st.builds(LocalDisk, name=st.sampled_from(["tmp", "etcd"]), size=st.just(1)), max_size=2
    ).map(tuple),
    tags=st.lists(st.sampled_from("abc"), max_size=2).map(tuple),
    trunk=st.booleans(),
)
buildable = st.builds(
    InstanceSpec,
    name=st.just("w"),
    image=st.just(Query("image", id="i")),
    flavor=st.just(Query("flavor", id="f")),
    network=st.just(Query("network", id="lan")),
    ports=st.lists(st.builds(PortSpec, trunk=st.booleans()), max_size=3).map(tuple),
    root=st.none() | st.builds(VolumeSpec, name=st.just("root"), size=st.just(1)),
    disks=st.lists(st.builds(VolumeSpec, name=st.sampled_from(["etcd", "logs"]), size=st.just(1)), max_size=1).map(
        tuple
    ),
    tags=st.lists(st.sampled_from("ab"), max_size=1).map(tuple),
)

marks = st.sampled_from(["", "m", "m", "x"])
names = st.sampled_from(["w", "w-0", "w-1", "w-root", "w-etcd", "other"])
ids = st.sampled_from(["1", "2", "3"])
metadata = marks.map(lambda mark: {MARK: mark} if mark else {})
descriptions = marks.map(lambda mark: f"windlass-owner={mark}" if mark else "")
inventories = st.builds(
    ServerInventory,
    servers=st.lists(
        st.builds(
            Server,
            id=ids,
            name=names,
            metadata=metadata,
            status=st.sampled_from(["", "BUILD", "ACTIVE", "ERROR", "DELETED", "SOFT_DELETED", "NOVEL"]),
            task_state=st.sampled_from([None, "spawning", "deleting"]),
        ),
        max_size=3,
    ).map(tuple),
    ports=st.lists(
        st.builds(
            Port,
            id=ids,
            name=names,
            description=descriptions,
            device_id=st.sampled_from(["", "1", "9"]),
            trunk_details=st.sampled_from(
                [None, {}, {"trunk_id": "1"}, {"trunk_id": "1", "sub_ports": [{"port_id": "2"}]}]
            ),
        ),
        max_size=4,
    ).map(tuple),
    trunks=st.lists(
        st.builds(
            Trunk,
            id=ids,
            name=names,
            port_id=ids,
            description=descriptions,
            sub_ports=st.lists(st.builds(SubPort, ids), max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    volumes=st.lists(
        st.builds(
            Volume,
            id=ids,
            name=names,
            metadata=metadata,
            status=st.sampled_from(["creating", "available", "in-use", "error", "error_deleting", "deleting", "novel"]),
            attachments=st.lists(st.builds(Attachment, ids), max_size=1),
        ),
        max_size=4,
    ).map(tuple),
    certain=st.booleans(),
)
records = st.builds(
    Recorded,
    server=st.sampled_from(["", "1", "9"]),
    ports=st.lists(ids, max_size=2).map(tuple),
    volumes=st.lists(ids, max_size=2).map(tuple),
)
EVERYTHING = Resolved(image_id="i", flavor_id="f")
LAN = (Network(id="lan"),)
_KINDS = {Server: "server", Port: "port", Volume: "volume"}


def resolved_of(spec: InstanceSpec) -> Resolved:
    found = resolve(spec, {EXTENSIONS: (Extension("trunk"),)})
    assert isinstance(found, Resolved), found
    return found


class Story:
    """An owner with a mark, and a cloud."""

    def __init__(self, spec: InstanceSpec, model: Model, mark: str = "m") -> None:
        self.spec = replace(
            spec,
            image=Query("image", id=model.image),
            flavor=Query("flavor", id=model.flavor),
            network=Query("network", id=model.network),
        )
        self.model = model
        self.mark = mark
        self.recorded = Recorded()
        self._resolved = resolved_of(self.spec)

    def create(self) -> Step:
        return next_step(
            self.spec,
            self._resolved,
            self.model.inventory(self.mark, self.recorded),
            recorded=self.recorded,
            project="p",
            intent=Intent(self.mark),
            extensions=TAGGING,
        )

    def delete(self) -> Step:
        inventory = self.model.inventory(self.mark, self.recorded)
        return next_deletion(inventory, recorded=self.recorded, project="p", mark=self.mark)

    def play(self, decide: Callable[[], Step], steps: int = LIMIT) -> Step:
        """Carry out what `decide` asks for, for so many steps or until there is nothing more to do."""
        step = decide()
        for _ in range(steps):
            match step:
                case Send(requests=requests):
                    for request in requests:
                        self.model.carry_out(request)
                case Await():
                    self.model.pass_time()
                case _:
                    return step
            step = decide()
        return step

    def record(self) -> None:
        """Store what there is, as the owner does once its server was posted."""
        found = self.model.inventory(self.mark)
        if found.servers:
            by_name = {port.name: port.id for port in found.ports}
            self.recorded = Recorded(
                server=found.servers[0].id, ports=tuple(by_name.get(port.name, "") for port in self._resolved.ports)
            )

    @property
    def left(self) -> list[Any]:
        return [each for each in self.model.everything if mark_of(each) == self.mark]


@given(specs, st.booleans())
def test_every_spec_is_resolved_or_refused_with_reasons(spec: InstanceSpec, answered: bool) -> None:
    found = resolve(spec, dict.fromkeys(queries(spec), LAN) if answered else {})
    assert isinstance(found, Resolved) or found


@given(specs, inventories, records)
def test_there_is_a_next_step_whatever_is_in_the_cloud(
    spec: InstanceSpec, found: ServerInventory, recorded: Recorded
) -> None:
    resolved = resolve(spec, {})
    step = next_step(
        spec,
        resolved if isinstance(resolved, Resolved) else EVERYTHING,
        found,
        recorded=recorded,
        project="p",
        intent=Intent("m"),
        extensions=TAGGING,
    )
    assert not isinstance(step, Send) or step.requests
    if isinstance(step, Send) and not found.certain:
        assert not any(isinstance(request, Creation) for request in step.requests)


@given(inventories, records)
def test_there_is_a_next_step_of_deletion_and_it_touches_nothing_of_others(
    found: ServerInventory, recorded: Recorded
) -> None:
    step = next_deletion(found, recorded=recorded, project="p", mark="m")
    resources: list[Server | Port | Volume] = [*found.servers, *found.ports, *found.volumes]
    if isinstance(step, Send):
        assert step.requests
        theirs = {(_KINDS[type(each)], each.id) for each in resources if mark_of(each) == "x"}
        others = {(_KINDS[type(each)], each.id) for each in resources if mark_of(each) != "x"}
        assert not {(each.verb.split()[-1], getattr(each, "id", "")) for each in step.requests} & (theirs - others)
    if isinstance(step, Vanished) and found.certain:
        assert not any(mark_of(port) == "m" for port in found.ports)


@given(buildable)
def test_a_server_comes_to_stand_with_one_of_each_and_then_nothing_is_sent(spec: InstanceSpec) -> None:
    story = Story(spec, Model())
    assert isinstance(story.play(story.create), Standing)
    resolved = resolved_of(spec)
    assert [port.name for port in story.model.ports] == [port.name for port in resolved.ports]
    assert len(story.model.trunks) == sum(port.trunk for port in resolved.ports)
    assert [volume.name for volume in story.model.volumes] == [volume.name for volume in resolved.volumes]
    assert len(story.model.servers) == 1
    asked = len(story.model.requests)
    story.model.pass_time()
    story.record()
    assert isinstance(story.create(), Standing)
    assert len(story.model.requests) == asked


@given(buildable, st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=4))
def test_requests_that_arrive_late_and_twice_leave_one_of_each(spec: InstanceSpec, late: list[tuple[int, int]]) -> None:
    """`late`: after so many steps, the creating request of that number arrives once more."""
    story = Story(spec, Model())
    taken = 0
    for steps, number in sorted(late):
        story.play(story.create, steps - taken)
        taken = steps
        created = [request for request in story.model.requests if isinstance(request, Creation)]
        if number < len(created) and created[number].verb in ("create port", "create volume", "create server"):
            _arrive(story.model, created[number])
    story.model.pass_time()
    assert isinstance(story.play(story.create), Standing)
    story.model.pass_time()
    assert isinstance(story.play(story.create), Standing)
    used = [port for port in story.model.ports if port.device_id]
    assert Counter(port.name for port in story.left if isinstance(port, Port)) == Counter(port.name for port in used)
    assert len(story.model.servers) == 1
    assert all(count == 1 for count in Counter(volume.name for volume in story.model.volumes).values())


def _arrive(model: Model, request: Creation) -> None:
    """As Nova does it: a second server fails on ports or volumes that are taken."""
    if request.verb == "create server":
        servers = model.services.servers
        if servers:
            first = next(iter(servers.values()))
            servers["again"] = {**first, "id": "again", "status": "ERROR", "disks": [], "gone": None}
        return
    model.carry_out(request)


@given(buildable, st.dictionaries(st.sampled_from(["w-root", "w-etcd"]), st.integers(0, 3), max_size=2))
def test_a_volume_is_tried_twice_and_no_more(spec: InstanceSpec, doomed: dict[str, int]) -> None:
    story = Story(spec, Model(doomed))
    end = story.play(story.create)
    wanted = {volume.name for volume in resolved_of(spec).volumes}
    if any(count > 1 for name, count in doomed.items() if name in wanted):
        assert isinstance(end, Stuck)
    else:
        assert isinstance(end, Standing)
        story.model.pass_time()
        assert all(volume.status == "in-use" for volume in story.model.volumes)
    created = Counter(each.subject for each in story.model.requests if each.verb == "create volume")
    assert all(count <= 2 for count in created.values())


@given(
    buildable, st.integers(0, 12), st.booleans(), st.booleans(), st.dictionaries(names, st.integers(1, 2), max_size=1)
)
def test_a_creation_that_is_given_up_at_any_point_leaves_nothing(
    spec: InstanceSpec, steps: int, recorded: bool, time: bool, doomed: dict[str, int]
) -> None:
    model = Model(doomed)
    neighbour = Story(spec, model, mark="x")
    neighbour.play(neighbour.create)
    model.pass_time()
    before = Counter(type(each) for each in neighbour.left)
    story = Story(spec, model)
    story.play(story.create, steps)
    if time:
        model.pass_time()
    if recorded:
        story.record()
    assert story.play(story.delete) == Vanished()
    assert story.left == []
    assert Counter(type(each) for each in neighbour.left) == before


@given(buildable, st.integers(0, 12), st.integers(0, 20), st.booleans())
def test_what_people_delete_by_hand_is_made_again_or_told(
    spec: InstanceSpec, steps: int, which: int, recorded: bool
) -> None:
    story = Story(spec, Model())
    story.play(story.create, steps)
    if recorded:
        story.record()
    servers = story.model.servers
    ports = [port for port in story.model.ports if not port.device_id and port.trunk_details is None]
    if servers:
        story.model.remove(servers[0])
        end = story.play(story.create)
        assert isinstance(end, Vanished if recorded else Standing)
    elif ports:
        del story.model.services.ports[ports[which % len(ports)].id]
        assert isinstance(story.play(story.create), Standing)
        assert Counter(port.name for port in story.model.ports) == Counter(
            port.name for port in resolved_of(spec).ports
        )
    story.recorded = Recorded()
    assert story.play(story.delete) == Vanished()
    assert story.left == []
