"""Whether imports include reset and deleted sessions: by parameter, by `serve` option, or by setting."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from people.configuration import setting_values as configuration

SETTING = "collector.includeDeleted"


def includes_deleted(params: Mapping[str, Any]) -> bool:
    """Whether an import or a check with these parameters includes them."""
    return bool(params.get("include_deleted") or settings.INCLUDE_DELETED or configuration.is_on(SETTING))
