"""Hidden characters made visible; see openclaw_web.glyphs, which every app may use."""

from openclaw_web.glyphs import HIDDEN, mark, plain, readable

__all__ = ["HIDDEN", "mark", "plain", "readable"]
