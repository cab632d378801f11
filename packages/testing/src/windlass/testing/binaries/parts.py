"""The parts of the control plane: one pinned Go module each, with the programs built and the CRDs copied from it."""

import hashlib
import platform
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

KUBERNETES_VERSION = "v1.36.3"
MINIMUM_GO = (1, 26)
"""The Go version that the `go` lines of the parts require."""

_VERSION_PACKAGE = "k8s.io/component-base/version"


@dataclass(frozen=True)
class Platform:
    """An operating system and processor in Go's words, for example `linux/amd64`."""

    os: str
    arch: str

    def __str__(self) -> str:
        return f"{self.os}/{self.arch}"

    @classmethod
    def here(cls) -> "Platform":
        """The platform of this interpreter."""
        machine = platform.machine().lower()
        arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
        return cls(platform.system().lower(), arch)

    @classmethod
    def parse(cls, text: str) -> "Platform":
        """`os/arch` as Go writes it; ValueError if it is not of that form."""
        os, slash, arch = text.partition("/")
        if not (os and slash and arch):
            raise ValueError(f"platform {text!r}: write it as os/arch, for example linux/arm64")
        return cls(os, arch)


@dataclass(frozen=True)
class Program:
    """One program of a part: the Go package it is built from and the file name it gets."""

    name: str
    package: str


