"""The search finds what a scan of all texts finds, shows what pages show, and follows what happens to texts."""

import random
import sqlite3
import unicodedata
from contextlib import closing
from itertools import groupby

import orjson
import pytest
from django.core.management import call_command

from agents import databases
from agents.models import Agent
from datasets.models import DatasetSample
from datasets.review import verdicts
from gate.models import MemoryGateDecision
from ledger.models import Session, TranscriptEvent
from ledger.transcripts import removal
from openclaw_web.errors import Refused
from openclaw_web.sqlite import word_index
from people.configuration import setting_values as configuration
from search import changes, fill, find, query, words
from tests.collecting.collect_runs import MAIN, run
from tests.factories import AgentFactory, CronRunFactory, DecisionFactory, SampleFactory, SnapshotFactory
from tests.homes import assistant, result, user

pytestmark = pytest.mark.django_db
TEXTS = (
    "Please weigh the rye flour, then the wheat.",
    "RYE bread needs flour; gpt-5.6-luna said so",
    "今天我们买面包和牛奶吧",
    "カタカナのパン屋さん",
    "ขนมปังอร่อยมาก",
    "ເຂົ້າຈີ່ແຊບ",
    "នំប៉័ងឆ្ងាញ់",
    "ပေါင်မုန့်ကောင်းတယ်",
    "हिन्दी में रोटी",
    "café ＣＡＦＥ naïve Straße ﬁne ℡",
    "mixed面包word and word面",
    "snake_case tool_call 🥐🍞 done",
    "a" * 90 + " " + "a" * 91,
)


def hits(text, **options):
    """The words of each hit, by kind."""
    return [
        (hit.kind, "".join(piece for piece, _mark in hit.cut()))
        for hit in find.search(query.parse(text), **options).hits
    ]


def thinking(text, record):
    record["message"]["content"].insert(0, {"type": "thinking", "thinking": text})
    return record


def write_talk(home, *texts):
    script = home.transcript()
    for text in texts:
        script.add(user(text))
    return script


# What a scan does, by categories of characters alone.
UNSPACED_NAMES = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def classify(sign):
    if ord(sign) > 0xFFFF or unicodedata.name(sign, "").startswith(UNSPACED_NAMES):
        return "unspaced"
    return "spaced" if unicodedata.category(sign)[0] in "LMN" else ""


def cut(text):
    text = unicodedata.normalize("NFKC", text).casefold()
    runs = [(kind, "".join(run)) for kind, run in groupby(text, classify)]
    return [(kind, run) for kind, run in runs if kind]


def scan(texts, part_text):
    """The numbers of texts that have these parts side by side."""
    parts, numbers = cut(part_text), set()
    for number, text in enumerate(texts):
        runs = cut(text)
        for start in range(len(runs) - len(parts) + 1):
            pairs = list(zip(runs[start:], parts, strict=False))
            first, last = 0, len(parts) - 1
            if all(
                kind == known
                and (
                    run == part
                    if kind == "spaced"
                    else (part in run)
                    if first == last
                    else run.endswith(part)
                    if place == first
                    else run.startswith(part)
                    if place == last
                    else run == part
                )
                for place, ((kind, run), (known, part)) in enumerate(pairs)
            ):
                numbers.add(number)
    return numbers


def test_the_search_differs_from_a_scan_in_nothing(home):
    write_talk(home, *TEXTS)
    run(home)
    fill.fill_all()
    folded = [text.strip() for text in TEXTS]
    draw, count = random.Random(43), 0
    while count < 1_000:
        text = unicodedata.normalize("NFKC", draw.choice(TEXTS))
        runs = cut(text)
        if draw.random() < 0.5:
            chosen = [run for kind, run in runs if kind == "unspaced"]
            if not chosen:
                continue
            whole = draw.choice(chosen)
            start = draw.randrange(len(whole))
            part_text = whole[start : start + draw.randint(1, 8)]
        else:
            start = draw.randrange(len(runs))
            chosen = runs[start : start + draw.randint(1, 4)]
            if any(kind == "unspaced" for kind, _run in chosen):
                continue
            part_text = " ".join(run for _kind, run in chosen)
        matches = find.search(query.parse(f'"{part_text}"'), size=100, most=0).hits
        assert {folded.index(hit.item.fields["user"].strip()) for hit in matches} == scan(folded, part_text), part_text
        count += 1


