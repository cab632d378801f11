"""The mutations: faults that would hurt people, each small enough to slip in by hand.

A new rule of deletion, migration or writing gets one. Choose a text that says what the rule is about, so that it stays.
"""

from msgspec import Struct


class Mutation(Struct, frozen=True):
    """In `file` (below `src/windlass`), `text` becomes `replacement`; one of `tests` (below `tests/unit`) must fail."""

    file: str
    text: str
    replacement: str
    tests: str

    def __str__(self) -> str:
        def line(text: str) -> str:
            return " ".join(text.split()) or "nothing"

        return f"{self.file}: {line(self.text)}  ->  {line(self.replacement)}"


def _in(file: str, tests: str, *changes: tuple[str, str]) -> tuple[Mutation, ...]:
    return tuple(Mutation(file, text, replacement, f"tests/unit/{tests}") for text, replacement in changes)


_WRITING = (
    *_in(
        "kube/control/executor.py",
        "kube/control/test_executor.py",
        (
            '{"metadata": {"finalizers": action.desired, "resourceVersion": version}}',
            '{"metadata": {"finalizers": action.desired}}',
        ),
        (
            'metadata = {**(action.patch.get("metadata") or {}), "resourceVersion": version}',
            'metadata = {**(action.patch.get("metadata") or {})}',
        ),
        ("self._patch(action, [test, *operations], PatchType.JSON)", "self._patch(action, operations, PatchType.JSON)"),
        ("            if live.resource_version == version:\n                raise\n", ""),
        ("                uid=aim.uid,\n", ""),
        ('resource_version=version if action.pin else ""', 'resource_version=""'),
        ("except NotFound:\n            return None", "except KubeError:\n            return None"),
        (
            "            except KubeError:\n                self._ledger.doubt(aim)\n",
            "            except KubeError:\n                self._ledger.removed(aim)\n",
        ),
        ("            versions[action.target.uid] = answer.resource_version\n", ""),
        (
            "            if any(result is not None and result.error is not None for result in done):",
            "            if False:",
        ),
        ("        if error.unknown_outcome:", "        if False:"),
        ("            self._require_declared(action)\n", ""),
        ("            _require_identity(action)\n", ""),
        ("if answer is not None and is_gone(answer):", "if False:"),
        ("                self._mind_refused(action, error)\n", ""),
        ("action.reason, action.note, action.occasion)", "action.reason, action.note)"),
    ),
    *_in(
        "kube/control/rounds.py",
        "kube/control/test_rounds.py",
        ("undecidable is not None or what_failed(last) == what_failed(earlier)", "undecidable is not None"),
        ("isinstance(error, Conflict | AlreadyExists)", "False"),
        ("if error is None and not any(result.changed for result in last.results):", "if False:"),
        ("Outcome() if _vanished(last) else last", "last"),
    ),
    *_in(
        "kube/control/merge.py",
        "kube/control/test_merge.py",
        ("if there is not None and desired.get(key) is None:", "if False:"),
        ("isinstance(left, bool) == isinstance(right, bool) and bool(left == right)", "bool(left == right)"),
    ),
)

_CALLING = (
    *_in(
        "kube/control/effects.py",
        "kube/control/test_effects.py",
        ("        except BaseException:\n            carrier.doubt(call.request)\n", "        except BaseException:\n"),
        ("        except TimeoutError:\n            carrier.doubt(call.request)\n", "        except TimeoutError:\n"),
        ("            if error.unknown_outcome:", "            if False:"),
        ("        require_call(self._permits, call.request, what=call)\n", ""),
        ("        if self._fence is not None:", "        if False:"),
        ("min(call.request.SECONDS, self._fence.longest_write)", "0.0"),
    ),
    *_in(
        "kube/control/executor.py",
        "kube/control/test_effects.py",
        ("isinstance(one, Call) and isinstance(other, Call)", "isinstance(one, Call)"),
        ("gather(*carried, return_exceptions=True)", "gather(*carried)"),
    ),
    *_in(
        "kube/control/rounds.py",
        "kube/control/test_rounds_of_calls.py",
        ("if before is not None or self.stop is not None:", "if before is not None:"),
        ("if before is not None or self.stop is not None:", "if self.stop is not None:"),
        ("if result.error is not None and (result.error.transient or result.error.unknown_outcome):", "if False:"),
        ("return Outcome((*failed, *others), self.unread)", "return Outcome((*failed, *others))"),
        ("return Outcome((*failed, *others), self.unread)", "return Outcome(last.results, self.unread)"),
        ("if _vanished(last) or _is_call(last.failed):", "if _vanished(last):"),
        ("isinstance(each.error, Fenced | Withheld)", "isinstance(each.error, Withheld)"),
    ),
    *_in(
        "kube/control/plan.py",
        "kube/control/test_effects.py",
        ('"(secret)" if name in self.SECRET else value', "value"),
    ),
    *_in(
        "kube/control/worker.py",
        "kube/control/test_controller.py",
        ("return (error.retry_after or 0.0) if error else 0.0", "return 0.0"),
    ),
    *_in(
        "kube/process/manager.py",
        "kube/process/test_manager.py",
        ("                    fence=self._election,\n", ""),
    ),
    *_in(
        "testing/crash.py",
        "testing/test_crash_systems.py",
        ("if (world.version, fate.calls) == before:", "if world.version == before[0]:"),
    ),
)

_SEEING = (
    *_in(
        "kube/client/overlay.py",
        "kube/client/test_overlay.py",
        ("return not meta.finalizers and meta.deletion_grace_period_seconds == 0", "return not meta.finalizers"),
        ("if version is None or (position is not None and version <= position):", "if version is None:"),
        ("return version is not None and version <= tombstone.version", "return False"),
        ("return self._entries.get(key) is tombstone and self.drop(key)", "return self.drop(key)"),
    ),
    *_in(
        "kube/cache/store.py",
        "kube/cache/test_store.py",
        ("elif self._is_late(told, version, old=old, deleted=deleted):", "elif False:"),
        ("        changes += [Change(old, None) for key, old in before.items() if key not in objects]\n", ""),
        ("        self._overlay.clear()\n", ""),
    ),
    *_in(
        "kube/cache/reflector.py",
        "kube/cache/test_reflector.py",
        ("if isinstance(error, Gone | _Rewound):", "if False:"),
        ('raise TransportError("the stream ended before the list was complete")', "return"),
        ("if self._silences >= _SILENT_WATCHES_BEFORE_LIST:", "if False:"),
    ),
    *_in(
        "kube/control/reader.py",
        "kube/control/test_reader.py",
        ("if found is not None or not (confirm or cache.selected):", "if found is not None or not confirm:"),
    ),
    *_in("kube/object.py", "kube/test_nesting.py", ("        if CUT in self.raw:", "        if False:")),
    *_in(
        "capability/documents/reading.py",
        "capability/documents/test_reading.py",
        ('excess=TOO_DEEP if CUT in text or is_deep(text) else ""', 'excess=""'),
    ),
)

