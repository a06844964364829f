"""People, invitations and tokens in the JSON API."""

from typing import Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Body, Schema
from openclaw_web.endpoints.table_schemas import table_schema

from ..models import ApiToken, Invitation, SignIn

Role = Literal["viewer", "labeller", "operator", "admin"]
NAME = Field(max_length=150, pattern=r"^[^\x00]*$")


class LimitsOut(Schema):
    limit: int = Field(description="requests a minute; 0: no limit")
    remaining: int | None


class MeOut(Schema):
    username: str
    role: Role = Field(description="what these credentials allow: a token may have a lower role than its owner")
    own_role: Role
    token: str | None = Field(description="the public part of your token, `oc_…`; null: signed in")
    token_name: str | None
    token_expires_at: int | None
    limits: LimitsOut


class SignInOut(table_schema(SignIn)):
    browser: str = Field(description="browser and operating system")


class UserOut(Schema):
    username: str
    role: Role
    is_active: bool
    is_locked: bool = Field(description="locked for 15 minutes after too many wrong passwords")


class UserIn(Body):
    username: str = NAME
    role: Role = "viewer"


class RoleIn(Body):
    role: Role


class LinkOut(Schema):
    """A one-time link. Shown only once."""

    username: str
    link: str = Field(description="signs the user in once, within a day")


class TokenIn(Body):
    name: str = Field(min_length=1, max_length=100, pattern=r"^[^\x00]*$", description="purpose of the token")
    role: Role
    days: int | None = Field(90, ge=1, le=3650, description="null: valid until revoked")


class TokenOut(table_schema(ApiToken)):
    owner: str

    @staticmethod
    def resolve_owner(token):
        return token.user.username


class TokenMade(TokenOut):
    token: str = Field(description="the token. Shown only once")


class InvitationIn(Body):
    role: Role
    days: int = Field(7, ge=1, le=30)
    note: str = Field("", max_length=100, pattern=r"^[^\x00]*$", description="who the invitation is for")


class InvitationOut(table_schema(Invitation)):
    pass


class InvitationMade(InvitationOut):
    link: str = Field(description="whoever opens the link creates their own account. Shown only once")
