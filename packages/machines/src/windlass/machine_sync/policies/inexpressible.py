"""Finds the fields of Cluster API that the Machine API cannot express, with conversion itself.

A field is set to a value that its CRD accepts, and the object is converted. If conversion reports anything (an error,
or a warning that something is lost), the field cannot be mirrored. So the list always matches conversion: when
conversion learns a field, the field leaves the list.

    [str(field) for field in fields(infra_machine_prober(AWS))]        # ami.eksLookupType, imageLookupFormat, ...

The values come from `samples`, for each field that does not accept any string. Fields of which only some values cannot
be expressed are not found; conversion reports them when they occur.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import Struct, inspect

from windlass.api import capi
from windlass.kube import decoding
from windlass.machine_sync.conversion.machine_set_to_machine_api import machine_api_machine_set
from windlass.machine_sync.platforms import Platform
from windlass.machine_sync.platforms.samples import NO_SAMPLES, Form, Samples

Tree = dict[str, Any]
Reports = Callable[[Tree], bool]
"""Whether conversion reports anything about a spec."""
Make = Callable[[Any], Tree]
"""A whole spec around one of its parts."""

_CORE: Final[Tree] = {
    "bootstrap.configRef": {"kind": "x", "name": "x", "apiGroup": "x"},
    "deletion.nodeDeletionTimeoutSeconds": 10,
    "taints": [{"key": "x", "effect": "NoSchedule", "propagation": "Always"}],
    "taints[].propagation": "Always",
}
"""Values of a Machine's fields that do not accept any."""


class Step(Struct, frozen=True):
    """One name of a path. `absent`: the value of the field if it is not set, as CEL; "" if only its presence
    matters."""

    name: str
    absent: str = ""
    is_list: bool = False


class Field(Struct, frozen=True):
    """A field by its path. `forms`: the forms of list items on the path in which it cannot be expressed; empty: all."""

    path: tuple[Step, ...]
    forms: tuple[Form, ...] = ()

    def __str__(self) -> str:
        *way, last = self.path
        return "".join(f"{step.name}{'[]' if step.is_list else ''}." for step in way) + last.name


class Prober(Struct, frozen=True):
    """A type of spec, its conversion, and the samples."""

    spec: type[Struct]
    reports: Reports
    samples: Samples = NO_SAMPLES


def infra_machine_prober(platform: Platform) -> Prober:
    """For the spec of the platform's infra machine, which is that of its template too."""
    kind: Any = platform.infra_machine
    samples = platform.samples
    (spec,) = (_bare(one.type) for one in _fields(kind) if one.encode_name == "spec")
    assert isinstance(spec, inspect.StructType)

    def reports(tree: Tree) -> bool:
        machine = kind(spec=decoding.convert(tree, spec.cls))
        around = decoding.convert({"spec": samples.machine}, capi.Machine)
        converted = platform.to_machine_api(around, machine, _cluster(platform))
        return bool(converted.errors or converted.remarks)

    return Prober(spec.cls, reports, samples)


def machine_prober(platform: Platform) -> Prober:
    """For the spec of a Machine, which is that of a MachineSet's template too. All platforms give the same answer."""
    machine = platform.samples.machine
    samples = Samples(base=machine, values={**_CORE, **machine})
    return Prober(capi.MachineSpec, lambda tree: _set_reports(platform, {"template": {"spec": tree}}), samples)


def machine_set_prober(platform: Platform) -> Prober:
    """For the spec of a MachineSet, less its template."""
    skipped = Samples(base={"template": {"spec": platform.samples.machine}}, skip=frozenset({"template"}))
    return Prober(capi.MachineSetSpec, lambda tree: _set_reports(platform, tree), skipped)


def _set_reports(platform: Platform, spec: Tree) -> bool:
    machine_set = capi.MachineSet(spec=decoding.convert(spec, capi.MachineSetSpec))
    samples = platform.samples
    infra: Any = decoding.convert({"spec": {"template": {"spec": samples.base}}}, platform.infra_template)
    converted = machine_api_machine_set(platform, machine_set, infra, infra_cluster=_cluster(platform))
    return bool(converted.errors or converted.remarks)