_IN_TURN = (
    *_in(
        "kube/control/queue.py",
        "kube/control/test_queue.py",
        ("            self._keep_back(key, priority)\n            return\n", "            return\n"),
        (".delay(failures, self._random), at_least)", ".delay(failures, self._random), 0.0)"),
        ("(not normal or self._normal_in_a_row >= LOW_SHARE)", "not normal"),
        ("        if again is not None and not self._closed:", "        if False:"),
        ("if due is not None and due.priority <= priority:", "if due is not None:"),
        ("elif (not_before := self._not_before.get(key, 0.0)) > now:", "elif (not_before := 0.0) > now:"),
    ),
    *_in(
        "kube/control/rounds.py",
        "kube/control/test_pace.py",
        ("        if rest and refused.error is None and", "        if False and refused.error is None and"),
        ("        if rest and refused.error is None and", "        if rest and"),
        ("        rest = pace.rest(clock() - began)\n", ""),
    ),
    *_in(
        "kube/control/worker.py",
        "kube/control/test_pace.py",
        ("return max(ending.rest, controller.pace.floor)", "return ending.rest"),
    ),
    *_in(
        "kube/process/lease.py",
        "kube/process/test_lease.py",
        (
            "left = self._expiry - self.times.margin - self._clock.monotonic()",
            "left = self._expiry - self._clock.monotonic()",
        ),
        (
            "        self._expiry = since + self.times.duration",
            "        self._expiry = since + 2 * self.times.duration",
        ),
        ("if record.holder_identity != self.identity:", "if False:"),
        ("        finally:\n            self._leading = False\n", "        finally:\n            pass\n"),
        ("        if not self._rival.gone:", "        if False:"),
        ('{"metadata": {"resourceVersion": version}, "spec": spec}', '{"spec": spec}'),
    ),
    *_in(
        "kube/client/transport.py",
        "kube/client/test_client_errors.py",
        ("            limit = min(limit, self.fence.longest_write)\n", "            pass\n"),
        ("            self.fence.gate(left)\n", "            pass\n"),
    ),
    *_in(
        "kube/control/poll.py",
        "kube/control/test_poll.py",
        ("            self._soon.clear()\n            self._earliest", "            self._earliest"),
        ("await asyncio.sleep(self._earliest - loop.time())", "await asyncio.sleep(0)"),
    ),
    *_in(
        "kube/control/controller.py",
        "kube/control/test_controller.py",
        ("        if not self.needs_leadership:\n", "        if False:\n"),
    ),
    *_in(
        "kube/process/process.py",
        "kube/process/test_process.py",
        ("                        self._begin_drain()\n", "                        pass\n"),
        ("            self._deadline.reschedule(self._drained_by)\n", "            pass\n"),
    ),
    *_in(
        "kube/process/manager.py",
        "kube/process/test_manager.py",
        ("self._leads if entry.controller.needs_leadership else self._runs", "self._runs"),
        ("        entry = self._entries.get(name)\n", "        entry = self._entries.pop(name, None)\n"),
        (
            "        if self._stopping.is_set():\n            self._entries",
            "        if False:\n            self._entries",
        ),
        ("client.fence is not election:", "False:"),
    ),
    *_in(
        "kube/control/permissions.py",
        "kube/control/test_permissions.py",
        ("each.namespace in (None, namespace) and ", ""),
        (" and (not each.names or name in each.names)", ""),
    ),
    *_in(
        "kube/control/reader.py",
        "kube/control/test_reader.py",
        ('        require(self._permits, kind, "get", namespace=namespace, name=name)\n', ""),
    ),
)

_DECIDING = (
    *_in(
        "machine_sync/machine/decide.py",
        "machine_sync/machine/test_decide.py",
        ("if twin.deletion_timestamp is not None:", "if False:"),
        ("if source_set is not None and source_set.uid != owner.uid:", "if False:"),
    ),
    *_in(
        "machine_sync/machine/decide.py",
        "machine_sync/machine/test_migration.py",
        ("if _being_provisioned(seen, found):", "if False:"),
        ("if not migration.taken_up(move):", "if False:"),
    ),
    *_in(
        "machine_sync/mirroring/migration.py",
        "machine_sync/machine/test_migration.py",
        ("not says_paused(move.machine_api):", "False:"),
        ("moving = next((part for part in move.parts if not part.stands_still), None)", "moving = None"),
        ("for part in reversed(move.parts):", "for part in move.parts:"),
        ("if isinstance(part.seen, Unreadable) and part.reports:", "if False:"),
        (" or not is_true(conditions_of(move.machine_api.tree), SYNCHRONIZED):", ":"),
        ("            goal = move.source\n", "            pass\n"),
        (
            "lambda key, _: key in (PAUSED_ANNOTATION, *_OF_A_MIRROR)",
            "lambda key, _: key in _OF_A_MIRROR",
        ),
        ("ours = move.noted == 0 and ", "ours = "),
    ),
    *_in(
        "machine_sync/mirroring/migration.py",
        "machine_sync/machine/test_lag.py",
        ("    return in_sync()\n", "    return True\n"),
    ),
    *_in(
        "machine_sync/mirroring/move.py",
        "machine_sync/machine/test_migration.py",
        ("return self.annotated and (not reports or says_paused(self.seen))", "return self.annotated"),
    ),
    *_in(
        "machine_sync/machine/observe.py",
        "machine_sync/machine/test_lag.py",
        ("elif behind(seen.machine_api, source):", "elif False:"),
        ("if infra is None or PAUSED_ANNOTATION in infra.annotations:", "if True:"),
    ),
    *_in(
        "machine_sync/machine/deletion.py",
        "machine_sync/machine/test_deletion.py",
        ("if MACHINE_API_FINALIZER in source.finalizers:", "if False:"),
        ("if infra is not None and not _paused(infra) and _provider_at_work(infra):", "if False:"),
        ("    if CLUSTER_API_FINALIZER in source.finalizers:", "    if False:"),
        ("Delete(target=aim, why=why) if _confirmed_absent(seen.cluster_api) else None", "Delete(target=aim, why=why)"),
        ("    if infra is not None and _provider_at_work(infra):", "    if False:"),
        ("if mirror is not None and not _paused(mirror) and CLUSTER_API_FINALIZER in mirror.finalizers:", "if False:"),
        ("return isinstance(found, Absent) and found.confirmed", "return isinstance(found, Absent)"),
        ("        if collected.in_cluster_api(seen, mirror):", "        if False:"),
        ("    if not collected.in_machine_api(seen, mirror):", "    if True:"),
        ("        _disowned_infra(seen),\n", ""),
    ),
    *_in(
        "machine_sync/machine/collected.py",
        "machine_sync/machine/test_deletion.py",
        ("and FOREGROUND in owning.finalizers", ""),
        ("return AUTHORITY_ANNOTATION in owning.annotations and", "return"),
        ("        adopted(seen, mirror) or is_gone(", "        is_gone("),
        ("        and set_owner(source, capi.MachineSet.RESOURCE.api_version) is None\n", ""),
    ),
    *_in(
        "machine_sync/machine/owners.py",
        "machine_sync/machine/test_deletion.py",
        ("if mirror is not None and (goes or", "if mirror is not None and (False or"),
        ("    if twin.deletion_timestamp is not None and mirror is not None:", "    if False:"),
        ("if machine_api_set.object.status.authoritative_api != MACHINE_API:", "if False:"),
        ("if owner.uid == machine_api_set.metadata.uid]", "if False]"),
    ),
    *_in(
        "machine_sync/machine_set/deletion.py",
        "machine_sync/machine_set/test_deletion.py",
        ('propagation="Orphan" if seen.disowned else propagation(mirror)', "propagation=propagation(mirror)"),
        ('            propagation="Orphan",\n            why="the Machine', '            why="the Machine'),
        (
            "    if seen.owned:\n        return _until_disowned(seen, capi",
            "    if False:\n        return _until_disowned(seen, capi",
        ),
        ("    if mirror is not None and seen.owned:", "    if False:"),
    ),
)

_OBSERVING = (
    *_in(
        "machine_sync/machine/controller.py",
        "machine_sync/machine/test_controller.py",
        ("            Watch(capi.Cluster, of_this_cluster, namespace=theirs, when=identity_differs),\n", ""),
        (", *of_cluster_api(BY_INFRA_MACHINE)(infra)}", "}"),
        ("for kind in both for machine", "for kind in (capi.Machine,) for machine"),
    ),
    *_in(
        "machine_sync/machine_set/controller.py",
        "machine_sync/machine_set/test_controller.py",
        ("return old is not None and (new is None or self.uids(old) != self.uids(new))", "return True"),
    ),
    *_in(
        "machine_sync/machine_set/observe.py",
        "machine_sync/machine_set/test_observe.py",
        ("        return tuple(sorted(users - {besides}))", "        return ()"),
        ("replace(found, acting=tuple(acting[name] for name in sorted(acting)))", "found"),
        ("if mirror is None or _owner_uid(mirror) != ours.uid:", "if False:"),
        ("any(set_owner(mirror, kind) is None for mirror in mirrors)", "False"),
    ),
)

