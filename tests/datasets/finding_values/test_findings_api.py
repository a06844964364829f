"""The API of findings."""

import pytest

from datasets.models import FindingValue, FindingVerdict
from tests.datasets.finding_values.finding_rows import KEY, KEY_HASH, MAIL, MAIL_HASH, states

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/findings"


@pytest.fixture
def call(client, reviewer):
    """Send a request as a labeller, and return its answer as JSON."""
    client.force_login(reviewer)

    def send(path="", body=None, status=200):
        address = f"{ROOT}{path}"
        answer = client.get(address) if body is None else client.post(address, body, "application/json")
        assert answer.status_code == status, answer.content
        return answer.json()

    return send


def test_the_list_and_its_filters(call, stored):
    rows = call()["items"]
    assert [(row["value_hash"], row["kind"], row["places"], row["agents"]) for row in rows] == [
        (KEY_HASH, "key", 1, 1),
        (MAIL_HASH, "email", 2, 2),
    ]
    assert MAIL not in str(rows)
    assert [row["kind"] for row in call("?agent=bob")["items"]] == ["email"]
    assert [row["kind"] for row in call("?sort=places")["items"]] == ["key", "email"]
    first = call("?limit=1")
    assert [row["kind"] for row in call(f"?limit=1&after={first['next']}")["items"]] == ["email"]
    call("?kind=nonsense", status=422)


def test_a_value_with_its_places(call, stored):
    value = call(f"/{MAIL_HASH}")
    assert (value["value"], value["held_by"]) == (
        MAIL,
        [{"agent_id": "ada", "places": 1}, {"agent_id": "bob", "places": 1}],
    )
    assert KEY not in str(call(f"/{KEY_HASH}"))
    (place,) = call(f"/{MAIL_HASH}/places?agent=ada")["items"]
    assert (place["before"], place["value"], place["after"]) == ("Write to ", MAIL, " <b>today</b>")
    assert (place["place"], place["path"], place["start"]) == ("record:s/1", "$.message.content[0].text", 9)
    call("/x", status=404)
    call("/x/places?agent=ada", status=404)
    call(f"/{MAIL_HASH}/places?agent=nobody", status=404)


def test_viewers_get_no_values(client, django_user_model, stored):
    client.force_login(django_user_model.objects.create(username="vic", role="viewer"))
    assert client.get(f"{ROOT}/{MAIL_HASH}").json()["value"] is None
    places = client.get(f"{ROOT}/{MAIL_HASH}/places?agent=ada")
    assert MAIL not in places.content.decode() and len(places.json()["items"]) == 1
    answer = client.post(f"{ROOT}/{MAIL_HASH}/verdict", {"verdict": "dismissed"}, "application/json")
    assert answer.status_code == 403


def test_verdict_and_undo(call, ada, stored):
    row = call(f"/{MAIL_HASH}/verdict", {"verdict": "dismissed", "notes": "our own address"})
    assert (row["scope"], row["verdict"], row["decided_by"], row["notes"]) == (
        *("value", "dismissed", "reviewer"),
        "our own address",
    )
    assert states(ada, kind="email") == ["dismissed"]
    undone = call("/undo", {})
    assert (undone["undoes"], undone["verdict"]) == (row["id"], "undone")
    assert FindingValue.objects.get(value_hash=MAIL_HASH).state == "open"
    assert "nothing to undo" in call("/undo", {}, status=409)["detail"]
    call("/undo", {"verdict_id": row["id"]}, status=409)
    assert [verdict["id"] for verdict in call(f"/{MAIL_HASH}")["verdicts"]] == [undone["id"], row["id"]]


def test_a_place_and_a_rule(call, ada, stored):
    (place,) = call(f"/{MAIL_HASH}/places?agent=ada")["items"]
    body = {"verdict": "dismissed", "scope": "place", "agent": "ada", "finding": place["id"]}
    assert call(f"/{MAIL_HASH}/verdict", body)["place"] == "record:s/1"
    call(f"/{MAIL_HASH}/verdict", body | {"agent": "bob", "finding": 10**9}, status=409)
    call(f"/{MAIL_HASH}/verdict", {"verdict": "dismissed", "scope": "rule"}, status=403)
    call(f"/{MAIL_HASH}/verdict", {"verdict": "added"}, status=422)
    assert FindingVerdict.objects.count() == 1


def test_a_repeated_request_adds_one_verdict(client, reviewer, stored):
    client.force_login(reviewer)
    for _try in range(2):
        answer = client.post(
            f"{ROOT}/{MAIL_HASH}/verdict",
            {"verdict": "confirmed"},
            "application/json",
            headers={"Idempotency-Key": "once"},
        )
        assert answer.status_code == 200, answer.content
    assert FindingVerdict.objects.count() == 1
