"""The tools of MCP: one table of names, descriptions, arguments, roles and functions.

Each function calls operations of the API as the person, and returns a dictionary that `answers.py` shortens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import BaseModel, Field, ValidationError

from datasets.review.api import NextFilters, VerdictIn
from episodes.schemas import Moment, Scope, Type
from guardian.files import MEMORY_FILES
from ledger.lists.schemas import ErrorQuery
from openclaw_web.diffs.line_diff import split_lines
from openclaw_web.endpoints.schemas import PageQuery
from openclaw_web.errors import Refused, UserFacingError
from people.models import User
from problems.schemas import ProblemQuery
from search.api import SearchQuery

from ..chain.api import ChainQuery
from ..chain.chains import OF_AGENT
from . import evidence
from .answers import format_answer
from .caller import Caller

AGENT = "id of an agent, as `agents` lists it"
AgentId = Annotated[str, Field(min_length=1, max_length=56, description=AGENT)]
Id = Annotated[str, Field(min_length=1, max_length=600)]


class NoSuchTool(Exception):
    """The table has no tool of this name."""


class NoArguments(BaseModel):
    pass


class SessionArguments(PageQuery):
    agent: AgentId
    session_id: Id
    limit: int = Field(10, ge=1, le=50)


class TurnArguments(BaseModel):
    agent: AgentId
    turn_id: Id


class FileArguments(BaseModel):
    agent: AgentId
    file: Literal[MEMORY_FILES]  # type: ignore[valid-type]


class WriteArguments(BaseModel):
    agent: AgentId
    write_id: Id


class CostArguments(BaseModel):
    range: Literal["24h", "7d", "35d"] = "35d"


class EpisodeArguments(BaseModel):
    """The names are those of the specification of the ledger; `agent` is ours."""

    scope: Scope
    sessionId: Id | None = None
    fromTs: Moment | None = None
    toTs: Moment | None = None
    types: list[Type] = []
    limit: int = Field(50, ge=1, le=200)
    includePayload: bool = False
    agent: AgentId = "main"


def list_agents(api: Caller, _arguments: NoArguments) -> dict[str, Any]:
    agents = api.get("agent_list", {"limit": 200})
    pages = {row["agent_id"]: api.link("ledger:session_list", row["agent_id"]) for row in agents["items"]}
    return {"pages": pages, "items": agents["items"]}


def search(api: Caller, arguments: SearchQuery) -> dict[str, Any]:
    return {"pages": {"search": api.link("search:search", q=arguments.q)}} | api.get("search", arguments.model_dump())


def read_session(api: Caller, arguments: SessionArguments) -> dict[str, Any]:
    place = {"agent": arguments.agent, "session_id": arguments.session_id}
    facts = api.get("session_detail", **place)
    turns = api.get("session_turns", arguments.model_dump(exclude={"agent", "session_id"}), **place)
    page = api.link("ledger:session_detail", arguments.agent, arguments.session_id)
    turns["items"] = [turn | {"address": f"{page}?turn={turn['turn_number']}"} for turn in turns["items"]]
    return {"pages": {"session": page}, "session": facts, "turns": turns["items"], "next": turns["next"]}


def read_memory_file(api: Caller, arguments: FileArguments) -> dict[str, Any]:
    blame = api.get("guardian_file_blame", agent=arguments.agent, name=arguments.file)
    version = api.get("file_version", {"id": blame["version"]["id"]}, agent=arguments.agent)
    lines = split_lines(version["content"])
    runs = [run | {"text": "".join(lines[run["first"] - 1 : run["last"]])} for run in blame["runs"]]
    page = api.link("guardian:file_detail", arguments.agent, arguments.file)
    writes = {
        run["audit_id"]: api.link("guardian:audit_detail", arguments.agent, run["audit_id"])
        for run in runs
        if run["audit_id"]
    }
    return {"pages": {"file": page, **writes}, **blame, "runs": runs}


def read_chain(api: Caller, arguments: ChainQuery) -> dict[str, Any]:
    if bool(arguments.agent) != (arguments.kind in OF_AGENT):
        raise Refused(_("Name the agent, but not with a verdict, a sample, a release or a row."))
    chain = api.get("chain", arguments.model_dump())
    place = (arguments.agent,) if arguments.agent else ()
    return {"pages": {"chain": api.link("operations:chain", *place, arguments.kind, arguments.id)}} | chain


def read_reach(api: Caller, arguments: WriteArguments) -> dict[str, Any]:
    reach = api.get("reach", agent=arguments.agent, audit_id=arguments.write_id)
    pages = {
        name: api.link(f"guardian:{route}", arguments.agent, arguments.write_id)
        for name, route in (("write", "audit_detail"), ("reach", "reach"))
    }
    for turn in reach["turns"]:
        turn["address"] = api.link(
            "ledger:session_detail", arguments.agent, turn["session_id"], turn=turn["turn_number"]
        )
    return {"pages": pages} | reach


def list_errors(api: Caller, arguments: ErrorQuery) -> dict[str, Any]:
    errors = api.get("error_list", arguments.model_dump())
    for group in errors["items"]:
        agent_id = next(iter(group["agents"]), "")
        group["address"] = api.link("ledger:event_list", agent_id, error=group["id"]) if agent_id else ""
    return {"pages": {"errors": api.link("ledger:error_list")}} | errors


def list_problems(api: Caller, arguments: ProblemQuery) -> dict[str, Any]:
    return {"pages": {"system": api.link("operations:system")}} | api.get("problem_list", arguments.model_dump())


def read_costs(api: Caller, arguments: CostArguments) -> dict[str, Any]:
    sums = api.get("overview_sums", {"days": 7, "range": arguments.range})
    names = ("agent_id", "cost_usd", "unpriced_tokens", "total_tokens", "turn_count", "error_count")
    agents = api.get("overview_agents", {"sort": "-cost_usd", "limit": 20})["items"]
    costs = {"range": sums["range"], "agents": [{name: row[name] for name in names} for row in agents]}
    return {"pages": {"overview": api.link("overview:overview")}} | costs | {"days": sums["days"]}


def take_next_sample(api: Caller, arguments: NextFilters) -> dict[str, Any]:
    answer = api.get("review_next", arguments.model_dump())
    answer["message"] = "" if answer["sample"] else _("No sample is left for you.")
    return {"pages": _list_sample_pages(api, answer)} | answer


def give_verdict(api: Caller, arguments: VerdictIn) -> dict[str, Any]:
    answer = api.post("review_verdict", arguments.model_dump(exclude_none=True))
    judged = {name: answer["judged"][name] for name in ("id", "annotation_status")}
    next_id = answer["sample"]["id"] if answer["sample"] else None
    return {"pages": _list_sample_pages(api, {"sample": judged}), "judged": judged, "next_sample_id": next_id}


def _list_sample_pages(api, answer):
    sample = answer["sample"]
    queue = {"queue": api.link("datasets:review")}
    return queue | ({"sample": api.link("datasets:sample_detail", sample["id"])} if sample else {})


def query_episodes(api: Caller, arguments: EpisodeArguments) -> dict[str, Any]:
    names = ("event_id", "ts_ms", "type", "session_id", "agent_id", "summary", "refs", "payload", "redacted")
    events = api.get("episode_list", arguments.model_dump(exclude={"agent"}), agent=arguments.agent)
    page = api.link("episodes:scope_list", arguments.agent)
    items = [
        {name: event[name] for name in names if name in event}
        | {"address": api.link("episodes:event_detail", arguments.agent, event["event_id"])}
        for event in events["items"]
    ]
    return {"pages": {"episodes": page}, "items": items, "next": events["next"], "is_cut": events["is_cut"]}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool; the role is that of the operations that its function calls."""

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[Caller, Any], dict[str, Any]]
    role: str = "viewer"
    is_read_only: bool = True

    def describe(self) -> dict[str, Any]:
        """The tool as `tools/list` returns it."""
        schema = self.arguments.model_json_schema() | {"additionalProperties": False}
        hints = {"readOnlyHint": self.is_read_only, "destructiveHint": False, "openWorldHint": False}
        return {"name": self.name, "description": self.description, "inputSchema": schema, "annotations": hints}


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("agents", "All agents, and when each was last seen; `costs` has their sums.", NoArguments, list_agents),
        Tool("search", "Texts of all agents with these words: messages, results of tools, memory files, decisions, "
             "writes, samples, scheduled tasks.", SearchQuery, search),
        Tool("session", "A session with its turns in order: the messages of both sides, tokens, cost.",
             SessionArguments, read_session),
        Tool("turn", "A turn with its evidence: its messages and tool calls, the messages before it, decisions of the "
             "memory gate, writes to memory files, samples and verdicts.", TurnArguments, evidence.read_turn),
        Tool("memory_file", "A memory file: its lines by the write they came from (blame), and whether OpenClaw puts "
             "the file into prompts (standing).", FileArguments, read_memory_file),
        Tool("chain", "What leads to a thing, and what came of it: person, turn, decision, write, line, verdict, "
             "sample, release, row, download.", ChainQuery, read_chain),
        Tool("who_was_told", "The turns that had the lines of a write in their context, and replies that repeat them.",
             WriteArguments, read_reach),
        Tool("errors", "Failed calls of tools and models, grouped by their message.", ErrorQuery, list_errors),
        Tool("problems", "Conditions that need a person, worst first.", ProblemQuery, list_problems, "operator"),
        Tool("costs", "Cost, tokens, errors and answer times of a range and the range before it, by model and agent.",
             CostArguments, read_costs),
        Tool("review_next", "Claim the next sample to review. The same sample until a verdict is given.",
             NextFilters, take_next_sample, "labeller", False),
        Tool("review_verdict", "Give a verdict on a sample; people can undo it.", VerdictIn, give_verdict,
             "labeller", False),
        Tool("memory_episodes_query", "Events of one scope of the episodic ledger, in the order of their time.",
             EpisodeArguments, query_episodes),
    )
}  # fmt: skip