_MIRRORING = (
    *_in(
        "machine_sync/machine/infra_machine.py",
        "machine_sync/machine/test_infra_machine.py",
        ("    if PAUSED_ANNOTATION not in meta.annotations:", "    if False:"),
        (
            "tuple(finalizer for finalizer in meta.finalizers if finalizer not in COLLECTORS)",
            "tuple(meta.finalizers)",
        ),
        ("deleting=ORPHAN in theirs or not theirs,", "deleting=True,"),
        ("deleting=ORPHAN in theirs or not theirs,", "deleting=not theirs,"),
        ("observed=(*held, ORPHAN) if theirs else held,", "observed=held,"),
        ("marks=_marks(seen, spec) if owner is not None else {}", "marks={}"),
    ),
    *_in(
        "machine_sync/mirroring/infra_machine_spec.py",
        "machine_sync/machine/test_known_defaults.py",
        ("    if not fields or noted is None:", "    if True:"),
        ("        if before.get(key) != now.get(key)\n", "        if False\n"),
        ("        or (key in platform.infra_machine_mutable and not covers(", "        or (False and not covers("),
    ),
    *_in(
        "machine_sync/machine/infra_machine.py",
        "machine_sync/machine/test_known_defaults.py",
        (
            "    marks = (PAUSED_ANNOTATION, MIRRORED_SPEC_ANNOTATION, MACHINE_ANNOTATION)",
            "    marks = (PAUSED_ANNOTATION,)",
        ),
    ),
    *_in(
        "machine_sync/mirroring/migration.py",
        "machine_sync/machine/test_known_defaults.py",
        ("_OF_A_MIRROR = (AUTHORITY_ANNOTATION, MIRRORED_SPEC_ANNOTATION, ", "_OF_A_MIRROR = (AUTHORITY_ANNOTATION, "),
        ("            kept.pop(MIRRORED_SPEC_ANNOTATION, None)", "            pass"),
    ),
    *_in(
        "machine_sync/machine_set/infra_templates.py",
        "machine_sync/machine_set/test_known_defaults.py",
        ("    if set_of(found) == seen.name:", "    if False:"),
    ),
    *_in(
        "machine_sync/machine_set/infra_templates.py",
        "machine_sync/machine_set/test_decide.py",
        ("if not covers(there.get(key), made.get(key))}", "if False}"),
    ),
    *_in(
        "machine_sync/machine/observe.py",
        "machine_sync/machine/test_lost_mirror.py",
        ("for other in sorted(known - {name}) if name not in known else ():", "for other in ():"),
    ),
    *_in(
        "machine_sync/machine/infra_machine.py",
        "machine_sync/machine/test_lost_mirror.py",
        ("{MACHINE_ANNOTATION: seen.name} if infra_machine_name(seen) != seen.name else {}", "{}"),
    ),
    *_in(
        "machine_sync/mirroring/synchronized.py",
        "machine_sync/machine/test_oversized.py",
        ("        if size > ANNOTATIONS_LIMIT:", "        if False:"),
        ("return Fault(reason, text, retry=False, remedy=remedy)", "return Fault(reason, text, remedy=remedy)"),
    ),
    *_in(
        "machine_sync/machine/mirror_in_cluster_api.py",
        "machine_sync/machine/test_mirror_in_cluster_api.py",
        (
            'MARKS: Final = {PAUSED_ANNOTATION: "", AUTHORITY_ANNOTATION: MACHINE_API}',
            "MARKS: Final = {AUTHORITY_ANNOTATION: MACHINE_API}",
        ),
        ('    spec["infrastructureRef"]["name"] = infra_machine_name(seen)\n', ""),
    ),
    *_in(
        "machine_sync/machine/mirror_in_machine_api.py",
        "machine_sync/machine/test_mirror_in_machine_api.py",
        ('    body["spec"]["authoritativeAPI"] = CLUSTER_API\n', ""),
    ),
    *_in(
        "machine_sync/platforms/platform.py",
        "machine_sync/machine/test_mirror_in_machine_api.py",
        ("if self._same_provider_spec(there, value):", "if False:"),
    ),
    *_in(
        "machine_sync/mirroring/metadata.py",
        "machine_sync/mirroring/test_metadata.py",
        (
            '"labels": {**_without(labels_before, remembered_labels), **labels',
            '"labels": {**labels_before, **labels',
        ),
        ("            **_without(annotations_before, {*remembered_annotations, *memory}),\n", ""),
    ),
    *_in(
        "machine_sync/mirroring/finalizers.py",
        "machine_sync/mirroring/test_finalizers.py",
        ("if meta is not None and meta.deletion_timestamp is None", "if meta is not None"),
    ),
    *_in(
        "machine_sync/conversion/machine_to_machine_api.py",
        "machine_sync/conversion/test_machine_to_machine_api.py",
        ("if delete is not None and delete != DELETION_TIMEOUT:", "if False:"),
        ("provider_id=source.spec.provider_id or None", "provider_id=None"),
    ),
    *_in(
        "machine_sync/conversion/machine_to_cluster_api.py",
        "machine_sync/conversion/test_machine_to_cluster_api.py",
        ('provider_id=source.spec.provider_id or ""', 'provider_id=""'),
        ("        **hook_annotations(source.spec.lifecycle_hooks),\n", ""),
    ),
)

_ASSESSING = (
    *_in(
        "update_status/assessment/control_plane.py",
        "update_status/assessment/test_control_plane.py",
        ("return condition(reversed(conditions), name)", "return condition(conditions, name)"),
        ("history[0].image != history[1].image", "True"),
        ("target=status.desired.version, image", "target=status.history[0].version, image"),
        ("if len(plane.operators) - plane.updated == 1:", "if True:"),
        ("enumerate(history[1:-1], start=1)", "enumerate(history[1:], start=1)"),
        ("last_progress=last if last > started else None", "last_progress=last"),
    ),
    *_in(
        "update_status/assessment/nodes.py",
        "update_status/assessment/test_nodes.py",
        ("DESIRED_CONFIG not in said or", "not said.get(DESIRED_CONFIG) or"),
        ("not arrived and on_pool:", "not arrived:"),
        (' or state == "Done":', ":"),
        ("bool(said.get(DESIRED_CONFIG)) and said.get(STATE)", "said.get(STATE)"),
        ("if why and node.out_of_service and", "if why and"),
    ),
    *_in(
        "update_status/assessment/availability.py",
        "update_status/assessment/test_availability.py",
        (" if causes and _has_image_of(pool, node) else None", " if causes else None"),
        ("if CURRENT_IMAGE not in said and DESIRED_IMAGE not in said:", "if not said.get(DESIRED_IMAGE):"),
        ("for cause in self.causes if cause.since != ZERO)", "for cause in self.causes)"),
    ),
    *_in(
        "update_status/assessment/pools.py",
        "update_status/assessment/test_pools.py",
        ("labels.get(key) not in values", "key in labels and labels[key] not in values"),
        ("if selector is None:\n        return lambda _: False", "if selector is None:\n        return lambda _: True"),
        ("rank = {MASTER: 0, WORKER: 2}", "rank = {MASTER: 0, WORKER: 1}"),
        (' and progressing is not None and progressing.status == "True"', ""),
    ),
    *_in(
        "update_status/assessment/insights.py",
        "update_status/assessment/test_insights.py",
        ("if now <= started + TOLERATED:", "if now < started + TOLERATED:"),
        ("Level.ERROR if now > started + too_long", "Level.ERROR if now >= started + too_long"),
        ("not versions.incomplete or plane.all_updated", "not versions.incomplete"),
    ),
    *_in(
        "update_status/assessment/alerts.py",
        "update_status/assessment/test_alerts.py",
        ("during=began > started", "during=began >= started"),
        (' or alert.state == "pending"', ""),
    ),
    *_in(
        "update_status/estimate.py",
        "update_status/test_estimate.py",
        ("to_last_progress > 5 * MINUTE", "to_last_progress >= 0"),
        ("else left / LATE) * SECOND", "else left * LATE) * SECOND"),
    ),
    *_in(
        "update_status/report.py",
        "update_status/assessment/test_pools.py",
        ("if self.pending == self.total:", "if self.pending == self.total and not self.degraded:"),
    ),
)

