"""The page of one's own account: the password, and the browsers that are signed in."""

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


def is_signed_in(client):
    return client.get(ACCOUNT).status_code == 200


@pytest.fixture
def this_browser(stranger):
    return browser()


class TestPassword:
    def test_it_works(self, this_browser, stranger):
        assert "Change password" in this_browser.get(ACCOUNT).content.decode()
        response = this_browser.post(f"{ACCOUNT}password/", NEW, follow=True)
        assert "The password is changed" in response.content.decode()
        assert browser(password="another good one")

    def test_other_browsers_are_sent_out_and_this_one_stays(self, this_browser, stranger):
        other, old_key = browser(agent=PHONE), this_browser.session.session_key
        this_browser.post(f"{ACCOUNT}password/", NEW)
        assert is_signed_in(this_browser)
        assert not is_signed_in(other)
        assert this_browser.session.session_key != old_key
        assert Session.objects.count() == 1
        assert sorted(SignIn.objects.values_list("ended_because", flat=True)) == ["", "password_changed"]

    def test_links_stop_working_and_tokens_go_on(self, this_browser, stranger):
        link = accounts.make_sign_in_link(stranger)
        _, token = tokens.make_token(stranger, name="x", role="viewer")
        this_browser.post(f"{ACCOUNT}password/", NEW)
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
    def test_what_does_not_fit_changes_nothing(self, this_browser, stranger, changed, sentence):
        response = this_browser.post(f"{ACCOUNT}password/", NEW | changed)
        assert response.status_code == 422
        assert sentence in response.content.decode()
        assert browser()

    def test_guessing_the_current_one_locks_as_at_sign_in(self, this_browser, stranger):
        answers = [this_browser.post(f"{ACCOUNT}password/", NEW | {"current": "wrong"}).status_code for _ in range(5)]
        assert answers == [422, 422, 422, 422, 429]

    def test_whoever_came_by_a_link_and_has_none_sets_one(self, client, db):
        _user, link = accounts.add_user("lena", "viewer")
        client.post(link)
        page = client.get(ACCOUNT).content.decode()
        assert "Set password" in page
        assert 'name="current"' not in page
        client.post(f"{ACCOUNT}password/", {"password": "another good one", "again": "another good one"})
        assert is_signed_in(client)
        assert browser("lena", "another good one")

    def test_nobody_changes_it_for_somebody_else(self, this_browser, stranger, reviewer):
        this_browser.post(f"{ACCOUNT}password/", NEW | {"username": "reviewer", "user": reviewer.pk})
        assert browser("reviewer")


class TestSignIns:
    def test_it_works(self, this_browser, stranger):
        browser(agent=PHONE)
        page = this_browser.get(ACCOUNT).content.decode()
        assert "Firefox on Linux" in page
        assert "Safari on iPhone" in page
        assert "127.0.0.1" in page
        assert page.count('title="This browser"') == 1

    def test_ending_one(self, this_browser, stranger):
        other = browser(agent=PHONE)
        row = SignIn.objects.get(session_key=other.session.session_key)
        for _ in range(2):
            assert this_browser.post(f"{ACCOUNT}sign-ins/{row.id}/end/")["Location"] == ACCOUNT
        assert not is_signed_in(other)
        assert is_signed_in(this_browser)
        assert "iPhone" not in this_browser.get(ACCOUNT).content.decode()
        this_browser.post(f"{ACCOUNT}sign-ins/{sign_ins.open_sign_ins(stranger).get().id}/end/")
        assert not is_signed_in(this_browser)

    def test_other_peoples_are_not_there(self, this_browser, reviewer):
        browser("reviewer", agent=PHONE)
        row = SignIn.objects.get(user=reviewer)
        assert "iPhone" not in this_browser.get(ACCOUNT).content.decode()
        assert this_browser.post(f"{ACCOUNT}sign-ins/{row.id}/end/").status_code == 404

    def test_ending_all_others(self, this_browser, stranger):
        others = [browser(agent=PHONE) for _ in range(3)]
        this_browser.post(f"{ACCOUNT}end-others/")
        assert is_signed_in(this_browser)
        assert not any(map(is_signed_in, others))
        assert sign_ins.open_sign_ins(stranger).count() == 1

    def test_signing_out_everywhere(self, this_browser, stranger):
        other = browser(agent=PHONE)
        assert this_browser.post(f"{ACCOUNT}sign-out-everywhere/")["Location"] == "/sign-in/"
        assert not is_signed_in(this_browser)
        assert not is_signed_in(other)
        assert not Session.objects.filter(session_key__in=[other.session.session_key]).exists()

    def test_a_session_from_before_the_list_is_ended_too(self, client, this_browser, stranger):
        client.force_login(stranger, backend=sign_ins.BACKEND)
        assert "listed after the next sign-in" not in this_browser.get(ACCOUNT).content.decode()
        assert is_signed_in(client)
        this_browser.post(f"{ACCOUNT}end-others/")
        assert not is_signed_in(client)

    def test_signing_in_again_replaces_the_row(self, this_browser, stranger):
        old_key = this_browser.session.session_key
        this_browser.post(accounts.make_sign_in_link(stranger))
        assert this_browser.session.session_key != old_key
        assert not Session.objects.filter(session_key=old_key).exists()
        assert sorted(SignIn.objects.values_list("ended_because", flat=True)) == ["", "replaced"]

    def test_an_admin_ends_all_of_a_person(self, as_admin, this_browser, stranger):
        as_admin.post("/operations/users/stranger/sign-out/")
        assert not is_signed_in(this_browser)
        assert browser()

    def test_being_seen_is_noted_at_most_every_five_minutes(self, this_browser, later):
        before = SignIn.objects.get().last_seen_at
        later(seconds=60)
        sign_ins.note_seen(SignIn.objects.get().id)
        assert SignIn.objects.get().last_seen_at == before
        later(seconds=301)
        sign_ins.note_seen(SignIn.objects.get().id)
        assert SignIn.objects.get().last_seen_at == clock.now_ms()

    def test_a_page_costs_no_write_and_no_more_queries_for_more_browsers(self, this_browser, django_assert_num_queries):
        for _ in range(30):
            browser()
        this_browser.get(ACCOUNT)
        with django_assert_num_queries(4):  # session, user, list, agents
            this_browser.get(ACCOUNT)

    @pytest.mark.parametrize("agent", ["", "<script>alert(1)</script>", "x" * 5000, "\u202egnp.exe"])
    def test_a_hostile_user_agent_is_harmless(self, stranger, agent):
        client = browser(agent=agent)
        page = client.get(ACCOUNT).content.decode()
        assert "an unknown browser" in page
        assert "alert(1)" not in page

    def test_the_clean_up(self, this_browser, later):
        row = SignIn.objects.get()
        later(hours=15 * 24)
        sign_ins.prune()
        row.refresh_from_db()
        assert (row.ended_because, row.session_key) == ("expired", None)
        later(hours=24 * (15 + 91))
        sign_ins.prune()
        assert not SignIn.objects.exists()

    def test_the_clean_up_leaves_what_lives(self, this_browser, stranger):
        accounts.make_sign_in_link(UserFactory())
        sign_ins.prune()
        assert is_signed_in(this_browser)
        assert SignIn.objects.get().ended_at is None
