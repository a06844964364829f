"""Attacks from outside: redirects, forged forms, stolen sessions, paths and hosts."""

import io
import logging
import re

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, MD5PasswordHasher
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.urls import reverse

from openclaw_web.hashers import OneAtATimeHasher
from people.accounts import invitations, tokens
from people.accounts import services as accounts
from people.models import User
from people.models.bookkeeping import AuditEntry
from tests.factories import UserFactory
from tests.people.site_surface import api_address, page_address
from tests.people.test_roles import OPERATIONS
from tests.suite.module_rows import roll_back_rows
from tests.whole.pages import ANYBODY, GETS, POSTS

PASSWORD = "correct horse battery"
SIGN_IN = "/sign-in/"
CHOSEN = {"username": "lena", "password": PASSWORD, "again": PASSWORD}
FORMS = ["people:sign_in", "people:one_time_link", "people:join"]  # opened and sent by the same address
pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(stranger):
    """A browser that signed in by the page and that checks CSRF tokens."""
    client = Client(enforce_csrf_checks=True)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get(SIGN_IN).text)[1]
    sent = {"username": "stranger", "password": PASSWORD, "csrfmiddlewaretoken": token}
    assert client.post(SIGN_IN, sent).status_code == 302
    return client


@pytest.fixture
def log():
    """All log records of a test, before they are formatted."""
    stream, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(next(h.formatter for h in root.handlers if type(h.formatter).__name__ == "LineFormatter"))
    root.addHandler(handler)
    yield stream
    root.removeHandler(handler)


