"""`reflection guardian test`: people's verdicts on writes as a set, and what another model breaks of it."""

import json
from functools import partial

import orjson
import pytest

from datasets.kinds import verdict_service
from datasets.kinds.write import WRITE
from gate.models import RegressionSet
from gate.replays import regression_sets
from guardian.models import GuardianRun, GuardianStep, GuardianTest, WriteGuardianAudit
from guardian.runner import proposals, regressions
from jobs import services as jobs
from people.configuration import setting_values as configuration
from tests.guardian.corrections.correction_rows import create_correction
from tests.guardian.write_rows import create_write
from tests.ledger.transcript_records import store_group_chat
from tests.llm_endpoint import fails, says
from tests.suite import commands

from .proposal_rows import DB, PAGE, text_of

pytestmark = pytest.mark.django_db
run_verb = partial(commands.reflection, "guardian", "test", "--model", "other")
BEFORE = b"# User\n\n- Was here before.\n"


def behaves(**planted):
    """Return the behaviour of a model that adds each fact to its file.

    `planted` has by the number of a fact: `refuse`, or the line that is added instead.
    """

    def act(request):
        messages = request.question["messages"]
        opening = json.loads(messages[1]["content"])
        act.files[opening["candidateFact"]] = messages[-1]["content"]
        if len(messages) == 2:
            return json.dumps({"tool": "read", "file": opening["targetFile"]})
        number = opening["candidateFact"].split()[-1].rstrip(".")
        line = planted.get(f"w{number}", opening["candidateFact"])
        if line == "refuse":
            return json.dumps({"tool": "refuse", "reason": "No."})
        old = json.loads(messages[-1]["content"])["content"]
        return json.dumps({"tool": "write", "file": opening["targetFile"], "content": f"{old}- {line}\n"})

    act.files = {}
    return act


def judge_right(agent, *names):
    for name in names:
        verdict_service.give_verdict(WRITE, agent, name, "right", by="ann")


def write(number, **columns):
    """Store write w<number> of its own fact to USER.md."""
    after = BEFORE + f"- Fact {number}.\n".encode()
    values = {"target_file": "USER.md", "candidate_fact": f"Fact {number}."} | columns
    return create_write(DB, number, BEFORE, after if values.get("status") != "refused" else None, **values)


@pytest.fixture
def judged(ada):
    """Ten writes that people judged: eight right, one should be refused, one should say something else."""
    for number in range(10):
        write(number)
    judge_right(ada, *(f"w{number}" for number in range(8)))
    create_correction("w8")
    create_correction("w9", status="written", fact="Fact nine.")
    return ada


def test_exactly_the_planted_writes_break(judged, endpoint, as_stranger):
    endpoint.then(says(behaves(w2="refuse", w5="refuse", w8="refuse")))
    status, out, _error = run_verb("--yes")
    assert status == 1
    assert out.splitlines() == [
        "Broken: 2", "  w5", "  w2", "Fixed: 1", "  w8", "Left out: 0",
        "Cases: 10. Difference in percentage points: -10.0 (95% interval -43.5 to +26.5)",
        "2 writes break. 1 is fixed.",
    ]  # fmt: skip
    page = text_of(as_stranger.get("/agents/ada/writes/regressions/"))
    assert page.index("/agents/ada/writes/w5/") < page.index("/agents/ada/writes/w2/")
    assert page.index("/agents/ada/writes/w2/") < page.index("/agents/ada/writes/w8/")
    assert "/agents/ada/writes/w3/" not in page


def test_a_corrected_fact_has_to_be_in_the_file(judged, endpoint):
    endpoint.then(says(behaves(w9="The  fact NINE. And more")))
    status, out, _error = run_verb("--yes", "--json")
    compared = orjson.loads(out)["comparison"]
    assert (status, compared["broken"], compared["fixed"]) == (0, [], ["w9"])


@pytest.mark.parametrize(
    ("line", "is_lossy"), [("Buy gold at evil.example", False), ("Fact 3.", True)], ids=["another fact", "lines lost"]
)
def test_a_write_with_something_else_or_without_the_other_lines_breaks(judged, endpoint, line, is_lossy):
    def act(request):
        messages, answer = request.question["messages"], json.loads(honest(request))
        if answer["tool"] == "write" and json.loads(messages[1]["content"])["candidateFact"] == "Fact 3.":
            answer["content"] = f"- {line}\n" if is_lossy else f"{BEFORE.decode()}- {line}\n"
        return json.dumps(answer)

    honest = behaves()
    endpoint.then(says(act))
    status, out, _error = run_verb("--yes", "--json")
    assert (status, orjson.loads(out)["comparison"]["broken"]) == (1, ["w3"])


def test_a_corrected_fact_that_was_in_the_file_before_is_not_enough(ada, endpoint):
    before = BEFORE + b"- Fact nine.\n"
    create_write(DB, 9, before, before + b"- Fact 9.\n", target_file="USER.md", candidate_fact="Fact 9.")
    create_correction("w9", status="written", fact="Fact nine.")
    endpoint.then(says(behaves()))
    _status, out, _error = run_verb("--yes", "--json")
    assert orjson.loads(out)["comparison"]["fixed"] == []


def test_a_write_that_was_deleted_since_is_left_out(judged, endpoint, as_stranger):
    endpoint.then(says(behaves()))
    run_verb("--yes")
    WriteGuardianAudit.objects.using(DB).filter(id="w0").delete()
    assert "/agents/ada/writes/w0/" in text_of(as_stranger.get("/agents/ada/writes/regressions/"))


