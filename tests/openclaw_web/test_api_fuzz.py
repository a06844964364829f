"""The whole API under requests that the document allows, and under some that it forbids.

Whatever comes in: no answer is an error of ours, and none is missing in the document.
"""

import os
from collections import Counter
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as with_seed

from agents import databases
from artifacts import services as artifacts
from openclaw_web.api import api
from openclaw_web.wsgi import application
from people.accounts import tokens as accounts_tokens
from people.api_auth import limits
from tests.factories import (
    EventFactory,
    ExportFactory,
    JobFactory,
    RejectedFactory,
    SampleFactory,
    SessionFactory,
    TurnFactory,
    UserFactory,
)

schemathesis = pytest.importorskip("schemathesis")
from schemathesis import GenerationMode  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi import checks  # noqa: E402

pytestmark = pytest.mark.django_db
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "3"))  # of each kind, for each operation, with --nightly; otherwise one
ROLES = ("admin", "viewer")  # with --nightly both send them
SEED = 20260221
SEEN = Counter()
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
]
# Names that exist, which every second request has in its address.
NAMES = {
    "agent": "ada",
    "handle": "ocm_artifact:v1:sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",  # of "x"
    "session_id": "session-x",
    "sample_id": "sample-x",
    "export_id": "export-x",
    "job_id": "job-x",
    "username": "somebody",
    "key": "memoryGate.windowSize",
}


@pytest.fixture(scope="module")
def document():
    schema = schemathesis.openapi.from_dict(deepcopy(api.get_openapi_schema()))
    schema.app = application
    yield schema
    print(f"\nschemathesis: {SEEN.total()} requests, answered {dict(sorted(SEEN.items()))}")  # noqa: T201 - for pytest -s


def operations():
    return sorted(
        (method.upper(), path) for path, methods in api.get_openapi_schema()["paths"].items() for method in methods
    )


@pytest.fixture
def rows(ada, settings, tmp_path):
    """One row of every table, and no limit on requests."""
    settings.API_PER_MINUTE, settings.HOME_DIR = 0, tmp_path
    (tmp_path / "state").mkdir()
    file = databases.get_path("ada")  # whose size is noted; its rows are in the tests' own
    file.parent.mkdir(parents=True)
    file.touch()
    limits.buckets.clear()
    session = SessionFactory(id="session-x")
    EventFactory(session=session, seq=0)
    TurnFactory(session=session, turn_number=1)
    RejectedFactory()
    artifacts.stash("agent_ada", "x")
    SampleFactory(id="sample-x", session_id="session-x")
    ExportFactory(id="export-x")
    JobFactory(id="job-x", started_by="fuzz-viewer")
    UserFactory(username="somebody")
    UserFactory(username="root", role="admin")


@pytest.mark.parametrize(("method", "path"), operations())
def test_every_answer_is_in_the_document(method, path, rows, document, pytestconfig):
    is_nightly = pytestconfig.getoption("nightly")
    people = [UserFactory(username=f"fuzz-{role}", role=role) for role in ROLES[: 2 if is_nightly else 1]]
    tokens = [accounts_tokens.make_token(person, name="fuzz", role=person.role)[1] for person in people]
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        send_examples(document[path][method], mode, tokens, EXAMPLES if is_nightly else 1)


def send_examples(operation, mode, tokens, count):
    """Sends `count` requests with every token; every second one names rows that exist."""
    sent = []

    @with_seed(SEED)
    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case):
        sent.append(case)
        if len(sent) % 2:
            case.path_parameters = {name: NAMES.get(name, value) for name, value in case.path_parameters.items()}
        if mode is GenerationMode.NEGATIVE and case.query.get("format") == "jsonl":
            del case.query["format"]  # JSON lines allow any `limit`: what is wrong for a page is right there
        for token in tokens:
            headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"}  # the client unpacks nothing
            SEEN[case.call_and_validate(headers=headers, checks=CHECKS).status_code] += 1

    send()
