"""API of approval by rules: the checks of people, and a stop."""

from pydantic import Field

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.pages.roles import needs

from . import checks

router = Operations("spot_checks_api", tags=["datasets"])


class ApprovalOut(Schema):
    right: int = Field(description="checks that people approved as a rule would have")
    wrong: int = Field(description="checks on which people decided otherwise")
    waiting: int = Field(description="checks without a decision of a person")
    error: float | None = Field(description="share of wrong ones, 0 to 1; null: no check is judged")
    interval: list[float] | None = Field(description="95% score interval (Wilson) of the error")
    limit: float = Field(description="of the error, 0 to 1: the setting review.approvalErrorPercent")
    stopped: str = Field(description="why rules approve nothing: wrong, uncertain or waiting; empty: they may")


class ApprovedOut(Schema):
    approved: int = Field(description="samples that are approved again")


@router.get("/collection/approval", ApprovalOut)
@needs("viewer")
def approval(request):
    """How people's checks of what rules approve came out, and whether rules were stopped."""
    return checks.read_state().as_json()


@router.post("/collection/approval/resume", ApprovalOut, 409)
@needs("admin")
def approval_resume(request):
    """Let rules approve again; the checks are counted anew."""
    checks.resume_approval(by=request.user.username)
    return checks.read_state().as_json()


@router.post("/collection/approval/undo", ApprovedOut, 409)
@needs("admin")
def approval_undo(request):
    """Approve again what the last stop sent to review and nobody judged since."""
    return {"approved": checks.approve_again(by=request.user.username)}
