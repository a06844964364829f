"""The Model Context Protocol over HTTP: what its official client gets, and what every other message gets."""

import json

import pytest
from mcp import MCPError

from ledger.models import ConversationTurn, Session
from operations.mcp.answers import MOST_CHARACTERS
from operations.mcp.tools import TOOLS
from people.accounts import tokens
from people.models.bookkeeping import AuditEntry
from tests.factories import SampleFactory, UserFactory
from tests.operations.chain_links import create_links

from .django_transport import converse, read

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/mcp"
FOR_LABELLERS = {"review_next", "review_verdict"}


@pytest.fixture(autouse=True)
def linked(real_files, ada):
    return create_links()


@pytest.fixture
def token_of(db):
    def make(role):
        user = UserFactory(username=f"{role}-of-mcp", role=role)
        return tokens.make_token(user, name="mcp", role=role)[1]

    return make


@pytest.fixture
def post(client, token_of):
    """Send a message with an operator's token; (status, answer)."""
    token = token_of("operator")

    def send(message, **headers):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        headers = {"Authorization": f"Bearer {token}"} | headers
        answer = client.post(ADDRESS, body, content_type="application/json", headers=headers)
        return answer.status_code, answer.json() if answer.content else None

    return send


def call(name, **arguments):
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


# A tool with arguments that have an answer, and what it must say.
ANSWERS = {
    "agents": ({}, '"agent_id":"ada"'),
    "search": ({"q": "tea"}, '"items"'),
    "session": ({"agent": "ada", "session_id": "s1"}, "/agents/ada/sessions/s1/"),
    "turn": ({"agent": "ada", "turn_id": "s1:u1"}, '"target_file":"MEMORY.md"'),
    "memory_file": ({"agent": "ada", "file": "MEMORY.md"}, '"audit_id":"w1"'),
    "chain": ({"kind": "line", "id": "MEMORY.md:2", "agent": "ada"}, '"title":"Mei"'),
    "who_was_told": ({"agent": "ada", "write_id": "w1"}, '"spans"'),
    "errors": ({}, '"items"'),
    "problems": ({}, '"items"'),
    "costs": ({"range": "7d"}, '"range":{"name":"7d"'),
    "review_next": ({}, '"sample"'),
    "review_verdict": ({"sample_id": "x2", "status": "approved"}, '"annotation_status":"approved"'),
    "memory_episodes_query": ({"scope": "global", "agent": "ada", "includePayload": True}, '"items"'),
}


def test_every_tool_answers(client, token_of, as_admin):
    SampleFactory(id="x2", agent_id="ada", annotation_status="pending")
    assert ANSWERS.keys() == TOOLS.keys()

    async def talk(server, act):
        listed = {tool.name: tool for tool in (await server.list_tools()).tools}
        assert listed.keys() == TOOLS.keys()
        assert all(tool.description and tool.input_schema["type"] == "object" for tool in listed.values())
        return {name: await server.call_tool(name, arguments) for name, (arguments, _words) in ANSWERS.items()}

    for name, result in converse(client, token_of("operator"), talk).items():
        pages = read(result)["pages"]
        assert ANSWERS[name][1] in result.content[0].text, (name, result.content[0].text)
        statuses = {page: as_admin.get(page).status_code for page in pages.values()}
        assert set(statuses.values()) == {200}, (name, statuses)


def test_the_chain_is_that_of_the_api(client, token_of, as_admin):
    arguments = {"kind": "turn", "id": "s1:u1", "agent": "ada"}
    chain = read(converse(client, token_of("viewer"), lambda server, _act: server.call_tool("chain", arguments)))
    steps = as_admin.get("/api/v1/chain", arguments).json()["steps"]
    assert [[item["title"] for item in step["items"]] for step in chain["steps"]] == [
        [item["title"] for item in step["items"]] for step in steps
    ]


def test_a_role_has_its_tools(client, token_of):
    async def talk(server, act):
        names = {tool.name for tool in (await server.list_tools()).tools}
        results = [await server.call_tool(name, {}) for name in ("review_next", "problems")]
        return names, [(result.is_error, result.content[0].text) for result in results]

    names, results = converse(client, token_of("viewer"), talk)
    assert names == TOOLS.keys() - FOR_LABELLERS - {"problems"}
    assert results == [(True, "Your role, or the token's, does not allow this.")] * 2
    names, results = converse(client, token_of("labeller"), talk)
    assert names == TOOLS.keys() - {"problems"}
    assert [is_error for is_error, _text in results] == [False, True]


def test_what_is_read_is_in_the_audit_log(client, token_of):
    token = token_of("viewer")
    for name in ("session", "turn", "memory_file"):
        read(converse(client, token, lambda server, _act, name=name: server.call_tool(name, ANSWERS[name][0])))
    entries = AuditEntry.objects.filter(actor="viewer-of-mcp", action="read")
    objects = set(entries.values_list("object_type", "object_id", "agent_id"))
    assert {("session", "s1", "ada"), ("write", "w1", "ada"), ("file", "MEMORY.md", "ada")} <= objects
    assert set(entries.values_list("via", flat=True)) == {f"token {tokens.get_public_part(token)}"}


