"""People, invitations and tokens in the JSON API."""

from typing import Literal

from ninja import Schema
from pydantic import Field

from openclaw_web.endpoints.schemas import Body

Role = Literal["viewer", "labeller", "operator", "admin"]
NAME = Field(max_length=150, pattern=r"^[^\x00]*$")


class LimitsOut(Schema):
    limit: int = Field(description="requests a minute; 0: as many as you like")
    remaining: int | None


class MeOut(Schema):
    username: str
    role: Role = Field(description="what you may do with what you showed: a token may carry less than its owner")
    own_role: Role
    token: str | None = Field(description="the public part of the token you showed, `oc_…`; null: signed in")
    token_name: str | None
    token_expires_at: int | None
    limits: LimitsOut


class SignInOut(Schema):
    id: str
    how: str = Field(description="password, link, first_admin or invitation")
    browser: str = Field(description="browser and system in words")
    address: str
    created_at: int
    last_seen_at: int
    expires_at: int
    ended_at: int | None


class UserOut(Schema):
    username: str
    role: Role
    is_active: bool
    is_locked: bool = Field(description="after too many wrong passwords, for a quarter of an hour")


class UserIn(Body):
    username: str = NAME
    role: Role = "viewer"


class RoleIn(Body):
    role: Role


class LinkOut(Schema):
    """A one-time link. It is shown this once."""

    username: str
    link: str = Field(description="signs the person in once, within a day")


class TokenIn(Body):
    name: str = Field(min_length=1, max_length=100, pattern=r"^[^\x00]*$", description="what it is for")
    role: Role
    days: int | None = Field(90, ge=1, le=3650, description="null: until it is revoked")


class TokenOut(Schema):
    id: str
    owner: str
    name: str
    prefix: str = Field(description="`oc_<prefix>_…` is how it begins")
    role: Role
    created_at: int
    last_used_at: int | None
    expires_at: int | None
    revoked_at: int | None

    @staticmethod
    def resolve_owner(token):
        return token.user.username


class TokenMade(TokenOut):
    token: str = Field(description="the token. It is shown this once")


class InvitationIn(Body):
    role: Role
    days: int = Field(7, ge=1, le=30)
    note: str = Field("", max_length=100, pattern=r"^[^\x00]*$", description="whom it is for")


class InvitationOut(Schema):
    id: str
    role: Role
    note: str
    made_by: str
    created_at: int
    expires_at: int
    used_at: int | None
    used_by: str
    revoked_at: int | None


class InvitationMade(InvitationOut):
    link: str = Field(description="whoever opens it makes their own account. It is shown this once")
