"""People, tokens and invitations through the API."""

import pytest

from people.models import ApiToken, Invitation, SignIn
from tests.factories import T0, UserFactory
from tests.openclaw_web.test_api import bearer

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/operations"


def post(client, path, body=None, **headers):
    return client.post(f"{ROOT}{path}", body or {}, "application/json", headers=headers)


class TestMe:
    def test_it_works(self, as_admin):
        me = as_admin.get("/api/v1/me").json()
        assert (me["username"], me["role"], me["token"]) == ("root", "admin", None)

    def test_a_token_says_what_it_may_do(self, client, admin):
        headers = bearer(admin, "viewer")
        me = client.get("/api/v1/me", headers=headers).json()
        assert (me["role"], me["own_role"], me["token_name"]) == ("viewer", "admin", "test")
        assert headers["Authorization"].startswith(f"Bearer {me['token']}_")


class TestSignIns:
    def test_it_works(self, client, admin):
        token = bearer(admin)
        row = {"user": admin, "how": "password", "created_at": T0, "last_seen_at": T0, "expires_at": 2 * T0}
        first, second = (SignIn.objects.create(id=name, **row) for name in ("one", "two"))
        SignIn.objects.create(id="other", **row | {"user": UserFactory()})
        items = client.get("/api/v1/me/sign-ins", headers=token).json()["items"]
        assert [sign_in["id"] for sign_in in items] == [second.id, first.id]
        ended = client.post("/api/v1/me/sign-ins/one/end", {}, "application/json", headers=token)
        assert ended.json()["ended_at"]
        others = client.post("/api/v1/me/sign-ins/other/end", {}, "application/json", headers=token)
        assert others.status_code == 404


class TestUsers:
    def test_it_works(self, as_admin):
        made = post(as_admin, "/users", {"username": "lin", "role": "labeller"})
        assert "/welcome/" in made.json()["link"]
        assert made["Cache-Control"] == "no-store"
        people = as_admin.get(f"{ROOT}/users").json()["items"]
        assert [(person["username"], person["role"]) for person in people] == [("lin", "labeller"), ("root", "admin")]

    @pytest.mark.parametrize("body", [{"username": "a\x00b"}, {"username": "x", "role": "king"}, {}])
    def test_what_does_not_fit(self, as_admin, body):
        assert post(as_admin, "/users", body).status_code == 422

    def test_another_role_and_back_in(self, as_admin):
        UserFactory(username="lin")
        assert post(as_admin, "/users/lin/role", {"role": "operator"}).json()["role"] == "operator"
        assert post(as_admin, "/users/lin/deactivate").json()["is_active"] is False
        assert post(as_admin, "/users/lin/link").status_code == 409
        assert post(as_admin, "/users/lin/activate").json()["is_active"] is True
        assert post(as_admin, "/users/lin/sign-out").status_code == 200
        assert post(as_admin, "/users/lin/unlock").json()["is_locked"] is False


class TestTokens:
    def test_it_works(self, as_admin, client):
        made = post(as_admin, "/tokens", {"name": "ci", "role": "viewer", "days": 1})
        assert made["Cache-Control"] == "no-store"
        headers = {"Authorization": f"Bearer {made.json()['token']}"}
        assert client.get("/api/v1/agents", headers=headers).status_code == 200
        listed = as_admin.get(f"{ROOT}/tokens").json()["items"]
        assert [token["name"] for token in listed] == ["ci"]
        assert "token" not in listed[0]
        assert post(as_admin, f"/tokens/{made.json()['id']}/revoke").json()["revoked_at"]
        assert client.get("/api/v1/agents", headers=headers).status_code == 401

    def test_a_token_makes_no_token(self, client, admin):
        response = post(client, "/tokens", {"name": "child", "role": "viewer"}, **bearer(admin))
        assert response.status_code == 409
        assert ApiToken.objects.count() == 1


class TestInvitations:
    def test_it_works(self, as_admin):
        made = post(as_admin, "/invitations", {"role": "labeller", "note": "Lin"}).json()
        assert "/join/" in made["link"]
        assert [row["note"] for row in as_admin.get(f"{ROOT}/invitations").json()["items"]] == ["Lin"]
        assert post(as_admin, f"/invitations/{made['id']}/revoke").json()["revoked_at"]
        assert Invitation.objects.get().revoked_at