def test_a_token_that_is_revoked_meanwhile_is_refused(client, token_of):
    token = token_of("viewer")

    async def talk(server, act):
        await server.call_tool("agents", {})
        await act(lambda: tokens.revoke_token(tokens.find_user(token).token, by="root"))
        with pytest.raises(MCPError):
            await server.call_tool("agents", {})

    converse(client, token, talk)


def test_a_long_answer_is_cut(client, token_of, ada):
    session = Session.objects.using(ada.db).get(id="s1")
    for number in range(100, 140):
        words = {
            "user_message_content": "green tea " * 900,
            "agent_message_content": "\N{TEACUP WITHOUT HANDLE}" * 9_000,
        }
        ConversationTurn.objects.using(ada.db).create(
            id=f"s1:long{number}",
            session=session,
            turn_number=number,
            created_at=number,
            first_seq=0,
            last_seq=0,
            **words,
        )
    arguments = {"agent": "ada", "session_id": "s1", "limit": 50}
    result = converse(client, token_of("viewer"), lambda server, _act: server.call_tool("session", arguments))
    assert len(result.content[0].text) <= MOST_CHARACTERS
    answer = read(result)
    assert "cut" in answer and answer["turns"] and answer["session"]["id"] == "s1"


@pytest.mark.parametrize(
    ("message", "status", "code"),
    [
        (b"{", 400, -32700),
        (b'"\\ud800"', 400, -32700),
        (b"[" * 100_000, 400, -32700),
        ([], 400, -32600),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], 400, -32600),
        (5, 400, -32600),
        ({"id": 1, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, 200, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [1]}, 200, -32602),
        (call("drop_tables"), 200, -32602),
        (call(["agents"]), 200, -32602),
    ],
)
def test_a_message_of_a_wrong_shape_is_a_json_rpc_error(post, message, status, code):
    answer = post(message)
    assert (answer[0], answer[1]["jsonrpc"], answer[1]["error"]["code"]) == (status, "2.0", code)
    assert answer[1]["error"]["message"].endswith((".", "'"))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (call("session", agent="ada"), "session_id: Field required"),
        (call("session", agent="ada", session_id="s1", limit="many"), "limit: "),
        (call("session", agent="ada", session_id="s1", limit=10**30), "limit: "),
        (call("session", agent="ada", session_id="s1", sql="DROP"), "There is no argument sql."),
        (call("session", agent="ada", session_id="s9"), "There is no session s9."),
        (call("session", agent="eve", session_id="s1"), "There is no agent eve."),
        (call("session", agent="../eve", session_id="s1"), "There is nothing with this id"),
        (call("session", agent="ada", session_id="s1", after="x"), "page"),
        (call("turn", agent="ada", turn_id="x\0"), "no such turn"),
        (call("memory_file", agent="ada", file="/etc/passwd"), "file: Input should be"),
        (call("chain", kind="turn", id="s1:u1"), "Name the agent"),
        (call("chain", kind="sample", id="x9"), ""),
        (call("search", q="x" * 20_000), "q: String should have at most"),
        (call("review_verdict", sample_id="x9", status="approved"), "There is no sample x9."),
        (call("review_verdict", sample_id="x1", status="perfect"), "status: Input should be"),
        ({**call("agents"), "params": {"name": "agents", "arguments": [1]}}, "not an object"),
    ],
)
def test_bad_arguments_are_a_result_with_an_error(post, message, words):
    status, answer = post(message)
    assert (status, answer["id"], answer["result"]["isError"]) == (200, 7, True)
    assert words in answer["result"]["content"][0]["text"]


def test_the_handshake(post):
    begin = {"jsonrpc": "2.0", "id": "a", "method": "initialize"}
    for requested, version in (("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25"), ([], "2025-11-25")):
        status, answer = post({**begin, "params": {"protocolVersion": requested}})
        assert (status, answer["id"], answer["result"]["protocolVersion"]) == (200, "a", version)
        assert answer["result"]["capabilities"] == {"tools": {}}
    assert post({"jsonrpc": "2.0", "method": "notifications/initialized"}) == (202, None)
    assert post({"jsonrpc": "2.0", "id": 1, "result": {}}) == (202, None)
    assert post({"jsonrpc": "2.0", "id": 1, "method": "ping"})[1]["result"] == {}


def test_headers_are_checked(post):
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert post(ping, **{"MCP-Protocol-Version": "2025-06-18", "Origin": "http://testserver"})[0] == 200
    for headers, status in (
        ({"MCP-Protocol-Version": "2024-01-01"}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Authorization": "Bearer oc_0_0"}, 401),
    ):
        assert post(ping, **headers)[0] == status


def test_there_are_no_streams_and_no_sessions(client, token_of):
    headers = {"Authorization": f"Bearer {token_of('viewer')}"}
    for method in ("get", "delete"):
        answer = getattr(client, method)(ADDRESS, headers=headers)
        assert (answer.status_code, answer["Allow"]) == (405, "POST")
