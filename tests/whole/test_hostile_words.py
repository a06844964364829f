"""Hostile text of agents, models and people is shown as plain text on every page.

It is added to each column that holds such text, to names from sources, and to the records of a transcript.
"""

import re

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connections
from django.db.models import F, TextField, Value
from django.db.models.functions import Concat
from django.test import Client, override_settings

from episodes.chain import triggers
from guardian.models import FileContent
from openclaw_web.sqlite.fields import SpeechText
from tests.factories import UserFactory
from tests.suite.browsers import BACKEND
from tests.suite.module_rows import keep_rows, roll_back_rows
from tests.whole.pages import GETS
from tests.whole.site_rows import DB, fill_everything

EVIL = "<script>alert(1)</script>\"'\u202e"
TYPED = re.compile(r'"[^"]*"|<textarea.*?</textarea>', re.DOTALL)  # comes back to who typed it as it was
SHOWN = "&lt;script&gt;alert(1)"
PAGES = {route: page for route, page in GETS.items() if page.address and not page.address.startswith("/")}
NAMES = {"llm_model", "model", "tool", "tool_name", "failure", "type", "namespace", "path", "given_by", "corrected_by"}
# Pages that show no such text.
WITHOUT = {
    "automation:background_list", "automation:cron_detail", "automation:cron_list", "automation:session_tree",
    "automation:subagent_list",
    "datasets:model_scores",
    "datasets:session_samples", "datasets:write_uses", "episodes:redaction_preview", "episodes:scope_list",
    "episodes:scope_retention", "episodes:scope_statistics", "gate:own_gate", "gate:prompt_detail", "gate:replay_new",
    "guardian:audit_lines",
    "guardian:chart", "guardian:decision_writes", "guardian:file_cure", "guardian:file_list", "guardian:opted_out",
    "guardian:own_guardian", "guardian:reach", "guardian:regression_list", "guardian:rule_new", "operations:lint_list",
    "operations:remediation_detail",
}  # fmt: skip


def add_hostile_text():
    with connections[DB].cursor() as cursor:
        for name in triggers.TRIGGERS:  # somebody who writes into the file can do this as well
            cursor.execute(f"DROP TRIGGER {name}")
    for app in settings.AGENT_APPS:
        for model in apps.get_app_config(app).get_models():
            for field in model._meta.concrete_fields:
                if is_foreign_text(model, field):
                    rows = model.objects.using(DB).exclude(**{field.name: None})
                    rows.update(**{field.name: Concat(F(field.name), Value(EVIL), output_field=TextField())})
    with connections[DB].cursor() as cursor:
        escaped_text = EVIL.replace('"', '\\"')
        cursor.execute("UPDATE transcript_events SET event_json = replace(event_json, 'question', %s)", [escaped_text])


def is_foreign_text(model, field):
    """Whether a column holds text or a name that comes from outside."""
    is_packed = model is FileContent or field.name.endswith(("_json", "metadata"))
    return not field.choices and (field.name in NAMES or (type(field) is SpeechText and not is_packed))


@pytest.fixture(scope="module")
def read_page(django_db_setup, django_db_blocker, tmp_path_factory):
    """A function that returns the text of a page as an admin sees it."""
    home = tmp_path_factory.mktemp("words")
    (home / "state").mkdir()
    with keep_rows(django_db_blocker), override_settings(HOME_DIR=home):
        admin = UserFactory(username="admin", role="admin")
        facts = fill_everything(1, admin)
        add_hostile_text()
        client = Client()
        client.force_login(admin, backend=BACKEND)

        def get(page):
            with roll_back_rows():
                answer = client.get(page.place(facts))
            assert answer.status_code in (200, 286), page.route
            return answer.text

        yield get


@pytest.mark.parametrize("route", PAGES)
def test_page(read_page, route):
    text = read_page(PAGES[route])
    seen = TYPED.sub("", text.partition("<main")[2] or text)
    assert "<script>alert" not in text and "\u202e" not in seen
    assert (SHOWN in text) != (route in WITHOUT)
