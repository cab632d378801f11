"""Admission policies: the account of OS builds makes only Jobs of builds, and changes no others.

RBAC lets the account create any Job in the namespace of the Machine Config Operator, and a Job could run as root of a
node, or with another ServiceAccount of that namespace. With these policies, whoever has the account's token gets Pods
without a token, without root, and with volumes that hold only what the account may read itself. Their privileges are
those of Pod Security `baseline`; seccomp and AppArmor are not limited, because buildah may need to be without them.

| policy | on | demands |
|---|---|---|
| `os-build-jobs` | CREATE | a Job as `backends.job` makes it |
| `os-build-job-changes` | UPDATE | a Job of a build, whose Pods stay as they are: the controller suspends Jobs |

Command, ServiceAccount, labels and annotations are those of a Job that `job_spec` makes with the same settings. Of
volumes, only the types are demanded, because their names depend on the user's objects. The one exception is the claim
in which builds share base images: only the container that runs nothing of a user's may write there.
"""

from collections.abc import Mapping
from typing import Any, Final

from windlass.api.batch import Job
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.capability.manifests.cel import literal
from windlass.capability.manifests.policy import CREATE, UPDATE, Policy, Rule
from windlass.capability.manifests.rights import ServiceAccount
from windlass.kube.control.plan import Target
from windlass.os_build.backends.job import CACHE, DEFAULTS, job_spec
from windlass.os_build.builder import Order
from windlass.os_build.constants import BUILD_LABEL
from windlass.os_build.credentials import Auths, Secrets
from windlass.os_build.inputs.context import Context
from windlass.os_build.placement import Placement
from windlass.os_build.pullspec import Target as Repository
from windlass.os_build.request import Request

_OF_THE_JOB_CONTROLLER: Final = ("controller-uid", "job-name")
"""Labels of Pods that the API server adds to a new Job, beside those under `batch.kubernetes.io/`."""
_REMEDY: Final = (
    "If an option of `windlass run os-build` asks for it, print the policies with the same option: `windlass manifests "
    "policies os-build`. If none does, somebody else uses a token of this account."
)
_NEVER: Final = "os-build does not ask for that: somebody else uses a token of this account."


def policies(account: ServiceAccount, *, placement: Placement | None = None) -> tuple[Policy, ...]:
    """Both policies, for the Jobs of `account` that are placed so."""
    placed = (placement or Placement()).over(DEFAULTS)
    used = job_spec(_sample(), placed)["template"]
    when = {"is-os-build": f"request.userInfo.username == {literal(account.user)}"}
    return (
        Policy(
            name="os-build-jobs",
            kinds=(Job,),
            operations=(CREATE,),
            exempt=(),
            when=when,
            variables={
                "pod": "object.spec.template.spec",
                "containers": "variables.pod.containers + variables.pod.?initContainers.orValue([])",
                "contexts": "variables.containers.filter(c, has(c.securityContext)).map(c, c.securityContext)",
            },
            rules=_creation(used["metadata"], used["spec"], claim=placed.cache_claim),
        ),
        Policy(
            name="os-build-job-changes",
            kinds=(Job,),
            operations=(UPDATE,),
            exempt=(),
            when=when,
            rules=(
                Rule(_of_a_build("oldObject"), f"Only Jobs of builds may be changed. {_NEVER}"),
                Rule(
                    f"object.spec.template == oldObject.spec.template &&\n{_of_a_build('object')}",
                    f"The Pods of a Job, its label and its owner may not be changed. {_NEVER}",
                ),
            ),
        ),
    )