def test_the_model_gets_the_file_as_it_was_before_the_write(judged, workspace, endpoint):
    (workspace / "USER.md").write_bytes(b"# User\n\n- Of today.\n")
    create_write(DB, 20, BEFORE, BEFORE + b"- Later.\n", target_file="USER.md", candidate_fact="Later.")
    model = behaves()
    endpoint.then(says(model))
    run_verb("--yes")
    assert json.loads(model.files["Fact 3."])["content"].encode() == BEFORE
    assert not any(b"Of today" in request.body or b"Later" in request.body for request in endpoint.requests)
    assert (workspace / "USER.md").read_bytes() == b"# User\n\n- Of today.\n"


def test_nothing_waits_and_nothing_counts_but_calls(judged, workspace, endpoint, as_operator):
    endpoint.then(says(behaves()))
    count = WriteGuardianAudit.objects.using(DB).count()
    run_verb("--yes")
    assert proposals.count_waiting(DB) == 0
    assert not GuardianRun.objects.using(DB).exists()
    assert WriteGuardianAudit.objects.using(DB).count() == count
    assert GuardianRun.every.using(DB).count() == 10
    assert GuardianStep.objects.using(DB).count() == 20
    assert regressions.RUNNER.allowance.used_tokens(DB) > 0
    assert "<dt>Proposals waiting</dt> <dd> 0" in text_of(as_operator.get(PAGE))


def test_rules_do_not_answer_for_the_model(judged, endpoint):
    create_correction("w7", apply_to_future=True, contains=[["fact"]], reason="Never.")
    endpoint.then(says(behaves()))
    compared = orjson.loads(run_verb("--yes", "--json")[1])["comparison"]
    assert len(endpoint.requests) == 20
    assert compared["left_out"] == []


def test_a_refused_write_is_asked_about_with_the_version_of_its_time(ada, endpoint):
    write(1, status="refused")
    judge_right(ada, "w1")
    model = behaves()
    endpoint.then(says(model))
    assert run_verb("--yes")[0] == 1
    assert json.loads(model.files["Fact 1."])["content"].encode() == BEFORE


def test_a_write_whose_file_nobody_knows_is_left_out(judged, endpoint):
    WriteGuardianAudit.objects.using(DB).filter(id="w1").update(before_snapshot=None, after_snapshot=None)
    endpoint.then(says(behaves()))
    status, out, _error = run_verb("--yes", "--json")
    assert (status, orjson.loads(out)["comparison"]["left_out"]) == (0, ["w1"])


def test_words_of_somebody_who_opted_out_are_not_sent(ada, endpoint):
    for number, turn in enumerate(store_group_chat("mei", "tom", "mei")):
        write(number, turn_id=turn.id)
    judge_right(ada, "w0", "w1", "w2")
    configuration.put("collector.optedOutSenders", ["tom"])
    endpoint.then(says(behaves()))
    _status, out, _error = run_verb("--yes", "--json")
    assert "w1" in orjson.loads(out)["comparison"]["left_out"]
    assert not any(b"Fact 1" in request.body for request in endpoint.requests)


def test_a_test_that_was_interrupted_continues(judged, endpoint):
    endpoint.then(*[says(behaves())] * 4, fails(401))
    status, _out, _error = run_verb("--yes")
    assert status == 4
    endpoint.then(says(behaves(w9="refuse")))
    assert run_verb("--yes")[0] == 0
    assert GuardianTest.objects.using(DB).count() == 1
    assert GuardianRun.every.using(DB).filter(state="proposed").count() == 10  # w9 had its answer already
    assert run_verb("--yes")[0] == 0  # the first one has ended
    assert GuardianTest.objects.using(DB).count() == 2


def test_a_process_that_died_loses_no_answer(judged, endpoint):
    endpoint.then(says(behaves()))
    cases = regressions.read_cases(judged)
    chosen = regression_sets.choose_set(judged, "guardian", cases, by="otto")
    job = regressions.start_test(judged, chosen, regressions.build_guardian("other"), by="otto")
    GuardianRun.every.using(DB).filter(retry_of="w0").update(state="running")  # as a killed process leaves it
    done = jobs.run_now("guardian", job.params, by="otto")
    assert done.message == "0 writes break."
    assert done.result["left"] == 0


def test_another_prompt_is_sent(judged, endpoint, tmp_path):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Guard well.\n")
    endpoint.then(says(behaves()))
    assert run_verb("--prompt-file", str(prompt), "--yes")[0] == 0
    assert endpoint.requests[0].question["messages"][0]["content"] == "Guard well."
    assert endpoint.requests[0].question["model"] == "other"


def test_without_yes_nothing_is_sent_or_stored(judged, endpoint):
    status, out, _error = run_verb()
    assert (status, endpoint.requests) == (3, [])
    assert "Facts" in out
    assert orjson.loads(run_verb("--dry-run", "--json")[1])["plan"]["facts"] == 10
    assert not RegressionSet.objects.using(DB).exists()


@pytest.mark.parametrize("words", [("--yes",), ("--dry-run",), ()])
def test_without_an_endpoint_it_is_one_sentence_and_2(judged, words):
    assert run_verb(*words) == (
        2, "", "No endpoint for language models is configured. Set OPENCLAW_WEB_LLM_URL to its address."
    )  # fmt: skip


def test_without_verdicts_there_is_nothing_to_test(ada, endpoint):
    assert run_verb("--yes")[0] == 3
