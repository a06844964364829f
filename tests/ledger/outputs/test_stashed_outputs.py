"""Outputs that are artifacts, on pages of sessions and records, in search and API."""

import re

import pytest

from tests.homes import assistant, result, user
from tests.ledger.outputs.stored_outputs import SECRET, find_blob_file, list_handles, make_output
from tests.ledger.transcript_records import get_text, store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("store")]
PAGE = "/agents/ada/sessions/s1/"
API = "/api/v1/agents/ada/sessions/s1/events?include_payload=true"


def store_call(output, **more):
    """Store a session with one call and its output; return the handles of its stored outputs."""
    store_session(
        user("Look into the log"),
        assistant("", ("c1", "exec", {"command": "cat log"})),
        result("c1", output, details={"exitCode": 0}, **more),
        assistant("Done."),
    )
    return list_handles()


def address(handle):
    return f"/agents/ada/artifacts/{handle[-64:]}/"


def test_it_works(as_stranger):
    [handle] = store_call(make_output(400, needle="pomegranate"))
    page = get_text(as_stranger.get(PAGE))
    assert "line 0 of the output" in page and "line 399 of the output" in page
    assert "pomegranate" not in page
    assert "400 lines" in page
    assert f'href="{address(handle)}" hx-get="{address(handle)}?part=1"' in page
    assert f'href="{address(handle)}download/" download' in page
    assert "May contain secrets" not in page


def test_the_length_is_that_of_the_whole(as_stranger):
    output = make_output(400)
    store_call(output)
    assert f"Show more ({len(output):,} characters)" in get_text(as_stranger.get(PAGE))


def test_several_outputs_of_one_record(as_stranger):
    long, other = make_output(300, needle="pomegranate"), make_output(250, needle="durian")
    record = result("c1")
    record["message"]["content"] = [{"type": "text", "text": text} for text in (long, "short and whole", other)]
    store_session(user("Look"), assistant("", ("c1", "exec", {})), record)
    first, second = list_handles()
    page = get_text(as_stranger.get(PAGE))
    assert page.count("View content") == 2 and address(first) in page and address(second) in page
    assert "short and whole" in page
    assert f"Show more ({len(long) + len(other) + len('short and whole') + 4:,} characters)" in page
    whole = get_text(as_stranger.get(f"{PAGE}records/r3/?field=text"))
    assert "pomegranate" in whole and "durian" in whole
    assert read_record_ids(as_stranger.get(f"{PAGE}?find=durian")) == ["r2"]


def test_an_output_that_is_the_content_itself(as_stranger):
    output = make_output(300, needle="pomegranate")
    record = result("c1")
    record["message"]["content"] = output
    store_session(user("Look"), assistant("", ("c1", "exec", {})), record)
    assert len(list_handles()) == 1
    assert f"Show more ({len(output):,} characters)" in get_text(as_stranger.get(PAGE))
    assert "pomegranate" in get_text(as_stranger.get(f"{PAGE}records/r3/?field=text"))
    stashed = as_stranger.get(API).json()["items"][-1]["stashed"]
    assert [each["path"] for each in stashed] == ["message.content"]


def test_a_flagged_output_has_a_badge_and_no_download(as_stranger):
    [handle] = store_call(make_output(400, secret=SECRET))
    page = get_text(as_stranger.get(PAGE))
    assert "May contain secrets" in page
    assert f"{address(handle)}download/" not in page
    assert f'hx-get="{address(handle)}?part=1"' in page


def test_an_output_of_another_session_stays_as_it_is(as_stranger):
    store_call("short\n")
    assert "View content" not in get_text(as_stranger.get(PAGE))


def test_the_page_of_a_record_has_the_whole_in_pieces(as_stranger):
    output = make_output(2_000, needle="pomegranate")
    [handle] = store_call(output)
    page = get_text(as_stranger.get(f"{PAGE}records/r3/?field=text"))
    assert "1 to 16,000 of " + f"{len(output):,} characters" in page
    assert "line 399 of the output" in page
    assert f'href="{address(handle)}"' in page
    later = get_text(as_stranger.get(f"{PAGE}records/r3/?field=text&offset=16000"))
    assert "pomegranate" in later


