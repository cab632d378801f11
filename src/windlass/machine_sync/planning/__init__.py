"""What the controllers of Machine sync would do, found out without doing it.

    survey = Survey(client)
    standing = await standing_of(survey)                     # which platform, and whether anything runs at all
    deciding = deciders(survey, platform=standing.platform, namespaces=Namespaces())
    await survey.take(deciding)
    selected = select(deciding, survey, namespaces=Namespaces())
    for plan in await plans(selected.asked, survey, now=now):
        print(plan.kind, plan.name, *plan.actions, plan.next)

The controllers themselves are asked: the same observe, the same decide, the same mapping from objects to keys. Only
`apply` is missing, so nothing can be written, and a plan cannot differ from what a running controller does next.

| module | holds |
|---|---|
| `deciders` | the controllers to ask, and which objects their keys are |
| `survey` | a cluster, listed once: the reader that takes the place of caches |
| `standing` | platform and feature gate |
| `given` | documents as an API server would hold them, for a model of one |
| `plans` | the plan of each key |
| `following` | plan after plan carried out, until nothing is left to do; for a model, never for a cluster |
| `fields` | what an action changes, field by field |
"""

from windlass.machine_sync.planning.deciders import Decider, Inventory, Name, Selection, deciders, select
from windlass.machine_sync.planning.plans import KeyPlan, plan_of, plans
from windlass.machine_sync.planning.standing import NoPlatform, Standing, standing_of
from windlass.machine_sync.planning.survey import Survey

__all__ = [
    "Decider",
    "Inventory",
    "KeyPlan",
    "Name",
    "NoPlatform",
    "Selection",
    "Standing",
    "Survey",
    "deciders",
    "plan_of",
    "plans",
    "select",
    "standing_of",
]