_REPORTING = (
    *_in(
        "update_status/document/sections.py",
        "update_status/document/test_merging.py",
        ("if stood is not None and stood.insight == entry.insight:", "if stood is not None:"),
    ),
    *_in(
        "update_status/document/sections.py",
        "update_status/document/test_limits.py",
        ("if identity in self._entries:", "if False:"),
        ("return entry, trouble(entry)", 'return entry, ""'),
        ("            self._invalid.append(", "            (lambda said: None)("),
    ),
    *_in(
        "update_status/document/sections.py",
        "update_status/document/test_settled.py",
        ("(plane, pen.now),", "plane,"),
        ("(insight, insight.started == pen.now),", "insight,"),
        ("SETTLED.get(key) == (part, stood)", "SETTLED.get(key, (0, 0))[1] == stood"),
        ("SETTLED.get(key) == (part, stood)", "SETTLED.get(key, (0, 0))[0] == part"),
        ("if entry is stood and not cut:", "if entry is stood:"),
        ("        SETTLED.clear()\n", "        pass\n"),
    ),
    *_in(
        "update_status/document/pen.py",
        "update_status/document/test_merging.py",
        ("one.type == kind and one.status == status", "one.type == kind"),
        ("difference <= max(MINUTE,", "difference <= min(MINUTE,"),
    ),
    *_in(
        "update_status/document/insights.py",
        "update_status/document/test_merging.py",
        ("before and before.start_source == source", "before and False"),
        ("insight.started == pen.now and", "False and"),
        ("if before and seen == phase.reason else", "if before else"),
    ),
    *_in(
        "update_status/document/limits.py",
        "update_status/document/test_limits.py",
        ("(weight(entry), -place)", "(0, -place)"),
        ("left_out[sections[-number].pool, what] += 1", "pass"),
        ("_least_first(section.entries)[:too_many]", "_least_first(section.entries)[: too_many - 1]"),
        ("or what is Weight.KEPT", ""),
    ),
    *_in(
        "update_status/document/uids.py",
        "update_status/document/test_uids.py",
        ("insight.started if of_alert else None", "None"),
        ("insight.started if of_alert else None", "insight.started"),
        ("insight.impact, ", ""),
    ),
    *_in(
        "update_status/document/reading.py",
        "update_status/document/test_round_trip.py",
        ("(MASTER, masters), *pools[place:]", "*pools[place:], (MASTER, masters)"),
    ),
)

_FOLLOWING = (
    *_in(
        "update_status/reading/clock.py",
        "update_status/reading/test_mock.py",
        (") > now:\n            now = when + AFTER", ") >= now - AFTER:\n            now = when + AFTER"),
    ),
    *_in(
        "update_status/reading/objects.py",
        "update_status/reading/test_mock.py",
        ("    if not text:\n", "    if False:\n"),
        (
            '"" if text is None else text for name, text in value.items()',
            "text for name, text in value.items() if text",
        ),
    ),
    *_in(
        "update_status/reading/alerts.py",
        "update_status/reading/test_alerts.py",
        ("            break\n", ""),
    ),
    *_in(
        "update_status/reading/live.py",
        "update_status/reading/test_live.py",
        ("if assess(sources, now=now).updating:", "if True:"),
        ("_REFUSALS = (ApiError, DecodeError)", "_REFUSALS = (Failure,)"),
        ("    if not pools and await _is_hosted(api):", "    if False:"),
        ("alerts=found, alerts_trouble=trouble", "alerts=found"),
    ),
    *_in(
        "update_status/reading/thanos.py",
        "update_status/reading/test_thanos.py",
        ('if not credential.authorization.startswith("Bearer "):', "if False:"),
        ("retry=once, ", ""),
        ("            server_name=None,\n", ""),
    ),
    *_in(
        "update_status/reading/dump.py",
        "update_status/reading/test_dump.py",
        ("max(_gathered(inputs), last_transition(sources))", "_gathered(inputs) or last_transition(sources)"),
    ),
    *_in(
        "cli/update_status/status/follow.py",
        "cli/update_status/test_follow.py",
        ("seen.settled and not", "not"),
        ("passing, before = bool(before and missing), seen", "passing, before = False, seen"),
        ("if first or not passing:", "if not passing:"),
        ("if first or not passing:", "if first:"),
    ),
    *_in(
        "cli/update_status/status/verdict.py",
        "cli/update_status/test_follow.py",
        ("return bool(left) and all(", "return bool(left) and any("),
    ),
)

_KEEPING = (
    *_in(
        "update_status/controller/decide.py",
        "update_status/controller/test_controller.py",
        ('            return Plan().retry(f"UpdateStatus', '            return Plan.nothing(f"UpdateStatus'),
        ("        yield from _tidied(newest.values(), known)\n", ""),
        (
            "Plan.of(_status(stored, after), *_recorded(seen, stored, report, after, now))",
            "Plan.of(*_recorded(seen, stored, report, after, now), _status(stored, after))",
        ),
    ),
    *_in(
        "update_status/controller/declare.py",
        "update_status/controller/test_declare.py",
        ("        or before.status != after.status\n", ""),
        ("        or before.spec != after.spec\n", ""),
        ("key.startswith(GROUP)", "True"),
    ),
    *_in(
        "update_status/controller/events.py",
        "update_status/controller/test_events.py",
        ("trouble.uid not in open_before", "True"),
        ("if pool.completed and pool.name not in known", "if pool.completed"),
    ),
    *_in(
        "update_status/controller/alerts.py",
        "update_status/controller/test_alerts.py",
        ("if not (self._wanted and self._settings.url)", "if not self._settings.url"),
        ('Answer(self.latest.found, f"{UNABLE}{why}")', 'Answer((), f"{UNABLE}{why}")'),
    ),
    *_in(
        "update_status/history.py",
        "update_status/test_history.py",
        ("operator.since if operator.since >= begun else now", "operator.since"),
        ("_without_last_seen(before) != _without_last_seen(after)", "before != after"),
        ("last_seen=present, resolved=None)", "last_seen=present)"),
        ("and entry.completed is None and node.updated", "and entry.completed is None"),
    ),
    *_in(
        "update_status/reading/kept.py",
        "update_status/reading/test_kept.py",
        ("not spec.holder_identity or ", ""),
        ("if silent > PATIENCE", "if silent >= PATIENCE"),
    ),
)