@pytest.mark.parametrize(
    "text, count",
    [
        ("flour", 2),
        ("FLOUR rye", 2),
        ('"rye flour"', 1),
        ("flour -wheat", 1),
        ('flour -"rye flour"', 1),
        ("flo*", 2),
        ("flo", 0),
        ("gpt-5.6", 1),
        ("tool_call", 1),
        ("call", 1),
        ("cafe", 1),
        ("strasse", 1),
        ("tel", 1),
        ("रोटी", 1),
        ("面包", 2),
        ("包", 2),
        ("🥐", 1),
        ("🍞", 1),
        ("word", 1),
        ("a" * 91, 1),
        ("flour kind:agent", 0),
        ("flour after:2026-02-22", 0),
        ("flour before:2026-02-22 after:2026-02-21", 2),
        ("flour agent:main", 2),
        ("agent: flour", 2),
        ("flour channel:irc", 0),
    ],
)
def test_words_phrases_and_filters(home, text, count):
    write_talk(home, *TEXTS)
    run(home)
    fill.fill_all()
    assert len(find.search(query.parse(text)).hits) == count


@pytest.mark.parametrize(
    "text",
    [
        "",
        "!!! ???",
        "-flour",
        '"',
        "x" * 1001,
        "flour kind:nothing",
        "flour after:yesterday",
        "flour agent:nobody",
        "flour -kind:user",
        " ".join(f"word{n}" for n in range(80)),
    ],
)
def test_a_query_without_sense_is_refused_in_a_sentence(home, as_admin, text):
    write_talk(home, *TEXTS)
    run(home)
    fill.fill_all()
    answer = as_admin.get("/search/", {"q": text})
    assert answer.status_code == (422 if text else 200)
    if text:
        assert 'id="find-problem"' in answer.content.decode()
        assert as_admin.get("/api/v1/search", {"q": text}).status_code == 409


@pytest.mark.parametrize(
    "text", ['flour" OR 1', "flour NEAR(rye)", "entries:flour", "flour^2", "flour AND NOT x", "\ue000user"]
)
def test_signs_of_fts5_mean_nothing(home, as_admin, text):
    write_talk(home, *TEXTS)
    run(home)
    fill.fill_all()
    assert as_admin.get("/search/", {"q": text}).status_code in (200, 422)


def test_each_kind_of_text_leads_to_its_place(home, as_admin):
    home.transcript(
        user("Remember the marzipan"),
        thinking("marzipan it is", assistant("I wrote marzipan down", ("c1", "write", {"path": "marzipan.md"}))),
        result("c1", "wrote marzipan", name="write"),
    )
    home.write("workspace/AGENTS.md", "Never mention marzipan.\n")
    run(home)
    agent = Agent.objects.get(agent_id="main")
    DecisionFactory(db=MAIN, candidate_fact="likes marzipan", turn_id=None)
    SnapshotFactory(db=MAIN, file_name="MEMORY.md", content="- marzipan on Fridays\n")
    SampleFactory(agent_id="main", content=orjson.dumps({"userMessage": "marzipan?"}).decode())
    fill.fill_all()
    matches = {hit.kind: hit for hit in find.search(query.parse("marzipan"), size=50).hits}
    assert {"user", "agent", "result", "fact", "memory", "file", "sample"} <= matches.keys()
    for hit in matches.values():
        assert as_admin.get(hit.item.href.partition("#")[0]).status_code == 200, hit.item.href
    assert len(find.search(query.parse("marzipan kind:thinking")).hits) == 1
    assert len(find.search(query.parse("marzipan kind:call tool:write")).hits) == 1
    page = as_admin.get("/search/", {"q": "marzipan"}).content.decode()
    assert page.count("<mark>marzipan</mark>") >= 7
    assert agent.agent_id in page


def test_a_line_is_found_where_it_came_in_and_says_whether_it_stands(home):
    run(home)
    lines = ["- rye on Mondays\n", "- wheat on Mondays\n", "- oats\n"]
    for number, content in enumerate((lines[0], lines[0] + lines[1], lines[1], lines[1] + lines[2])):
        SnapshotFactory(db=MAIN, file_name="MEMORY.md", content=content, created_at=1_767_571_200_000 + number * 60_000)
    fill.fill_all()
    matches = find.search(query.parse("mondays")).hits
    assert [(hit.item.fields["memory"], hit.item.facts["stands"]) for hit in matches] == [
        (lines[1], True),
        (lines[0], False),
    ]
    assert [hit.item.href.partition("?")[2] for hit in matches] == ["q=-+wheat+on+Mondays", ""]