class TestRedirects:
    ELSEWHERE = (
        *("//evil.example", "///evil.example", "////evil.example", "https://evil.example/", "https:evil.example"),
        *("https:///evil.example", "http:\\\\evil.example", "/\\evil.example", "\\/evil.example"),
        *("\\\\evil.example", "/\t/evil.example", "\n//evil.example", " //evil.example", "\x00//evil.example"),
        *("javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "ftp://testserver/"),
        *("//testserver@evil.example/", "https://testserver.evil.example/", "http://testserver:80@evil.example"),
        *("http://[::1", "a-word", "people:sign_out", "http://testserver/"),
    )

    @pytest.mark.parametrize("target", ELSEWHERE)
    def test_signing_in_stays_on_the_site(self, stranger, target):
        sent = {"username": "stranger", "password": PASSWORD}
        assert Client().post(SIGN_IN, {**sent, "next": target})["Location"] == "/"
        assert Client().post(SIGN_IN, sent, query_params={"next": target})["Location"] == "/"

    @pytest.mark.parametrize("target", ELSEWHERE)
    def test_so_does_whoever_is_signed_in(self, as_admin, target):
        assert as_admin.get(SIGN_IN, {"next": target})["Location"] == "/"

    @pytest.mark.parametrize("target", ["%2F%2Fevil.example", "/%2Fevil.example", "/%5Cevil.example", "evil.example"])
    def test_an_encoded_address_is_a_path_of_this_site(self, as_admin, target):
        assert "//" not in as_admin.get(SIGN_IN, {"next": target})["Location"]

    def test_no_form_goes_where_a_field_says(self, as_admin, ada):
        UserFactory(username="somebody")
        sent = dict.fromkeys(("next", "to", "url", "redirect"), "//evil.example")
        for name in POSTS:
            with roll_back_rows():
                response = as_admin.post(page_address(name), sent)
            assert "evil.example" not in response.get("Location", "") + response.get("HX-Redirect", ""), name

    def test_the_way_to_sign_in_keeps_the_address(self, client):
        for name in GETS:
            if GETS[name].role != ANYBODY and name != "api:openapi-json":  # for programs, which get a 401
                assert client.get(page_address(name))["Location"].startswith("/sign-in/?next=/"), name


class TestForgedForms:
    def test_every_form_needs_its_token(self, admin, ada):
        client = Client(enforce_csrf_checks=True)
        client.force_login(admin, backend="django.contrib.auth.backends.ModelBackend")
        before = AuditEntry.objects.count()
        for name in POSTS:
            for data in ({}, {"csrfmiddlewaretoken": "x" * 64}):
                assert client.post(page_address(name), data).status_code == 403, name
        assert AuditEntry.objects.count() == before

    @pytest.mark.parametrize("name", FORMS)
    def test_so_do_the_forms_for_everybody(self, name, stranger):
        secrets = {
            "people:sign_in": SIGN_IN,
            "people:one_time_link": accounts.make_sign_in_link(stranger),
            "people:join": invitations.invite("viewer", by="root", days=1)[1],
        }
        client = Client(enforce_csrf_checks=True)
        assert client.post(secrets[name], {**CHOSEN, "username": "stranger"}).status_code == 403
        assert not Session.objects.exists()

    def test_so_does_the_api_for_a_session(self, admin, ada):
        client = Client(enforce_csrf_checks=True)
        client.force_login(admin, backend="django.contrib.auth.backends.ModelBackend")
        for operation in [name for name in OPERATIONS if not name.startswith("GET")]:
            method = operation.partition(" ")[0].lower()
            response = getattr(client, method)(api_address(operation), OPERATIONS[operation][1], "application/json")
            assert response.status_code == 403, operation

    def test_a_token_from_another_site_does_not_do(self, signed_in):
        other = Client(enforce_csrf_checks=True)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', other.get(SIGN_IN).text)[1]
        assert signed_in.post("/sign-out/", {"csrfmiddlewaretoken": token}).status_code == 403

    def test_nor_does_a_request_from_another_origin(self, signed_in):
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', signed_in.get("/account/").text)[1]
        sent = {"csrfmiddlewaretoken": token}
        assert signed_in.post("/sign-out/", sent, headers={"Origin": "https://evil.example"}).status_code == 403
        assert signed_in.post("/sign-out/", sent).status_code == 302


class TestSessions:
    def planted(self):
        """A browser whose session key somebody else chose and knows."""
        client = Client()
        session = client.session
        session["planted"] = True
        session.save()
        client.cookies["openclaw_web_session"] = session.session_key
        return client, session.session_key

    def ways_in(self, stranger):
        yield SIGN_IN, {"username": "stranger", "password": PASSWORD}
        yield accounts.make_sign_in_link(stranger), {}
        yield invitations.invite("viewer", by="root", days=1)[1], CHOSEN

    def test_the_key_changes_at_every_way_in(self, stranger):
        for path, data in self.ways_in(stranger):
            client, key = self.planted()
            assert client.post(path, data).status_code == 302, path
            assert client.session.session_key != key
            assert not Session.objects.filter(session_key=key).exists()

    def test_the_first_admin_gets_a_new_key_too(self, db):
        path = accounts.make_first_admin_link()
        client, key = self.planted()
        assert client.post(path, CHOSEN).status_code == 302
        assert client.session.session_key != key

    def test_a_made_up_key_is_not_taken_over(self, stranger):
        client = Client()
        client.cookies["openclaw_web_session"] = "a" * 32
        client.post(SIGN_IN, {"username": "stranger", "password": PASSWORD})
        assert client.session.session_key != "a" * 32

    def test_cookies_are_out_of_reach_of_scripts_and_other_sites(self, signed_in):
        signed_in.get(SIGN_IN)
        for name in ("openclaw_web_session", "openclaw_web_csrf"):
            cookie = signed_in.cookies[name]
            assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "Lax", "/", "")

    def test_behind_tls_they_are_secure(self, settings, stranger):
        settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
        client = Client()
        client.post(SIGN_IN, {"username": "stranger", "password": PASSWORD})
        assert all(client.cookies[name]["secure"] for name in ("openclaw_web_session", "openclaw_web_csrf"))

    def test_signing_out_leaves_nothing(self, stranger):
        client = Client()
        client.post(SIGN_IN, {"username": "stranger", "password": PASSWORD})
        stolen = client.session.session_key
        client.post("/sign-out/")
        thief = Client()
        thief.cookies["openclaw_web_session"] = stolen
        assert thief.get("/account/").status_code == 302