_BUILDING_IMAGES = (
    *_in(
        "os_build/request.py",
        "os_build/test_request.py",
        ("LAYERING in pool.metadata.annotations or ", ""),
        ("    if data is None:\n        where, data", "    if not data:\n        where, data"),
        ("if not config.startswith(RENDERED):", "if False:"),
        ('if not data.get(key, "").strip():', "if key not in data:"),
        ("        if backend is None:\n            known", "        if False:\n            known"),
    ),
    *_in(
        "os_build/identity.py",
        "os_build/test_identity.py",
        ("request.containerfile, str(request.target)]", "str(request.target)]"),
        ("request.containerfile, str(request.target)]", "request.containerfile]"),
        ("recorded == str(self) or (not self.rebuild and", "recorded == str(self) or ("),
        ("_hash([pool, str(inputs)])", "_hash([str(inputs)])"),
        ('(f"-{attempt}" if attempt > 1 else "")', '""'),
    ),
    *_in(
        "os_build/pool/situation.py",
        "os_build/pool/test_situation.py",
        ("not isinstance(pool, Present) or pool.deleting", "not isinstance(pool, Present)"),
        ("    if seen.claimed and seen.claim is None:", "    if False:"),
        ("if not seen.claimed and not opted_in(pool.object):", "if False:"),
        ("    if recorded := _recorded(pool.object, seen.inputs):", "    if recorded := None:"),
        ("    if build.inputs != str(seen.inputs):", "    if False:"),
        (" and build.phase != Phase.SUCCEEDED", ""),
        ("return max(wanted, key=", "return min(wanted, key="),
        ("    if build.ending:\n", "    if False:\n"),
        ("failed.cause in HEALED_BY_SECRETS and build", "build"),
        ("in HEALED_BY_SECRETS and build.secrets != seen.versions:", "in HEALED_BY_SECRETS:"),
        ("failed is None or not failed.transient or", "failed is None or"),
        (" or build.attempt >= ATTEMPTS:", ":"),
        ("[min(build.attempt, len(timing.retries)) - 1]", "[0]"),
        ("return Retrying(build, when) if now < when else None", "return None"),
        ("attempt = build.attempt + 1", "attempt = 1"),
        ("return build.started is not None and (now - build.started).total_seconds() > longest", "return False"),
        ("    if timing.debounce and now < rested and attempt == 1:", "    if False:"),
        ("Lost(build, build.ended + timedelta(seconds=timing.lost) if build.ended else now)", "Lost(build, now)"),
        ('"PinnedImageSetsDegraded", ', ""),
        ('BLOCKING: Final = ("RenderDegraded"', 'BLOCKING: Final = ("Degraded", "RenderDegraded"'),
        ("return ByConfig(missing) if isinstance(before, Ready) else before", "return ByConfig(missing)"),
    ),
    *_in(
        "os_build/pool/decide.py",
        "os_build/pool",
        ('_removed(backends, seen.builds, "its pool is gone")', "()"),
        ('*self._removed(self._seen.builds, "the pool is not opted in"), ', ""),
        ('"the pool is not opted in"), *self._quiet())', '"the pool is not opted in"))'),
        ("cleared = [*self._removed(superseded,", "cleared = [*self._removed((),"),
        (
            "return self._finished(build, digest)\n",
            'return Plan.of(*self._removed([build], "done"), *self._finished(build, digest).actions)\n',
        ),
        (
            'return Plan.of(*self._tell(told), *self._removed(self._wanted, "its result is recorded"))',
            "return Plan.of(*self._tell(told))",
        ),
        ('self._backends[build.backend].cancel(build, why="it is over its deadline")', "()"),
        ("        if self._now >= when:\n", "        if True:\n"),
        ("if materials.answer.kind in (Kind.DENIED, Kind.UNKNOWN):", "if materials.answer.kind is Kind.UNKNOWN:"),
        ("if materials.answer.kind in (Kind.DENIED, Kind.UNKNOWN):", "if materials.answer.kind is Kind.DENIED:"),
        ("self._timing.ask_again", "1e9"),
        ("for build in builds if not build.ending for action", "for build in builds for action"),
        ("news = not actions or any(action.needed for action in actions)", "news = True"),
        ('frozenset({"NotRendered", "NotRead"})', "frozenset()"),
        ('[machine_os.removed(each, "it is superseded") for each in self._seen.claim.superseded]', "[]"),
    ),
    *_in(
        "os_build/pool/conditions.py",
        "os_build/pool",
        ("    for each in VECTOR:\n", "    for each in VECTOR[1:]:\n"),
        (" if theirs and theirs != here.get(IMAGE) else {}", ""),
        ("kept = {IMAGE_ALIAS: theirs} if theirs and theirs != here.get(IMAGE) else {}", "kept: dict[str, str] = {}"),
        ('[each for each in conditions if each.get("type") not in VECTOR]', "[]"),
        ("IMAGE_INPUTS: inputs, ", ""),
    ),
    *_in(
        "os_build/pool/observe.py",
        "os_build/pool",
        ("config = found.object.data if isinstance(found, Present) else None", "config = None"),
        ("dict.fromkeys((request.pull_secret, request.push_secret))", "(request.push_secret,)"),
        ("        self._unfit[key] = (request, backend), problem\n", ""),
        ("problem is not None and known == (request, backend)", "problem is not None"),
        ("if known is None or known[0] != inputs:", "if known is None:"),
        ("if problem is None and backend != BackendName.LOCAL:", "if False:"),
    ),
    *_in(
        "os_build/builder.py",
        "os_build/pool",
        ("        with suppress(NotServed):\n            found", "        if True:\n            found"),
    ),
    *_in(
        "os_build/pool/claims.py",
        "os_build/pool",
        ("                self._rendered.pop(next(iter(self._rendered)))\n", "                pass\n"),
        ("old is None or needs_rebuild(old, wanted)", "old is None"),
    ),
    *_in(
        "os_build/machine_os/claim.py",
        "os_build/machine_os/test_claim.py",
        ("    if build.deleting:\n", "    if False:\n"),
        ("    if REBUILD in claim.config.metadata.annotations:\n", "    if False:\n"),
        ("not in (None, claim.versions):", "is not None:"),
        ("            return Again(build, text)\n", "            return Current(build)\n"),
        (
            'return Wait(f"the registry to tell whether it has the image: {text}", asks=True)',
            "return Again(build, text)",
        ),
        (
            'return Wait(f"the registry to tell whether it has {claim.serves}: {text}", asks=True)',
            "return Building(build)",
        ),
        (" and state(each) is not State.SUCCEEDED]", "]"),
        ("if each.metadata.name != self.name and state", "if state"),
        (" and REBUILD not in build.metadata.annotations", ""),
        ("else claim.config.metadata.annotations.get(CURRENT)", 'else ""'),
        ("    if stranger := _stranger(claim, build):\n", "    if stranger := None:\n"),
        ("self.build.metadata.uid if self.build else", '"" if self.build else'),
    ),
    *_in(
        "os_build/pool/decide.py",
        "os_build/pool/test_crash.py",
        ("(*machine_os.pointed(claim), *rest.actions)", "rest.actions"),
    ),
    *_in("os_build/machine_os/claim.py", "os_build/pool", ('self.build.metadata.uid if self.build else ""', '""')),
    *_in("os_build/machine_os/report.py", "os_build/pool", ("{CURRENT: name}", "{**observed, CURRENT: name}")),
    *_in("os_build/machine_os/name.py", "os_build/machine_os/test_name.py", ("hashlib.md5(_SALT", 'hashlib.md5(b""')),
    *_in(
        "os_build/machine_os/rebuild.py",
        "os_build/machine_os/test_rebuild.py",
        ("spec.extensions, spec.kernel_arguments", "spec.kernel_arguments"),
        (" or config.status.observed_generation != config.metadata.generation", ""),
    ),
    *_in("os_build/builder.py", "os_build/pool", ("self.tag or self.name", "self.name")),
    *_in(
        "os_build/service.py",
        "os_build/test_capability.py",
        ("if settings.pools.machine_os_configs else (OWN_LEASE, home)", "if False else (OWN_LEASE, home)"),
    ),
    *_in(
        "os_build/planning.py",
        "os_build/test_planning.py",
        ("timing=replace(pools.timing, debounce=0.0)", "timing=pools.timing"),
        ("Unasked(), local=Local.of(settings))", "Unasked())"),
    ),
)

