"""What the first page keeps of conversations is forgotten at once when somebody opts out."""

from typing import Any

from gate.recording import consent

from . import memory_panel, newest


def forget(key: str, **_signal: Any) -> None:
    """Forget all words that the first page shows when the setting of those who opted out was changed."""
    if key == consent.SETTING:
        newest.forget_words()
        memory_panel.forget_words()
