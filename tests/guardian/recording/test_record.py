"""Reports of a running plugin about its writes, through the API."""

from base64 import b64encode

import pytest

from guardian.models import FileSnapshot, GuardianStatus, WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import Report, Source
from guardian.services import read_version_bytes
from guardian.urls import urlpatterns
from people.configuration import setting_values as configuration
from tests import factories
from tests.factories import T0
from tests.gate.decision_rows import MINUTE, create_decision, create_turns
from tests.guardian.write_rows import create_write

pytestmark = pytest.mark.django_db
URL = "/api/v1/agents/ada/guardian/writes"
WRITES = "agents/<str:agent>/writes/"
ROUTES = [str(route.pattern).removeprefix(WRITES) for route in urlpatterns if str(route.pattern).startswith(WRITES)]
PAGE_NAMES = sorted(
    {name for name in (route.partition("/")[0] for route in ROUTES) if name and not name.startswith("<")}
)


@pytest.fixture
def turns(ada):
    return create_turns()


def make_report(number=1, **more):
    return {
        "id": f"w{number}",
        "session_id": "s1",
        "target_file": "USER.md",
        "candidate_fact": "The user likes tea.",
        "status": "written",
        "created_at": T0 + number * MINUTE + 1_500,
    } | more


def post(client, *writes):
    return client.post(URL, {"writes": list(writes)}, content_type="application/json")


def rows():
    return WriteGuardianAudit.objects.using("agent_ada").order_by("created_at")


def test_a_write_is_stored_with_both_sides_and_its_turn(as_operator, turns):
    create_decision(1, decision="UPDATE_USER", candidate_fact="The user likes tea.")
    answer = post(as_operator, make_report(before="# User\n", after="# User\n- likes tea\n", agent_steps=3))
    assert (answer.status_code, answer.json()) == (201, {"recorded": ["w1"], "known": [], "withheld": 0})
    row = rows().get()
    assert (row.origin, row.turn_id, row.decision_id, row.session_id) == ("recorded", "s1:u1", "d1", "s1")
    assert (row.lines_added, row.lines_removed, row.agent_steps, row.sources) == (1, 0, 3, 1)
    assert read_version_bytes(row.after_snapshot) == b"# User\n- likes tea\n"
    assert GuardianStatus.objects.using("agent_ada").get().given_by == "otto"


def test_the_names_of_the_interface_mean_the_same(as_operator, turns):
    body = {
        "id": "w1", "sessionId": "agent:ada:irc:group:#s1", "turnId": "s1:u1", "targetFile": "USER.md",
        "candidateFact": "Tea.", "status": "written", "createdAt": T0,
        "llmCall": {"model": "guard-1", "latencyMs": 80, "agentSteps": 2},
        "fileChange": {"before": None, "after": "Tea.\n"},
    }  # fmt: skip
    assert post(as_operator, body).status_code == 201
    row = rows().get()
    assert (row.llm_model, row.llm_latency_ms, row.agent_steps, row.turn_id) == ("guard-1", 80, 2, "s1:u1")
    assert row.before_snapshot is None and read_version_bytes(row.after_snapshot) == b"Tea.\n"


def test_a_file_that_is_not_utf8_comes_as_base64(as_operator, turns):
    post(as_operator, make_report(before="one\n", after_base64=b64encode(b"\xff\x00\r\n").decode()))
    assert read_version_bytes(rows().get().after_snapshot) == b"\xff\x00\r\n"


