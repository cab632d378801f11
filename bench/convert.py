"""Convert one Machine or MachineSet, decoding and encoding included, beside decoding and encoding alone.

    python bench/convert.py [--rounds N]

The documents are those of the recorded conversions that are meant to succeed. In every round each job does all of them
once, jobs in turn, so that what else the computer does falls on all alike; the median of the rounds counts.

| column | job |
|---|---|
| convert | decode the documents; convert; encode the results |
| msgspec | decode the same documents; encode the same results, converted beforehand |
| tree | decode the same documents to plain dicts; encode the same results as plain dicts: no types, no conversion |

To the Machine API the documents are the Machine (or set), its infrastructure machine (or template) and cluster. To
Cluster API they are the Machine (or set), and the cluster's Infrastructure is at hand, as it is for a controller. In
rows marked YAML the provider spec is YAML text instead of JSON within the Machine, and so it is for `tree`, but not for
`msgspec`, which knows none. A set's template is named by the hash of its spec. Hashes are remembered; where the row
does not say "again", they are forgotten after each set.
"""

import argparse
import gc
import gzip
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.capability.documents.yaml_dialect import load_all
from windlass.machine_sync.conversion.machine_set_to_cluster_api import cluster_api_machine_set
from windlass.machine_sync.conversion.machine_set_to_machine_api import machine_api_machine_set
from windlass.machine_sync.conversion.template_name import fnv1a
from windlass.machine_sync.platforms import AWS, OPENSTACK, Platform

DATA = Path(__file__).parents[1] / "tests" / "data" / "machine_sync"
PLATFORMS = {"aws": AWS, "openstack": OPENSTACK}
SET_FACTOR = 1.5
"""What a MachineSet may take, as a multiple of a Machine."""

Job = Callable[[], None]
Decode = Callable[[bytes], Any]


class Case(NamedTuple):
    """One row of the table. Targets are microseconds for one object."""

    title: str
    target: float
    size: int
    objects: int
    jobs: dict[str, Job]


