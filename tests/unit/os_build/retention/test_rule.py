"""Which images of a pool go: the table of `retention.rule`, and what a record alone cannot do."""

from typing import Any

import pytest

from windlass.os_build.inputs.labels import cluster_mark
from windlass.os_build.retention.record import Record
from windlass.os_build.retention.rule import Contents, Fate, Held, Missing, Pool, Untold, Verdict, in_question, judged
from windlass.os_build.retention.use import Use

REPOSITORY = "registry.example.com/org/os"
POOL = Pool(name="worker", repository=REPOSITORY, cluster="uid-of-ours", keep=0)
BASE = "registry.example.com/base/os@sha256:" + "0" * 64
BUILD_TAG = "build-worker-" + "a" * 32


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def record(number: int, *, repository: str = REPOSITORY, build: str = "", config: str = "") -> Record:
    built = f"2026-11-{number:02d}T00:00:00Z"
    return Record(f"{repository}@{digest(number)}", config or f"rendered-worker-{number}", built, build)


def labels(number: int = 1, *, cluster: str = "uid-of-ours", pool: str = "worker", **others: str) -> dict[str, str]:
    """Those that a build of this cluster gives to an image."""
    config = f"rendered-worker-{number}"
    mark = cluster_mark(cluster, pool=pool, config=config, base=BASE)
    known = {"machineconfig": config, "machineconfigpool": pool, "baseOSContainerImage": BASE}
    return {**known, "io.windlass.cluster": mark, **others}


def verdicts(*records: Record, use: Use, pool: Pool = POOL, contents: Contents | None = None) -> dict[str, Verdict]:
    stay, rest = in_question(records, pool, use)
    held = Contents({each.digest: Held(labels(int(each.digest[7:], 16))) for each in records})
    return {each.digest: each for each in (*stay, *judged(rest, pool, contents or held, use))}


def fates(*records: Record, **fields: Any) -> list[Fate]:
    found = verdicts(*records, **{"use": Use({}, {}), **fields})
    return [found[each.digest].fate for each in records]


def pool(**fields: Any) -> Pool:
    return Pool(**{"name": "worker", "repository": REPOSITORY, "cluster": "uid-of-ours", "keep": 0, **fields})


G, S, U, M = Fate.GOES, Fate.STAYS, Fate.UNKNOWN, Fate.GONE


def test_an_image_goes_that_nothing_uses_and_that_this_cluster_built() -> None:
    assert fates(record(1)) == [G]


@pytest.mark.parametrize(
    ("keep", "expected"),
    [(0, [G, G, G]), (1, [S, G, G]), (2, [S, S, G]), (9, [S, S, S])],
)
def test_the_newest_stay(keep: int, expected: list[Fate]) -> None:
    assert fates(record(3), record(2), record(1), pool=pool(keep=keep)) == expected


def test_the_newest_are_counted_beside_those_in_use_whatever_the_order_of_the_records() -> None:
    use = Use({digest(3): "Node a"}, {})
    assert fates(record(1), record(3), record(2), use=use, pool=pool(keep=1)) == [G, S, S]


def test_two_records_of_one_image_are_one_image() -> None:
    """A MachineConfig that changes only files has the image of another one."""
    again = Record(record(1).image, "rendered-worker-9", "2026-11-29T00:00:00Z", "worker-9")
    assert [
        each.fate for each in verdicts(again, record(1, build="worker-1"), record(2), use=Use({}, {})).values()
    ] == [
        G,
        G,
    ]
    assert fates(record(2), again, record(1), pool=pool(keep=1)) == [G, S, S]


@pytest.mark.parametrize(
    ("use", "why"),
    [
        pytest.param(Use({digest(1): "Node master-0"}, {}), "Node master-0 names it", id="a digest"),
        pytest.param(
            Use({}, {"rendered-worker-1": "Node master-0"}), "names rendered-worker-1, of which it is", id="a config"
        ),
    ],
)
def test_an_image_that_something_names_stays(use: Use, why: str) -> None:
    found = verdicts(record(1), use=use)[digest(1)]
    assert found.fate is S
    assert why in found.why


def test_of_a_config_that_a_node_names_the_newest_image_stays_alone() -> None:
    use = Use({}, {"rendered-worker-1": "Node master-0"})
    older, newer = record(1, config="rendered-worker-1"), record(2, config="rendered-worker-1")
    assert fates(older, newer, use=use, contents=Contents({digest(1): Held(labels())})) == [G, S]