def _creation(metadata: Mapping[str, Any], pod: Mapping[str, Any], *, claim: str) -> tuple[Rule, ...]:
    """The rules for a new Job whose Pods have this `metadata` and, of `pod`, the account and the command.

    `claim`: the PersistentVolumeClaim with base images; empty: there is none.
    """
    account = pod["serviceAccountName"]
    (command,) = (container["command"] for container in pod["containers"])
    labels, annotations = sorted(metadata["labels"]), sorted(metadata["annotations"])
    containers, first = "size(variables.containers) == 1", ""
    volumes, claims = "", ""
    shared: tuple[Rule, ...] = ()
    if claim:
        containers = "size(variables.pod.containers) == 1 && size(variables.containers) <= 2"
        first = ", and one before it,"
        mine = f"v.name == {literal(CACHE)} && v.persistentVolumeClaim.claimName == {literal(claim)}"
        volumes = f" ||\n  (has(v.persistentVolumeClaim) && {mine})"
        claims = f", the claim {claim} as volume {CACHE}"
        shared = (
            _rule(
                "variables.pod.containers.all(c, c.?volumeMounts.orValue([]).all(m,\n"
                f"  m.name != {literal(CACHE)} || m.?readOnly.orValue(false)))",
                f"only Jobs whose build has the volume {CACHE} read-only",
            ),
        )
    of_controller = f"k.startsWith('batch.kubernetes.io/') || k in {literal(_OF_THE_JOB_CONTROLLER)}"
    return (
        _rule(_of_a_build("object"), f"only Jobs with the label {BUILD_LABEL}, owned by a MachineConfigPool"),
        _rule(
            f"object.spec.template.metadata.?labels.orValue({{}}).all(k, k in {literal(labels)} ||\n  {of_controller})",
            f"only Jobs whose Pods have no other labels than {', '.join(labels)}",
        ),
        _rule(
            f"object.spec.template.metadata.?annotations.orValue({{}}).all(k, k in {literal(annotations)})",
            f"only Jobs whose Pods have no other annotations than {', '.join(annotations)}",
        ),
        _rule(
            f"{containers} &&\n"
            f"variables.containers.all(c, c.?command.orValue([]) == {literal(command)} && !has(c.args) &&\n"
            "  !has(c.lifecycle) && !has(c.livenessProbe) && !has(c.readinessProbe) && !has(c.startupProbe))",
            f"only Jobs with one container{first}, which runs {' '.join(command)}, without args, lifecycle and probes",
        ),
        _rule(
            f"variables.pod.?serviceAccountName.orValue('') == {literal(account)} &&\n"
            "!variables.pod.?automountServiceAccountToken.orValue(true)",
            f"only Jobs with serviceAccountName {account} and automountServiceAccountToken false",
        ),
        _rule(
            "variables.pod.?volumes.orValue([]).all(v, has(v.configMap) || has(v.secret) || has(v.emptyDir) ||\n"
            "  (has(v.projected) && v.projected.?sources.orValue([]).all(s, has(s.configMap) || has(s.secret)))"
            f"{volumes}) &&\n"
            "!has(variables.pod.resourceClaims)",
            f"only Jobs whose volumes are ConfigMaps, Secrets, emptyDir{claims}, or projected from ConfigMaps and "
            "Secrets, without resourceClaims",
        ),
        *shared,
        _rule(
            "!variables.pod.?hostNetwork.orValue(false) &&\n"
            "!variables.pod.?hostPID.orValue(false) &&\n"
            "!variables.pod.?hostIPC.orValue(false) &&\n"
            "variables.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))",
            "only Jobs without hostNetwork, hostPID, hostIPC and hostPort",
        ),
        _rule(
            "variables.pod.?securityContext.?runAsUser.orValue(0) != 0 &&\n"
            "variables.contexts.all(s, s.?runAsUser.orValue(1) != 0)",
            "only Jobs whose Pods have a runAsUser that is not 0",
        ),
        _rule(
            "variables.contexts.all(s, !s.?privileged.orValue(false) &&\n"
            "  size(s.?capabilities.?add.orValue([])) == 0 && s.?procMount.orValue('Default') == 'Default' &&\n"
            "  !has(s.seLinuxOptions) && !has(s.windowsOptions)) &&\n"
            "!variables.pod.?securityContext.?seLinuxOptions.hasValue() &&\n"
            "!variables.pod.?securityContext.?windowsOptions.hasValue() &&\n"
            "size(variables.pod.?securityContext.?sysctls.orValue([])) == 0",
            "only Jobs without privileged, capabilities, procMount, seLinuxOptions, windowsOptions and sysctls",
        ),
    )


def _rule(expression: str, allowed: str) -> Rule:
    return Rule(expression, f"os-build may create {allowed}. {_REMEDY}")


def _of_a_build(side: str) -> str:
    """CEL: the Job has the label of builds and belongs to a pool."""
    resource = MachineConfigPool.RESOURCE
    return (
        f"{literal(BUILD_LABEL)} in {side}.metadata.?labels.orValue({{}}) &&\n"
        f"{side}.metadata.?ownerReferences.orValue([]).exists(o, o.kind == {literal(resource.kind)} &&\n"
        f"  o.apiVersion == {literal(resource.api_version)} && o.?controller.orValue(false))"
    )


def _sample() -> Order:
    """Any build: what the rules take from its Job is the same for all."""
    none = Auths({}, b"{}")
    return Order(
        name="any",
        inputs="any",
        attempt=1,
        pool=Target(MachineConfigPool, "any", uid="any"),
        request=Request(
            pool="any",
            config="any",
            target=Repository.parse("registry.example.com/any/any"),
            pull_secret="any",
            push_secret="any",
        ),
        context=Context({}),
        secrets=Secrets(none, none, versions="any"),
    )
