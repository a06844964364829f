"""API schemas of agents."""

from openclaw_web.endpoints.schemas import Schema


class AgentOut(Schema):
    agent_id: str
    created_at: int
    updated_at: int
    schema_version: int | None
    size_bytes: int | None
    last_seen_at: int | None

    @staticmethod
    def resolve_schema_version(agent):
        return _get_file_column(agent, "schema_version")

    @staticmethod
    def resolve_size_bytes(agent):
        return _get_file_column(agent, "size_bytes")

    @staticmethod
    def resolve_last_seen_at(agent):
        return _get_file_column(agent, "last_seen_at")


def _get_file_column(agent, name):
    return getattr(getattr(agent, "database", None), name, None)
