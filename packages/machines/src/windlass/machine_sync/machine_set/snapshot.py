"""What a decision about one MachineSet may look at."""

from typing import Any

from msgspec import Struct

from windlass.api import capi, config, mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Absent, Present, Seen, Unreadable
from windlass.machine_sync.constants import MACHINE_SET_LABEL
from windlass.machine_sync.conversion.template_name import machine_set_of
from windlass.machine_sync.mirroring.looking import Looking
from windlass.machine_sync.mirroring.move import Move, Pausable
from windlass.machine_sync.mirroring.removal import Removal
from windlass.machine_sync.platforms import Platform


class Template(Struct, frozen=True):
    """An existing infra template. `users` are the *other* MachineSets of Cluster API that refer to it."""

    seen: Present[Any] | Unreadable
    users: tuple[str, ...] = ()

    @property
    def metadata(self) -> ObjectMeta:
        return self.seen.metadata

    @property
    def name(self) -> str:
        return self.seen.metadata.name


class MachineSetSnapshot(Looking, frozen=True, kw_only=True):
    """One MachineSet in both APIs, and the objects that its conversion needs. `looking` completes that of the caches.

    `machine_api` and `cluster_api` are its MachineSets. `template` and `infra_cluster` are the objects that
    `cluster_api` refers to; they are read while Cluster API is authoritative. `templates` are the infra templates that
    we created for this set or would create, by label or name, in the order of their names.

    While the MachineSet is being deleted in either API, these are read too:

    * `acting`: the Machines of Cluster API that are no mirrors and are to be deleted with `machine_api`, because they
      belong to `cluster_api` and their mirrors still to `machine_api`;
    * `owned`: the names of the Machines that belong to the MachineSet that is the mirror;
    * `disowned`: only `cluster_api` is being deleted, and the garbage collector has removed it from the owners of
      Machines;
    * `removal`: why the mirror is being deleted, or `machine_api` if there are `acting` Machines; it is also read when
      an object could not be created.

    `cluster` is the core Cluster of this cluster, read while the Machine API has something to convert, that of a mirror
    that is being deleted, or one that may be why the controllers of Cluster API say that they are paused.
    `infrastructure` describes this cluster to conversion.
    """

    platform: Platform
    machine_api: Seen[mapi.MachineSet]
    cluster_api: Seen[capi.MachineSet]
    template: Seen[Any] = Absent()
    templates: tuple[Template, ...] = ()
    acting: tuple[ObjectMeta, ...] = ()
    owned: tuple[str, ...] = ()
    disowned: bool = False
    infra_cluster: Seen[Any] = Absent()
    cluster: Seen[capi.Cluster] = Absent()
    infrastructure: Seen[config.Infrastructure] = Absent()
    removal: Removal = Removal()
    last: Outcome = Outcome()

    @property
    def own_templates(self) -> tuple[Template, ...]:
        """The templates that we created for this set: they have its label, and a name that conversion gives.

        Anybody may put the label on a template of their own.
        """
        return tuple(
            one
            for one in self.templates
            if one.metadata.labels.get(MACHINE_SET_LABEL) == self.name and machine_set_of(one.name) == self.name
        )

    @property
    def move(self) -> Move:
        """The move of authority. Only while the Machine API has a readable MachineSet.

        Templates come after the set. Their controllers, if a provider has any, do not report that they are paused.
        """
        assert isinstance(self.machine_api, Present)
        kind = self.platform.infra_template
        templates = (Pausable(kind, template.seen, reports=False) for template in self.own_templates)
        return Move(self.machine_api, (Pausable(capi.MachineSet, self.cluster_api), *templates))
