"""The page of a handover: requested on a preview, its outcome, checked again."""

import pytest
from django.urls import reverse

from guardian.models import Handover
from jobs.execution import run_next
from tests.guardian.rollbacks.test_rollback import read_seen

from .handover_rows import AFTER, BEFORE, DB, NAME, create_recorded_write, get_write, hand_over, read_file

pytestmark = pytest.mark.django_db
SENT = {"reason": "Not true.", "keeps_copy": "on"}


def page(name="rollback", key="w1"):
    return reverse(f"guardian:{name}", args=["ada", key])


def test_on_the_page_it_is_handed_to_the_agent(as_operator, home, command):
    create_recorded_write(home)
    preview = as_operator.get(page())
    assert "Hand to the agent" in preview.content.decode()
    done = as_operator.post(page("rollback_hand_over"), SENT | {"seen": read_seen(preview), "puts_back": ""})
    row = Handover.objects.using(DB).get()
    assert done.status_code == 302 and done.url == row.get_absolute_url()
    words = as_operator.get(done.url).content.decode()
    assert "The agent is being asked." in words and "Likes coal." in words and "Check again" not in words
    run_next()
    words = as_operator.get(done.url).content.decode()
    assert "Done: the agent changed MEMORY.md" in words and row.own_audit_id in words
    for audit_id in ("w1", row.own_audit_id):
        assert "Done: the agent changed" in as_operator.get(page("audit_detail", audit_id)).content.decode()


def test_one_that_was_not_done_is_checked_again(ada, as_operator, home, command):
    create_recorded_write(home)
    command.does("fails")
    row, _job = hand_over(ada)
    address = row.get_absolute_url()
    words = as_operator.get(address).content.decode()
    assert "Not done: the command of OpenClaw failed" in words and "gateway is not there" in words
    as_operator.post(page("handover_check", row.id))
    assert Handover.objects.using(DB).get().outcome == "failed" and read_file(home) == AFTER
    home.file(NAME, BEFORE, "ada")
    home.record(NAME, BEFORE, agent="ada", session="openclaw-web")
    as_operator.post(page("handover_check", row.id))
    assert (
        get_write().status == "rolled_back" and "Done: the agent changed" in as_operator.get(address).content.decode()
    )


def test_one_that_is_not_there(as_operator, home):
    assert as_operator.get(page("handover_detail", "none")).status_code == 404
    assert as_operator.post(page("handover_check", "none")).status_code == 404
