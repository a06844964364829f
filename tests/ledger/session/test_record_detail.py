"""The page of one record: its texts whole, in pieces."""

import re
from html import unescape

import pytest

from ledger.session import pieces
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import get_text, store_session, working_turns

PAGE = "/agents/ada/sessions/s1/records/"
pytestmark = pytest.mark.django_db


def piece(response, field):
    """Read the text of the piece of a field that is on a page."""
    return unescape(re.search(rf'<pre id="p-\d+-{field}-\d+"[^>]*>(.*?)</pre>', get_text(response), re.DOTALL)[1])


def test_it_works(client):
    store_session(*working_turns(2))
    page = client.get(PAGE + "r7/")
    assert piece(page, "text") == "output 2"
    assert '"toolCallId": "c2"' in piece(page, "raw")
    for words in ("Tool result", "?turn=2", "records/r6/", "exec"):
        assert words in get_text(page)


@pytest.mark.parametrize(
    "address", ["ada/sessions/s1/records/r9", "ada/sessions/s2/records/r1", "eve/sessions/s1/records/r1"]
)
def test_what_is_not_there_is_not_found(client, address):
    store_session(*working_turns(1))
    assert client.get(f"/agents/{address}/").status_code == 404


def test_a_long_text_comes_whole_in_pieces(client):
    whole = "".join(f"{number}\n" for number in range(30_000))
    store_session(user("go"), assistant("", ("c", "exec", {})), result("c", whole, details={"aggregated": whole}))
    text, offset = "", 0
    while offset is not None:
        page = client.get(PAGE + "r3/", {"field": "text", "offset": offset})
        assert len(page.content) < 8 * pieces.SIZE
        text += piece(page, "text")
        following = re.search(r"field=text&amp;call=0&amp;offset=(\d+)\"[^>]*>Next", get_text(page))
        offset = following and int(following[1])
    assert text == whole
    assert "That second copy was not stored" in get_text(page)
    assert ">Previous<" in get_text(page)


def test_htmx_gets_the_piece_only(client):
    store_session(user("x" * 40_000))
    part = client.get(PAGE + "r1/?field=text&offset=16000", headers={"HX-Request": "true"})
    assert "<html" not in get_text(part)
    assert piece(part, "text") == "x" * pieces.SIZE
    assert "16,001 to 32,000 of 40,000 characters" in get_text(part)
    assert "HX-Request" in part["Vary"]


@pytest.mark.parametrize("field", pieces.FIELDS)
def test_every_field_has_pieces(client, field):
    record = assistant("t" * 20_000, ("c", "write", {"content": "a" * 20_000}))
    record["message"]["content"].insert(0, {"type": "thinking", "thinking": "h" * 20_000})
    own = {"modelPromptProjection": {"version": 1, "text": "m" * 20_000}}
    store_session(user("short", __openclaw=own) if field == "model_prompt" else record)
    page = client.get(PAGE + f"r1/?field={field}&offset={pieces.SIZE}")
    assert len(piece(page, field)) > 1000


def test_the_arguments_of_every_call_can_be_had(client):
    store_session(assistant("", *[(f"c{number}", f"tool-{number}", {"n": number}) for number in range(30)]))
    page = client.get(PAGE + "r1/")
    assert "tool-29" in get_text(page)
    assert '"n": 29' in piece(
        client.get(PAGE + "r1/?field=arguments&call=29", headers={"HX-Request": "true"}), "arguments"
    )


@pytest.mark.parametrize("query", ["?field=text&offset=99", "?field=arguments&call=0", "?field=raw&offset=9999999"])
def test_a_piece_that_is_not_there_is_not_found(client, query):
    store_session(user("short"))
    assert client.get(PAGE + "r1/" + query).status_code == 404


@pytest.mark.parametrize("query", ["?field=secrets", "?offset=-1", "?call=x", f"?offset={2**80}"])
def test_an_impossible_address_says_what_to_do(client, query):
    store_session(user("short"))
    assert client.get(PAGE + "r1/" + query).status_code == 409


def test_ids_of_any_kind_have_pages(client):
    store_session(
        user("slashed") | {"id": "a/b c?"},
        {"type": "message", "id": None, "message": {"role": "user", "content": "no id"}},
    )
    assert "slashed" in get_text(client.get(PAGE + "a/b%20c%3F/"))
    assert "no id" in get_text(client.get(PAGE + "@20/"))


def test_a_withheld_record_says_so(client):
    store_session(user("secret", __openclaw={"senderId": "eve"}), opted_out=["eve"])
    page = get_text(client.get(PAGE + "r1/"))
    assert "No content was kept" in page
    assert "secret" not in page


def test_deeply_nested_arguments_stop_nothing(client):
    call = {"type": "toolCall", "id": "c", "name": "exec", "arguments": "[" * 300 + "]" * 300}
    store_session({"type": "message", "message": {"role": "assistant", "content": [call]}})
    assert client.get(PAGE + "r1/").status_code == 200
    assert client.get("/agents/ada/sessions/s1/").status_code == 200