def test_best_first_puts_words_side_by_side_and_people_first(home):
    home.transcript(
        user("the rye flour is here"),
        user("flour is not rye"),
        assistant("rye flour it is"),
        assistant("flour from rye", ("c1", "exec", {"command": "rye flour"})),
        result("c1", "rye flour"),
    )
    run(home)
    fill.fill_all()
    assert [kind for kind, _text in hits("rye flour", is_best=True)] == ["user", "agent", "call", "result", "user"]
    assert [kind for kind, _text in hits("rye flour")] == ["result", "call", "agent", "user", "user"]


def test_best_first_opens_all_files_before_its_time_begins(home, monkeypatch):
    write_talk(home, "rye flour", "flour from rye")
    run(home)
    fill.fill_all()
    monkeypatch.setattr(find, "RANKING_SECONDS", 0)
    results = find.search(query.parse("rye flour"), is_best=True)
    assert [hit.kind for hit in results.hits] == ["user", "user"]
    assert not results.unread


def test_a_passage_has_the_place_where_most_words_stand(home):
    write_talk(home, "jars, " + "flour " * 100 + "jars 3 and 13 were swapped" + " flour" * 100)
    run(home)
    fill.fill_all()
    assert "jars 3 and 13 were swapped" in hits("swapped jars")[0][1]
    assert hits("jars")[0][1].startswith("jars, flour")


def test_pages_go_on_until_everything_was_shown_once(home):
    write_talk(home, *(f"flour number {n}" for n in range(57)))
    run(home)
    fill.fill_all()
    texts, after = [], ""
    while True:
        page = find.search(query.parse("flour"), size=10, after=after)
        texts += [hit.item.fields["user"] for hit in page.hits]
        after = page.next
        if not after:
            break
    assert sorted(texts) == sorted({f"flour number {n}" for n in range(57)})
    assert texts[0] == "flour number 56"


def test_a_search_that_stops_says_so_and_goes_on(home):
    write_talk(home, *("flour then rye" for _n in range(30)), "rye flour")
    run(home)
    fill.fill_all()
    first = find.search(query.parse('"flour rye"'), most=10)
    assert (first.hits, first.is_partial) == ([], True)
    assert find.describe_limits([first])
    assert find.search(query.parse('"flour rye"'), after=first.next, most=0).next == ""


def test_new_words_come_behind_the_import_and_the_page_says_so(home, as_admin):
    script = write_talk(home, "rye")
    run(home)
    assert "not searched yet" in as_admin.get("/search/", {"q": "rye"}).content.decode()
    assert fill.is_needed()
    fill.fill_all()
    assert not fill.is_needed()
    assert len(hits("rye")) == 1
    script.add(user("rye again"))
    run(home)
    assert fill.is_needed()
    assert len(hits("rye")) == 1
    assert "not searched yet" in as_admin.get("/search/", {"q": "rye"}).content.decode()
    assert fill.fill_all()["texts"] == 1
    assert len(hits("rye")) == 2
    assert "not searched yet" not in as_admin.get("/search/", {"q": "rye"}).content.decode()


def test_later_runs_of_a_task_are_found(home):
    for count in (1, 2, 3):
        CronRunFactory(agent_id="main", summary="rhubarb again")
        fill.fill_all()
        assert len(hits("rhubarb")) == count


def test_what_is_removed_is_found_no_more_and_leaves_no_bytes(home):
    script = write_talk(home, "the zanzibarword stays here")
    write_talk(home, "another text")
    run(home)
    fill.fill_all()
    file = databases.get_path("main").with_name(fill.FILE)
    assert b"zanzibarword" in file.read_bytes()
    removal.delete_session(MAIN, script.session)
    assert hits("zanzibarword") == []
    assert fill.is_needed()
    assert fill.fill_all()["rebuilt"] == 1
    assert b"zanzibarword" not in file.read_bytes()
    assert [
        path.name for path in file.parent.iterdir() if b"zanzibarword" in path.read_bytes() and "search" in path.name
    ] == []
    assert len(hits("another")) == 1


