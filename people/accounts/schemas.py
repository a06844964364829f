"""People, invitations and tokens in the JSON API."""

from typing import Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Body, Schema

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


class SignInOut(Schema):
    id: str
    how: str = Field(description="password, link, first_admin or invitation")
    browser: str = Field(description="browser and operating system")
    address: str
    created_at: int
    last_seen_at: int
    expires_at: int
    ended_at: int | None


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


class TokenOut(Schema):
    id: str
    owner: str
    name: str
    prefix: str = Field(description="the token begins with `oc_<prefix>_…`")
    role: Role
    created_at: int
    last_used_at: int | None
    expires_at: int | None
    revoked_at: int | None

    @staticmethod
    def resolve_owner(token):
        return token.user.username


class TokenMade(TokenOut):
    token: str = Field(description="the token. Shown only once")


class InvitationIn(Body):
    role: Role
    days: int = Field(7, ge=1, le=30)
    note: str = Field("", max_length=100, pattern=r"^[^\x00]*$", description="who the invitation is for")


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
    link: str = Field(description="whoever opens the link creates their own account. Shown only once")
