"""Lists, review and the rail in a real browser, on a phone and on a desk."""

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.complaints import listen
from tests.processes import Home

pytestmark = [pytest.mark.browser, pytest.mark.kill]
ORDERED = re.compile(r"\?(?=.*&sort=made&)(?=.*agent=ada&).*format=csv$")
PHONE = {"width": 390, "height": 844}
PREPARE = """
import json
from agents import services
from datasets.models import DatasetSample
from people.accounts import services as accounts
for agent in ("ada", *(f"b{n}" for n in range(12))):
    services.register(agent)
earlier = [{"role": "agent", "message": "A line that goes on. " * 40}] * 4
for n in range(5):
    body = {"type": "annotated_turn", "userMessage": f"Question {n}", "agentReply": f"Answer {n}", "context": earlier}
    DatasetSample.objects.create(id=f"s{n}", sample_type="annotated_turn", agent_id="ada", session_id="s",
        turn_number=n, content=json.dumps(body), created_at=1000 + n,
        annotation_status="approved" if n == 4 else "pending")
print(accounts.add_user("ann", "labeller")[1], accounts.add_user("root", "admin")[1], sep="|")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory, migrated):
    home = Home.copied(migrated, tmp_path_factory.mktemp("phone") / "store")
    links = home.python(PREPARE).split("|")
    yield home.serve("--no-watch").address(), *links
    home.close()


@pytest.fixture(scope="module")
def signed_in(site, browser):
    return read_sign_in_state(browser, *site[:2])


@pytest.fixture(scope="module")
def admin(site, browser):
    return read_sign_in_state(browser, site[0], site[2])


def read_sign_in_state(browser, address, link):
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{address}{link}")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/**")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def visit(site, signed_in, browser):
    """Opens an address in a new browser, which must have no complaints at the end."""
    contexts, complaints = [], []

    def start(path, state=signed_in, **options):
        contexts.append(browser.new_context(storage_state=state, reduced_motion="reduce", **options))
        page = contexts[-1].new_page()
        listen(page, complaints)
        page.goto(site[0] + path)
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


def read_visible_texts(page, selector):
    return [element.inner_text().strip() for element in page.locator(selector).all() if element.is_visible()]


def assert_accessible(page):
    violations = Axe().run(page).response["violations"]
    assert not violations, json.dumps([(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in violations])
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_a_row_is_two_lines_and_pressed_anywhere(visit):
    page = visit("/samples/", viewport=PHONE, has_touch=True)
    row = page.locator("[data-rows] tbody tr").first
    cells = [cell.inner_text().split("\n")[0] for cell in row.locator("td").all() if cell.is_visible()]
    assert (
        cells[:3] == ["Question 4", "Approved", "ada"] and len(cells) == 4
    )  # the columns of the reply, the person and the turn are left out
    assert row.bounding_box()["height"] < 70
    assert_accessible(page)
    row.click(position={"x": 300, "y": 45})
    expect(page).to_have_url(page.url.partition("/samples")[0] + "/samples/s4/")


@pytest.mark.parametrize("has_scripts", [True, False])
def test_filters_and_order_are_behind_one_button(visit, has_scripts):
    page = visit("/samples/", viewport=PHONE, java_script_enabled=has_scripts)
    button, order = page.locator(".boxes > summary"), page.get_by_label("Sort by")
    expect(order).to_be_hidden()
    expect(page.get_by_label("Agent", exact=True)).to_be_hidden()
    button.click()
    order.select_option("Created, ascending")
    page.get_by_label("Agent", exact=True).select_option("ada")
    if not has_scripts:
        page.locator("#boxes").get_by_role("button", name="Filter", exact=True).click()
    expect(page.locator("#filter-count b")).to_have_text("1")
    expect(page.locator("[data-rows] tbody tr").first).to_contain_text("Question 0")
    expect(page.get_by_role("link", name="CSV")).to_have_attribute("href", ORDERED)


def test_on_a_desk_the_boxes_and_the_line_say_the_same(visit):
    page = visit("/samples/", viewport={"width": 1280, "height": 900})
    agent, line = page.get_by_label("Agent", exact=True), page.get_by_role("combobox", name="Filter")
    expect(agent).to_be_hidden()
    page.locator(".boxes > summary").click()
    agent.select_option("ada")
    expect(page).to_have_url(page.url.partition("?")[0] + "?agent=ada")  # the default order is not in the address
    expect(line).to_have_value("agent:ada")
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(agent).to_be_hidden()
    line.fill("agent:ada type:gate edited")
    line.press("Enter")
    expect(page.get_by_text("“type” has no value “gate”. Did you mean")).to_be_visible()
    expect(line).to_have_value("agent:ada type:gate edited")
    expect(line).to_be_focused()
    page.locator(".boxes > summary").click()
    expect(page.get_by_label("Edited only")).to_be_checked()
    expect(page.locator("#filter-count b")).to_have_text("2")
    assert_accessible(page)


def test_the_line_is_completed_by_keys(visit):
    page = visit("/samples/", viewport={"width": 1280, "height": 900})
    line, offers = page.get_by_role("combobox", name="Filter"), page.locator("#line-offers > li")
    page.keyboard.press("f")
    expect(line).to_be_focused()
    page.keyboard.type("edited ag")
    expect(offers).to_have_text(["agent: Agent"])
    page.keyboard.press("ArrowDown")
    expect(line).to_have_attribute("aria-activedescendant", "line-offers-0")
    assert_accessible(page)
    page.keyboard.press("Tab")
    expect(line).to_have_value("edited agent:")
    expect(offers).to_have_count(12)
    page.keyboard.type("a")
    expect(offers).to_have_text(["agent:ada"])
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(line).to_have_value("edited agent:ada ")
    page.keyboard.press("Escape")
    expect(line).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Enter")
    page.wait_for_url("**/samples/?agent=ada&edited=on")
    expect(line).to_have_value("agent:ada edited")
    expect(line).to_be_focused()
    page.keyboard.type(" type:memo")
    offers.first.click()
    expect(line).to_have_value(re.compile(r"^agent:ada edited type:memory_\w+ $"))
    page.keyboard.press("Tab")
    expect(page.locator(".boxes > summary")).to_be_focused()  # no offer was chosen
    page.keyboard.press("f")
    page.keyboard.press("Escape")
    expect(line).not_to_be_focused()  # so that keys go to the rows


def test_the_line_works_without_scripts(visit):
    page = visit("/samples/", viewport={"width": 1280, "height": 900}, java_script_enabled=False)
    line = page.get_by_role("textbox", name="Filter")
    line.fill('agent:ada tpe:"annotated turn"')
    line.press("Enter")
    expect(page.get_by_text("There is no filter “tpe”. Did you mean “type”?")).to_be_visible()
    expect(line).to_have_value('agent:ada tpe:"annotated turn"')
    line.fill("status:Approved agent:ada")
    line.press("Enter")
    page.wait_for_url("**/samples/?agent=ada&status=approved")
    expect(line).to_have_value("agent:ada status:approved")
    expect(page.locator("[data-rows] tbody tr")).to_have_count(1)


def test_the_reply_is_on_the_first_screen_of_the_review(visit):
    page = visit("/review/", viewport=PHONE, has_touch=True)
    bar = page.locator(".verdicts")
    top = bar.bounding_box()["y"]
    reply = page.locator("#reply-shown").bounding_box()
    assert reply["y"] + reply["height"] <= top
    assert bar.bounding_box()["height"] <= 56 and PHONE["height"] - top <= 100
    assert len({button.bounding_box()["y"] for button in bar.locator("button.button").all()}) == 1
    assert (
        read_visible_texts(page, "kbd") == []
        and read_visible_texts(page, ".rail__list a > span:not(.visually-hidden)") != []
    )
    assert_accessible(page)
    page.get_by_role("link", name="Next").click()
    expect(page.locator("#reply-shown")).not_to_contain_text("Answer 3")


def test_the_bar_of_a_phone_has_every_entry(visit):
    page = visit("/", viewport=PHONE)
    names = ["Today", "Conversations", "Memory", "Training", "System"]
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        labels = page.locator(".rail__list a > span")
        assert [element.inner_text() for element in labels.all()] == names
        assert labels.evaluate_all("all => all.every((label) => label.scrollWidth <= label.clientWidth)")
        assert len({element.bounding_box()["y"] for element in page.locator(".rail__list li").all()}) == 1
    expect(page.locator("#rail-fold")).to_be_hidden()


@pytest.mark.parametrize("has_scripts", [True, False])
def test_tabs_and_related_pages_are_behind_the_current_one(visit, has_scripts):
    page = visit("/benchmarks/", viewport=PHONE, java_script_enabled=has_scripts)
    fold = page.locator(".places__fold > summary")
    expect(fold).to_have_text("Benchmarks")
    expect(page.get_by_role("link", name="Samples", exact=True)).to_be_hidden()
    fold.press("Enter")
    bar = page.get_by_role("navigation", name="Tabs", exact=True)
    names = ["Queue", "Samples", "Datasets", "Benchmarks", "Exports", "Findings"]
    assert bar.get_by_role("link").all_inner_texts() == names
    if has_scripts:
        assert_accessible(page)
    bar.get_by_role("link", name="Samples").click()
    expect(fold).to_have_text("Samples")


@pytest.mark.parametrize("has_scripts", [True, False])
def test_the_chooser_finds_an_agent_among_many(visit, has_scripts):
    page = visit("/samples/", viewport={"width": 1280, "height": 900}, java_script_enabled=has_scripts)
    chooser = page.locator(".chooser")
    chooser.locator("summary").press("Enter")
    expect(chooser.get_by_role("link")).to_have_count(14)
    field = chooser.get_by_label("Find an agent")
    if has_scripts:
        field.fill("B11")
        assert chooser.get_by_role("link").all_inner_texts() == ["b11"]
        assert_accessible(page)
    else:
        expect(field).to_be_hidden()
    chooser.get_by_role("link", name="b11").click()
    expect(page).to_have_url(re.compile(r"/samples/\?agent=b11$"))
    expect(chooser.locator("summary")).to_contain_text("b11")


@pytest.mark.parametrize("has_scripts", [True, False])
def test_the_rail_folds_by_keyboard_and_stays_folded(visit, has_scripts):
    page = visit("/samples/", viewport={"width": 1280, "height": 900}, java_script_enabled=has_scripts)
    wide = page.locator(".rail").bounding_box()["width"]
    page.get_by_role("button", name="Hide labels").press("Enter")
    button = page.get_by_role("button", name="Show labels")
    expect(button).to_be_visible()
    if has_scripts:
        expect(button).to_be_focused()
    assert page.locator(".rail").bounding_box()["width"] < wide / 3
    page.goto(page.url.replace("/samples/", "/exports/"))
    expect(page.get_by_role("link", name="Training")).to_be_visible()  # by its invisible name
    assert page.locator(".rail").bounding_box()["width"] < wide / 3
    if has_scripts:
        assert_accessible(page)
    button.click()
    expect(page.get_by_role("button", name="Hide labels")).to_be_visible()


@pytest.mark.parametrize("path", ["/operations/users/", "/operations/audit/?segment=all"])
def test_rows_of_administration_are_two_lines_as_well(visit, admin, path):
    page = visit(path, admin, viewport=PHONE, has_touch=True)
    rows = page.locator(".card").first.locator("tbody tr")
    assert rows.count()
    assert max(row.bounding_box()["height"] for row in rows.all()) < 70
    assert_accessible(page)
    if not (actions := page.locator(".row-actions > summary")).count():
        return
    button = page.locator(".row-actions button").first
    assert not button.is_visible()
    actions.first.click()
    assert button.is_visible()
    assert_accessible(page)
    desk = visit(path, admin, viewport={"width": 1280, "height": 900})
    assert desk.locator(".row-actions button").first.is_visible()
    assert not desk.locator(".row-actions > summary").first.is_visible()


def test_the_current_tab_is_in_sight(visit):
    page = visit("/samples/?status=auto_approved", viewport=PHONE)
    tab, edge = page.locator(".segments [aria-current]").last.bounding_box(), PHONE["width"]
    assert tab["height"] < 40 and tab["x"] >= 0 and tab["x"] + tab["width"] <= edge
    assert page.locator(".segments").last.bounding_box()["height"] < 48
    assert_accessible(page)


def test_the_chosen_row_is_shown_beside_the_list(visit):
    """The panel follows j and k, links in it lead to their pages, and a narrow window has none."""
    page = visit("/samples/?sort=made", viewport={"width": 1440, "height": 900})
    panel, opened, body = page.locator("#panel"), page.locator("#panel-open"), page.locator("#panel-body")
    expect(panel).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(body).to_contain_text("Question 0")
    page.keyboard.press("j")
    expect(body).to_contain_text("Question 1")
    expect(opened).to_have_attribute("href", re.compile("/samples/s1/"))
    expect(page.locator("tr[aria-current]")).to_have_count(1)
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.locator("[data-rows] tbody tr").nth(2).locator("td").last.click()
    expect(body).to_contain_text("Question 2")
    opened.click()
    expect(page).to_have_url(re.compile("/samples/s2/"))
    page.set_viewport_size({"width": 900, "height": 900})
    page.go_back()
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(panel).to_be_hidden()
