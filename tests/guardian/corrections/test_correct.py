"""The page of a correction: the write beside what it should be, and the API.

The page works with and without scripts.
"""

import re

import pytest

from guardian.models import BehaviorCorrection
from people.configuration import setting_values as configuration
from tests.factories import TurnFactory
from tests.guardian.write_rows import create_rollback, create_write

from .correction_rows import create_correction

pytestmark = pytest.mark.django_db
DB = "agent_ada"
PAGE = "/agents/ada/writes/correct/w1/"
SAVE = "/agents/ada/correct/w1/"
CORRECTIONS_PAGE = "/agents/ada/corrections/w1/"
TRY = "/agents/ada/writes/rules/try/"
API = "/api/v1/agents/ada/guardian/writes/w1/correction"
CHECK = "/api/v1/agents/ada/guardian/rules/check"
BODY = {"status": "refused", "reason": "No.", "apply_to_future": True}
FORM = {"status": "refused", "fact": "Likes tea.", "file": "MEMORY.md", "reason": "No."}


@pytest.fixture(autouse=True)
def write(ada):
    return create_write(DB, 1, None, b"Likes tea.\n")


def test_operators_make_rules(as_operator):
    page = as_operator.get(PAGE).content.decode()
    assert re.search(r'id="id_contains"[^>]*>\s*like\s+tea</textarea>', page) and "Try on past facts" in page
    response = as_operator.post(SAVE, FORM | {"apply_to_future": "on", "pattern": "tea"})
    assert (response.status_code, response["Location"]) == (302, CORRECTIONS_PAGE)
    row = BehaviorCorrection.objects.using(DB).get()
    assert (row.correction_pattern, row.corrected_by) == ("tea", "otto")
    assert "No." in as_operator.get(CORRECTIONS_PAGE).content.decode()


def test_labellers_correct_without_rules(as_reviewer):
    page = as_reviewer.get(PAGE).content.decode()
    assert "What should have happened" in page and "Try on past facts" not in page and "contain all of" not in page
    as_reviewer.post(SAVE, FORM | {"apply_to_future": "on", "pattern": "tea"})
    assert BehaviorCorrection.objects.using(DB).get().apply_to_future is False


def test_what_was_typed_comes_back_with_what_is_wrong(as_operator):
    response = as_operator.post(SAVE, FORM | {"status": "written", "reason": "Typed words"})
    page = response.content.decode()
    assert response.status_code == 422 and "Typed words" in page and "Nothing differs from what happened." in page


def test_a_write_with_a_long_fact_is_corrected_like_any_other(as_operator):
    fact = "tea " * 4_999 + "tea."  # as long as recording takes them
    create_write(DB, 2, b"Likes tea.\n", b"x\n", candidate_fact=fact)
    check = as_operator.post(CHECK, {"fact": fact, "file": "MEMORY.md"}, "application/json")
    assert (check.status_code, check.json()["fact"]) == (200, fact)
    assert as_operator.post(API.replace("w1", "w2"), BODY, "application/json").status_code == 201
    form = FORM | {"status": "written", "file": "USER.md", "fact": fact}
    assert as_operator.post(SAVE.replace("w1", "w2"), form).status_code == 302
    assert as_operator.post(SAVE.replace("w1", "w2"), form | {"fact": f"{fact}."}).status_code == 422


@pytest.mark.parametrize("name", ["fact", "reason", "pattern"])
def test_a_nul_is_refused_wherever_it_is_typed(as_operator, name):
    form = FORM | {"pattern": "tea", name: "te\0a"}
    assert as_operator.post(SAVE, form | {"apply_to_future": "on"}).status_code == 422
    assert as_operator.post(API, form | {"apply_to_future": True}, "application/json").status_code == 422
    assert not BehaviorCorrection.objects.using(DB).exists()


def test_a_box_that_is_not_ticked_leaves_the_pattern_out(as_operator):
    as_operator.post(SAVE, FORM | {"pattern": "tea"})
    assert BehaviorCorrection.objects.using(DB).get().correction_pattern is None


def test_a_pattern_is_tried_on_past_facts(as_operator):
    for number in range(2, 40):
        create_write(
            DB, number, None, b"x", candidate_fact=f"Likes tea {number}" if number % 2 else f"Likes milk {number}"
        )
    part = as_operator.post(TRY, {"pattern": "TEA"}, headers={"HX-Request": "true"}).content.decode()
    assert "Catches 20 of 39 past facts" in part and "<html" not in part
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
    assert "bad" not in part and "Catches" not in part
    assert "Type a word" in as_operator.post(TRY, {"pattern": ""}).content.decode()


def test_look_around_is_named_only_where_it_is_meant(as_operator):
    assert "Look-around" not in as_operator.post(TRY, {"pattern": "(tea"}).content.decode()
    assert "Look-around" in as_operator.post(TRY, {"pattern": "(?=tea)"}).content.decode()


