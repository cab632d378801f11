"""batch/v1: Jobs, of which Windlass reads how they are going. Source: `k8s.io/api/batch/v1`."""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, PlainCondition, Resource, always


class JobSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`suspend`: its Pods are deleted, and none is created. (The template is not read.)"""

    suspend: bool | None = None


class UncountedTerminatedPods(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """UIDs of Pods that have ended and are not in the counters yet."""

    succeeded: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class JobStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A condition Complete or Failed ends the Job. Reasons of Failed: DeadlineExceeded, BackoffLimitExceeded,
    PodFailurePolicy. `active` counts Pods that are pending or running."""

    conditions: list[PlainCondition] = field(default_factory=list)
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    uncounted_terminated_pods: UncountedTerminatedPods | None = None


class Job(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(group="batch", version="v1", kind="Job", plural="jobs")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: JobSpec = always(JobSpec)
    status: JobStatus = always(JobStatus)