_ASKING_AND_RENDERING = (
    *_in(
        "os_build/registry/answers.py",
        "os_build/registry/test_answers.py",
        ('code == "TOOMANYREQUESTS":\n        return not_asked', "False:\n        return not_asked"),
        (
            "code in _REFUSED or reply.status in (401, 403):\n        if not user",
            "code in _REFUSED:\n        if not user",
        ),
        ("if quay_removed or ", "if "),
    ),
    *_in(
        "os_build/registry/carrier.py",
        "os_build/registry/test_carrier.py",
        (" if self._clock.monotonic() - when < COUNTS[answer.kind] else None", ""),
        ("async with self._asking.setdefault(key, asyncio.Lock()):", "if True:"),
        ("self._answers.pop((request.target, request.versions), None)", "pass"),
        ('frozenset({"auths"})', "frozenset()"),
    ),
    *_in(
        "os_build/registry/conversation.py",
        "os_build/registry/test_registry.py",
        ("if self._authorization and url.origin() == self.root.origin():", "if self._authorization:"),
        ("if reply.status != 401 or reply.url.origin() != self.root.origin():", "if reply.status != 401:"),
    ),
    *_in(
        "os_build/registry/registry.py",
        "os_build/registry/test_registry.py",
        ('await conversation.ask("DELETE", location(begun))', "pass"),
    ),
    *_in(
        "os_build/registry/wire.py",
        "os_build/registry/test_registry.py",
        ('url.scheme == "http" and self._may_be_plain(url)', 'url.scheme == "http"'),
    ),
    *_in(
        "os_build/credentials.py",
        "os_build/test_secrecy.py",
        ("', '.join(self.by_host)", "self.by_host, self.document"),
        ('return f"Login({self.username!r})"', 'return f"Login({self.username!r}, {self.password!r})"'),
    ),
    *_in(
        "os_build/credentials.py",
        "os_build/test_credentials.py",
        ("- {wanted}:\n", "& set():\n"),
        ('document.keys() - _CLIENT_SETTINGS - {"auths"}', "set()"),
        ('("<token>" if token else "")', '""'),
        ("sorted(entries, key=lambda written: _normal(written) == written)", "entries"),
    ),
    *_in(
        "os_build/inputs/contents.py",
        "os_build/inputs/test_contents.py",
        ("    if found != digits.lower():", "    if False:"),
        ("        if len(found) > LARGEST:", "        if False:"),
        ("        if not stream.eof:", "        if False:"),
        ('    if len(data) - len(plain) != 2 * data.count("%"):', "    if False:"),
    ),
    *_in(
        "os_build/inputs/machine_config.py",
        "os_build/inputs/test_machine_config.py",
        ('if ".." in parts or ', "if "),
        ("        if path in seen:", "        if False:"),
        ("            if parent in closed:", "            if False:"),
    ),
    *_in(
        "os_build/inputs/tree.py",
        "os_build/inputs/test_tree.py",
        ("header.mode, header.uid, header.gid = node.mode,", "header.uid, header.gid ="),
        ("key=lambda node: (node.is_hard_link, node.path)", "key=lambda node: node.path"),
        ("data=rendered.document, mode=0o600", "data=rendered.document"),
        ("        if is_remote(resource):\n            what", "        if False:\n            what"),
    ),
    *_in("os_build/inputs/units.py", "os_build/inputs/test_units.py", ("    if unit.mask:\n", "    if False:\n")),
    *_in(
        "os_build/inputs/containerfile.py",
        "os_build/inputs/test_containerfile.py",
        ("""re.sub(r'(["$\\\\])', r"\\\\\\1", " ".join(value.splitlines()))""", "value"),
        ("if image and not _PULLSPEC.fullmatch(image):", "if False:"),
        ('f" && chmod 600 {CURRENT_CONFIG}"', '""'),
        ('lines = [f"FROM {base} AS configs", f"ADD', 'lines = [f"FROM {base}", f"ADD'),
    ),
    *_in(
        "os_build/inputs/context.py",
        "os_build/inputs",
        ("    if size <= CONFIG_MAP_LIMIT:", "    if True:"),
        ("    _check_contents(config)\n", ""),
    ),
    *_in("os_build/inputs/lint.py", "os_build/inputs/test_lint.py", ("in _HEREDOC.findall(rest):", "in ():")),
    *_in(
        "os_build/log.py",
        "os_build/test_log.py",
        ('_ESCAPES.sub("", text)', "text"),
        ("[-LINES:]", ""),
        ("kept = kept[-(CHARACTERS - len(_CUT)) :]", "kept = kept[: CHARACTERS - len(_CUT)]"),
        ("not in _UNSAFE", '!= "Cc"'),
    ),
    *_in(
        "os_build/backends/openshift_state.py",
        "os_build/backends/test_openshift_state.py",
        ("            if status.reason in _LOST:", "            if False:"),
        ("ending=status.cancelled and not over", "ending=status.cancelled"),
        ('doing="push" if status.reason == _PUSH else "build"', 'doing="build"'),
    ),
    *_in(
        "os_build/backends/job_state.py",
        "os_build/backends",
        ("    if status.failed >= ATTEMPTS:", "    if False:"),
        ("        if status.active:\n", "        if False:\n"),
        ("PERMANENT: Final = (Exit.BUILD_FAILED, Exit.PUSH_FAILED)", "PERMANENT: Final = (Exit.BUILD_FAILED,)"),
        ('    if end is not None and end.reason == "DeadlineExceeded":', "    if False:"),
    ),
    *_in(
        "os_build/backends/owned.py",
        "os_build/backends",
        ('                    "uid": order.pool.uid,\n', ""),
        ("if not builder.deleting or said.phase in", "if True or said.phase in"),
    ),
    *_in(
        "os_build/backends/local/records.py",
        "os_build/backends/local",
        ("for file in (self.pull, self.push, self.digest):", "for file in (self.digest,):"),
        ("unfinished.rename(self.path / _OUTCOME)", "pass"),
    ),
    *_in(
        "os_build/backends/local/builds.py",
        "os_build/backends",
        ("if (state := self.state(request.name)) is not None:\n", "if (state := None) is not None:\n"),
        ("            build.cancelled = True\n", ""),
        (
            "            if state is None:\n                build.folder.remove()",
            "            if state is None:\n                pass",
        ),
        ("            self.interrupt()\n            await", "            await"),
        ("        if not DIGEST.fullmatch(digest):", "        if False:"),
        ('for state in swept(self._path / "builds", trash=self._path / "trash")}', "for state in ()}"),
    ),
)

