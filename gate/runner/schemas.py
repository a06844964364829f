"""Input and output of the API of our own gate."""

from pydantic import Field

from agents.runners.schemas import ChoiceIn, ChoiceQuery, EstimateOut, RunnerOut, SwitchedOut, build_choice
from openclaw_web.endpoints.schemas import Body

from .turn_selection import TurnChoice


class RunQuery(ChoiceQuery):
    again: bool = Field(False, description="also turns that have a decision, unless of the same model and prompt")

    @property
    def choice(self) -> TurnChoice:
        """The choice of turns for a plan."""
        return build_choice(self, TurnChoice, is_again=self.again)


class RunIn(ChoiceIn):
    again: bool = Field(False, strict=True, description="also turns that have a decision")

    @property
    def choice(self) -> TurnChoice:
        """The choice of turns for a run."""
        return build_choice(self, TurnChoice, is_again=self.again)


class PlanOut(EstimateOut):
    turns: int = Field(description="turns that would be sent")


class SwitchIn(Body):
    is_on: bool = Field(strict=True, description="judge turns that begin from now on")


class SwitchOut(SwitchedOut):
    pass


class OwnGateOut(RunnerOut):
    switch: SwitchOut
    decided_today: int = Field(description="calls of this UTC day that became a decision, without those of replays")
    failed_today: int
    malformed_today: int = Field(description="calls whose answer was no decision")
    sent_today: int = Field(description="calls that are under way, or whose end nobody heard of")
