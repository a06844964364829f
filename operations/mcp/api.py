"""The Model Context Protocol over HTTP: one operation of the API."""

from typing import Any

import orjson
from django.conf import settings
from django.http import HttpResponse

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.pages.roles import needs

from .caller import Caller
from .json_rpc import INVALID_REQUEST, answer_body

router = Operations("mcp_api", tags=["mcp"])
A_MESSAGE = {
    "type": "object",
    "required": ["jsonrpc"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer"]},
        "method": {"type": "string"},
    },
    "anyOf": [{"required": [name]} for name in ("method", "result", "error")],
}
MESSAGE = {"application/json": {"schema": A_MESSAGE}}
ANY_OBJECT = {"application/json": {"schema": {"type": "object"}}}
FAILURE = {"description": "a JSON-RPC error, or a failure of the API", "content": ANY_OBJECT}
VERSION_HEADER = {
    "in": "header", "name": "MCP-Protocol-Version", "required": False, "schema": {"type": "string"},
    "description": "the negotiated revision of the protocol",
}  # fmt: skip


class RpcResponse(Schema):
    """A JSON-RPC 2.0 response: `result` or `error`."""

    jsonrpc: str
    id: Any
    result: Any = None
    error: Any = None


@router.post(
    "/mcp",
    {200: RpcResponse, 202: None},
    openapi_extra={
        "requestBody": {"required": True, "content": MESSAGE},
        "parameters": [VERSION_HEADER],
        "responses": {400: FAILURE, 403: FAILURE},
    },
)
@needs("viewer")
def mcp(request):
    """A message of the Model Context Protocol: `initialize`, `ping`, `tools/list`, `tools/call`, notifications."""
    site = f"{request.scheme}://{request.get_host()}"
    origin = request.headers.get("Origin")
    if origin is not None and origin not in (site, *settings.CSRF_TRUSTED_ORIGINS):
        failure = {"code": INVALID_REQUEST, "message": "Requests from pages of other sites are refused."}
        status, message = 403, {"jsonrpc": "2.0", "id": None, "error": failure}
    else:
        version = request.headers.get("MCP-Protocol-Version", "")
        status, message = answer_body(request.body, version, Caller(request.user, site))
    content = b"" if message is None else orjson.dumps(message)
    return HttpResponse(content, status=status, content_type="application/json")
