"""Background work in the JSON API."""

from pydantic import Field

from openclaw_web.endpoints.schemas import Schema


class TaskOut(Schema):
    task_id: str
    runtime: str
    task_kind: str
    source_id: str
    requester_session_key: str
    child_session_key: str
    parent_flow_id: str
    parent_task_id: str
    run_id: str
    label: str
    task: str
    status: str
    delivery_status: str
    last_tool_name: str
    tool_use_count: int
    error: str
    progress_summary: str
    terminal_summary: str
    terminal_outcome: str
    created_at: int = Field(description="0 when unknown")
    started_at: int | None
    ended_at: int | None


class FlowOut(Schema):
    flow_id: str
    shape: str
    owner_key: str
    status: str
    goal: str
    current_step: str
    blocked_summary: str
    created_at: int = Field(description="0 when unknown")
    updated_at: int | None
    ended_at: int | None


class DeliveryOut(Schema):
    queue_name: str
    id: str
    status: str
    entry_kind: str
    session_key: str
    channel: str
    last_error: str
    retry_count: int
    last_attempt_at: int | None
    enqueued_at: int = Field(description="0 when unknown")
    updated_at: int | None
    failed_at: int | None
