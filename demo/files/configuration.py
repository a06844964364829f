"""The files of a home with settings and secrets.

A reader takes the agents from one of them; the others are not opened.
"""

import json

from ..prices import MODELS

KEYS = {
    "anthropic": "sk-ant-fake-demo-0000-never-show-this-0000",
    "openai": "sk-fake-demo-0000-never-show-this-0000",
    "ollama": "ollama-fake-key-never-show-this",
}
GATEWAY_TOKEN = "fake-gateway-token-never-show-this"  # noqa: S105 - a canary, not a password
DEVICE_KEY = "fake-device-key-never-show-this"
TELEGRAM_TOKEN = "555000999:fake-telegram-token-never-show-this"  # noqa: S105 - a canary, not a password
CANARIES = (*KEYS.values(), GATEWAY_TOKEN, DEVICE_KEY, TELEGRAM_TOKEN)
BASE_URLS = {
    "anthropic": "https://llm.bakery.example/anthropic",
    "openai": "https://llm.bakery.example/openai/v1",
    "ollama": "http://127.0.0.1:11434/v1",
}


def files(agents, folder):
    """Yield the path and content of each file.

    `agents` are (id, name, workspace path, model) tuples.
    """
    yield "openclaw.json", _build_openclaw(agents, folder)
    for agent, *_ in agents:
        yield f"agents/{agent}/agent/models.json", {"providers": _build_providers()}
    yield (
        "agents/main/agent/auth-profiles.json",
        {"version": 1, "profiles": {"anthropic:default": {"type": "api_key", "key": KEYS["anthropic"]}}},
    )
    yield "identity/device.json", {"version": 1, "deviceId": "0" * 64, "privateKeyPem": DEVICE_KEY}
    yield "update-check.json", {"lastCheckedAt": "2026-02-27T00:00:00.000Z", "lastAvailableVersion": "2026.2.26"}


def write_configuration(root, agents, folder):
    """Write all files under `root`."""
    for path, content in files(agents, folder):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content, ensure_ascii=False, indent=2), encoding="utf-8", newline="\n")


def _build_providers():
    providers = {}
    for model in MODELS.values():
        provider = providers.setdefault(
            model.provider,
            {
                "baseUrl": BASE_URLS[model.provider],
                "apiKey": KEYS[model.provider],
                "api": model.api,
                "models": [],
            },
        )
        cost = {"input": model.input, "output": model.output}
        cost |= {"cacheRead": model.cache_read, "cacheWrite": model.cache_write}
        entry = {"id": model.id, "name": model.name, "reasoning": True, "input": ["text", "image"], "cost": cost}
        provider["models"].append(entry | {"contextWindow": model.window, "maxTokens": 8_192})
    return providers


def _build_openclaw(agents, folder):
    first = agents[0]
    listed = [{"id": first[0], "default": True, "name": first[1]}]
    listed += [
        {"id": id_, "name": name, "workspace": path, "model": {"primary": model}}
        for id_, name, path, model in agents[1:]
    ]
    defaults = {"model": {"primary": first[3]}, "workspace": f"{folder}/workspace", "userTimezone": "Asia/Singapore"}
    return {
        "models": {"mode": "merge", "providers": _build_providers()},
        "agents": {"defaults": defaults | {"compaction": {"mode": "default"}}, "list": listed},
        "tools": {"exec": {"host": "gateway", "security": "full", "ask": "off"}},
        "gateway": {"mode": "local", "bind": "loopback", "auth": {"mode": "token", "token": GATEWAY_TOKEN}},
        "cron": {"enabled": True},
        "channels": {
            "telegram": {"enabled": True, "botToken": TELEGRAM_TOKEN, "dmPolicy": "allowlist"},
            "irc": {"enabled": True, "host": "irc.bakery.example", "nick": "crumb", "channels": ["#ops"]},
        },
        "session": {"dmScope": "per-channel-peer"},
    }
