"""Rules of every API operation: authentication, failures, and the golden OpenAPI document."""

import html
import os
import re
from http.client import responses
from pathlib import Path

import orjson
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connections
from django.test import Client

from openclaw_web import api as api_module
from openclaw_web.api import api
from openclaw_web.endpoints.spellings import to_camel_case
from people.accounts import tokens
from tests import faults

GOLDEN = Path(__file__).parents[1] / "data" / "openapi.json"
DOCS = Path(__file__).parents[2] / "docs" / "api.md"
AGENTS = "/api/v1/agents"
COLLECT = "/api/v1/operations/collect"
ERROR_FIELDS = {"detail", "code"}
pytestmark = pytest.mark.django_db


def bearer(user, role=None):
    """Returns the header of a new token of `user`."""
    _, text = tokens.make_token(user, name="test", role=role or user.role)
    return {"Authorization": f"Bearer {text}"}


def operations():
    """Yields every (method, path, operation) of the document."""
    for path, methods in api.get_openapi_schema()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def normalise_document(document):
    """Returns a document in the wording of the golden file.

    Python 3.13 renamed status 422.
    """
    return document.replace(responses[422], "Unprocessable Entity")


def test_the_promise_is_kept():
    """A changed promise shows up in the diff of the golden file; UPDATE_GOLDEN=1 rewrites it."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE
    document = normalise_document(orjson.dumps(api.get_openapi_schema(), option=options).decode())
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(document)
    assert document == GOLDEN.read_text(), (
        "run UPDATE_GOLDEN=1 ./dev test tests/openclaw_web/test_api.py, look at the diff"
    )


def test_operations_have_names_of_their_own():
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names))


def test_every_operation_declares_its_failures_and_its_role():
    for method, path, operation in operations():
        declared = set(operation["responses"])
        assert {401, 403, 422} <= declared, f"{method} {path}"
        assert operation["x-role"], f"{method} {path}"
        assert operation["description"], f"{method} {path}"
        assert "{agent}" not in path or 404 in declared, f"{method} {path}"
        assert "requestBody" not in operation or 400 in declared, f"{method} {path}"
        assert {429, 503} <= declared, f"{method} {path}"
        assert {409, 413, 415} <= declared if method != "GET" else 304 in declared, f"{method} {path}"


def test_an_operation_without_a_role_stops_the_start(tmp_path, monkeypatch):
    lines = (
        "from openclaw_web.endpoints.operations import Operations",
        'router = Operations("open", tags=["open"])',
        'router.get("/open", None)(lambda request: None)',
    )
    (tmp_path / "open_to_all.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImproperlyConfigured, match="needs a role"):
        api_module.mount("open_to_all")


class TestWhoIsAsking:
    def test_nobody(self, client, db):
        response = client.get(AGENTS)
        assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
        assert set(response.json()) == ERROR_FIELDS

    def test_a_token_is_enough(self, client, reviewer):
        assert client.get(AGENTS, headers=bearer(reviewer)).status_code == 200

    def test_a_token_needs_no_csrf_token(self, reviewer, admin):
        client = Client(enforce_csrf_checks=True)
        response = client.post(COLLECT, {}, "application/json", headers=bearer(admin))
        assert response.status_code == 202

    def test_a_session_needs_its_csrf_token_to_change_something(self, admin):
        client = Client(enforce_csrf_checks=True)
        client.force_login(admin, backend="django.contrib.auth.backends.ModelBackend")
        response = client.post(COLLECT, {}, "application/json")
        assert (response.status_code, set(response.json())) == (403, ERROR_FIELDS)
        client.get("/operations/tokens/")
        headers = {"X-CSRFToken": client.cookies["openclaw_web_csrf"].value}
        assert client.post(COLLECT, {}, "application/json", headers=headers).status_code == 202

    @pytest.mark.parametrize("header", ["Bearer oc_0123abcd_wrong", "Bearer", "Basic cm9vdDpyb290", "oc_0123abcd_x"])
    def test_a_bad_header_is_not_made_good_by_a_session(self, as_admin, header):
        assert as_admin.get(AGENTS, headers={"Authorization": header}).status_code == 401

    def test_a_token_is_no_session(self, client, admin):
        response = client.get("/operations/users/", headers=bearer(admin))
        assert response.status_code == 302

    def test_a_token_does_not_change_its_owners_role(self, client, admin):
        client.get(AGENTS, headers=bearer(admin, "viewer"))
        admin.refresh_from_db()
        assert admin.role == "admin" and admin.has_role("admin")


class TestFailures:
    def test_a_role_too_low(self, client, reviewer):
        response = client.post(COLLECT, {}, "application/json", headers=bearer(reviewer))
        assert (response.status_code, set(response.json())) == (403, ERROR_FIELDS)

    @pytest.mark.parametrize("path", ["agents/nobody", "agents/nobody/sessions", "nothing/here", "operations/jobs/x"])
    def test_nothing_there(self, as_admin, path):
        response = as_admin.get(f"/api/v1/{path}")
        assert (response.status_code, set(response.json())) == (404, ERROR_FIELDS)

    @pytest.mark.parametrize("limit", ["0", "201", "many", "9" * 30])
    def test_a_limit_that_does_not_fit(self, as_admin, limit):
        response = as_admin.get(AGENTS, {"limit": limit})
        assert (response.status_code, response.json()["errors"][0]["loc"]) == (422, ["query", "limit"])
        assert response.json()["detail"].startswith("The request is not valid: limit: ")

    @pytest.mark.parametrize("body", ["{", "1.5", "[]", "null", '{"include_deleted": "\\ud800"}', b"\xed\xb3\xbf"])
    def test_a_body_that_is_no_json(self, as_admin, body):
        response = as_admin.post(COLLECT, body, "application/json")
        assert (response.status_code, set(response.json())) == (400, ERROR_FIELDS)

    def test_a_body_that_does_not_fit(self, as_admin):
        assert as_admin.post(COLLECT, {"include_deleted": 7}, "application/json").status_code == 422

    def test_a_method_that_is_not_offered(self, as_admin):
        response = as_admin.post(AGENTS)
        assert (response.status_code, set(response.json()), response["Allow"]) == (405, ERROR_FIELDS, "GET")

    def test_a_body_that_is_not_json(self, as_admin):
        response = as_admin.post(COLLECT, {"include_deleted": "1"})
        assert (response.status_code, response.json()["code"]) == (415, "not_json")

    def test_a_body_that_is_too_big(self, as_admin, settings):
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
        response = as_admin.post(COLLECT, {"include_deleted": True}, "application/json")
        assert (response.status_code, response.json()["code"]) == (413, "too_big")

    def test_an_unknown_host(self, client, settings):
        settings.ALLOWED_HOSTS = ["here"]
        response = client.get(AGENTS, headers={"Host": "there"})
        assert (response.status_code, set(response.json())) == (400, ERROR_FIELDS)

    def test_an_address_beside_the_api(self, as_admin):
        response = as_admin.get("/api/v2/agents")
        assert (response.status_code, set(response.json())) == (404, ERROR_FIELDS)

    def test_pages_say_it_as_pages(self, as_admin):
        assert as_admin.get("/nothing/here/at/all")["Content-Type"].startswith("text/html")

    def test_an_error_of_ours(self, as_admin, ada):
        with connections["agent_ada"].cursor() as cursor:
            cursor.execute("ALTER TABLE sessions RENAME TO lost")
        as_admin.raise_request_exception = False
        response = as_admin.get("/api/v1/agents/ada/sessions")
        assert (response.status_code, set(response.json())) == (500, ERROR_FIELDS)

    def test_a_writer_that_takes_too_long(self, as_admin, ada):
        def locked():
            raise OperationalError("database is locked")

        with faults.before_statement("agent_ada", lambda sql: "FROM" in sql, locked):
            response = as_admin.get("/api/v1/agents/ada/sessions")
        assert (response.status_code, response["Retry-After"]) == (503, "1")

    def test_a_csrf_failure_beside_an_operation(self, admin):
        client = Client(enforce_csrf_checks=True)
        client.force_login(admin, backend="django.contrib.auth.backends.ModelBackend")
        response = client.post("/api/v1/docs")
        assert (response.status_code, response.json()["code"]) == (403, "csrf")


class TestDocumentation:
    def test_programs_read_the_document_with_their_token(self, client, admin):
        address, answers = "/api/v1/openapi.json", {}
        _, token = tokens.make_token(admin, name="client", role="viewer")
        for name, headers in (("token", {"Authorization": f"Bearer {token}"}), ("dead", {"Authorization": "Bearer x"})):
            answers[name] = client.get(address, headers=headers)
        assert (answers["token"].status_code, answers["token"].json()["info"]["title"]) == (200, "OpenClaw Web")
        for refused in (answers["dead"], client.get(address)):
            assert (refused.status_code, refused.json()["code"]) == (401, "not_signed_in")

    def test_it_loads_our_own_files_only(self, as_admin):
        response = as_admin.get("/api/v1/docs")
        page = response.text
        assert "/static/ninja/swagger-ui-bundle.js" in page and "/static/api-docs.css" in page
        assert not re.search(r"(?:src|href)=.https?:", page) and not re.search(
            r"<script(?![^>]* src=)|<style|\bstyle=", page
        )
        assert '<nav class="rail"' in page and "data-api-csrf" in page and "data-theme-switch" in page
        settings = re.search(r'id="swagger-settings" hidden>(.*?)</div>', page, re.DOTALL)[1]
        assert orjson.loads(html.unescape(settings))["url"] == "/api/v1/openapi.json"
        for source in ("script-src 'self'", "style-src 'self'", "img-src 'self' data:"):
            assert source in response["Content-Security-Policy"]

    def test_the_document_is_the_one_that_is_promised(self, as_admin):
        document = normalise_document(as_admin.get("/api/v1/openapi.json").text)
        assert orjson.loads(document) == orjson.loads(GOLDEN.read_bytes())

    def test_docs_name_every_operation_and_its_role(self):
        documented = re.findall(r"^\| `(\w+) (/\S*)` \| (\w+) \|", DOCS.read_text(), re.MULTILINE)
        offered = (
            (method, path.removeprefix("/api/v1"), operation["x-role"]) for method, path, operation in operations()
        )
        assert sorted(documented) == sorted(offered)

    def test_docs_name_every_parameter(self):
        rows = re.findall(r"^\| `(\w+) (/\S*)` \| \w+ \| (.*) \|$", DOCS.read_text(), re.MULTILINE)
        documented = {(method, f"/api/v1{path}"): set(re.findall(r"`(\w+)`", row)) for method, path, row in rows}
        for method, path, operation in operations():
            parameters = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
            missing = parameters - documented[method, path] - {"after", "before", "limit", "format"}  # of all lists
            assert {to_camel_case(name) for name in missing} <= documented[method, path], (method, path, missing)


def test_what_is_not_there_is_named(as_admin, ada):
    unnamed, count = [], 0
    for method, path, _operation in operations():
        if set(re.findall(r"{(\w+)}", path)) <= {"agent"}:
            continue
        address = re.sub(r"{\w+}", "zzz", path.replace("{agent}", "ada"))
        ask = getattr(as_admin, method.lower())
        answer = ask(address, {} if method == "POST" else None, content_type="application/json")
        if answer.status_code == 404:
            count += 1
            if answer.json()["detail"] == "There is nothing at this address.":
                unnamed.append((method, path))
    assert not unnamed and count > 40


def test_an_agent_that_is_not_there_is_named(as_admin):
    answer = as_admin.get("/api/v1/agents/zzz/sessions")
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no agent zzz.")
    sentence = as_admin.get("/api/v1/nothing/of/the/kind").json()["detail"]
    assert sentence == "There is nothing at this address."


@pytest.mark.parametrize(
    ("address", "body", "place"),
    [
        ("/api/v1/exports", {"format": "alpaca"}, "name: Field required"),
        ("/api/v1/exports", {"name": "a", "format": "alpaca", "colour": 1}, "colour: Extra inputs"),
        ("/api/v1/agents/ada/guardian/writes/x/rollback", {"reason": "x"}, "seen: Field required"),
        ("/api/v1/agents/ada/gate/decisions", {"decisions": [{"id": "x"}]}, "decisions.0.session_id: Field required"),
    ],
)
def test_an_error_names_the_field_and_not_an_argument_of_ours(as_admin, ada, address, body, place):
    answer = as_admin.post(address, body, content_type="application/json")
    assert answer.status_code == 422 and f"The request is not valid: {place}" in answer.json()["detail"]
    first = answer.json()["errors"][0]["loc"]
    empty = as_admin.post(address, "", content_type="application/json")
    assert (empty.status_code, empty.json()["detail"]) == (422, "The request has no body. Send a JSON object.")
    assert (first[0], ".".join(map(str, first[1:]))) == ("body", place.partition(":")[0])