class TestTokens:
    @pytest.mark.parametrize("name", ["token", "access_token", "api_key", "authorization", "Authorization", "bearer"])
    def test_one_in_the_address_opens_nothing(self, admin, ada, name, log):
        _, text = tokens.make_token(admin, name="x", role="admin")
        assert Client().get("/api/v1/agents", {name: text}).status_code == 401
        assert Client().post("/api/v1/operations/collect", {name: text}).status_code == 401
        assert Client().get(f"/api/v1/agents/{text}").status_code == 401
        client = Client()
        client.cookies[name] = text
        assert client.get("/api/v1/agents").status_code == 401
        assert text not in log.getvalue()

    @pytest.mark.parametrize(
        "scheme", ["Basic {}", "{}", "bearer{}", "Token {}", "Bearer  ", "Bearer {} x", "Bearer {}\x01"]
    )
    def test_only_the_one_header_counts(self, admin, scheme):
        _, text = tokens.make_token(admin, name="x", role="admin")
        headers = {"Authorization": scheme.format(text)}
        assert Client().get("/api/v1/agents", headers=headers).status_code == 401

    @pytest.mark.parametrize("days", [30, 90, 365])
    def test_one_out_of_date_is_dead(self, admin, ada, later, days):
        _, text = tokens.make_token(admin, name="x", role="viewer", days=days)
        headers = {"Authorization": f"Bearer {text}"}
        later(hours=24 * days - 1)
        assert Client().get("/api/v1/agents", headers=headers).status_code == 200
        later(hours=24 * days + 1)
        assert Client().get("/api/v1/agents", headers=headers).status_code == 401

    def test_one_for_ever_lives(self, admin, ada, later):
        _, text = tokens.make_token(admin, name="x", role="viewer")
        later(hours=24 * 5000)
        assert Client().get("/api/v1/agents", headers={"Authorization": f"Bearer {text}"}).status_code == 200

    def test_it_stands_in_no_log_and_no_table(self, admin, ada, log):
        _, text = tokens.make_token(admin, name="x", role="viewer")
        Client().get("/api/v1/agents/ada/sessions", headers={"Authorization": f"Bearer {text}"})
        Client().get(f"/api/v1/{text}", headers={"Authorization": f"Bearer {text}", "Referer": f"http://x/{text}"})
        secret = text.split("_", 2)[2]
        assert secret not in log.getvalue() and secret not in str(AuditEntry.objects.values())


class TestLinks:
    def paths(self, user):
        return accounts.make_sign_in_link(user), invitations.invite("viewer", by="root", days=1)[1]

    def test_they_stand_in_no_log(self, stranger, log):
        for path in self.paths(stranger):
            Client().post(path, {"password": "short", "again": "x"})
            Client().get(f"{path}x", headers={"Referer": path})
            Client().get("/nothing/", headers={"Referer": path})
            assert path.split("/")[2] not in log.getvalue()

    def test_other_sites_do_not_hear_of_them(self, client, stranger):
        for path in self.paths(stranger):
            response = client.get(path)
            assert response["Referrer-Policy"] == "same-origin" and "no-store" in response["Cache-Control"]
            assert "http://" not in response.text and "https://" not in response.text

    def test_nobody_resets_the_password_of_somebody_else(self, stranger, reviewer):
        client = Client()
        sent = {"password": "a stolen account", "again": "a stolen account", "username": "reviewer", "user": "reviewer"}
        client.post(accounts.make_sign_in_link(stranger), sent)
        assert User.objects.get(username="reviewer").check_password(PASSWORD)
        assert client.get("/account/").context["user"].username == "stranger"


class TestRequests:
    @pytest.mark.parametrize(
        "host",
        ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "x@evil.example", "a b", "", "[::1", "\u0661"],
    )
    def test_another_host_is_not_served(self, settings, stranger, host):
        settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
        response = Client().get(SIGN_IN, headers={"Host": host} if host else {"Host": "!"})
        assert response.status_code == 400 and "evil" not in response.text

    def test_a_forwarded_host_is_not_believed(self, as_admin, stranger):
        response = as_admin.post("/operations/users/stranger/link/", headers={"X-Forwarded-Host": "evil.example"})
        assert "evil.example" not in response.text

    def test_what_changes_something_takes_a_post(self, as_admin, ada):
        for name in POSTS:
            for method in ("get", "head", "put", "delete", "patch", "options"):
                assert getattr(as_admin, method)(page_address(name)).status_code == 405, (name, method)

    def test_what_shows_something_takes_no_other_method(self, as_admin, ada):
        for name in [name for name in GETS if name.startswith(("operations", "ledger", "datasets"))]:
            for method in ("put", "delete", "patch", "options"):
                assert getattr(as_admin, method)(page_address(name)).status_code == 405, (name, method)
            assert as_admin.head(page_address(name)).status_code < 500, name

    def test_method_override_is_not_a_thing(self, as_admin, stranger):
        as_admin.get("/operations/users/stranger/deactivate/", headers={"X-HTTP-Method-Override": "POST"})
        stranger.refresh_from_db()
        assert stranger.is_active

    @pytest.mark.parametrize("address", [SIGN_IN, "/operations/users/add/", "/account/password/"])
    def test_a_body_that_is_too_big_is_refused(self, as_admin, address):
        assert as_admin.post(address, {"username": "x" * 6_000_000}).status_code in (400, 413)

    @pytest.mark.parametrize("address", [SIGN_IN, "/operations/users/add/"])
    def test_too_many_fields_are_refused(self, as_admin, address):
        assert as_admin.post(address, {f"f{number}": "" for number in range(2000)}).status_code in (400, 413)

    @pytest.mark.parametrize("name", ["x\0y", "\ud800", "\u202e", "x" * 200_000, "'; DROP TABLE users; --", "{{7*7}}"])
    def test_hostile_names_at_the_door(self, stranger, name):
        response = Client().post(
            SIGN_IN, f"username={name}&password=x".encode("utf-8", "surrogatepass"), "application/x-www-form-urlencoded"
        )
        assert response.status_code == 422
        assert "49" not in re.findall(r'name="username" value="([^"]*)"', response.text)


