"""No form of our own keeps quiet about a trouble of a cluster that is updated, whatever else is so."""

import pytest
from hypothesis import given
from msgspec import structs

from tests.unit.update_status.drawn import NOW, Troubled, troubled_clusters
from windlass.update_status.as_tree import tree
from windlass.update_status.assessment import assess
from windlass.update_status.cli.status.verdict import needs_attention
from windlass.update_status.document import health_insights, read, write
from windlass.update_status.report import Level, Report
from windlass.update_status.text import Details, render
from windlass.update_status.text.wide import render_wide
from windlass.update_status.view.parts import parts


@pytest.mark.slow
@given(troubled_clusters())
def test_every_form_of_our_own_tells_of_a_trouble(found: Troubled) -> None:
    report = assess(found.sources, now=NOW)
    status = write(report, now=NOW)
    for seen in (report, read(status, now=NOW)):
        wide = render_wide(seen, now=NOW)
        assert found.summary in wide
        assert "proceeding well" not in wide
        assert any(one["summary"].startswith(found.summary) for one in tree(seen, now=NOW)["insights"])
        # What differs in its object alone is one card with all of them.
        about = next(one.resources for one in seen.insights if one.summary.startswith(found.summary))
        cards = [part for key, part in parts(seen, [], now=NOW).items() if key.startswith("insight/")]
        assert any({one.name for one in about} <= {one["name"] for one in card.get("resources", ())} for card in cards)
        assert needs_attention(seen, Level.ERROR, now=NOW)
    assert status.overview is not None
    assert status.overview.worst_level != "OK"
    assert any(one.impact.summary.startswith(found.summary) for one in health_insights(status).values())


@given(troubled_clusters())
def test_the_text_of_oc_knows_nothing_of_it(found: Troubled) -> None:
    report = assess(found.sources, now=NOW)
    of_oc = structs.replace(report, insights=tuple(one for one in report.insights if not one.remedy))
    for details in Details:
        assert shown(report, details) == shown(of_oc, details)


def shown(report: Report, details: Details) -> str:
    return render(report, now=NOW, details=details)