@pytest.mark.parametrize("status", ["refused", "failed", "skipped"])
@pytest.mark.parametrize("sides", [{"before": "# User\n"}, {"before_base64": b64encode(b"# User\n").decode()}])
def test_of_a_write_that_wrote_nothing_the_file_before_is_enough(as_operator, turns, status, sides):
    first = make_report(1, status=status, reason="No.", **sides)
    assert post(as_operator, first).status_code == 201
    row = rows().get()
    assert read_version_bytes(row.before_snapshot) == b"# User\n"
    assert (row.after_snapshot_id, row.diff, row.lines_added) == (None, None, None)
    assert post(as_operator, first).json() == {"recorded": [], "known": ["w1"], "withheld": 0}
    post(
        as_operator,
        make_report(2, before="# User\n", after="# User\n- tea\n"),
        make_report(3, status=status, before="- other\n"),
    )
    snapshots = FileSnapshot.objects.using("agent_ada").order_by("created_at")
    contents = [read_version_bytes(snapshot) for snapshot in snapshots]
    assert contents == [b"# User\n", b"# User\n- tea\n", b"- other\n"]
    assert as_operator.get(f"{URL}/w1").json()["before_snapshot_id"] == row.before_snapshot_id
    assert post(as_operator, make_report(4, status=status, before=None)).status_code == 201  # there was no file


def test_told_twice_it_is_one_however_it_is_spelled(as_operator, turns):
    post(as_operator, make_report(before=None, after="Tea.\n"))
    answer = post(as_operator, make_report(before=None, after_base64=b64encode(b"Tea.\n").decode()))
    assert (answer.status_code, answer.json()["known"]) == (200, ["w1"])
    assert rows().count() == 1 and FileSnapshot.objects.using("agent_ada").count() == 1


@pytest.mark.parametrize("other", [{"reason": "Other."}, {"before": None, "after": "Coffee.\n"}])
def test_an_id_with_other_content_is_a_conflict_and_stores_nothing(as_operator, turns, other):
    post(as_operator, make_report(before=None, after="Tea.\n"))
    answer = post(as_operator, make_report(2), make_report(1, **({"before": None, "after": "Tea.\n"} | other)))
    assert answer.status_code == 409 and answer.json()["reasons"][0]["id"] == "w1"
    assert rows().count() == 1


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"target_file": "AGENTS.md"}, "MEMORY.md"),
        ({"target_file": "../USER.md"}, "MEMORY.md"),
        ({"status": "rolled_back"}, "written"),
        ({"status": "perhaps"}, "written"),
        ({"candidate_fact": " "}, "candidate_fact is required"),
        ({"session_id": None}, "string"),
        ({"id": ".."}, "cannot be the id of a write"),
        ({"id": "a/b"}, "pattern"),
        ({"after": "Tea.\n"}, "before and after belong together"),
        ({"before": None, "after": None}, "changed nothing"),
        ({"before": "a", "after": "b", "after_base64": "Yg=="}, "not both"),
        ({"before": "a", "after_base64": "%"}, "not base64"),
        (
            {"before": "a", "after": "b", "status": "refused"},
            "a write that was refused has no after: send before alone",
        ),
        ({"after_base64": "Yg==", "status": "failed"}, "has no after"),
        ({"agent_steps": -1}, "greater"),
        ({"created_at": 2**53}, "less"),
        ({"colour": "red"}, "Extra inputs"),
    ],
)
def test_what_cannot_be_is_refused_whole(as_operator, turns, wrong, why):
    answer = post(as_operator, make_report(2), make_report(1, **wrong))
    assert answer.status_code == 422
    assert why in answer.content.decode()
    assert not rows().exists()


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_names_of_pages_are_no_ids(as_operator, turns, name):
    assert "opted-out" in PAGE_NAMES
    answer = post(as_operator, make_report(1, id=name))
    assert answer.status_code == 422 and f"{name} cannot be the id of a write" in answer.content.decode()


def test_a_refusal_names_the_place_in_what_was_sent(as_operator, turns):
    answer = post(as_operator, make_report(1, after="Tea.\n")).json()
    why = "before and after belong together: null is for a file that was not there"
    assert answer["detail"] == f"The request is not valid: writes.0: {why}."
    assert answer["errors"][0]["msg"] == why


def test_a_file_has_five_megabytes_at_most_and_so_has_a_request(as_operator, turns):
    assert post(as_operator, make_report(before=None, after="x" * 4_000_000)).status_code == 201
    answer = post(as_operator, make_report(2, before="x" * 4_000_000, after="y" * 4_000_000))
    assert answer.status_code == 413 and "5.0 MB" in answer.json()["detail"]


