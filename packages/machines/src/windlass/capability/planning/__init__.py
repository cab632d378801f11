"""Computes what controllers would do, without doing it: `windlass plan`, for every capability.

    survey = ClusterListing(client)
    ground = await planner.ground(survey)                    # which controllers run on this cluster, and whether any do
    deciding = ground.deciders(survey)
    await survey.take(deciding)
    for plan in await plans(select(deciding, survey).asked, survey, now=now):
        print(plan.kind, plan.name, *plan.actions, plan.next)

It runs the controllers themselves: the same observe, the same decide, the same mapping from objects to keys. Only
`apply` is missing, so nothing can be written, and a plan shows what a running controller does next.

| module | holds |
|---|---|
| `planner` | the declaration that makes a capability plannable |
| `decider` | a controller to plan with, the meaning of its keys, and the selection of keys |
| `cluster_listing` | a cluster, listed once: the reader that replaces caches |
| `plans` | the plan of each key |
| `fields` | the changes of an action, field by field |
| `given` | documents as an API server would hold them, for a model of one |
| `following` | carries out plans until nothing is left to do; on a model, never on a cluster |
"""

from windlass.capability.planning.cluster_listing import ClusterListing
from windlass.capability.planning.decider import Decider, Name, PlanReader, Selected, select
from windlass.capability.planning.given import Given, Scope, take_in
from windlass.capability.planning.planner import Ground, NoGround, Planner
from windlass.capability.planning.plans import KeyPlan, plan_of, plans

__all__ = [
    "ClusterListing",
    "Decider",
    "Given",
    "Ground",
    "KeyPlan",
    "Name",
    "NoGround",
    "PlanReader",
    "Planner",
    "Scope",
    "Selected",
    "plan_of",
    "plans",
    "select",
    "take_in",
]