def _cluster(platform: Platform) -> Any:
    return decoding.convert({"spec": platform.samples.cluster}, platform.infra_cluster)


def fields(prober: Prober) -> list[Field]:
    """The fields that cannot be expressed, in the order of the type; for a struct without any expressible field, only
    the struct.

    ValueError if conversion reports something about the base of the samples: then nothing would seem expressible.
    """
    base = prober.samples.base
    if prober.reports(base):
        raise ValueError(
            f"conversion cannot express even {prober.spec.__name__} {base}: give the platform a base in "
            "its folder of windlass.machine_sync.platforms"
        )
    return list(_walk(prober, prober.spec, (), make=lambda tree: {**base, **tree}))


def _walk(prober: Prober, spec: type[Struct], path: tuple[Step, ...], *, make: Make) -> Iterator[Field]:
    """Fields of `spec` and below."""
    samples = prober.samples
    for one in _fields(spec):
        known = _pointee(one.type)
        at = (*path, Step(one.encode_name, _absent(one), is_list=isinstance(known, inspect.ListType)))
        name = str(Field(at))
        if name in samples.skip:
            continue
        sample = samples.values.get(name, _sample(known))
        put = _under(make, one.encode_name, beside=samples.company.get(name, {}))
        if prober.reports(put(sample)):
            yield Field(at)
        elif isinstance(known, inspect.StructType):
            yield from _walk(prober, known.cls, at, make=_over(put, sample))
        elif isinstance(known, inspect.ListType) and isinstance(item := _bare(known.item_type), inspect.StructType):
            yield from _items(prober, item.cls, at, sample=sample[0], make=_as_item(put))


def _items(prober: Prober, item: type[Struct], path: tuple[Step, ...], *, sample: Tree, make: Make) -> Iterator[Field]:
    """Fields of the items of a list, once for each form that an item can have."""
    forms = prober.samples.forms.get(str(Field(path)), ())
    bases = [form.item for form in forms] or [sample]
    found = [[field.path for field in _walk(prober, item, path, make=_over(make, base))] for base in bases]
    for at in dict.fromkeys(path for each in found for path in each):
        where = tuple(form for form, each in zip(forms, found, strict=False) if at in each)
        yield Field(at, () if len(where) == len(forms) else where)


def _under(make: Make, key: str, *, beside: Tree) -> Make:
    return lambda value: make({**beside, key: value})


def _over(make: Make, base: Tree) -> Make:
    return lambda tree: make({**base, **tree})


def _as_item(make: Make) -> Make:
    return lambda item: make([item])


def _fields(spec: type[Any]) -> tuple[inspect.Field, ...]:
    info = inspect.type_info(spec)
    assert isinstance(info, inspect.StructType), spec
    return info.fields


def _bare(known: inspect.Type) -> inspect.Type:
    """The type without what the API server alone checks."""
    while isinstance(known, inspect.Metadata):
        known = known.type
    return known


def _pointee(known: inspect.Type) -> inspect.Type:
    """The type that is not None."""
    known = _bare(known)
    if isinstance(known, inspect.UnionType):
        (known,) = (one for one in known.types if not isinstance(one, inspect.NoneType))
    return _bare(known)


_ABSENT: Final[dict[type[inspect.Type], str]] = {
    inspect.StrType: "''",
    inspect.IntType: "0",
    inspect.BoolType: "false",
    inspect.ListType: "[]",
    inspect.DictType: "{}",
}


def _absent(field: inspect.Field) -> str:
    """Go omits zero values of plain types, and empty lists and maps; it writes those of pointers."""
    known = _pointee(field.type)
    is_pointer = known is not _bare(field.type) and not isinstance(known, inspect.ListType)
    return "" if is_pointer else _ABSENT.get(type(known), "")


def _sample(known: inspect.Type) -> Any:
    match _bare(known):
        case inspect.StrType():
            return "x"
        case inspect.IntType():
            return 1
        case inspect.BoolType():
            return True
        case inspect.ListType(item_type=item):
            return [_sample(item)]
        case inspect.DictType(value_type=value):
            return {"x": _sample(value)}
        case inspect.StructType():
            return {}
    raise AssertionError(f"no sample for {known}")
