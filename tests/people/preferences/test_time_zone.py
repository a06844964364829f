"""The zone of times on pages: the account's, the browser's, else UTC.

Each time also has its UTC time as a title.
"""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, available_timezones

import pytest
from django.test import Client

from openclaw_web.pages import formatting, zones
from overview.models import AgentDailyStat, AgentSummary
from tests.conftest import BACKEND
from tests.factories import JobFactory, SessionFactory, TurnFactory, UserFactory

MOMENT = 1_771_672_387_000  # 2026-02-21 11:13:07 UTC
SUMMER = 1_783_941_187_000  # 2026-07-13 11:13:07 UTC
EXACT = '<time datetime="2026-02-21T11:13:07+00:00" title="2026-02-21 11:13:07 UTC">'
COOKIE = "openclaw_web_zone"


@pytest.mark.parametrize(
    ("zone", "winter", "summer"),
    [
        ("UTC", "2026-02-21 11:13:07", "2026-07-13 11:13:07"),
        ("Asia/Shanghai", "2026-02-21 19:13:07", "2026-07-13 19:13:07"),
        ("Asia/Kolkata", "2026-02-21 16:43:07", "2026-07-13 16:43:07"),
        ("Asia/Kathmandu", "2026-02-21 16:58:07", "2026-07-13 16:58:07"),
        ("Europe/Berlin", "2026-02-21 12:13:07", "2026-07-13 13:13:07"),
        ("America/New_York", "2026-02-21 06:13:07", "2026-07-13 07:13:07"),
        ("Pacific/Kiritimati", "2026-02-22 01:13:07", "2026-07-14 01:13:07"),
        ("Australia/Lord_Howe", "2026-02-21 22:13:07", "2026-07-13 21:43:07"),
    ],
)
def test_a_moment_is_in_the_zone_with_utc_beside_it(zone, winter, summer):
    with zones.use_zone(zones.find_zone(zone)):
        assert formatting.moment(MOMENT) == f"{EXACT}{winter}</time>"
        assert formatting.clock(MOMENT) == f"{EXACT}{winter[11:]}</time>"
        assert formatting.moment(SUMMER).endswith(f' title="2026-07-13 11:13:07 UTC">{summer}</time>')
        both = "2026-02-21 11:13:07 UTC" if zone == "UTC" else f"{winter} (2026-02-21 11:13:07 UTC)"
        assert f'title="{both}"' in formatting.ago(MOMENT)


def test_the_hour_that_clocks_show_twice_is_told_apart_by_utc():
    with zones.use_zone(zones.find_zone("Europe/Berlin")):
        first, second = (round(datetime(2026, 10, 25, hour, 30, tzinfo=UTC).timestamp()) * 1000 for hour in (0, 1))
        assert [">2026-10-25 02:30:00<" in formatting.moment(ms) for ms in (first, second)] == [True, True]
        assert formatting.moment(first) != formatting.moment(second)


