"""The form of a new replay, and the plan before the button that sends it."""

import orjson
import pytest

from gate.runner import prompts
from jobs import services as jobs
from jobs.models import JobRun
from people.configuration import setting_values as configuration
from people.models import AuditEntry

from .replay_rows import FORM, LIST, NEW, create_decisions, lose_window, replays, text_of

pytestmark = pytest.mark.django_db


def test_the_list_of_decisions_leads_here_with_its_filters(ada, as_stranger, as_operator):
    create_decisions(2)
    page = text_of(as_operator.get("/agents/ada/gate/?decision=NO_WRITE"))
    assert f'href="{NEW}?decision=NO_WRITE"' in page
    assert "Replay these decisions" not in text_of(as_stranger.get("/agents/ada/gate/"))


def test_the_form_has_the_gate_in_force(ada, endpoint, as_operator):
    page = as_operator.get(f"{NEW}?decision=NO_WRITE").content.decode()
    assert 'value="small"' in page
    assert prompts.BUILT_IN.splitlines()[0] in page
    assert f'action="{NEW}plan/?decision=NO_WRITE"' in page
    assert as_operator.get(f"{NEW}?decision=PERHAPS").status_code == 409


def test_the_prompt_in_force_stays_the_same_version(ada, endpoint, as_operator):
    create_decisions(1)
    typed = prompts.BUILT_IN.strip().replace("\n", "\r\n")
    as_operator.post(f"{NEW}start/", FORM | {"new_prompt": typed})
    assert replays().get().prompt_version == prompts.compute_version(prompts.BUILT_IN)


def test_a_plan_says_what_would_be_sent_where(ada, endpoint, as_operator):
    configuration.put("llm.prices", ["other: 1 10"])
    first, *_others = create_decisions(6)
    lose_window(first)
    page = text_of(as_operator.post(f"{NEW}plan/?decision=NO_WRITE", FORM))
    assert "<p>2 decisions</p>" in page
    assert "1 more decision is skipped: what its gate saw is not stored." in page
    assert endpoint.url.split("/")[2] in page
    assert '<dt>Model</dt><dd class="mono">other</dd>' in page
    assert "Estimated cost</dt><dd>$0.0" in page
    assert "Tokens left today (UTC)</dt><dd>500,000</dd>" in page
    assert "Start replay (2 requests)" in page
    assert f'action="{NEW}start/?decision=NO_WRITE"' in page
    assert not endpoint.requests
    assert not replays().exists()


def test_no_button_while_nothing_may_be_sent(ada, endpoint, as_operator):
    configuration.put("memoryGate.enabled", False)
    create_decisions(1)
    page = text_of(as_operator.post(f"{NEW}plan/", FORM))
    assert "memoryGate.enabled is off" in page
    assert "Start replay" not in page
    refused = as_operator.post(f"{NEW}start/", FORM)
    assert (refused.status_code, "memoryGate.enabled is off" in text_of(refused)) == (422, True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limit": "0"}, "greater than or equal to 1"),
        ({"limit": "5001"}, "less than or equal to 5000"),
        ({"new_model": ""}, "This field is required."),
        ({"new_prompt": "x" * 20_001}, "A prompt has at most 20,000 characters."),
    ],
)
def test_what_was_typed_wrongly_is_said_at_its_field(ada, endpoint, as_operator, change, words):
    for step in ("plan", "start"):
        refused = as_operator.post(f"{NEW}{step}/", FORM | change)
        assert (refused.status_code, words in text_of(refused)) == (422, True)


def test_sending_starts_a_job_whose_page_is_the_replay(ada, endpoint, as_operator):
    create_decisions(4)
    browser_ends_lines_so = FORM | {"new_prompt": "Decide.\r\nWell."}
    sent = as_operator.post(f"{NEW}start/?decision=NO_WRITE", browser_ends_lines_so, follow=True)
    replay_row = replays().get()
    assert sent.redirect_chain[0][0] == f"{LIST}{replay_row.id}/"
    assert replay_row.prompt_version == prompts.compute_version("Decide.\nWell.")
    assert (replay_row.started_by, replay_row.total) == ("otto", 2)
    assert "Waiting for the job worker" in text_of(sent)
    job = JobRun.objects.get(id=replay_row.job_id)
    assert (job.kind, job.state) == ("gate_replay", "queued")
    assert AuditEntry.objects.get(action="gate_replay_started").actor == "otto"
    refused = as_operator.post(f"{NEW}start/", FORM)
    assert (refused.status_code, "Wait until it has ended" in text_of(refused)) == (422, True)
    jobs.run_now(job.kind, orjson.loads(job.params_json), by="otto")
    assert "Waiting for the job worker" not in text_of(as_operator.get(f"{LIST}{replay_row.id}/"))