_IN_THE_CLOUD = (
    *_in(
        "openstack/beside.py",
        "openstack/test_beside.py",
        ("if self._rival.gone:", "if True:"),
        ("elif self._working and works is False:", "elif False:"),
        ('return None, f"{what} cannot be read: {error}"', 'return True, ""'),
    ),
    *_in(
        "openstack/planning/planner.py",
        "openstack/planning/test_files.py",
        ("return found if whole else", "return found if True else"),
        ('ready["reason"] not in WRONG', "True"),
    ),
    *_in(
        "openstack/cloud/marks.py",
        "openstack/cloud/test_marks.py",
        ("return {**metadata, MARK: mark}", "return {MARK: mark, **metadata, MARK: metadata.get(MARK, mark)[:8]}"),
        ("text[: DESCRIPTION_LIMIT - len(suffix) - 1]", "text[: DESCRIPTION_LIMIT - len(suffix)]"),
        (".rpartition(_KEY)[2]", ".partition(_KEY)[2]"),
    ),
    *_in(
        "openstack/cloud/certainty.py",
        "openstack/cloud/test_account.py",
        ("since = max(certain, known.since) if now >= certain else known.since", "since = known.since"),
        ("        self._known.clear()\n", "        pass\n"),
        ("sent.until = known.since + self._times.request", "sent.until = known.since"),
        ("if failure.code in (0, 502, 504):", "if False:"),
        ("there(each.request) - each.before:", "there(each.request):"),
        ("_Known(self._term, self._term + self._times.request)", "_Known(self._term, self._term)"),
    ),
    *_in(
        "openstack/cloud/certainty.py",
        "openstack/cloud/test_clouds.py",
        ("        self._unsent.discard(request.mark)\n", "        pass\n"),
    ),
    *_in(
        "openstack/cloud/account.py",
        "openstack/cloud/test_clouds.py",
        ("            self.knowledge.sending(request, self._like(request))\n", "            pass\n"),
    ),
    *_in(
        "openstack/cloud/listing.py",
        "openstack/cloud/test_account.py",
        ("for which, own in self._own.items() if own.at >= began}", "for which, own in ()}"),
        ("            if item.id not in self._own:\n", "            if True:\n"),
    ),
    *_in(
        "openstack/cloud/effect.py",
        "openstack/cloud/test_account.py",
        ("            ports.drop(request.id)\n", "            pass\n"),
        ('metadata=dict(request.body.get("metadata", {}))', "metadata={}"),
    ),
    *_in(
        "openstack/cloud/account.py",
        "openstack/cloud/test_account.py",
        ("certain=all(each.began >= need.certain for each in lists)", "certain=True"),
    ),
    *_in(
        "openstack/instance/match.py",
        "openstack/instance",
        (
            "each for each in marked(inventory.servers, mark) if each != server",
            "each for each in inventory.servers if each != server",
        ),
        ("return next((each for each in inventory.servers if each.id == recorded.server), None)", "pass"),
        ("key=lambda each: (each.id != known, not each.device_id)", "key=lambda each: not each.device_id"),
        ("key=lambda each: (each.id != known, not each.device_id)", "key=lambda each: each.id != known"),
        ("if each != kept and not each.device_id]", "if each != kept]"),
        ("mine = own(inventory.ports, mark)", "mine = list(inventory.ports)"),
        (' and each.status != "deleting"', ""),
        ('if server is not None or kept_volume.status in ("available", "in-use")', "if True"),
    ),
    *_in(
        "openstack/instance/next.py",
        "openstack/instance",
        ('return Send(surplus, "the recorded server is gone") if surplus else Vanished()', "pass"),
        ("    if missing and not inventory.certain:", "    if False:"),
        (
            "            elif wanted.trunk and trunk_on(port, self.inventory) is None:\n"
            "                # Some network drivers put no trunk on a port that a server has already.\n"
            "                incomplete = True\n",
            "            elif wanted.trunk and trunk_on(port, self.inventory) is None:\n",
        ),
        ("if not incomplete and not any(self.unavailable()):", "if not incomplete:"),
        ("            if len(volumes) > 1:", "            if False:"),
        ("if wanted.tags and set(wanted.tags)", "if set(wanted.tags)"),
        ('if (owner := mark_of(server)) in ("", mark):', "if True:"),
    ),
    *_in(
        "openstack/instance/delete.py",
        "openstack/instance",
        (
            "each for each in marked(inventory.servers, mark) if each.status not in DELETED",
            "each for each in inventory.servers if each.status not in DELETED",
        ),
        (
            "each for each in marked(inventory.volumes, mark) if not _elsewhere",
            "each for each in inventory.volumes if not _elsewhere",
        ),
        ("for port in marked(inventory.ports, mark):", "for port in inventory.ports:"),
        ("if each.status in DELETABLE and not each.attachments", "if each.status in DELETABLE"),
        ("    if not inventory.certain:", "    if False:"),
        ("    if servers:\n        return Await", "    if False:\n        return Await"),
        ("    if volumes:\n        return Await", "    if False:\n        return Await"),
    ),
    *_in(
        "openstack/instance/resolve.py",
        "openstack/instance/test_resolve.py",
        ("if secure else (),\n            description", "or (),\n            description"),
        ("replace(group, own=True)", "group"),
        ("if each.network_id == network]", "]"),
        ('if isinstance(each, Image) and each.status in ("active", "")', "if isinstance(each, Image)"),
        ("        if not isinstance(self._answers.get(unless_failed), CloudFailure):", "        if True:"),
    ),
    *_in(
        "openstack/create.py",
        "openstack/test_create.py",
        ("    if ports is None and not server_id:", "    if not server_id:"),
        ("if found.certain or found.servers or found.ports or", "if found.certain or found.servers or"),
        ("            clouds.doubt(request)\n", "            pass\n"),
        (", return_exceptions=True)", ")"),
    ),
    *_in(
        "openstack/server/building.py",
        "openstack/server",
        ("return bool(mark_of(found)) and is_held(found)", "return True"),
        ("        recorded=recorded(found),\n", ""),
        ("    if sending.now and not sending.later:", "    if sending.now:"),
        ("    if seen_again < timedelta(seconds=lost):", "    if False:"),
        ("if not isinstance(request, CreateServer)]", "]"),
    ),
    *_in(
        "openstack/objects.py",
        "openstack/server",
        ("MARK_ANNOTATION: mark_of(found) or mark}", "MARK_ANNOTATION: mark}"),
        ("held = finalizers if finalizer in finalizers else [*finalizers, finalizer]", "held = finalizers"),
    ),
    *_in(
        "openstack/server/snapshot.py",
        "openstack/server",
        (
            "if mark and resolved is not None and is_held(found) and not found.deleting",
            "if mark and resolved is not None",
        ),
        ("        server=status.instance_id or adopted(found),", '        server=status.instance_id or "",'),
        ("        or bool(adopted(found))\n", ""),
    ),
    *_in(
        "openstack/instance/next.py",
        "openstack/server",
        ('if (owner := mark_of(server)) in ("", mark):', "if True:"),
        ("return Vanished() if recorded.server else None", "return None"),
        ("for some in (parts, Inventory(servers=(server,))):", "for some in (Inventory(servers=(server,)), parts):"),
        ("ports=(*inventory.ports, *inventory.attached)", "ports=inventory.ports"),
    ),
    *_in(
        "openstack/server/deleting.py",
        "openstack/server",
        ("    if not is_held(found):", "    if False:"),
        ("    if not may_own(found):", "    if True:"),
        ("    if not mark_of(found):", "    if False:"),
        ("    if sending.now and not sending.later:", "    if sending.now:"),
    ),
    *_in(
        "openstack/server/deleting.py",
        "openstack/test_crash.py",
        ("if adopted(found) else None", "if False else None"),
    ),
    *_in(
        "openstack/server/decide.py",
        "openstack/server",
        ("if patient and (inventory is None or not inventory.certain):", "if False:"),
        ("return building.is_intended(found) and not recorded(found).server", "return False"),
    ),
    *_in(
        "openstack/server/decide.py",
        "openstack/server",
        (
            "    if seen.cluster is not None and not isinstance(seen.cluster, Present):\n        return _without",
            "    if False:\n        return _without",
        ),
        (
            "        if found.deleting:\n            return deleting.unreachable",
            "        if False:\n            return deleting.unreachable",
        ),
    ),
    *_in(
        "openstack/sending.py",
        "openstack/server",
        ("        if longest is None:", "        if True:"),
        ("each.error.transient or each.error.unknown_outcome", "False"),
        ("if name in (request.SERVICE, IDENTITY, quota):", "if name in (IDENTITY, quota):"),
    ),
    *_in(
        "openstack/server/observe.py",
        "openstack/server",
        ("self._clouds.born if recorded(found) == NONE else None", "self._clouds.born"),
    ),
    *_in(
        "openstack/server/resolved.py",
        "openstack/server",
        ("len(stored.ports) != len(spec.ports)", "False"),
    ),
    *_in(
        "openstack/trouble.py",
        "openstack/test_trouble.py",
        ("wait = min(max(age, self.limits.first), self.limits.most)", "wait = self.limits.first"),
        ("seconds=max(wait, self.pause)", "seconds=wait"),
        ("return replace(about, limits=Limits(pause, pause), pause=pause)", "return about"),
    ),
    *_in(
        "openstack/status.py",
        "openstack/test_status.py",
        (
            "verdict = False if any(status_of(conditions, part) == FALSE for part in missing) else None",
            "verdict = None",
        ),
    ),
    *_in(
        "openstack/identity/find.py",
        "openstack/identity/test_find.py",
        ("not await _admitted(reader, namespace, spec.namespace_selector)", "False"),
        ("    key = (ref.cloud_name, ref.region)\n", '    key = (ref.cloud_name, "")\n'),
        ("        _READ.setdefault(cached, {})[key] = result\n", "        pass\n"),
    ),
    *_in(
        "openstack/identity/controller.py",
        "openstack/identity/test_controller.py",
        ("            yield from self._named(by_cluster_identity(identity.name))\n", ""),
        ("for kind in USERS:\n            for found", "for kind in USERS[:1]:\n            for found"),
        ("    if not seen.users:", "    if secret.deleting or not seen.users:"),
    ),
    *_in(
        "openstack/cloud/room.py",
        "openstack/cloud/test_account.py",
        ("return self._limit is not None and self._limit - self._made <= self._under_way", "return False"),
        ("self._limit = None if left is None else made + left", "self._limit = None if left is None else left"),
        ("elif self._at >= self._made_at + _COUNTED:", "elif True:"),
    ),
    *_in(
        "openstack/server/telling.py",
        "openstack/server/test_stories.py",
        ("if before is not None and (before.status, before.reason) == (told.status, told.reason):", "if False:"),
        ("return event(found, told.reason, told.message, warning=True, occasion=occasion)", "return None"),
    ),
    *_in(
        "openstack/machine/controller.py",
        "openstack/machine",
        ("born=None if existing_server(seen, found) else self._born", "born=self._born"),
    ),
    *_in(
        "openstack/machine/decide.py",
        "openstack/machine",
        ("    if is_paused(found, seen.cluster):", "    if is_paused(found, seen.cluster) and not found.deleting:"),
        ("make(seen, found, existing=exists)", "make(seen, found)"),
        ("    if stored is not None and stored.needed:", "    if False:"),
        ("    if isinstance(seen.server, Present):", "    if False:"),
        ("status.addresses or had.addresses", "status.addresses"),
        ("for name, value in known.items() if value}", "for name, value in known.items()}"),
        ("wanted is None or wanted.region != has.region", "wanted is None"),
    ),
    *_in(
        "openstack/machine/existing.py",
        "openstack/machine",
        ("    if recorded := found.object.status.instance_id:", "    if recorded := None:"),
        ("    if len(set(servers.values())) > 1:", "    if False:"),
    ),
    *_in(
        "openstack/machine/server_of.py",
        "openstack/machine",
        ('            "finalizers": [SERVER_FINALIZER],\n', ""),
        ("        if not port.disable_port_security:\n", "        if True:\n"),
        ("        annotations[ADOPT_ANNOTATION] = existing\n", ""),
        ("Plan.of(intend(found, mark), news, creation)", "Plan.of(news, creation)"),
        ("mark_of(found) or seen.fresh_mark", "seen.fresh_mark"),
    ),
    *_in(
        "openstack/machine/deletion.py",
        "openstack/machine",
        ("    if _began(found):", "    if True:"),
        ("    if not recorded:", "    if True:"),
        ("return Plan.of(merge, deletion).then(", "return Plan.of(merge, deletion, _release(found, 'gone')).then("),
    ),
    *_in(
        "openstack/machine/pause.py",
        "openstack/machine",
        (
            "server is None or is_true(server.object.status.conditions, PAUSED)",
            "True",
        ),
        ("annotations.get(PAUSED_ANNOTATION) != HANDED_DOWN", "PAUSED_ANNOTATION not in annotations"),
    ),
    *_in(
        "openstack/machine/telling.py",
        "openstack/machine",
        ("        if not addresses:\n", "        if False:\n"),
        ("    if said is not None and said.status == FALSE:", "    if False:"),
    ),
    *_in(
        "openstack/cluster/decide.py",
        "openstack/cluster",
        ("    if seen.machines:", "    if False:"),
        ("    if is_external(found):", "    if False:"),
        ("    if stored.needed:", "    if False:"),
        ("if not _stays(found, each, now=now)]", "]"),
        ("(now - since).total_seconds() < _OVERDUE", "True"),
        ("if seen.network is not None and not spec.managed_subnets:", "if True:"),
    ),
    *_in(
        "openstack/cluster/network.py",
        "openstack/cluster",
        (
            "        if within:\n",
            "        if False:\n",
        ),
        ("        if len(found) == 1:\n            return found[0]", "        if found:\n            return found[0]"),
    ),
)

