"""The list of agents, all of them or those active in a range."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from agents.models import CollectorSource
from overview.models import AgentSummary
from tests.factories import T0
from tests.overview.test_overview import TODAY, create_day

pytestmark = pytest.mark.django_db


def create_summary(agent_id="ada", **values):
    return AgentSummary.objects.create(agent_id=agent_id, **{"last_activity_at": T0, **values})


def read_page(client, query=""):
    response = client.get(reverse("overview:agent_list") + query)
    assert response.status_code == 200
    return response.text


FIRST = re.compile(r'<th scope="row"><a [^>]*>(\w+)<')


def test_it_works_and_is_sorted_by_what_the_address_says(as_admin):
    create_summary("ada", turn_count=1, cost_usd=0.5)
    create_summary("bob", turn_count=2)  # bob's cost is unknown, so he comes last
    text = read_page(as_admin)
    assert "2 agents" in text and reverse("ledger:session_list", args=["bob"]) in text
    orders = {"": "ada", "-turn_count": "bob", "turn_count": "ada", "pk": "ada", "-cost_usd": "ada"}
    assert {order: FIRST.search(read_page(as_admin, f"?sort={order}"))[1] for order in orders} == orders


def test_agents_of_a_range_are_sorted_and_summed(as_admin):
    create_day(turn_count=1, error_count=4, latency_json='{"80": 1}')
    create_day(agent_id="bob", turn_count=2, latency_json='{"88": 2}')
    for order, first in (("", "bob"), ("-errors", "ada"), ("turns", "ada"), ("-p95", "bob"), ("pk", "bob")):
        text = read_page(as_admin, f"?from=2026-02-15&to=2026-02-21&sort={order}")
        assert FIRST.search(text)[1] == first, order
    foot = text.partition("<tfoot>")[2]
    assert [cell.strip() for cell in re.findall(r"<td[^>]*>([^<]*)", foot)[:2]] == ["3", "4"]
    assert '/agents/ada/events/?failed=on&amp;from=2026-02-15&amp;to=2026-02-21">4<' in text


def test_agents_of_several_folders_say_which(as_admin):
    for name, root in (("ada", "/srv/ada/.openclaw"), ("bob", "/srv/bob/.openclaw"), ("sept", "/srv/old")):
        create_summary(name)
        CollectorSource.objects.create(source_key=name, kind="agent", root=root, path="main", agent_id=name)
    text = read_page(as_admin)
    for short, root in (("ada/.openclaw", "/srv/ada/.openclaw"), ("old", "/srv/old")):
        assert f'title="{root}">{short}</div>' in text
    CollectorSource.objects.exclude(agent_id="ada").delete()
    assert "/srv/ada" not in read_page(as_admin)


def test_days_without_work_say_so_and_a_damaged_day_is_refused_with_a_sentence(as_admin):
    assert "No agent activity in this period" in read_page(as_admin, "?from=2026-01-01")
    response = as_admin.get("/agents/?from=yesterday")
    assert response.status_code == 409 and "Write days like 2026-02-21." in response.text


def test_the_number_of_queries_of_a_range_does_not_grow(as_admin, django_assert_max_num_queries):
    for rows in (1, 30):
        for i in range(rows):
            create_summary(f"agent-{rows}-{i}")
            create_day(TODAY - timedelta(days=i), f"agent-{rows}-{i}")
        # session, user; agents, their days, writes, repeats and homes, and what their files have to hold
        with django_assert_max_num_queries(9):
            as_admin.get("/agents/?from=2026-01-01&to=2026-02-21")


def test_the_page_of_an_agent_without_an_import_says_so(as_admin, ada):
    assert "Nothing imported yet" in as_admin.get("/agents/ada/").text
    assert as_admin.get("/agents/nobody/").status_code == 404