def list_tools(user: User) -> list[dict[str, Any]]:
    """The tools that a person may use."""
    return [tool.describe() for tool in TOOLS.values() if user.has_role(tool.role)]


def call(caller: Caller, name: Any, arguments: Any) -> dict[str, Any]:
    """Run a tool; return the result of `tools/call`. Raises NoSuchTool."""
    tool = TOOLS.get(name) if isinstance(name, str) else None
    if tool is None:
        raise NoSuchTool(f"There is no tool {str(name)[:100]!r}.")
    if not caller.user.has_role(tool.role):
        return build_result(_("Your role, or the token's, does not allow this."), is_error=True)
    if not isinstance(arguments, dict):
        return build_result(_("The arguments are not an object."), is_error=True)
    try:
        parsed = tool.arguments.model_validate(arguments)
        if unknown := [str(key)[:100] for key in arguments if key not in tool.arguments.model_fields]:
            sentence = _("There is no argument %(name)s.") % {"name": ", ".join(unknown[:10])}
            return build_result(sentence, is_error=True)
        return build_result(format_answer(tool.run(caller, parsed)))
    except ValidationError as exc:
        faults = [f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}" for fault in exc.errors()]
        return build_result("\n".join(fault[:300] for fault in faults[:10]), is_error=True)
    except UserFacingError as refused:
        reasons = [f"{row['id']}: {row['reason']}" for row in refused.reasons[:20]]
        return build_result("\n".join([refused.sentence, *reasons])[:4_000], is_error=True)


def build_result(text: str, *, is_error: bool = False) -> dict[str, Any]:
    """The result of `tools/call` with one text."""
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
