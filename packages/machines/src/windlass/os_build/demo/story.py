"""The steps of the demo: each has a command, an action, and an expected result.

Two pools get images. Then a Containerfile is wrong, and is corrected; it changes twice while an image builds; and
Windlass is killed while images build from new MachineConfigs. A base image is behind a mirror with a private CA. In the
end the pools are as they were at first.
"""

import shlex
from typing import Final, TypeAlias

from windlass.demo import story
from windlass.os_build.constants import BUILDER_CONFIG, CONTAINERFILES, LAYERING, NAMESPACE
from windlass.os_build.demo import expectations as expect
from windlass.os_build.demo.scene import POOLS, Moment, Scene
from windlass.os_build.demo.stage import CONFIG, DEBOUNCE, MIRRORED, MOTD, REPOSITORY, SOURCE, Stage

Step: TypeAlias = story.Step[Stage, Scene]

_THERE: Final = f"kubectl -n {NAMESPACE}"
_POOLS: Final = " ".join(POOLS)
_RUN: Final = f"windlass run os-build --local-builds builds --apply-by tree --debounce {DEBOUNCE}"


def _write_command(text: str) -> str:
    return f"{_THERE} patch configmap/{CONTAINERFILES} --type=merge -p {shlex.quote(_data(text))}"


def _data(text: str) -> str:
    return f'{{"data":{{"worker":"{text.strip()}"}}}}'


async def _start(stage: Stage, _: Moment) -> None:
    await stage.start_cluster()
    await stage.greet(expect.GREETING)


STORY = (
    Step(
        "Start a control plane, the Machine Config Operator's controller, and a registry with a base image",
        (
            "windlass dev up --crds",
            "machine-config-controller start",
            "registry serve",
            f"kubectl apply -f {CONFIG}.yaml",
        ),
        act=_start,
        expect=expect.configs_are_rendered,
    ),
    Step(
        "Say where images go, with Secrets for pulling and pushing; run Windlass under its own ServiceAccount",
        (
            f"{_THERE} create secret docker-registry base-pull --docker-username=puller ...",
            f"{_THERE} create secret docker-registry os-push --docker-username=pusher ...",
            f"{_THERE} create configmap {BUILDER_CONFIG} --from-literal=finalImagePullspec=HOST/{REPOSITORY} ...",
            "windlass manifests rbac os-build | kubectl apply -f -",
            _RUN,
        ),
        act=lambda stage, _: stage.start_windlass(),
        expect=expect.windlass_leaves_pools_alone,
    ),
    Step(
        "Opt two pools in",
        (f"kubectl annotate machineconfigpool {_POOLS} {LAYERING}=",),
        act=lambda stage, _: stage.opt(into=True),
        expect=expect.both_pools_are_built,
        pictured=True,
    ),
    Step(
        "Read a file of the MachineConfig back out of the pushed images",
        (f"crane export HOST/{REPOSITORY}@sha256:... - | tar -xO {MOTD.strip('/')}",),
        expect=expect.file_is_in_the_image,
    ),
    Step(
        "Give the pool worker a Containerfile with a step that fails",
        (
            f"{_THERE} create configmap {CONTAINERFILES} --from-literal=worker={shlex.quote(expect.BROKEN_STEP)}",
            "windlass os-build describe worker",
        ),
        act=lambda stage, _: stage.write_containerfile(expect.BROKEN),
        expect=expect.failure_is_told,
        pictured=True,
    ),
    Step(
        "Correct it",
        (_write_command(expect.FIXED),),
        act=lambda stage, _: stage.write_containerfile(expect.FIXED),
        expect=expect.one_more_image(1),
    ),
    Step(
        "Change it to a step that takes longer",
        (_write_command(expect.slow(2)),),
        act=lambda stage, _: stage.write_containerfile(expect.slow(2)),
        expect=expect.build_runs,
    ),
    Step(
        "Change it twice while the image builds",
        (_write_command(expect.slow(3)), _write_command(expect.slow(4))),
        act=lambda stage, _: stage.write_containerfile(expect.slow(3), expect.slow(4)),
        expect=expect.one_more_image(4),
    ),
    Step(
        "Change the MachineConfig; the Machine Config Operator renders it for both pools",
        (f"kubectl apply -f {CONFIG}.yaml",),
        act=lambda stage, _: stage.greet(expect.NEXT_GREETING),
        expect=expect.build_of_new_configs_runs,
    ),
    Step(
        "Kill Windlass while it builds, and run it again",
        ("pkill -KILL -f 'windlass run os-build'", _RUN),
        act=lambda stage, _: stage.kill_and_run_again(),
        expect=expect.build_was_resumed,
    ),
    Step(
        "Move the base image of the pool infra to where only a mirror has it, behind a private CA",
        (f"kubectl apply -f {MIRRORED}.yaml      # osImageURL: {SOURCE}@sha256:...; registries.conf.d, certs.d",),
        act=lambda stage, _: stage.disconnect(),
        expect=expect.base_is_from_the_mirror,
        pictured=True,
    ),
    Step(
        "Opt both pools out",
        (f"kubectl annotate machineconfigpool {_POOLS} {LAYERING}-",),
        act=lambda stage, _: stage.opt(into=False),
        expect=expect.nothing_is_left,
    ),
)