@dataclass(frozen=True)
class Part:
    """One Go module pinned by `gomodules/<name>`.

    `crds` is the folder in the module that holds the CRDs we copy beside the programs, "" if it has none for us.
    `crd_files` are globs in that folder, for where it holds other files too or several variants of one CRD.
    `tags` are Go's build tags.
    """

    name: str
    module: str
    version: str
    programs: tuple[Program, ...] = ()
    link_variables: tuple[str, ...] = ()
    crds: str = ""
    crd_files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def sources(self) -> Traversable:
        """The folder with the part's go.mod and go.sum; it may lie in a read-only wheel."""
        return resources.files("windlass.testing") / "gomodules" / self.name

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its go.mod and go.sum, and of the Go files of ours where a program is built from some."""
        own = sorted(file.name for file in self.sources.iterdir() if file.name.endswith(".go"))
        return "go.mod", "go.sum", *own

    def key(self, target: Platform) -> str:
        """The name of the part's folder in the cache: version, platform and everything that decides its content.

        The digest covers all files and the recipe, so a changed pin is never served from an old folder.
        """
        recipe = hashlib.sha256()
        for file in self.files:
            recipe.update((self.sources / file).read_bytes())
        decisive = (self.programs, self.link_variables, self.crds, *self.crd_files, *self.tags)
        recipe.update(repr(decisive).encode())
        return f"{self.name}-{self.version}-{target.os}-{target.arch}-{recipe.hexdigest()[:8]}"


ETCD = Part(
    name="etcd",
    module="go.etcd.io/etcd/server/v3",
    version="v3.7.3",
    programs=(Program("etcd", "go.etcd.io/etcd/server/v3"),),
)
KUBERNETES = Part(
    name="kubernetes",
    module="k8s.io/kubernetes",
    version=KUBERNETES_VERSION,
    programs=(
        Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
        Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    ),
    # The release scripts set these; without them /version says v0.0.0 and clients that read it misbehave.
    link_variables=(
        f"{_VERSION_PACKAGE}.gitVersion={KUBERNETES_VERSION}",
        f"{_VERSION_PACKAGE}.gitMajor={KUBERNETES_VERSION.lstrip('v').split('.')[0]}",
        f"{_VERSION_PACKAGE}.gitMinor={KUBERNETES_VERSION.split('.')[1]}",
    ),
)
CLUSTER_API = Part(
    name="cluster-api",
    module="sigs.k8s.io/cluster-api",
    version="v1.14.2",
    programs=(Program("cluster-api-core", "sigs.k8s.io/cluster-api/core"),),
    crds="core/config",
    # The second one registers the webhooks that the manager serves.
    crd_files=("crd/bases/*.yaml", "webhook/manifests.yaml"),
)
CLUSTER_API_AWS = Part(
    name="cluster-api-provider-aws",
    module="sigs.k8s.io/cluster-api-provider-aws/v2",
    version="v2.13.0",
    crds="config/crd/bases",
    # Kinds of EKS and ROSA are half a megabyte of schema that nothing here uses.
    crd_files=tuple(
        f"infrastructure.cluster.x-k8s.io_{plural}.yaml"
        for plural in ("awsclusters", "awsclustertemplates", "awsmachines", "awsmachinetemplates")
    ),
)
CLUSTER_API_GCP = Part(
    name="cluster-api-provider-gcp",
    module="sigs.k8s.io/cluster-api-provider-gcp",
    version="v1.13.1",
    crds="config/crd/bases",
    # Kinds of GKE are left out, as those of EKS are.
    crd_files=tuple(
        f"infrastructure.cluster.x-k8s.io_{plural}.yaml"
        for plural in ("gcpclusters", "gcpmachines", "gcpmachinetemplates")
    ),
)
CLUSTER_API_OPENSTACK = Part(
    name="cluster-api-provider-openstack",
    module="sigs.k8s.io/cluster-api-provider-openstack",
    version="v0.13.0",
    crds="config",
    # The second one holds its ValidatingWebhookConfiguration: Windlass takes over from it.
    crd_files=("crd/bases/*.yaml", "webhook/manifests.yaml"),
)
CLUSTER_API_OPENSTACK_TYPES = Part(
    name="cluster-api-provider-openstack-types",
    module="sigs.k8s.io/cluster-api-provider-openstack",
    version="v0.14.7",
    programs=(Program("openstack-types", "windlass.invalid/cluster-api-provider-openstack-types"),),
    # What its quick start applies, for tests that do the same.
    crds="templates",
    crd_files=("cluster-template.yaml", "cluster-template-without-lb.yaml"),
)
OPENSHIFT_API = Part(
    name="openshift-api",
    module="github.com/openshift/api",
    version="v0.0.0-20260715165912-72066cc9718b",
    crds=".",
    # Of each kind the variant with all feature gates on: without MachineAPIMigration there is no authoritativeAPI.
    crd_files=(
        "config/v1/zz_generated.crd-manifests/*_clusteroperators.crd.yaml",
        "config/v1/zz_generated.crd-manifests/*_clusterversions-CustomNoUpgrade.crd.yaml",
        "config/v1/zz_generated.crd-manifests/*_dnses-CustomNoUpgrade.crd.yaml",
        "config/v1/zz_generated.crd-manifests/*_featuregates.crd.yaml",
        "config/v1/zz_generated.crd-manifests/*_infrastructures-SelfManagedHA-CustomNoUpgrade.crd.yaml",
        "machine/v1beta1/zz_generated.crd-manifests/*_machines-CustomNoUpgrade.crd.yaml",
        "machine/v1beta1/zz_generated.crd-manifests/*_machinesets-CustomNoUpgrade.crd.yaml",
        "machineconfiguration/v1/zz_generated.crd-manifests/*_machineconfignodes-SelfManagedHA-CustomNoUpgrade.crd.yaml",
        "machineconfiguration/v1/zz_generated.crd-manifests/*_machineconfigpools-SelfManagedHA.crd.yaml",
        "machineconfiguration/v1/zz_generated.crd-manifests/*_osimagestreams-SelfManagedHA.crd.yaml",
        "machineconfiguration/v1/zz_generated.crd-manifests/*_machineconfigs.crd.yaml",
        "route/v1/zz_generated.crd-manifests/routes.crd.yaml",
    ),
)
MACHINE_API = Part(
    name="machine-api",
    module="github.com/openshift/machine-api-operator",
    version="v0.2.1-0.20251128002018-85c00c0d525f",
    programs=(Program("machine-api", "windlass.invalid/machine-api"),),
)
MACHINE_CONFIG = Part(
    name="machine-config",
    module="github.com/openshift/machine-config-operator",
    version="v0.0.1-0.20250401081735-9026ff2d802e",
    programs=tuple(
        Program(name, f"github.com/openshift/machine-config-operator/cmd/{name}")
        for name in ("machine-config-controller", "machine-os-builder")
    ),
    # The operator's own: without them its libraries of container images need C libraries.
    tags=(
        "containers_image_openpgp",
        "containers_image_ostree_stub",
        "exclude_graphdriver_btrfs",
        "exclude_graphdriver_devicemapper",
    ),
)
MACHINE_CONFIG_API = Part(
    name="machine-config-api",
    module="github.com/openshift/api",
    version="v0.0.0-20250320115527-3aa9dd5b9002",
    crds="payload-manifests/crds",
    # Kinds that machine-config-controller watches, and that OPENSHIFT_API leaves out: no other plane needs them.
    crd_files=tuple(
        f"*_{file}.crd.yaml"
        for file in (
            "apiservers",
            "containerruntimeconfigs",
            "controllerconfigs-CustomNoUpgrade",
            "imagecontentsourcepolicies",
            "imagedigestmirrorsets",
            "images-CustomNoUpgrade",
            "imagetagmirrorsets",
            "kubeletconfigs",
            "machineosbuilds-CustomNoUpgrade",
            "machineosconfigs-CustomNoUpgrade",
            "nodes-CustomNoUpgrade",
            "schedulers-CustomNoUpgrade",
        )
    ),
)
DISTRIBUTION = Part(
    name="distribution",
    module="github.com/distribution/distribution/v3",
    version="v3.1.2",
    programs=(Program("registry", "github.com/distribution/distribution/v3/cmd/registry"),),
)
CONTAINERS_IMAGE = Part(
    name="containers-image",
    module="github.com/containers/image/v5",
    version="v5.36.2",
    programs=(Program("node-pull", "windlass.invalid/containers-image"),),
    # Without them its libraries need C libraries. Keyless signatures and local stores are not looked at.
    tags=(
        "containers_image_openpgp",
        "containers_image_docker_daemon_stub",
        "containers_image_fulcio_stub",
        "containers_image_rekor_stub",
        "containers_image_storage_stub",
        "exclude_graphdriver_btrfs",
        "exclude_graphdriver_devicemapper",
    ),
)

PARTS = (ETCD, KUBERNETES, CLUSTER_API, CLUSTER_API_AWS, CLUSTER_API_GCP, CLUSTER_API_OPENSTACK, OPENSHIFT_API)
"""What a plane may need; built the first time, about 6 minutes on two cores."""
CORE_PARTS = (ETCD, KUBERNETES)
"""Enough for a plane without Cluster API."""
JUDGES = (MACHINE_API, MACHINE_CONFIG, MACHINE_CONFIG_API, CONTAINERS_IMAGE, CLUSTER_API_OPENSTACK_TYPES)
"""Other projects' programs that tests compare ours with; each is built on first use, in about 5 minutes."""
SYSTEMS = (DISTRIBUTION,)
"""What controllers speak to beside Kubernetes; each is built on first use, in about a minute and a half."""