def test_a_pattern_that_matches_everything_is_pointed_out(as_operator):
    create_write(DB, 2, None, b"x", candidate_fact="Likes milk.")
    create_write(DB, 3, None, b"x", candidate_fact="Rolled back.", origin="rollback")
    part = as_operator.post(TRY, {"pattern": "."}).content.decode()
    assert "This rule catches every past fact." in part and "Catches 2 of 2 past facts" in part
    assert "every past fact" not in as_operator.post(TRY, {"pattern": "milk"}).content.decode()


def test_a_write_that_cannot_be_corrected_has_no_form(as_operator):
    configuration.put("collector.optedOutSenders", ["mallory"])
    page = as_operator.get(PAGE).content.decode()
    assert "This write cannot be corrected" in page and "Save correction" not in page and "Likes tea." in page


def test_the_form_opens_on_what_stands(as_operator):
    """The form shows the newest correction, rollback or rule, not the original write."""
    chosen = re.compile(r'<option value="(\w+)" selected>')
    assert chosen.search(as_operator.get(PAGE).content.decode())[1] == "written"
    create_rollback(DB, 2, ["w1"], b"Likes tea.\n", b"")
    page = as_operator.get(PAGE).content.decode()
    assert chosen.search(page)[1] == "refused" and "Reason 2." in page
    rule = create_correction(apply_to_future=True, contains=[["tea"]], name="Drinks", reason="In jest.")
    create_write(DB, 3, None, b"x", candidate_fact="Green tea.", rule_id=rule.id)
    page = as_operator.get(PAGE.replace("w1", "w3")).content.decode()
    assert chosen.search(page)[1] == "refused" and "In jest." in page
    again = as_operator.get(PAGE).content.decode()
    assert 'value="Drinks"' in again and re.search(r'id="id_contains"[^>]*>\s*tea</textarea>', again)
    filled = as_operator.get(f"{PAGE.replace('w1', 'w3')}?refuse=1&contains=green%0Atea&name=Green").content.decode()
    assert re.search(r'name="apply_to_future"[^>]*checked', filled) and "green\ntea" in filled
    create_correction("w3", status="written", fact="Black tea.", reason="It is black.")
    refused = as_operator.get(f"{PAGE.replace('w1', 'w3')}?refuse=1").content.decode()
    assert re.search(r'name="fact"[^>]*>\s*Green tea\.<', refused)  # what was written, not what it should say


def test_words_are_tried_with_what_they_just_miss(as_operator):
    TurnFactory(id="s1:m1", turn_number=1, user_from="Ben Koh")
    create_write(DB, 2, None, b"x", candidate_fact="The tide contains no nuts.", turn_id="s1:m1")
    create_write(DB, 3, None, b"x", candidate_fact="Free of nuts: the knot.")
    create_write(DB, 4, None, b"x", candidate_fact="Traces of nuts.", status="refused")
    words = {"contains": "no, without，free of\r\nnut"}
    part = as_operator.post(TRY, words, headers={"HX-Request": "true"}).content.decode()
    caught, missed = part.split("Just misses 1: all lines but one")
    assert "Catches 2 of 4 past facts" in caught and "writes/w2/" in caught and "writes/w4/" in missed
    assert "Ben Koh</strong>" in caught and "?turn=1" in caught and "without: no, without, free of" in missed
    assert "Refused" in missed and "Written" in caught
    assert "at most 5 lines" in as_operator.post(TRY, {"contains": "\n".join("abcdef")}).content.decode()


def test_words_become_a_rule_with_a_name(as_operator):
    form = FORM | {"apply_to_future": "on", "contains": "likes, loves\ntea", "name": "Hot drinks"}
    as_operator.post(SAVE, form)
    row = BehaviorCorrection.objects.using(DB).get()
    assert (row.correction_pattern, row.name) == ("\\blikes|\\bloves\n\\btea", "Hot drinks")
    (item,) = as_operator.get("/api/v1/agents/ada/guardian/rules").json()["items"]
    assert (item["contains"], item["name"]) == ([["likes", "loves"], ["tea"]], "Hot drinks")
    response = as_operator.post(SAVE, form | {"contains": "milk", "name": ""})
    assert "does not contain “milk”" in response.content.decode()
    body = BODY | {"contains": [["LIKES"], ["ＴＥＡ"]]}
    correction = as_operator.post(API, body, "application/json").json()
    assert (correction["contains"], correction["name"]) == ([["LIKES"], ["TEA"]], "LIKES + TEA")


def test_a_pattern_stands_instead_of_words(as_operator):
    as_operator.post(SAVE, FORM | {"apply_to_future": "on", "contains": "tea", "pattern": "l.kes\r\n t.a "})
    row = BehaviorCorrection.objects.using(DB).get()
    assert row.correction_pattern == "l.kes\nt.a"
    page = as_operator.get(PAGE).content.decode()
    assert '<details class="fold" open>' in page and "l.kes\nt.a" in page
