"""Settings in the JSON API."""

from typing import Any

from ninja import Schema
from pydantic import Field

from openclaw_web.endpoints.schemas import Body


class SettingOut(Schema):
    key: str
    value: Any
    default: Any
    shape: str = Field(description="what a value must be, in words")
    help: str


class SettingList(Schema):
    items: list[SettingOut]


class SettingIgnored(Schema):
    key: str = Field(description="as the file spells it")
    why: str = Field(description="`not_used`, `elsewhere` (the environment, or always so), `secret` or `unknown`")
    reason: str


class SettingsImported(Schema):
    items: list[SettingOut]
    ignored: list[SettingIgnored] = Field(
        description="the first 200 names that were not taken; values are never repeated"
    )
    ignored_count: int
    dry_run: bool


class SettingsIn(Body):
    settings: dict[str, Any] = Field(description="ours, the Reflection plugin's entry, or a whole `openclaw.json`")
    dry_run: bool = False


class SettingIn(Body):
    value: Any = Field(description="any JSON that fits the setting")
