"""Preferences of one's own account: the form, permissions, and the audit log."""

import orjson
import pytest

from openclaw_web.pages import zones
from people.models import User
from people.models.bookkeeping import AuditEntry

ACCOUNT, SAVE, THEME = "/account/", "/account/preferences/", "/account/theme/"
CHOSEN = {"language": "zh-hans", "time_zone": "Asia/Shanghai", "theme": "dark"}
pytestmark = pytest.mark.django_db


def read_preferences(name):
    return User.objects.filter(username=name).values("language", "time_zone", "theme").get()


def entries():
    return [orjson.loads(entry.detail_json) for entry in AuditEntry.objects.filter(action="preferences_changed")]


def test_it_works(as_stranger, admin):
    assert read_preferences("stranger") == {"language": "", "time_zone": "", "theme": ""}
    response = as_stranger.post(SAVE, CHOSEN, follow=True)
    assert response.redirect_chain == [(ACCOUNT, 302)]
    text = response.content.decode()
    assert read_preferences("stranger") == CHOSEN
    assert '<option value="zh-hans" selected>简体中文</option>' in text
    assert 'value="Asia/Shanghai"' in text
    assert read_preferences("root") == {"language": "", "time_zone": "", "theme": ""}


def test_each_change_is_in_the_audit_log_and_nothing_else_is(as_stranger):
    as_stranger.post(SAVE, CHOSEN)
    as_stranger.post(SAVE, CHOSEN)
    as_stranger.post(SAVE, CHOSEN | {"time_zone": ""})
    as_stranger.post(SAVE, {"time_zone": "Nowhere/Town"})
    assert entries() == [CHOSEN, {"time_zone": "default"}]


def test_nobody_changes_those_of_others(as_stranger, admin):
    as_stranger.post(SAVE, CHOSEN | {"user": "root", "username": "root", "id": admin.id})
    assert read_preferences("root") == {"language": "", "time_zone": "", "theme": ""}


NO_ZONES = ("Mars/Olympus", "../../etc/passwd", "posix/UTC", "localtime", "Asia", "x" * 65, "\0")
REFUSED = [{"language": "xx"}, {"language": "ZH-HANS"}, {"theme": "pink"}, *({"time_zone": zone} for zone in NO_ZONES)]


@pytest.mark.parametrize("changed", REFUSED)
def test_what_there_is_not_is_refused_and_changes_nothing(as_stranger, changed):
    as_stranger.post(SAVE, CHOSEN)
    response = as_stranger.post(SAVE, CHOSEN | changed)
    assert response.status_code == 422
    assert b"errorlist" in response.content
    assert read_preferences("stranger") == CHOSEN


def test_a_zone_is_known_by_its_name_however_it_is_typed(as_stranger):
    as_stranger.post(SAVE, {"time_zone": " america/new york "})
    assert read_preferences("stranger")["time_zone"] == "America/New_York"


def test_every_zone_is_offered(as_stranger):
    text = as_stranger.get(ACCOUNT).content.decode()
    assert len(zones.list_zones()) > 400
    assert all(f'<option value="{name}"></option>' in text for name in zones.list_zones())


def test_a_zone_that_is_gone_from_the_system_is_as_none(as_stranger, stranger):
    stranger.time_zone = "Asia/Atlantis"
    stranger.save()
    assert "UTC" in as_stranger.get(ACCOUNT).content.decode()


class TestTheme:
    def test_the_page_comes_with_it(self, as_stranger):
        assert "data-theme=" not in as_stranger.get(ACCOUNT).content.decode().partition("<body")[0]
        assert as_stranger.post(THEME, {"theme": "dark"}).status_code == 204
        assert '<html lang="en" data-theme="dark">' in as_stranger.get(ACCOUNT).content.decode()
        as_stranger.post(THEME, {"theme": ""})
        assert '<html lang="en">' in as_stranger.get(ACCOUNT).content.decode()

    def test_it_is_kept_for_the_account_and_before_sign_in_for_the_browser(self, as_stranger, client):
        as_stranger.post(THEME, {"theme": "dark"})
        as_stranger.post("/sign-out/")
        assert 'data-theme="dark"' in as_stranger.get("/sign-in/").content.decode()
        assert 'data-theme="dark"' not in client.get("/sign-in/").content.decode()
        assert read_preferences("stranger")["theme"] == "dark"

    def test_the_account_wins_over_the_browser(self, as_stranger):
        as_stranger.cookies["openclaw_web_theme"] = "light"
        as_stranger.post(SAVE, CHOSEN)
        assert 'data-theme="dark"' in as_stranger.get(ACCOUNT).content.decode()

    def test_what_is_none_is_refused(self, as_stranger, client):
        assert as_stranger.post(THEME, {"theme": "pink"}).status_code == 400
        client.cookies["openclaw_web_theme"] = '"><script>'
        assert '<html lang="en">' in client.get("/sign-in/").content.decode()
