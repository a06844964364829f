"""The official client of MCP on the API of this process."""

import asyncio
import json
import queue
from concurrent.futures import Future, ThreadPoolExecutor

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

ADDRESS = "http://testserver/api/v1/mcp"


class DjangoTransport(httpx2.AsyncBaseTransport):
    """Hands requests of the client to Django's test client, which runs where the test runs.

    A thread of its own would have other connections to the databases.
    """

    def __init__(self, browser):
        self.browser, self.acts = browser, queue.Queue()

    async def act(self, function):
        """Run a function in the thread of the test; return its result."""
        future = Future()
        self.acts.put((function, future))
        return await asyncio.wrap_future(future)

    async def handle_async_request(self, request):
        headers = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in request.headers.items()}
        body = await request.aread()
        answer = await self.act(
            lambda: self.browser.generic(request.method, request.url.path, body, "application/json", **headers)
        )
        return httpx2.Response(answer.status_code, headers=dict(answer.items()), content=answer.content)


def converse(browser, token, talk):
    """Run `talk(client, act)` with a client that has begun a conversation; return its result."""
    transport = DjangoTransport(browser)

    async def run():
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(transport=transport, headers=headers) as http,
            Client(streamable_http_client(ADDRESS, http_client=http)) as client,
        ):
            return await talk(client, transport.act)

    with ThreadPoolExecutor(1) as pool:
        conversation = pool.submit(asyncio.run, run())
        conversation.add_done_callback(lambda _future: transport.acts.put(None))
        while entry := transport.acts.get():
            function, future = entry
            try:
                future.set_result(function())
            except BaseException as exc:
                future.set_exception(exc)
        return conversation.result()


def read(result):
    """The JSON of a tool's answer, which must not be an error."""
    assert not result.is_error, result.content[0].text
    return json.loads(result.content[0].text)
