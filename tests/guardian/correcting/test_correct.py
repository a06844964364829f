"""The page of a correction: what the write was beside what it should be, with and without scripts, and the API."""

import pytest

from guardian.models import BehaviorCorrection
from people.configuration import keys as configuration
from tests.guardian.written import wrote

pytestmark = pytest.mark.django_db
DB = "agent_ada"
PAGE = "/agents/ada/writes/correct/w1/"
SAVE = "/agents/ada/correct/w1/"
SHOWN = "/agents/ada/corrections/w1/"
TRY = "/agents/ada/writes/rules/try/"
API = "/api/v1/agents/ada/guardian/writes/w1/correction"
CHECK = "/api/v1/agents/ada/guardian/rules/check"
BODY = {"status": "refused", "reason": "No.", "apply_to_future": True}
SAID = {"status": "refused", "fact": "Likes tea.", "file": "MEMORY.md", "reason": "No."}


@pytest.fixture(autouse=True)
def write(ada):
    return wrote(DB, 1, None, b"Likes tea.\n")


def test_operators_make_rules(as_operator):
    page = as_operator.get(PAGE).content.decode()
    assert "Likes\\W+tea" in page and "Try the pattern" in page
    response = as_operator.post(SAVE, SAID | {"apply_to_future": "on", "pattern": "tea"})
    assert (response.status_code, response["Location"]) == (302, SHOWN)
    row = BehaviorCorrection.objects.using(DB).get()
    assert (row.correction_pattern, row.corrected_by) == ("tea", "otto")
    assert "No." in as_operator.get(SHOWN).content.decode()


def test_labellers_correct_without_rules(as_reviewer):
    page = as_reviewer.get(PAGE).content.decode()
    assert "What it should have been" in page and "Try the pattern" not in page
    as_reviewer.post(SAVE, SAID | {"apply_to_future": "on", "pattern": "tea"})
    assert BehaviorCorrection.objects.using(DB).get().apply_to_future is False


def test_what_was_typed_comes_back_with_what_is_wrong(as_operator):
    response = as_operator.post(SAVE, SAID | {"status": "written", "reason": "Typed words"})
    page = response.content.decode()
    assert response.status_code == 422 and "Typed words" in page and "Nothing differs from what happened." in page


def test_a_write_with_a_long_fact_is_corrected_like_any_other(as_operator):
    fact = "tea " * 4_999 + "tea."  # as long as recording takes them
    wrote(DB, 2, b"Likes tea.\n", b"x\n", candidate_fact=fact)
    check = as_operator.post(CHECK, {"fact": fact, "file": "MEMORY.md"}, "application/json")
    assert (check.status_code, check.json()["fact"]) == (200, fact)
    assert as_operator.post(API.replace("w1", "w2"), BODY, "application/json").status_code == 201
    said = SAID | {"status": "written", "file": "USER.md", "fact": fact}
    assert as_operator.post(SAVE.replace("w1", "w2"), said).status_code == 302
    assert as_operator.post(SAVE.replace("w1", "w2"), said | {"fact": f"{fact}."}).status_code == 422


@pytest.mark.parametrize("name", ["fact", "reason", "pattern"])
def test_a_nul_is_refused_wherever_it_is_typed(as_operator, name):
    said = SAID | {"pattern": "tea", name: "te\0a"}
    assert as_operator.post(SAVE, said | {"apply_to_future": "on"}).status_code == 422
    assert as_operator.post(API, said | {"apply_to_future": True}, "application/json").status_code == 422
    assert not BehaviorCorrection.objects.using(DB).exists()


def test_a_box_that_is_not_ticked_leaves_the_pattern_out(as_operator):
    as_operator.post(SAVE, SAID | {"pattern": "tea"})
    assert BehaviorCorrection.objects.using(DB).get().correction_pattern is None


def test_a_pattern_is_tried_on_past_facts(as_operator):
    for number in range(2, 40):
        wrote(DB, number, None, b"x", candidate_fact=f"Likes tea {number}" if number % 2 else f"Likes milk {number}")
    part = as_operator.post(TRY, {"pattern": "TEA"}, headers={"HX-Request": "true"}).content.decode()
    assert "20 of 39 past facts match." in part and "<html" not in part
    assert part.index("Likes tea 39") < part.index("Likes tea 37")
    assert "<html" in as_operator.post(TRY, {"pattern": "tea"}).content.decode()
    assert "cannot be used" in as_operator.post(TRY, {"pattern": "("}).content.decode()


def test_rules_need_an_operator_in_the_api(as_reviewer):
    assert as_reviewer.post(API, BODY, "application/json").status_code == 403
    assert as_reviewer.post(API, BODY | {"apply_to_future": False}, "application/json").status_code == 201


def test_the_api(as_operator):
    headers = {"Idempotency-Key": "one"}
    first = as_operator.post(API, BODY, "application/json", headers=headers)
    again = as_operator.post(API, BODY, "application/json", headers=headers)
    assert first.status_code == again.status_code == 201 and first.json() == again.json()
    assert first.json()["pattern"] == r"Likes\W+tea" and first.json()["original_fact"] == "Likes tea."
    assert as_operator.post(API, BODY, "application/json").status_code == 409
    assert as_operator.post(API, {"status": "failed", "reason": "x"}, "application/json").status_code == 422
    assert as_operator.post(API.replace("w1", "w9"), BODY, "application/json").status_code == 404


def test_nothing_is_said_of_a_pattern_before_it_is_typed(as_operator):
    part = as_operator.post(TRY, {"pattern": " "}, headers={"HX-Request": "true"}).content.decode()
    assert "bad" not in part and "matches" not in part
    assert "Type a pattern" in as_operator.post(TRY, {"pattern": ""}).content.decode()


def test_look_around_is_named_only_where_it_is_meant(as_operator):
    assert "Look-around" not in as_operator.post(TRY, {"pattern": "(tea"}).content.decode()
    assert "Look-around" in as_operator.post(TRY, {"pattern": "(?=tea)"}).content.decode()


def test_a_pattern_that_matches_everything_is_pointed_out(as_operator):
    wrote(DB, 2, None, b"x", candidate_fact="Likes milk.")
    wrote(DB, 3, None, b"x", candidate_fact="Rolled back.", origin="rollback")
    part = as_operator.post(TRY, {"pattern": "."}).content.decode()
    assert "This pattern matches every past fact." in part and "2 of 2 past facts match." in part
    assert "every past fact" not in as_operator.post(TRY, {"pattern": "milk"}).content.decode()


def test_a_write_that_cannot_be_corrected_has_no_form(as_operator):
    configuration.put("collector.optedOutSenders", ["mallory"])
    page = as_operator.get(PAGE).content.decode()
    assert "This write cannot be corrected" in page and "Save correction" not in page and "Likes tea." in page