@pytest.mark.parametrize(
    "ms", [0, -1, -1500, 253_402_300_799_000, -62_135_596_800_000, 10**18, -(10**18), None, "x", 1.5e12]
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York", "Europe/Amsterdam"])
def test_no_time_is_too_odd(ms, zone):
    with zones.use_zone(zones.find_zone(zone)):
        for html in (formatting.moment(ms), formatting.ago(ms), formatting.due(ms), formatting.clock(ms)):
            assert html == "–" or "<time datetime=" in html


def test_it_says_what_python_says():
    for name in ("UTC", "Asia/Kolkata", "America/St_Johns", "Europe/Berlin", "Pacific/Apia"):
        with zones.use_zone(zones.find_zone(name)):
            for ms in range(0, 1_800_000_000_000, 13_337_331_377):
                expected = datetime.fromtimestamp(ms / 1000, ZoneInfo(name)).strftime("%Y-%m-%d %H:%M:%S")
                assert f">{expected}<" in formatting.moment(ms)


def test_every_zone_of_the_system_is_known_and_nothing_else_is():
    assert set(zones.list_zones()) == {name for name in available_timezones() if name[0].isupper()} | {"UTC"}
    for name in (
        "",
        "asia/shanghai",
        "../../etc/localtime",
        "/etc/localtime",
        "posix/UTC",
        "right/UTC",
        "Asia",
        "A" * 99,
    ):
        assert zones.find_zone(name) is None


@pytest.fixture
def kolkata(db):
    client = Client()
    client.force_login(UserFactory(username="asha", role="operator", time_zone="Asia/Kolkata"), backend=BACKEND)
    return client


@pytest.mark.django_db
class TestPages:
    def read_start(self, client, **cookies):
        for name, value in cookies.items():
            client.cookies[name] = value
        job = JobFactory(created_at=MOMENT)
        text = client.get(f"/operations/jobs/{job.id}/").content.decode()
        return re.search(rf"{re.escape(EXACT)}([^<]+)</time>", text)[1], re.search(r"Times:.*?>([^<]+)</a>", text)[1]

    def test_it_is_the_accounts(self, kolkata):
        times = self.read_start(kolkata, **{COOKIE: "Asia/Shanghai"})
        assert times == ("2026-02-21 16:43:07", "Asia/Kolkata (UTC+05:30)")

    def test_else_the_browsers(self, as_admin):
        times = self.read_start(as_admin, **{COOKIE: "Asia/Shanghai"})
        assert times == ("2026-02-21 19:13:07", "Asia/Shanghai (UTC+08:00)")

    def test_else_utc(self, as_admin):
        assert self.read_start(as_admin) == ("2026-02-21 11:13:07", "UTC")

    @pytest.mark.parametrize(
        "cookie_value",
        [
            "undefined",
            "../../etc/passwd",
            "Asia/../Shanghai",
            "<script>",
            "A" * 4000,
            "zone.tab",
            "Asia",
            "%00",
            "\\054",
        ],
    )
    def test_what_a_browser_says_is_not_trusted(self, as_admin, cookie_value):
        assert self.read_start(as_admin, **{COOKIE: cookie_value}) == ("2026-02-21 11:13:07", "UTC")

    def test_nothing_of_it_is_left_behind(self, kolkata):
        kolkata.get("/operations/jobs/")
        assert zones.get_zone() is UTC

    def test_lists_and_transcripts_as_well(self, kolkata, ada):
        session = SessionFactory(id="s1", created_at=MOMENT, last_activity_at=MOMENT)
        TurnFactory(session=session, created_at=MOMENT)
        for page in ("/agents/ada/sessions/", "/agents/ada/turns/"):
            assert "2026-02-21 16:43:07" in kolkata.get(page).content.decode(), page

    def test_days_of_filters_are_utc_and_say_so(self, kolkata, ada):
        TurnFactory(session=SessionFactory(id="s1"))
        text = kolkata.get("/agents/ada/turns/").content.decode()
        assert "From day (UTC)" in text
        assert "To day (UTC)" in text

    def test_a_zone_is_of_no_concern_to_the_api(self, kolkata):
        JobFactory(created_at=MOMENT)
        assert kolkata.get("/api/v1/operations/jobs").json()["items"][0]["created_at"] == MOMENT


@pytest.mark.parametrize(
    ("zone", "began"),
    [("UTC", "2026-02-21T00:00"), ("Asia/Kolkata", "2026-02-20T18:30"), ("America/New_York", "2026-02-21T05:00")],
)
def test_today_is_the_day_of_whoever_looks(zone, began):
    with zones.use_zone(zones.find_zone(zone)):
        assert zones.find_day_start(MOMENT) == datetime.fromisoformat(f"{began}+00:00").timestamp() * 1000


@pytest.mark.django_db
def test_charts_by_day_say_that_their_days_are_utc(kolkata, ada):
    AgentSummary.objects.create(agent_id="ada", last_activity_at=MOMENT)
    AgentDailyStat.objects.create(agent_id="ada", date="2026-02-21", turn_count=3)
    assert "(UTC)</h2>" in kolkata.get("/?days=all").content.decode()
