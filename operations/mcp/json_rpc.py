"""JSON-RPC 2.0 messages of the Model Context Protocol over HTTP, without streams and sessions."""

from typing import Any

import orjson

from openclaw_web import VERSION

from . import tools
from .caller import Caller

# Revisions of the protocol; without a header, the specification assumes the second one from the end.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
PARSE_ERROR, INVALID_REQUEST, NO_SUCH_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
INSTRUCTIONS = (
    "Records of OpenClaw agents: what they did and were told, what they remember and why, what it costs. Times are "
    "milliseconds since 1970 UTC. Begin with `agents` and `search`; `chain` follows a thing in both directions. "
    "Cite the addresses in `pages` and `address`."
)


class RpcError(Exception):
    """A message that cannot be answered; `status` is that of HTTP."""

    def __init__(self, code: int, message: str, *, status: int = 200):
        super().__init__(message)
        self.code = code
        self.status = status


def answer_body(body: bytes, version: str, caller: Caller) -> tuple[int, dict[str, Any] | None]:
    """Return the status and the message that answer the body of a request; None answers a notification.

    `version` is the header MCP-Protocol-Version, or empty.
    """
    message = None
    try:
        if version and version not in VERSIONS:
            sentence = f"This site does not support MCP-Protocol-Version {version[:40]}, but {', '.join(VERSIONS)}."
            raise RpcError(INVALID_REQUEST, sentence, status=400)
        message = _read_message(body)
        if "id" not in message or "method" not in message:  # a notification, or a response to a request of ours
            return 202, None
        result = _answer_request(message["method"], message.get("params") or {}, caller)
        return 200, {"jsonrpc": "2.0", "id": message["id"], "result": result}
    except RpcError as error:
        number = message["id"] if message else None
        failure = {"code": error.code, "message": str(error)}
        return error.status, {"jsonrpc": "2.0", "id": number, "error": failure}


def _read_message(body):
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise RpcError(PARSE_ERROR, "The body is not JSON.", status=400) from exc
    if isinstance(message, list):
        raise RpcError(INVALID_REQUEST, "Batches are not supported: send one message in each request.", status=400)
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, "The body is not a JSON-RPC 2.0 message.", status=400)
    if "id" in message and type(message["id"]) not in (str, int):
        raise RpcError(INVALID_REQUEST, "The id of a message is a text or an integer.", status=400)
    if not isinstance(message.get("method", ""), str) or not {"method", "result", "error"} & message.keys():
        raise RpcError(INVALID_REQUEST, "The message has no method.", status=400)
    return message


def _answer_request(method, params, caller):
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "The parameters are not an object.")
    if method == "initialize":
        requested = params.get("protocolVersion")
        return {
            "protocolVersion": requested if requested in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "openclaw-web", "version": VERSION},
            "instructions": INSTRUCTIONS,
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": tools.list_tools(caller.user)}
    if method == "tools/call":
        try:
            return tools.call(caller, params.get("name"), params.get("arguments", {}))
        except tools.NoSuchTool as exc:
            raise RpcError(INVALID_PARAMS, str(exc)) from exc
    raise RpcError(NO_SUCH_METHOD, f"There is no method {method[:100]}.")