def test_who_opts_out_is_found_no_more_and_leaves_no_bytes(home):
    envelope = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "42"}\n```\n\n%s'
    write_talk(home, envelope % "my qwertyword", envelope % "more")
    run(home)
    fill.fill_all()
    assert len(hits("qwertyword")) == 1
    configuration.put("collector.optedOutSenders", ["42"])
    assert hits("qwertyword") == []
    fill.fill_all()
    assert b"qwertyword" not in databases.get_path("main").with_name(fill.FILE).read_bytes()
    configuration.put("collector.optedOutSenders", [])
    fill.fill_all()
    assert len(hits("qwertyword")) == 1


def test_outputs_that_may_hold_secrets_are_not_found(home):
    text = "AKIA" + "Z7QX3B9KLM2NP4RT" + "\n" + "".join(f"mandelbrot {number} lines\n" for number in range(4_000))
    home.transcript(user("go"), assistant("", ("c1", "exec", {"command": "x"})), result("c1", text))
    configuration.put("artifacts.flaggedKinds", ["aws_key"])
    run(home)
    fill.fill_all()
    assert hits('"mandelbrot 2000"') == []
    configuration.put("artifacts.flaggedKinds", [])
    fill.fill_all()
    assert [kind for kind, _text in hits('"mandelbrot 2000"')] == ["result"]
    configuration.put("artifacts.flaggedKinds", ["aws_key"])
    assert hits('"mandelbrot 2000"') == []


def test_records_that_were_replaced_are_read_again(home):
    script = write_talk(home, "first words")
    run(home)
    fill.fill_all()
    event = TranscriptEvent.objects.using(MAIN).get(session_id=script.session, kind="user")
    event.event_json = event.event_json.replace("first", "other")
    event.save(using=MAIN)
    changes.forget_sessions(MAIN, [script.session])
    fill.fill_all(agent_id="main")
    assert (hits("first"), len(hits("other"))) == ([], 1)


def test_a_decision_that_a_second_report_completes_is_read_again(home):
    run(home)
    decision = DecisionFactory(db=MAIN, candidate_fact="tea", turn_id=None)
    fill.fill_all()
    MemoryGateDecision.objects.using(MAIN).filter(id=decision.id).update(candidate_fact="likes kohlrabi")
    changes.note(MAIN, "decision", [decision.id])
    fill.fill_all()
    assert [kind for kind, _text in hits("kohlrabi")] == ["fact"]


def test_a_verdict_is_found_after_the_next_run(home, reviewer):
    run(home)
    sample = SampleFactory(agent_id="main")
    fill.fill_all()
    assert hits("kohlrabi") == []
    verdicts.label_sample(sample.id, DatasetSample.Status.APPROVED, by=reviewer.username, notes="kohlrabi, as agreed")
    assert fill.is_needed()
    fill.fill_all()
    assert [kind for kind, _text in hits("kohlrabi")] == ["sample"]


@pytest.mark.parametrize("damage", [b"", b"no database", None])
def test_a_lost_or_damaged_index_is_built_again(home, damage):
    write_talk(home, "rye flour")
    run(home)
    fill.fill_all()
    file = databases.get_path("main").with_name(fill.FILE)
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    result_before = find.search(query.parse("rye"))
    assert (result_before.hits, result_before.behind) == ([], ["main"])
    fill.fill_all()
    assert len(hits("rye")) == 1


def test_pages_of_a_damaged_index_are_built_again(home):
    write_talk(home, *TEXTS)
    run(home)
    fill.fill_all()
    file = databases.get_path("main").with_name(fill.FILE)
    data = bytearray(file.read_bytes())
    data[4_096 * 3 :] = random.Random(1).randbytes(len(data) - 4_096 * 3)
    file.write_bytes(data)
    find.search(query.parse("rye"))
    call_command("search", "rebuild")
    assert len(hits("rye")) == 2


def test_a_fifth_of_stale_texts_builds_the_index_anew(home):
    script = write_talk(home, *(f"text {n}" for n in range(10)))
    run(home)
    fill.fill_all()
    file = databases.get_path("main").with_name(fill.FILE)
    with word_index.open_index(file) as index:
        index.forget("record", [script.session])
        index.note(state="")
    assert fill.fill_all()["rebuilt"] == 1
    with word_index.open_index(file) as index:
        assert index.count()[1] == 0


def test_verify_names_what_the_index_lacks(home, capsys):
    script = write_talk(home, "rye flour")
    run(home)
    fill.fill_all()
    call_command("search", "verify")
    assert "has every text" in capsys.readouterr().out
    event = TranscriptEvent.objects.using(MAIN).get(session_id=script.session, kind="user")
    TranscriptEvent.objects.using(MAIN).filter(session_id=script.session, seq=event.seq).update(
        event_json=event.event_json.replace("flour", "oats")
    )
    assert fill.find_faults(next(place for place in fill.list_places() if place.agent_id)) == ["1 words"]


def test_lists_and_sessions_find_whole_words_by_the_index(home, as_admin):
    script = write_talk(home, "rye flour", "flourish", "flour and rye")
    run(home)
    fill.fill_all()

    def count(page, **values):
        return as_admin.get(page, values).content.decode().count('class="wide')

    def api(page, **values):
        return len(as_admin.get(f"/api/v1/agents/main/{page}", values).json()["items"])

    assert api("turns", q="flour") == 2
    assert api("turns", q='"rye flour"') == 1
    assert api("turns", q="flour -and") == 1
    assert api("events", q="flo*") == 3
    assert api("events", q="flour", session=script.session) == 2
    page = as_admin.get(f"/agents/main/sessions/{script.session}/", {"find": "flour"}).content.decode()
    assert "flour and rye" in page
    assert "flourish" not in page
    line = as_admin.get("/agents/main/turns/", {"filter": '"rye flour" -and'}, follow=True)
    assert line.request["QUERY_STRING"] == "q=%22rye+flour%22+-and"
    assert count("/agents/main/turns/", q="zzz") == 0


def test_answers_below_the_field_name_pages_actions_and_texts(home, as_admin, as_stranger):
    write_talk(home, "a backup of the recipe")
    run(home)
    fill.fill_all()
    part = {"q": "backup", "part": "answers"}
    answer = as_admin.get("/search/", part, headers={"HX-Request": "true"}).content.decode()
    assert "/operations/backups/" in answer
    assert "<mark>backup</mark>" in answer
    assert "<html" not in answer
    below = as_stranger.get("/search/", part, headers={"HX-Request": "true"}).content.decode()
    assert "/operations/backups/" not in below
    assert "<mark>backup</mark>" in below


def test_words_are_cut_like_docs_say():
    assert words.split(words.fold("gpt-5.6 面包x")) == ["gpt", "5", "6", "面包", "x"]
    assert set(words.index_text("面包好 ab").split()) == {"面包", "包好", "好", "ab"}
    assert words.index_text("\ud800 x") == "x"


def test_texts_of_full_days_and_odd_times_are_found(tmp_path):
    file = tmp_path / "search.sqlite"
    word_index.create_index(file)
    moments = [0, 1_000, 4_102_444_800_000, 1_767_571_200_000, 10**17, -5_000]
    texts = [word_index.Entries(number, moment, "rye") for number, moment in enumerate(moments)]
    with word_index.open_index(file) as index:
        index.add([word_index.Step("record", "s", "", "1", texts)])
        rows, start = index.find('"rye"', word_index.start_at(query.LAST), 0, 3)
        more, _end = index.find('"rye"', start, 0, 100)
    assert [row.key for row in rows + more] == [4, 2, 3, 1, 5, 0]


def test_a_change_that_is_told_while_the_index_is_built_is_read(home):
    write_talk(home, "rye")
    run(home)
    decision = DecisionFactory(db=MAIN, candidate_fact="tea", turn_id=None)
    fill.fill_all()
    draft = databases.get_path("main").with_name(fill.DRAFT)
    place = next(place for place in fill.list_places() if place.agent_id)
    fill._fill_draft(place, draft, fill.read_mark(), lambda _count: None)
    MemoryGateDecision.objects.using(MAIN).filter(id=decision.id).update(candidate_fact="likes kohlrabi")
    changes.note(MAIN, "decision", [decision.id])
    word_index.replace_index(place.file, draft)
    assert fill.is_needed()
    fill.fill_all()
    fill.fill_all()
    assert [kind for kind, _text in hits("kohlrabi")] == ["fact"]


def test_an_index_that_is_busy_is_built_anew_and_not_lost(home, monkeypatch):
    script = write_talk(home, "rye")
    run(home)
    fill.fill_all()
    monkeypatch.setattr(word_index, "BUSY_SECONDS", 0)
    file = databases.get_path("main").with_name(fill.FILE)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        changes.forget_sessions(MAIN, [script.session])
    assert file.exists() and fill.is_needed()
    assert fill.fill_all()["rebuilt"] == 1
    assert not fill.is_needed() and len(hits("rye")) == 1


def test_one_session_for_another_is_no_equal_count(home):
    script = write_talk(home, "the zanzibarword")
    run(home)
    fill.fill_all()
    removal.delete_session(MAIN, script.session)
    write_talk(home, "something new")
    script.path.unlink()
    run(home)
    assert fill.fill_all()["rebuilt"] == 1
    assert b"zanzibarword" not in databases.get_path("main").with_name(fill.FILE).read_bytes()


def test_a_row_with_the_number_of_a_removed_one_is_found(home):
    run(home)
    gone = DecisionFactory(db=MAIN, candidate_fact="rye", turn_id=None)
    fill.fill_all()
    MemoryGateDecision.objects.using(MAIN).filter(id=gone.id).delete()
    DecisionFactory(db=MAIN, candidate_fact="oats", turn_id=None)
    fill.fill_all()
    assert (hits("rye"), len(hits("oats"))) == ([], 1)


def test_wrong_sums_of_a_session_build_nothing_anew(home):
    script = write_talk(home, "rye", "oats")
    run(home)
    Session.objects.using(MAIN).filter(id=script.session).update(record_count=1)
    fill.fill_all()
    Session.objects.using(MAIN).filter(id=script.session).update(title="Other")
    assert fill.fill_all() | {"message": ""} == {"message": "", "texts": 0, "rebuilt": 0}
    assert len(hits("oats")) == 1


@pytest.mark.parametrize("text", ["cafe\u0301 time", "ﬁne flour", "ＣＡＦＥ au lait"])
def test_marks_stand_at_the_words_as_they_are_written(home, text):
    write_talk(home, f"{'x ' * 300}{text} {'y ' * 300}")
    run(home)
    fill.fill_all()
    (hit,) = find.search(query.parse(unicodedata.normalize("NFKC", text.split()[0]))).hits
    assert [piece for piece, is_mark in hit.cut() if is_mark] == [text.split()[0]]


def test_a_query_of_many_words_and_a_long_text_are_bounded(home):
    write_talk(home, "a " * 20_000 + "b")
    run(home)
    fill.fill_all()
    with pytest.raises(Refused, match="too many words"):
        query.parse(" ".join(f"w{number}" for number in range(40)))
    (hit,) = find.search(query.parse("a " * 400 + "b")).hits
    assert sum(len(piece) for piece, _mark in hit.cut()) < 300
    assert len(hit.item.fields["user"]) <= 10_000


def test_runs_of_tasks_are_read_once_and_when_they_changed(home):
    run(home)
    for number in range(3):
        CronRunFactory(summary=f"rye of run {number}", ts=1_767_571_200_000 + number)
    fill.fill_all()
    assert not fill.is_needed()
    CronRunFactory(summary="rye of run 3", ts=1_767_571_300_000)
    assert fill.is_needed()
    fill.fill_all()
    assert len(hits("rye kind:task")) == 4
    assert not fill.is_needed()


def test_an_index_of_another_version_is_built_anew(home, monkeypatch):
    run(home)
    CronRunFactory(summary="rye")
    fill.fill_all()
    with closing(sqlite3.connect(next(fill.list_places()).file)) as db, db:
        db.execute("UPDATE parts SET position = '1 1 -' WHERE source = 'cron_run'")
    monkeypatch.setattr(fill, "FORMAT", fill.FORMAT + 1)
    assert fill.is_needed()
    assert fill.fill_all()["rebuilt"] == 2
    assert hits("rye")


def test_an_agent_whose_file_is_lost_is_named(home):
    write_talk(home, "rye flour")
    run(home)
    fill.fill_all()
    AgentFactory(agent_id="lost")
    results = find.search(query.parse("rye"))
    assert (len(results.hits), results.behind) == (1, ["lost"])
    assert find.search(query.parse("rye agent:lost")).behind == ["lost"]


def test_a_damaged_agent_hides_no_other(home):
    write_talk(home, "rye flour")
    run(home)
    fill.fill_all()
    TranscriptEvent.objects.using(MAIN).filter(kind="user").update(event_json="{broken")
    assert hits("rye") == []


def test_filters_in_the_words_of_a_list_are_refused(home, as_admin):
    write_talk(home, "rye flour")
    run(home)
    fill.fill_all()
    pages = ("turns", "events", "gate/decisions", "guardian/writes")
    for words_of_list, status in (("rye tool:exec", 409), ("rye after:2026-01-01", 409), ('"rye', 200), ("!!!", 200)):
        for page in pages:
            answer = as_admin.get(f"/api/v1/agents/main/{page}", {"q": words_of_list})
            assert answer.status_code == status, (page, words_of_list)
    assert as_admin.get("/api/v1/search", {"q": "rye", "after": "WzEsNSwwXQ"}).status_code == 409
    assert len(as_admin.get("/api/v1/agents/main/turns", {"q": '"rye'}).json()["items"]) == 1
