"""How a person wants the site: its language, the zone of its times, its theme."""