class TestHeaders:
    ADDRESSES = (SIGN_IN, "/", "/account/", "/nothing/", "/operations/audit/", "/healthz", "/welcome/x/", "/join/x/")
    API = ("/api/v1/agents", "/api/v1/nothing", "/api/v1/docs", "/api/v1/operations/audit")

    @pytest.mark.parametrize("who", ["nobody", "admin"])
    @pytest.mark.parametrize("address", ADDRESSES + API)
    def test_every_answer_has_them(self, admin, ada, who, address):
        client = Client()
        if who == "admin":
            client.force_login(admin, backend="django.contrib.auth.backends.ModelBackend")
        response = client.get(address)
        policy = response["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy
        assert (response["X-Frame-Options"], response["X-Content-Type-Options"]) == ("DENY", "nosniff")
        assert response["Referrer-Policy"] == response["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "private" in response["Cache-Control"] or "no-store" in response["Cache-Control"]

    def test_also_a_refused_form_and_a_broken_page(self, stranger, monkeypatch):
        for response in (Client(enforce_csrf_checks=True).post(SIGN_IN), Client().post("/sign-in/%00")):
            assert "default-src 'none'" in response["Content-Security-Policy"]
            assert response["X-Frame-Options"] == "DENY"

    def test_a_download_is_no_page(self, as_admin):
        response = as_admin.get("/operations/audit/", {"format": "json"})
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Content-Disposition"].startswith("attachment")


def test_what_is_not_ones_own_does_not_show_that_it_exists(as_stranger, reviewer):
    token, _text = tokens.make_token(reviewer, name="x", role="viewer")
    for token_id in (token.id, "nothing"):
        assert as_stranger.post(reverse("people:token_revoke", args=[token_id])).status_code == 404


def test_nobody_waits_for_a_password_to_be_hashed(monkeypatch):
    """Hashing is slow on purpose; in a write transaction it would block all other writes."""
    encode, outside, inside = MD5PasswordHasher.encode, len(connection.savepoint_ids), []

    def watched(self, *args, **kwargs):
        inside.append(len(connection.savepoint_ids) > outside)
        return encode(self, *args, **kwargs)

    monkeypatch.setattr(MD5PasswordHasher, "encode", watched)
    first = accounts.make_first_admin_link().split("/")[-2]
    root = accounts.make_first_admin(first, username="root", password=PASSWORD)
    accounts.sign_in_by_link(accounts.make_sign_in_link(root).split("/")[-2], password=PASSWORD)
    accounts.change_password(root, PASSWORD)
    _invitation, path = invitations.invite("viewer", by="root", days=7)
    invitations.accept(path.split("/")[-2], username="lena", password=PASSWORD)
    assert inside == [False] * 4


def test_passwords_that_were_hashed_before_still_fit():
    before, now = Argon2PasswordHasher(), OneAtATimeHasher()
    encoded = before.encode(PASSWORD, before.salt())
    assert now.verify(PASSWORD, encoded) and not now.verify("another", encoded) and not now.must_update(encoded)
    assert before.verify(PASSWORD, now.encode(PASSWORD, now.salt()))
