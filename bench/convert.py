"""Convert one Machine to the Machine API, decoding and encoding included, beside decoding and encoding alone.

    python bench/convert.py [--rounds N]

The documents are those of the recorded conversions that are meant to succeed. In every round each job does all of them
once, jobs in turn, so that what else the computer does falls on all alike; the median of the rounds counts.

| column | job |
|---|---|
| convert | decode Machine, infrastructure machine and cluster; convert; encode the Machine of the Machine API |
| msgspec | decode the same three documents; encode the same Machine, converted beforehand |
| tree | decode the same three to plain dicts; encode the same Machine as plain dicts: no types, no conversion |
"""

import argparse
import gc
import gzip
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from windlass.api import capi
from windlass.machine_sync.platforms import AWS, OPENSTACK, Platform

DATA = Path(__file__).parents[1] / "tests" / "data" / "machine_sync"
TARGET = 60.0
"""Microseconds for one Machine."""

Documents = tuple[bytes, bytes, bytes]


def recorded(provider: str) -> list[Documents]:
    with gzip.open(DATA / f"{provider}_capi2mapi.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    clean = [row["input"] for row in rows if row["case"].startswith("real-clean") and row["kind"] == "Machine"]
    return [
        (
            msgspec.json.encode(given["machine"]),
            msgspec.json.encode(given["infraMachine"]),
            msgspec.json.encode(given["infraCluster"]),
        )
        for given in clean
    ]


def jobs(platform: Platform, documents: list[Documents]) -> dict[str, Callable[[], None]]:
    """What is compared; each does all documents once."""
    encode = msgspec.json.Encoder().encode
    decode_machine = msgspec.json.Decoder(capi.Machine).decode
    decode_infra: Callable[[bytes], Any] = msgspec.json.Decoder(platform.infra_machine).decode
    decode_cluster: Callable[[bytes], Any] = msgspec.json.Decoder(platform.infra_cluster).decode
    decode_tree = msgspec.json.Decoder().decode
    to_machine_api = platform.to_machine_api

    def converted(given: Documents) -> Any:
        machine, infra, cluster = given
        return to_machine_api(decode_machine(machine), decode_infra(infra), decode_cluster(cluster)).machine

    results = [converted(given) for given in documents]
    assert all(result is not None for result in results)
    trees = [msgspec.to_builtins(result) for result in results]

    def convert() -> None:
        for given in documents:
            encode(converted(given))

    def typed() -> None:
        for (machine, infra, cluster), result in zip(documents, results, strict=True):
            decode_machine(machine)
            decode_infra(infra)
            decode_cluster(cluster)
            encode(result)

    def untyped() -> None:
        for (machine, infra, cluster), tree in zip(documents, trees, strict=True):
            decode_tree(machine)
            decode_tree(infra)
            decode_tree(cluster)
            encode(tree)

    return {"convert": convert, "msgspec": typed, "tree": untyped}


def measure(compared: dict[str, Callable[[], None]], *, rounds: int, each: int) -> dict[str, float]:
    """Microseconds for one Machine, by job: the median of all rounds."""
    times: dict[str, list[float]] = {name: [] for name in compared}
    for _ in range(rounds):
        for name, job in compared.items():
            start = time.perf_counter()
            job()
            times[name].append((time.perf_counter() - start) / each * 1e6)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the conversion of a Machine to the Machine API.")
    parser.add_argument("--rounds", type=int, default=500)
    rounds = parser.parse_args().rounds

    gc.freeze()
    print(f"Cluster API -> Machine API, one Machine, median of {rounds} rounds\n")
    print("| platform | machines | bytes in | convert | msgspec | tree | convert/msgspec | target | |")
    print("|---|---|---|---|---|---|---|---|---|")
    for platform, provider in ((AWS, "aws"), (OPENSTACK, "openstack")):
        documents = recorded(provider)
        compared = jobs(platform, documents)
        measure(compared, rounds=20, each=len(documents))
        taken = measure(compared, rounds=rounds, each=len(documents))
        size = sum(len(document) for given in documents for document in given) // len(documents)
        print(
            f"| {platform.name} | {len(documents)} | {size} "
            f"| {taken['convert']:.1f} us | {taken['msgspec']:.1f} us | {taken['tree']:.1f} us "
            f"| {taken['convert'] / taken['msgspec']:.2f} | <= {TARGET:.0f} us "
            f"| {'reached' if taken['convert'] <= TARGET else 'MISSED'} |"
        )


if __name__ == "__main__":
    main()
