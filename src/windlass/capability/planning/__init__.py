"""What controllers would do, found out without doing it: `windlass plan`, for every capability.

    survey = Survey(client)
    ground = await planner.ground(survey)                    # which controllers run on this cluster, and whether any do
    deciding = ground.deciders(survey)
    await survey.take(deciding)
    for plan in await plans(select(deciding, survey).asked, survey, now=now):
        print(plan.kind, plan.name, *plan.actions, plan.next)

The controllers themselves are asked: the same observe, the same decide, the same mapping from objects to keys. Only
`apply` is missing, so nothing can be written, and a plan cannot differ from what a running controller does next.

| module | holds |
|---|---|
| `planner` | what a capability declares to be planned for |
| `decider` | a controller that is asked, what its keys stand for, and which of them |
| `survey` | a cluster, listed once: the reader that takes the place of caches |
| `plans` | the plan of each key |
| `fields` | what an action changes, field by field |
| `given` | documents as an API server would hold them, for a model of one |
| `following` | plan after plan carried out, until nothing is left to do; for a model, never for a cluster |
"""

from windlass.capability.planning.decider import Decider, Inventory, Name, Selected, select
from windlass.capability.planning.given import Given, Scope, take_in
from windlass.capability.planning.planner import Ground, NoGround, Planner
from windlass.capability.planning.plans import KeyPlan, plan_of, plans
from windlass.capability.planning.survey import Survey

__all__ = [
    "Decider",
    "Given",
    "Ground",
    "Inventory",
    "KeyPlan",
    "Name",
    "NoGround",
    "Planner",
    "Scope",
    "Selected",
    "Survey",
    "plan_of",
    "plans",
    "select",
    "take_in",
]
