"""Writes plans as JSON, for programs and the web page. The keys are stable."""

from collections.abc import Sequence
from typing import Any

from windlass.capability.planning import KeyPlan
from windlass.capability.planning.fields import field_changes
from windlass.capability.planning.following import Course
from windlass.kube.control.plan import Action, Emit, Next, RequeueAfter, Result, Retry, WaitFor
from windlass.kube.foreign import json_text

Tree = dict[str, Any]


def planned(plans: Sequence[KeyPlan], *, questions: bool = False) -> str:
    """The output of `windlass plan -o json`: `items`, and `errors` for those that have no plan. `questions`: items have
    them too."""
    return _text(
        {
            "items": [
                {**item(plan), **({"questions": plan.questions} if questions else {})}
                for plan in plans
                if plan.error is None
            ],
            "errors": [
                {"kind": plan.kind, "name": plan.name, "message": str(plan.error)}
                for plan in plans
                if plan.error is not None
            ],
        }
    )


def followed(courses: Sequence[Course], objects: Sequence[Tree]) -> str:
    """With `--rounds`: each item has `rounds` of actions, and `objects` are the written objects in their final
    state."""
    return _text(
        {
            "items": [
                {
                    "kind": course.kind,
                    "name": course.name,
                    "rounds": [{"actions": [_result(result) for result in tried]} for tried in course.rounds],
                    "next": _next(course.next),
                }
                for course in courses
                if not course.restless
            ],
            "errors": [
                {"kind": course.kind, "name": course.name, "message": course.next.error}
                for course in courses
                if course.restless and isinstance(course.next, Retry)
            ],
            "objects": list(objects),
        }
    )


def item(plan: KeyPlan) -> Tree:
    """The plan of one key."""
    return {
        "kind": plan.kind,
        "name": plan.name,
        "actions": [_action(action) for action in plan.actions],
        "next": _next(plan.next),
    }


def _result(result: Result) -> Tree:
    return {**_action(result.action), "error": None if result.error is None else str(result.error)}


def _action(action: Action) -> Tree:
    """`why` of an Event is its note."""
    resource = action.target.kind.RESOURCE
    return {
        "verb": action.verb,
        "target": {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": action.target.namespace or "",
            "name": action.target.name,
        },
        "subresource": action.subresource,
        "why": action.note if isinstance(action, Emit) else action.why,
        "diff": [
            {"path": change.path, "before": change.before, "after": change.after} for change in field_changes(action)
        ],
    }


def _next(coming: Next) -> Tree:
    match coming:
        case RequeueAfter(seconds=seconds, why=why):
            return {"type": "RequeueAfter", "seconds": seconds, "why": why}
        case WaitFor(what=what, safety=safety):
            return {"type": "WaitFor", "what": what, "seconds": safety}
        case Retry(error=error):
            return {"type": "Retry", "error": error}
        case _:
            return {"type": "Done", "note": coming.note}


def _text(tree: Tree) -> str:
    return json_text(tree, indent=2)