def test_turns_and_decisions_of_others_are_refused(as_operator, turns, bob):
    factories.TurnFactory(db="agent_bob", id="b1:u1", session=factories.SessionFactory(db="agent_bob", id="b1"))
    create_decision(1, decision="UPDATE_USER", candidate_fact="Tea.")
    factories.SessionFactory(id="s2", session_key=None)
    for wrong, why in (
        ({"turn_id": "s1:u1", "session_id": "s2"}, "The session s2 has no turn s1:u1."),
        ({"decision_id": "d9"}, "This agent has no decision d9."),
        ({"decision_id": "d1", "turn_id": "s1:u2"}, "of another session or turn"),
        ({"decision_id": "d1", "session_id": "s2"}, "of another session or turn"),
    ):
        answer = post(as_operator, make_report(**wrong))
        assert answer.status_code == 404 and why in answer.json()["detail"]
    assert not rows().exists()


def test_a_decision_that_is_named_gives_the_turn(as_operator, turns):
    create_decision(2, decision="UPDATE_USER", candidate_fact="Something else.")
    post(as_operator, make_report(1, decision_id="d2"))
    assert (rows().get().turn_id, rows().get().decision_id) == ("s1:u2", "d2")


def test_of_decisions_with_the_same_fact_the_last_one_before_is_meant(as_operator, turns):
    for number, at in ((0, -90_000), (1, -20_000), (2, 30_000)):
        fact = {"candidate_fact": "The user likes tea.", "created_at": T0 + 2 * MINUTE + at}
        create_decision(number, decision="UPDATE_USER", **fact)
    post(as_operator, make_report(created_at=T0 + 2 * MINUTE))
    assert (rows().get().decision_id, rows().get().turn_id) == ("d1", "s1:u1")


def test_without_a_decision_the_turn_is_found_by_key_and_time(as_operator, turns):
    post(as_operator, make_report(1, session_id="channel:irc:group:#s1"), make_report(2, session_id="nobody"))
    near, far = rows()
    assert (near.turn_id, near.match, near.session_key) == ("s1:u1", "near", "channel:irc:group:#s1")
    assert (far.turn_id, far.match, far.session_id) == (None, "none", "nobody")


def test_what_a_second_source_knows_of_a_write_is_kept_with_it(ada):
    first = create_write("agent_ada", 1, None, b"Tea.\n")
    more = {"session_key": "agent:ada:main", "decision_id": "d9", "llm_model": "guard-1"}
    same = {name: getattr(first, name) for name in ("target_file", "candidate_fact", "status", "created_at")}
    write_store.store_reports("agent_ada", [Report(WriteGuardianAudit(id="other", **same, **more), Source.LOG)])
    row = rows().get()
    assert (row.id, row.session_key, row.decision_id, row.llm_model) == ("w1", *more.values())


def test_while_it_is_off_nothing_is_recorded(as_operator, turns):
    configuration.put("writeGuardianAuditing.enabled", False)
    answer = post(as_operator, make_report())
    assert answer.status_code == 409 and "writeGuardianAuditing.enabled is off" in answer.json()["detail"]
    assert not rows().exists()
    configuration.put("writeGuardianAuditing.enabled", True)
    assert post(as_operator, make_report()).status_code == 201


def test_without_snapshots_there_are_neither_versions_nor_a_diff(as_operator, turns):
    configuration.put("writeGuardianAuditing.storeFileSnapshots", False)
    post(as_operator, make_report(before="", after="Tea.\n"))
    assert rows().get().diff is None and not FileSnapshot.objects.using("agent_ada").exists()
    configuration.put("writeGuardianAuditing.storeFileSnapshots", True)
    post(as_operator, make_report(2, before="", after="Tea.\n"))
    assert rows().last().diff and FileSnapshot.objects.using("agent_ada").count() == 2
