import os
from collections.abc import Callable
from contextlib import nullcontext

from django.db import connections
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import VERSION
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb
from openclaw_web.disk.site_address import address_of_links
from openclaw_web.errors import Refused
from people.accounts import services as accounts
from people.accounts import tokens
from people.audit import log as audit
from people.authentication.links import active_admins
from people.models import User

from ...mcp import tools
from ...mcp.caller import Caller
from ...mcp.json_rpc import INSTRUCTIONS, INVALID_PARAMS

VARIABLE = "OPENCLAW_WEB_TOKEN"


class Command(Verb):
    help = gettext_lazy("Serve the tools of the Model Context Protocol on standard input and output.")
    examples = ("mcp", "mcp --user mei")
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)

    def add_arguments(self, parser):
        text = _("the person who calls the tools (the owner of the token in %(variable)s, else the only admin)")
        parser.add_argument("--user", metavar="NAME", help=text % {"variable": VARIABLE})

    def run(self, user, **options):
        try:
            import anyio
            import mcp_types
            from mcp import MCPError
            from mcp.server.lowlevel import Server
            from mcp.server.stdio import stdio_server
        except ImportError as exc:
            sentence = _("This command needs the package mcp. Install it with: pip install openclaw-web[mcp]")
            raise Refused(sentence) from exc
        find_user(user)  # refuses at once
        calls = anyio.CapacityLimiter(1)  # one call after the other
        site = address_of_links()

        async def list_tools(_context, _parameters):
            described = await anyio.to_thread.run_sync(_run, user, tools.list_tools, limiter=calls)
            return mcp_types.ListToolsResult.model_validate({"tools": described})

        async def call_tool(_context, parameters):
            def act(person):
                return tools.call(Caller(person, site), parameters.name, parameters.arguments or {})

            try:
                answer = await anyio.to_thread.run_sync(_run, user, act, limiter=calls)
            except tools.NoSuchTool as exc:
                raise MCPError(INVALID_PARAMS, str(exc)) from exc
            except Refused as refused:  # the token was revoked, or the person deactivated
                answer = tools.build_result(refused.sentence, is_error=True)
            return mcp_types.CallToolResult.model_validate(answer)

        async def serve():
            texts = {"version": VERSION, "instructions": INSTRUCTIONS}
            server = Server("openclaw-web", **texts, on_list_tools=list_tools, on_call_tool=call_tool)
            async with stdio_server() as (messages, answers):
                await server.run(messages, answers, server.create_initialization_options())

        anyio.run(serve)


def find_user(name: str | None) -> User:
    """The person of `--user`, else of the token in the environment, else the only admin. Raises Refused."""
    if name:
        user = accounts.get_user(name)
        accounts.check_is_active(user)
        return user
    if text := os.environ.get(VARIABLE):
        if owner := tokens.find_user(text):
            return owner
        raise Refused(_("The token in %(variable)s is not valid: create another one.") % {"variable": VARIABLE})
    admins = list(active_admins()[:2])
    if len(admins) == 1:
        return admins[0]
    raise Refused(_("Name the person who calls the tools: --user NAME."))


def _run(name: str | None, act: Callable):
    """Run `act` as the person, who is looked up again for every call; in a thread, which has its own connections."""
    try:
        user = find_user(name)
        is_token = getattr(user, "token", None) is not None
        with audit.act_via(f"token oc_{user.token.prefix}") if is_token else nullcontext():
            return act(user)
    finally:
        connections.close_all()
