"""The panel "Needs you" by role: its sentences and its buttons."""

import re
from html import unescape

import pytest

from openclaw_web import clock
from problems import kinds
from problems.models import Problem
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
BACKEND = "django.contrib.auth.backends.ModelBackend"
# (facts, sentence) by kind: a viewer may read two of them and follow a link that only shows, an operator all.
PLANTED = {
    "rule_broken": ('{"count":1,"files":"USER.md","write":"w1","rule":"r1","name":"Tea"}', "1 write of ada broke"),
    "gate_blind": ('{"unseen":3,"count":10}', "saw no user message in 3 of 10"),
    "samples_waiting": ('{"count":3,"is_more":false}', "3 samples to review."),
    "watcher": ("{}", "The watcher has stopped"),
}
SEEN = {
    "viewer": (["rule_broken", "gate_blind"], ["Why"]),
    "labeller": (["rule_broken", "gate_blind", "samples_waiting"], ["View", "Why", "Review"]),
    "operator": (["rule_broken", "gate_blind", "samples_waiting", "watcher"], ["View jobs", "View", "Why", "Review"]),
}


def read_panel(page):
    """Return the sentences of the panel in their order, and the panel."""
    panel = re.search(r'<section[^>]*aria-labelledby="needs-you".*?</section>', page, re.S)[0]
    return [unescape(words).strip() for words in re.findall(r'needs__words break">(.*?)<small', panel, re.S)], panel


def test_many_of_one_kind_leave_room_for_the_others(as_admin):
    now = clock.now_ms()
    overdue = {"severity": kinds.find("task_overdue").severity, "agent_id": "ada"}
    others = {name: {"severity": kinds.find(name).severity} for name in ("watcher", "gate_blind", "backup")}
    facts = {"watcher": "{}", "gate_blind": PLANTED["gate_blind"][0], "backup": '{"proven_at":null}'}
    at = {"since_at": now, "opened_at": now, "last_seen_at": now}
    for number in range(20):
        detail = f'{{"task":"t{number}","name":"Task {number}","late_ms":3600000}}'
        Problem.objects.create(id=f"t{number}", kind="task_overdue", detail_json=detail, **overdue, **at)
    for name, columns in others.items():
        columns |= {"detail_json": facts[name], "agent_id": "ada" if name == "gate_blind" else ""}
        Problem.objects.create(id=name, kind=name, **columns, **at)
    sentences, panel = read_panel(as_admin.get("/").text)
    assert ["overdue" in words for words in sentences] == [False, False, *[True] * 5, False]
    assert "No backup" in sentences[-1] and "15 more problems" in panel


@pytest.mark.parametrize("role", SEEN)
def test_who_may_not_be_told_or_act_sees_nothing_of_it(client, ada, role):
    now = clock.now_ms()
    for name, (facts, _sentence) in PLANTED.items():
        columns = {"severity": kinds.find(name).severity, "detail_json": facts, "agent_id": "ada"}
        Problem.objects.create(id=name, kind=name, since_at=now, opened_at=now, last_seen_at=now, **columns)
    client.force_login(UserFactory(role=role), backend=BACKEND)
    page = client.get("/").text
    panel = re.search(r'<section[^>]*aria-labelledby="needs-you".*?</section>', page, re.S)[0]
    expected, buttons = SEEN[role]
    for text in (panel, page):
        assert [name for name, (_facts, sentence) in PLANTED.items() if sentence in unescape(text)] == expected
    assert re.findall(r'<a class="button[^>]*>([^<]*)<span', panel) == buttons
    assert "<form" not in panel
    if role != "operator":
        assert client.get("/operations/").status_code == client.get("/api/v1/problems").status_code == 403
