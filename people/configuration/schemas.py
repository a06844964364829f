"""Settings in the JSON API."""

from typing import Any

from pydantic import Field

from openclaw_web.endpoints.schemas import Body, Schema


class SettingOut(Schema):
    key: str
    value: Any
    default: Any
    shape: str = Field(description="description of valid values")
    help: str


class SettingList(Schema):
    items: list[SettingOut]


class SettingIgnored(Schema):
    key: str = Field(description="spelled as in the file")
    why: str = Field(description="`not_used`, `elsewhere` (the environment, or always so), `secret` or `unknown`")
    reason: str


class SettingsImported(Schema):
    items: list[SettingOut]
    ignored: list[SettingIgnored] = Field(
        description="the first 200 names that were not imported; values are never included"
    )
    ignored_count: int
    dry_run: bool


class SettingsIn(Body):
    settings: dict[str, Any] = Field(
        description="settings of this site, the entry of the Reflection plugin, or a whole `openclaw.json`"
    )
    dry_run: bool = False


class SettingIn(Body):
    value: Any = Field(description="any JSON that fits the setting")
