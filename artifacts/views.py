"""Pages of artifacts: the list, one artifact, its content as a file, actions of admins."""

from functools import wraps

import orjson
from django.contrib import messages
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from agents.all_agents import read_all_agents
from agents.decorators import agent_view_for
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_counts import count_rows, format_count
from openclaw_web.lists.list_response import render_list
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import redirect_after_post, redirect_to, render_page

from . import access, actions, artifact_names, content_download, handles
from .artifact_list import ARTIFACTS
from .contents import secret_flags
from .errors import DamagedArtifact, NoSuchArtifact
from .excerpts import content_fetch, page_excerpt
from .excerpts.forms import PartForm
from .models import Artifact

USES = 20  # on a page


@require_safe
@agent_view_for("viewer", of_all=True)
@shows(ARTIFACTS)
def artifact_list(request, agent):
    """The artifacts that fit the filters, the last used first; as a file with `format`."""
    return render_list(request, "artifacts/artifact_list.html", ARTIFACTS, agent=agent or read_all_agents())


def named(view):
    """Turn the `sha256` of an address into the `row` of the agent.

    The address may also have a whole handle. Without such a row the answer is a sentence with status 404.
    """

    @wraps(view)
    def wrapper(request, agent, sha256):
        try:
            row = content_fetch.find_artifact(agent.db, handles.from_address(sha256))
            access.check_reader(agent.db, row, request.user)
        except (handles.NotAHandle, NoSuchArtifact) as exc:
            return _render_refusal(request, agent, exc.sentence, 404)
        except access.PrivateArtifact as exc:
            return _render_refusal(request, agent, exc.sentence, exc.status)
        request.opened = ("artifact", row.handle)
        return view(request, agent, row)

    return wrapper


@require_safe
@agent_view_for("viewer")
@named
def artifact_detail(request, agent, row):
    """One content: its facts, a part of it, and its uses.

    With `part=1`, HTMX gets only the part.
    """
    form = PartForm(request.GET, name=row.sha256)
    excerpt = page_excerpt.read_excerpt(agent, row, form, by=request.user.get_username())
    context = {"agent": agent, "row": row, "excerpt": excerpt, "part": "part" in request.GET and bool(request.htmx)}
    if context["part"]:
        # HTMX swaps in a refusal only under this status.
        return render_page(
            request, "artifacts/artifact_detail.html#excerpt", context, status=422 if excerpt.problem else 200
        )
    context |= _build_context(request, agent, row)
    return render_page(request, "artifacts/artifact_detail.html", context, status=excerpt.status)


@require_safe
@agent_view_for("viewer")
@named
def artifact_download(request, agent, row):
    """The whole content as a file; flagged ones are for admins."""
    try:
        content_download.check_downloader(row, request.user, agent_id=agent.agent_id)
        return content_download.build_response(row)
    except content_download.FlaggedArtifact as exc:
        return _render_refusal(request, agent, exc.sentence, exc.status, row)
    except DamagedArtifact as exc:
        return _render_refusal(request, agent, exc.sentence, 409, row)
    except NoSuchArtifact as exc:
        return _render_refusal(request, agent, exc.sentence, 410, row)


@require_POST
@agent_view_for("admin")
@named
def artifact_remove(request, agent, row):
    """Remove the references of an agent to a content."""
    count = actions.remove(agent, row.handle, by=request.user.get_username())
    sentence = ngettext("%(count)s reference was removed.", "%(count)s references were removed.", count)
    to = reverse("artifacts:artifact_list", args=[agent.agent_id])
    return redirect_after_post(request, sentence % {"count": f"{count:,}"}, to=to)


@require_POST
@agent_view_for("admin")
@named
def artifact_verify(request, agent, row):
    """Read a content in full and say whether it is sound."""
    result = actions.verify(agent, row.handle, by=request.user.get_username())
    to = reverse("artifacts:artifact_detail", args=[agent.agent_id, row.sha256])
    if not result.problems:
        return redirect_after_post(request, _("Every byte was read: the stored content is unchanged."), to=to)
    messages.error(request, result.problems[0]["reason"])
    return redirect_to(request, to)


def _build_context(request, agent, row):
    """The page's context about a content, without the part that is shown."""
    uses = Artifact.objects.using(agent.db).filter(handle=row.handle).defer("preview", "summary", "meta_json")
    page = page_of(uses, order=("-created_at", "-id"), size=USES, **read_cursors(request))
    names = artifact_names.build_names(
        agent.db, [{name: getattr(use, name) for name in artifact_names.READ_COLUMNS} for use in page]
    )
    known, flags, first = (
        count_rows(uses),
        secret_flags.find_flagged_kinds(row.secret_kinds),
        content_fetch.read_first_meta(row),
    )
    return {
        "first": first,
        "name": names[page[0].id]
        if not read_cursors(request)["after"] and page
        else artifact_names.build_latest_name(agent.db, row.handle),
        "meta": orjson.dumps(first["meta"], option=orjson.OPT_INDENT_2).decode() if first["meta"] else "",
        "uses": page,
        "names": names,
        "use_count": known.count,
        "use_shown": format_count(known),
        "kinds": row.secrets,
        "flags": flags,
        "may_download": not flags or request.user.has_role("admin"),
        "may_change": request.user.has_role("admin"),
        "is_in_transcripts": any(use.record_id for use in page),
    }


def _render_refusal(request, agent, sentence, status, row=None):
    context = {"agent": agent, "sentence": sentence, "status": status, "row": row}
    return render(request, "artifacts/refusal.html", context, status=status)