@pytest.mark.parametrize(
    ("held", "fate"),
    [
        pytest.param(Missing(), M, id="the registry has it no more"),
        pytest.param(Untold("503"), U, id="the registry does not tell"),
        pytest.param(Held({}), S, id="no labels"),
        pytest.param(Held(labels(cluster="uid-of-theirs")), S, id="another cluster's"),
        pytest.param(Held(labels(pool="infra")), S, id="another pool's"),
        pytest.param(Held({**labels(), "io.windlass.cluster": ""}), S, id="built without retention"),
        pytest.param(Held(labels(machineconfig="rendered-theirs-1")), S, id="built upon ours, with another config"),
        pytest.param(Held(labels(baseOSContainerImage=f"{REPOSITORY}@{digest(1)}")), S, id="built upon ours"),
        pytest.param(Held(labels(version="7")), G, id="labels of the user beside ours"),
    ],
)
def test_the_labels_say_whose_an_image_is(held: Held | Missing | Untold, fate: Fate) -> None:
    assert fates(record(1), contents=Contents({digest(1): held})) == [fate]


def test_without_the_identity_of_the_cluster_nothing_goes() -> None:
    unmarked = {"machineconfigpool": "worker", "io.windlass.cluster": ""}
    nobody = pool(cluster="")
    assert fates(record(1), pool=nobody, contents=Contents({digest(1): Held(unmarked)})) == [S]
    assert fates(record(1), pool=nobody, contents=Contents({digest(1): Held({"machineconfigpool": "worker"})})) == [S]


@pytest.mark.parametrize(
    ("tag", "config", "fate"),
    [
        pytest.param(BUILD_TAG, "", G, id="of its build"),
        pytest.param(f"{BUILD_TAG}-2", "", G, id="of a second attempt"),
        pytest.param("worker-" + "b" * 32, "worker", G, id="of its MachineOSBuild"),
        pytest.param("worker-" + "b" * 32, "", S, id="like a MachineOSBuild, where no MachineOSConfig is"),
        pytest.param("build-infra-" + "a" * 32, "", S, id="of another pool"),
        pytest.param("golden", "", S, id="of a person"),
        pytest.param("build-worker-latest", "", S, id="nearly of a build"),
        pytest.param(f"{BUILD_TAG}-golden", "", S, id="longer than of a build"),
    ],
)
def test_a_tag_that_no_build_gave_keeps_an_image(tag: str, config: str, fate: Fate) -> None:
    held = Contents({digest(1): Held(labels())}, {BUILD_TAG: digest(1), tag: digest(1), "golden-2": digest(2)})
    assert fates(record(1), contents=held, pool=pool(config=config)) == [fate]


def test_an_image_of_a_list_stays_as_long_as_the_list() -> None:
    image, listing = record(1), record(2)
    held = {digest(1): Held(labels(1)), digest(2): Held(labels(2))}
    contents = Contents(held, {BUILD_TAG: digest(2)}, {digest(2): (digest(1),)})
    assert fates(image, listing, contents=contents) == [G, G]
    assert fates(image, listing, contents=contents, use=Use({digest(2): "Node a"}, {})) == [S, S]
    foreign = Contents(held, {"everything": digest(7)}, {digest(7): (digest(1), digest(9))})
    found = verdicts(image, listing, use=Use({}, {}), contents=foreign)
    assert [found[digest(1)].fate, found[digest(2)].fate] == [S, G]
    assert found[digest(1)].why == "the list of images everything has it"


def test_a_list_of_a_list_that_stays_keeps_both() -> None:
    held = {digest(number): Held(labels(number)) for number in (1, 2)}
    lists = {digest(2): (digest(1),), digest(3): (digest(2),)}
    assert fates(record(1), record(2), contents=Contents(held, {"v1": digest(3)}, lists)) == [S, S]


def test_an_image_of_a_repository_that_the_pool_does_not_push_to_stays_and_is_not_asked_for() -> None:
    """Whoever may write annotations of a pool can name any image there."""
    foreign = record(1, repository="registry.example.com/prod/database")
    stay, rest = in_question([foreign], POOL, Use({}, {}))
    assert [each.fate for each in stay] == [S]
    assert rest == ()
    # The same digest in both: what is removed here cannot be known to be removed there.
    assert fates(record(1), foreign) == [S, S]