_BUILDING_HERE = (
    *_in(
        "os_build/log.py",
        "os_build/test_log.py",
        ('frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})', 'frozenset({"Cc", "Cs", "Co", "Cn"})'),
        (r"[^\x07\x1b\x9c\r\n]*", r"[^\x07\x1b\x9c]*"),
    ),
    *_in(
        "os_build/failure.py",
        "os_build/test_failure.py",
        ('return Cause.PULL_DENIED if doing == "build" else Cause.PUSH_DENIED', "return Cause.PULL_DENIED"),
        ('text = _NAMES.sub("", error)', "text = error"),
        ("begins[-1] if begins", "begins[0] if begins"),
    ),
    *_in(
        "os_build/backends/local/records.py",
        "os_build/backends/local/test_records.py",
        ("os.O_EXCL, 0o600", "os.O_EXCL, 0o644"),
        ("            folder.remove()\n    return sorted", "            pass\n    return sorted"),
    ),
    *_in(
        "os_build/backends/local/buildah.py",
        "os_build/backends/local/test_buildah.py",
        ('"--timestamp", "0", ', ""),
        ('"--pull-always", ', ""),
        ("name: ours[name] for name in _ENVIRONMENT if name in ours", "**ours"),
        ("not any(image.partition", "not all(image.partition"),
    ),
    *_in(
        "os_build/backends/local/requests.py",
        "os_build/backends/local/test_requests.py",
        ('"pushSecret": self.push_secret', '"pushSecret": str(self.push and self.push.document)'),
    ),
)

_BUILDING_IN_CLUSTERS = (
    *_in(
        "os_build/backends/owned.py",
        "os_build/backends/test_job.py",
        ("return (*cleared, config_map, build)", "return (*cleared, build, config_map)"),
        ("return (*cleared, config_map, build)", "return (config_map, build)"),
        ("            return ()\n        metadata", "            pass\n        metadata"),
        ("said.ended or moment(meta.deletion_timestamp) or", "said.ended if True else"),
        ('_number(known.get(ATTEMPT_ANNOTATION, "")) + said.attempt', '_number(known.get(ATTEMPT_ANNOTATION, ""))'),
        ("        if handle.config_map is not None:\n", "        if False:\n"),
        ("observed=observed, desired=desired, why=why)", 'observed=observed, desired=desired, part="status", why=why)'),
    ),
    *_in(
        "os_build/backends/job_state.py",
        "os_build/backends/test_job_state.py",
        ('if (end := _condition(job, "Failed")) is not None:', "if False:"),
        ("max(failures, key=lambda each: each.finished_at", "min(failures, key=lambda each: each.finished_at"),
        ("if DIGEST.fullmatch(message)", ""),
        ("    if job.spec.suspend:\n", "    if False:\n"),
    ),
    *_in(
        "os_build/backends/job.py",
        "os_build/backends/test_job.py",
        ('"podFailurePolicy": {"rules": failing},', ""),
        ("max(ATTEMPTS - order.attempt, 0)", "ATTEMPTS - 1"),
    ),
    *_in(
        "os_build/backends/openshift.py",
        "os_build/backends/test_openshift.py",
        ("if name != CONTAINERFILE}", "}"),
    ),
)

MUTATIONS: tuple[Mutation, ...] = (
    *_WRITING,
    *_CALLING,
    *_SEEING,
    *_IN_TURN,
    *_DECIDING,
    *_OBSERVING,
    *_MIRRORING,
    *_ASSESSING,
    *_REPORTING,
    *_FOLLOWING,
    *_KEEPING,
    *_BUILDING_IMAGES,
    *_ASKING_AND_RENDERING,
    *_IN_THE_CLOUD,
    *_BUILDING_HERE,
    *_BUILDING_IN_CLUSTERS,
)