@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_a_lost_content_is_said_and_nothing_breaks(as_stranger, damage):
    [handle] = store_call(make_output(400, needle="pomegranate"))
    file = find_blob_file(handle)
    file.unlink() if damage == "gone" else file.write_bytes(b"something else")
    assert as_stranger.get(PAGE).status_code == 200
    page = get_text(as_stranger.get(f"{PAGE}records/r3/?field=text"))
    assert ("is missing" if damage == "gone" else "damaged") in page
    assert "line 0 of the output" in page
    part = get_text(as_stranger.get(f"{PAGE}records/r3/?field=text", headers={"HX-Request": "true"}))
    assert ("is missing" if damage == "gone" else "damaged") in part
    assert "No matches" in get_text(as_stranger.get(f"{PAGE}?find=pomegranate"))


# Search within the session


def read_record_ids(page):
    return re.findall(r'<article[^>]* id="r-([^"]+)"', get_text(page))


@pytest.mark.parametrize("words", ["pomegranate", "POMEGRANATE+line", "pomegranate+cat"])
def test_a_search_finds_words_inside(as_stranger, words):
    store_call(make_output(5_000, needle="pomegranate"))
    page = as_stranger.get(f"{PAGE}?find={words}")
    assert read_record_ids(page) == (["r2"] if "cat" not in words else [])


def test_a_search_finds_words_in_the_rest_of_a_long_text(as_stranger):
    store_session(user("x" * 20_000 + " pomegranate"), assistant("y" * 20_000 + " durian"))
    assert read_record_ids(as_stranger.get(f"{PAGE}?find=pomegranate")) == ["r1"]
    assert read_record_ids(as_stranger.get(f"{PAGE}?find=durian")) == ["r2"]
    assert read_record_ids(as_stranger.get(f"{PAGE}?find=pomegranate&before=2")) == ["r1"]
    assert read_record_ids(as_stranger.get(f"{PAGE}?find=papaya")) == []


def test_a_search_reads_so_many_bytes_and_says_where_it_stopped(as_stranger, monkeypatch):
    monkeypatch.setattr("ledger.session.record_filter.BYTES", 20_000)
    records = []
    for number in range(6):
        call = f"c{number}"
        records += [
            assistant("", (call, "exec", {"n": number})),
            result(call, make_output(400, needle=f"fruit{number}")),
        ]
    store_session(*records)
    page, seen, page_count = PAGE + "?find=fruit5", [], 0
    while page:
        answer = get_text(as_stranger.get(page))
        page_count += 1
        seen += re.findall(r'<article[^>]* id="r-([^"]+)"', answer)
        link = re.search(r'href="([^"]+)"[^>]*>Search later records</a>', answer)
        assert bool(link) == ("records were searched. Use the button below" in answer)
        page = PAGE + link[1].replace("&amp;", "&") if link else None
    assert seen == ["r11"] and page_count > 2


@pytest.mark.parametrize("query", ["", "?find=pomegranate", "?find=nowhere"])
def test_the_number_of_queries_does_not_grow(as_stranger, query, django_assert_max_num_queries):
    def many(count):
        records = []
        for number in range(count):
            call = f"c{number}"
            output = make_output(300, needle="pomegranate", secret=SECRET)
            records += [assistant("", (call, "exec", {"n": number})), result(call, output)]
        store_session(*records, session_id=f"s{count}")
        return f"/agents/ada/sessions/s{count}/{query}"

    for count in (1, 30):
        page = many(count)
        with django_assert_max_num_queries(7), django_assert_max_num_queries(16, using="agent_ada"):
            assert as_stranger.get(page).status_code == 200


# The API


def test_records_say_what_was_stashed(as_stranger):
    output = make_output(400, secret=SECRET)
    [handle] = store_call(output)
    items = as_stranger.get(API).json()["items"]
    assert [item["stashed"] for item in items if item["kind"] != "tool_result"] == [[], [], []]
    [item] = [item for item in items if item["kind"] == "tool_result"]
    [stashed] = item["stashed"]
    assert stashed.pop("summary").startswith("text · ")
    assert stashed == {
        "path": "message.content.0.text",
        "handle": handle,
        "chars": len(output),
        "bytes": len(output.encode()),
        "lines": output.count("\n"),
        "is_flagged": True,
    }
    assert item["trimmed"] is None
    preview = item["payload"]["message"]["content"][0]["text"]
    assert len(preview) <= 500 and preview.startswith("line 0 of the output")


def test_the_list_of_an_agent_says_it_too(as_stranger):
    [handle] = store_call(make_output(400))
    items = as_stranger.get("/api/v1/agents/ada/events?include_payload=true&types=tool_result").json()["items"]
    assert [(item["stashed"][0]["handle"], item["stashed"][0]["is_flagged"]) for item in items] == [(handle, False)]
    without = as_stranger.get("/api/v1/agents/ada/events?types=tool_result").json()["items"]
    assert without[0]["stashed"] is None