def recorded(provider: str, direction: str, kind: str) -> list[dict[str, Any]]:
    """The inputs of all rows that are meant to succeed."""
    with gzip.open(DATA / f"{provider}_{direction}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row["input"] for row in rows if row["case"].startswith("real-clean") and row["kind"] == kind]


def cases() -> Iterator[Case]:
    for provider, platform in PLATFORMS.items():
        yield to_machine_api(provider, platform)
        yield set_to_machine_api(provider, platform)
        yield to_cluster_api(provider, platform)
        yield to_cluster_api_from_yaml(provider, platform)
        yield set_to_cluster_api(provider, platform, again=False)
        yield set_to_cluster_api(provider, platform, again=True)


def to_machine_api(provider: str, platform: Platform) -> Case:
    def convert(machine: Any, infra: Any, cluster: Any) -> tuple[Any, ...]:
        return (platform.to_machine_api(machine, infra, cluster).machine,)

    documents = documents_of(recorded(provider, "capi2mapi", "Machine"), "machine", "infraMachine", "infraCluster")
    kinds = (capi.Machine, platform.infra_machine, platform.infra_cluster)
    return case(f"{platform.name}, CAPI -> MAPI", 60.0, documents, kinds, convert=convert)


def set_to_machine_api(provider: str, platform: Platform) -> Case:
    def convert(machine_set: Any, template: Any, cluster: Any) -> tuple[Any, ...]:
        return (machine_api_machine_set(platform, machine_set, template, infra_cluster=cluster).machine_set,)

    names = ("machineSet", "infraMachineTemplate", "infraCluster")
    documents = documents_of(recorded(provider, "capi2mapi", "MachineSet"), *names)
    kinds = (capi.MachineSet, platform.infra_template, platform.infra_cluster)
    return case(f"{platform.name}, CAPI -> MAPI, set", 60.0 * SET_FACTOR, documents, kinds, convert=convert)


def to_cluster_api(provider: str, platform: Platform) -> Case:
    given = recorded(provider, "mapi2capi", "Machine")
    infrastructure = msgspec.convert(given[0]["infrastructure"], Infrastructure)

    def convert(machine: Any) -> tuple[Any, ...]:
        converted = platform.to_cluster_api(machine, infrastructure)
        return converted.machine, converted.infra_machine

    documents = documents_of(given, "machine")
    return case(f"{platform.name}, MAPI -> CAPI", 150.0, documents, (mapi.Machine,), convert=convert)


def to_cluster_api_from_yaml(provider: str, platform: Platform) -> Case:
    given = recorded(provider, "mapi2capi", "Machine")
    infrastructure = msgspec.convert(given[0]["infrastructure"], Infrastructure)
    replace = msgspec.structs.replace

    def convert(machine: Any, provider_spec: bytes) -> tuple[Any, ...]:
        spec = replace(machine.spec, provider_spec=mapi.ProviderSpec(value=provider_spec))
        converted = platform.to_cluster_api(replace(machine, spec=spec), infrastructure)
        return converted.machine, converted.infra_machine

    documents: list[tuple[bytes, ...]] = []
    for one in given:
        text = yaml.dump(one["machine"]["spec"]["providerSpec"].pop("value"), allow_unicode=True).encode()
        documents.append((msgspec.json.encode(one["machine"]), text))
    return case(f"{platform.name}, MAPI -> CAPI, YAML", 1500.0, documents, (mapi.Machine, bytes), convert=convert)


def set_to_cluster_api(provider: str, platform: Platform, *, again: bool) -> Case:
    given = recorded(provider, "mapi2capi", "MachineSet")
    infrastructure = msgspec.convert(given[0]["infrastructure"], Infrastructure)

    def convert(machine_set: Any) -> tuple[Any, ...]:
        if not again:
            fnv1a.cache_clear()
        converted = cluster_api_machine_set(platform, machine_set, infrastructure)
        return converted.machine_set, converted.infra_template

    documents = documents_of(given, "machineSet")
    return case(
        f"{platform.name}, MAPI -> CAPI, set{', again' if again else ''}",
        150.0 * SET_FACTOR,
        documents,
        (mapi.MachineSet,),
        convert=convert,
    )


def documents_of(given: list[dict[str, Any]], *names: str) -> list[tuple[bytes, ...]]:
    return [tuple(msgspec.json.encode(one[name]) for name in names) for one in given]


def case(
    title: str,
    target: float,
    documents: list[tuple[bytes, ...]],
    kinds: tuple[type[Any], ...],
    *,
    convert: Callable[..., tuple[Any, ...]],
) -> Case:
    """What is compared; each job does all documents once. A document of the type bytes is YAML text."""
    encode = msgspec.json.Encoder().encode
    decode = msgspec.json.Decoder().decode
    typed_decoders: list[Decode] = [bytes if kind is bytes else msgspec.json.Decoder(kind).decode for kind in kinds]
    tree_decoders: list[Decode] = [_from_yaml if kind is bytes else decode for kind in kinds]

    def converted(given: tuple[bytes, ...]) -> tuple[Any, ...]:
        return convert(*[decoder(one) for decoder, one in zip(typed_decoders, given, strict=True)])

    results = [converted(given) for given in documents]
    assert all(made is not None for result in results for made in result)
    trees = [[msgspec.to_builtins(made) for made in result] for result in results]

    def whole() -> None:
        for given in documents:
            for made in converted(given):
                encode(made)

    def typed() -> None:
        for given, result in zip(documents, results, strict=True):
            for decoder, one in zip(typed_decoders, given, strict=True):
                decoder(one)
            for made in result:
                encode(made)

    def untyped() -> None:
        for given, result in zip(documents, trees, strict=True):
            for decoder, one in zip(tree_decoders, given, strict=True):
                decoder(one)
            for made in result:
                encode(made)

    size = sum(len(one) for given in documents for one in given) // len(documents)
    return Case(title, target, size, len(documents), {"convert": whole, "msgspec": typed, "tree": untyped})


def _from_yaml(text: bytes) -> Any:
    return next(load_all(text.decode()))


def measure(compared: dict[str, Job], *, rounds: int, each: int) -> dict[str, float]:
    """Microseconds for one object, by job: the median of all rounds."""
    times: dict[str, list[float]] = {name: [] for name in compared}
    for _ in range(rounds):
        for name, job in compared.items():
            start = time.perf_counter()
            job()
            times[name].append((time.perf_counter() - start) / each * 1e6)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the conversion of Machines and MachineSets, in both directions.")
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds

    gc.freeze()
    print(f"Cluster API <-> Machine API, one object, median of {rounds} rounds\n")
    print("| conversion | objects | bytes in | convert | msgspec | tree | convert/msgspec | target | |")
    print("|---|---|---|---|---|---|---|---|---|")
    for one in cases():
        measure(one.jobs, rounds=max(1, rounds // 20), each=one.objects)
        taken = measure(one.jobs, rounds=rounds, each=one.objects)
        print(
            f"| {one.title} | {one.objects} | {one.size} "
            f"| {taken['convert']:.1f} us | {taken['msgspec']:.1f} us | {taken['tree']:.1f} us "
            f"| {taken['convert'] / taken['msgspec']:.2f} | <= {one.target:.0f} us "
            f"| {'reached' if taken['convert'] <= one.target else 'MISSED'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
