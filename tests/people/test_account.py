"""One's own account: the password, and where one is signed in."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from openclaw_web import clock
from people.accounts import services as accounts
from people.accounts import tokens
from people.authentication import sign_ins
from people.models import SignIn
from tests.factories import UserFactory

ACCOUNT = "/account/"
PASSWORD = "correct horse battery"
NEW = {"current": PASSWORD, "password": "another good one", "again": "another good one"}
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1"
pytestmark = pytest.mark.django_db


def browser(name="stranger", password=PASSWORD, agent=FIREFOX):
    client = Client(headers={"User-Agent": agent})
    assert client.post("/sign-in/", {"username": name, "password": password}).status_code == 302
    return client


def is_in(client):
    return client.get(ACCOUNT).status_code == 200


@pytest.fixture
def here(stranger):
    return browser()


class TestPassword:
    def test_it_works(self, here, stranger):
        assert "Change password" in here.get(ACCOUNT).content.decode()
        response = here.post(f"{ACCOUNT}password/", NEW, follow=True)
        assert "The password is changed" in response.content.decode()
        assert browser(password="another good one")

    def test_other_browsers_are_sent_out_and_this_one_stays(self, here, stranger):
        other, old_key = browser(agent=PHONE), here.session.session_key
        here.post(f"{ACCOUNT}password/", NEW)
        assert is_in(here)
        assert not is_in(other)
        assert here.session.session_key != old_key
        assert Session.objects.count() == 1
        assert sorted(SignIn.objects.values_list("ended_because", flat=True)) == ["", "password_changed"]

    def test_links_stop_working_and_tokens_go_on(self, here, stranger):
        link = accounts.make_sign_in_link(stranger)
        _, token = tokens.make_token(stranger, name="x", role="viewer")
        here.post(f"{ACCOUNT}password/", NEW)
        assert Client().get(link).status_code == 409
        assert tokens.find_user(token)

    @pytest.mark.parametrize(
        ("changed", "sentence"),
        [
            ({"current": "wrong"}, "The current password is wrong"),
            ({"current": ""}, "required"),
            ({"again": "something else"}, "do not match"),
            ({"password": "stranger12", "again": "stranger12"}, "too similar"),
        ],
    )
    def test_what_does_not_fit_changes_nothing(self, here, stranger, changed, sentence):
        response = here.post(f"{ACCOUNT}password/", NEW | changed)
        assert response.status_code == 422
        assert sentence in response.content.decode()
        assert browser()

    def test_guessing_the_current_one_locks_as_at_sign_in(self, here, stranger):
        answers = [here.post(f"{ACCOUNT}password/", NEW | {"current": "wrong"}).status_code for _ in range(5)]
        assert answers == [422, 422, 422, 422, 429]

    def test_whoever_came_by_a_link_and_has_none_sets_one(self, client, db):
        _user, link = accounts.add_user("lena", "viewer")
        client.post(link)
        page = client.get(ACCOUNT).content.decode()
        assert "Set password" in page
        assert 'name="current"' not in page
        client.post(f"{ACCOUNT}password/", {"password": "another good one", "again": "another good one"})
        assert is_in(client)
        assert browser("lena", "another good one")

    def test_nobody_changes_it_for_somebody_else(self, here, stranger, reviewer):
        here.post(f"{ACCOUNT}password/", NEW | {"username": "reviewer", "user": reviewer.pk})
        assert browser("reviewer")


class TestSignIns:
    def test_it_works(self, here, stranger):
        browser(agent=PHONE)
        page = here.get(ACCOUNT).content.decode()
        assert "Firefox on Linux" in page
        assert "Safari on iPhone" in page
        assert "127.0.0.1" in page
        assert page.count('title="This browser"') == 1

    def test_ending_one(self, here, stranger):
        other = browser(agent=PHONE)
        row = SignIn.objects.get(session_key=other.session.session_key)
        for _ in range(2):
            assert here.post(f"{ACCOUNT}sign-ins/{row.id}/end/")["Location"] == ACCOUNT
        assert not is_in(other)
        assert is_in(here)
        assert "iPhone" not in here.get(ACCOUNT).content.decode()
        here.post(f"{ACCOUNT}sign-ins/{sign_ins.open_sign_ins(stranger).get().id}/end/")
        assert not is_in(here)

    def test_other_peoples_are_not_there(self, here, reviewer):
        browser("reviewer", agent=PHONE)
        row = SignIn.objects.get(user=reviewer)
        assert "iPhone" not in here.get(ACCOUNT).content.decode()
        assert here.post(f"{ACCOUNT}sign-ins/{row.id}/end/").status_code == 404

    def test_ending_all_others(self, here, stranger):
        others = [browser(agent=PHONE) for _ in range(3)]
        here.post(f"{ACCOUNT}end-others/")
        assert is_in(here)
        assert not any(map(is_in, others))
        assert sign_ins.open_sign_ins(stranger).count() == 1

    def test_signing_out_everywhere(self, here, stranger):
        other = browser(agent=PHONE)
        assert here.post(f"{ACCOUNT}sign-out-everywhere/")["Location"] == "/sign-in/"
        assert not is_in(here)
        assert not is_in(other)
        assert not Session.objects.filter(session_key__in=[other.session.session_key]).exists()

    def test_a_session_from_before_the_list_is_ended_too(self, client, here, stranger):
        client.force_login(stranger, backend=sign_ins.BACKEND)
        assert "listed after the next sign-in" not in here.get(ACCOUNT).content.decode()
        assert is_in(client)
        here.post(f"{ACCOUNT}end-others/")
        assert not is_in(client)

    def test_signing_in_again_replaces_the_row(self, here, stranger):
        old_key = here.session.session_key
        here.post(accounts.make_sign_in_link(stranger))
        assert here.session.session_key != old_key
        assert not Session.objects.filter(session_key=old_key).exists()
        assert sorted(SignIn.objects.values_list("ended_because", flat=True)) == ["", "replaced"]

    def test_an_admin_ends_all_of_a_person(self, as_admin, here, stranger):
        as_admin.post("/operations/users/stranger/sign-out/")
        assert not is_in(here)
        assert browser()

    def test_being_seen_is_noted_at_most_every_five_minutes(self, here, later):
        before = SignIn.objects.get().last_seen_at
        later(seconds=60)
        sign_ins.note_seen(SignIn.objects.get().id)
        assert SignIn.objects.get().last_seen_at == before
        later(seconds=301)
        sign_ins.note_seen(SignIn.objects.get().id)
        assert SignIn.objects.get().last_seen_at == clock.now_ms()

    def test_a_page_costs_no_write_and_no_more_queries_for_more_browsers(self, here, django_assert_num_queries):
        for _ in range(30):
            browser()
        here.get(ACCOUNT)
        with django_assert_num_queries(3):  # session, user, list
            here.get(ACCOUNT)

    @pytest.mark.parametrize("agent", ["", "<script>alert(1)</script>", "x" * 5000, "\u202egnp.exe"])
    def test_a_hostile_user_agent_is_harmless(self, stranger, agent):
        client = browser(agent=agent)
        page = client.get(ACCOUNT).content.decode()
        assert "an unknown browser" in page
        assert "alert(1)" not in page

    def test_the_clean_up(self, here, later):
        row = SignIn.objects.get()
        later(hours=15 * 24)
        sign_ins.prune()
        row.refresh_from_db()
        assert (row.ended_because, row.session_key) == ("expired", None)
        later(hours=24 * (15 + 91))
        sign_ins.prune()
        assert not SignIn.objects.exists()

    def test_the_clean_up_leaves_what_lives(self, here, stranger):
        accounts.make_sign_in_link(UserFactory())
        sign_ins.prune()
        assert is_in(here)
        assert SignIn.objects.get().ended_at is None
