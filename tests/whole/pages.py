"""The table of all pages of the site, which all tests of pages read.

A new page is one line here. tests/whole/test_pages.py checks roles, headings and database queries;
tests/people/test_roles.py checks who may send a form; tests/test_query_plans.py checks lists; test_accessibility,
test_keys and test_without_javascript of tests/whole/ check pages in a browser.
"""

from dataclasses import dataclass, replace

ANYBODY = "anybody"  # a role below all others: no sign-in is needed
FILE = "a file"
WORD = "one word for a supervisor"
REDIRECT = "leads to a page; a test of that page looks at it"
BARE = {FILE, WORD, REDIRECT}  # what has no template
LINKS, NUMBER, VERDICTS = "links for places on another page", "a number for a script", "verdicts for places in a list"
OF_TURNS, NEWER = "?turn=1&turn=2&turn=3", "?live=0&id=r1&count=1&base=1&end=on"
GREP = "?mode=grep&pattern=line&context=1"
PLAIN, ONE = ("",), ()  # plans of a page with a list, and of one thing, a form or a file
BACKGROUND = ("", "?show=flows", "?show=deliveries")
STATISTICS = ("", "?by=day&model=gate-small&prompt=prompt-1", "?by=session&from=2026-01-05&to=2026-04-30")
GATE, PERSON = "type=memory_gate_positive", "prompted_by=person"
REVIEWS = ("", "pending/", *(f"?{query}" for query in ("agent=ada", GATE, f"agent=ada&{GATE}", PERSON)))
REVIEWS += tuple(f"?{query}" for query in (f"agent=ada&{PERSON}", "ending=cut_off", "draw=x"))


@dataclass(frozen=True, slots=True)
class Page:
    """A route of the site: a page, a part of one, or a form's target.

    `role` is the lowest role that may open it. `address` is its address on a full site, below the agent's when it does
    not begin with a slash; its {names}, and those of the heading, are filled by `filled`. The main heading begins with
    `heading`, and `budget` is the most queries that it may run besides that of the agent chooser, of all databases
    together and for any number of rows; a list that `is_counted` may run one more when there is more than a page.
    `plans` are the queries with which its lists are opened for their query plans, and `on` is the name of a declared
    list, which is tested with each of its filters. `searches` is the most searches of replies that it runs, each with a
    query for the people who opted out. `why` is the reason why it is no page.
    """

    route: str
    role: str
    address: str
    heading: str
    budget: int
    plans: tuple[str, ...]
    on: str = ""
    is_counted: bool = False
    searches: int = 0
    why: str = ""
    method: str = "GET"

    def place(self, facts):
        """Its address on a site with these facts, such as the agent and the session."""
        below = "" if self.address.startswith("/") else "/agents/{agent}/"
        return f"{below}{self.address}".format(**facts)

    def filled(self, facts):
        """The same page with the facts of a site in its address and its heading."""
        return replace(self, address=self.place(facts), heading=self.heading.format(**facts))


def part(route, role, address, budget, plans, why):
    """A part that pages load by themselves."""
    return Page(route, role, address, "", budget, plans, why=why)


def apart(route, role, why):
    """A route that is neither a page nor a part; its own tests check it."""
    return Page(route, role, "", "", 0, ONE, why=why)


def form(route, role):
    """A route that takes a form."""
    return Page(route, role, "", "", 0, ONE, method="POST")


ROWS = (
    apart("api:openapi-json", "viewer", "a document for programs"),
    apart("api:openapi-view", "viewer", "ninja's page, not ours"),
    Page("artifacts:artifact_detail", "viewer", "artifacts/{artifact}/" + GREP, "{artifact_name}", 11, ONE),
    apart("artifacts:artifact_download", "viewer", FILE),
    Page("artifacts:artifact_list", "viewer", "artifacts/", "Artifacts of {agent}", 12, PLAIN, on="artifacts"),
    Page("automation:background_list", "viewer", "background/", "Background work of {agent}", 4, BACKGROUND),
    Page("automation:cron_detail", "viewer", "cron/{cron}/", "{cron_name}", 9, ONE),
    Page("automation:cron_list", "viewer", "cron/", "Scheduled tasks of {agent}", 6, PLAIN),
    Page("automation:session_tree", "viewer", "sessions/{session}/tree/", "Started by this session", 20, ONE),
    Page("automation:subagent_list", "viewer", "subagents/", "Sub-agents of {agent}", 5, PLAIN),
    Page("collecting:import_summary", "viewer", "/operations/imports/", "Imports", 13, ONE),
    Page("collecting:rejected_list", "viewer", "/operations/rejected/", "Rejected records", 3, PLAIN, on="rejected"),
    Page("collecting:skipped_list", "viewer", "/operations/skipped/", "Skipped sources", 5, PLAIN, on="skipped"),
    apart("datasets:decision_verdict", "viewer", "a part of a page; tests/datasets/kinds looks at it"),
    apart("datasets:decision_verdicts", "viewer", VERDICTS),
    Page("datasets:export_detail", "viewer", "/exports/{export}/", "{export_name}", 7, ONE),
    apart("datasets:export_file", "viewer", FILE),
    Page("datasets:export_list", "viewer", "/exports/", "Exports", 10, PLAIN, on="exports"),
    apart("datasets:export_zip", "viewer", FILE),
    Page("datasets:replay_verdicts", "viewer", "replays/{replay}/verdicts/", "Replay and verdicts", 13, ONE),
    Page("datasets:review", "labeller", "/review/", "Review", 29, REVIEWS),
    Page("datasets:review_keys", "labeller", "/review/keys/", "Your keys", 3, ONE),
    part("datasets:review_waiting", "labeller", "/review/waiting/", 3, PLAIN, NUMBER),
    Page("datasets:model_scores", "viewer", "samples/scores/", "Scores by a model for {agent}", 14, ONE),
    Page("datasets:sample_detail", "viewer", "/samples/{sample}/", "Turn ", 26, ONE),
    Page("datasets:set_import", "operator", "/samples/import/", "Import a set", 5, ONE),
    Page("datasets:sample_list", "viewer", "/samples/", "Samples", 11, ("?status=pending",), on="samples"),
    Page("datasets:samples_bulk", "labeller", "/samples/bulk/?verdict=approved", "Approve ", 8, ONE),
    part("datasets:session_samples", "viewer", "sessions/{session}/samples/of/" + OF_TURNS, 7, ONE, LINKS),
    Page("datasets:write_opinion", "labeller", "opinions/{write}/?opinion=should_say", "Wrong: should say …", 36, ONE),
    apart("datasets:write_verdict", "viewer", "a part of a page; tests/datasets/kinds looks at it"),
    apart("datasets:write_verdicts", "viewer", VERDICTS),
    Page("datasets:collection_list", "viewer", "/collection/", "Collecting", 10, ONE),
    Page("datasets:collection_run", "viewer", "/collection/1/", "Run 1", 6, ONE),
    Page("datasets:collection_turns", "viewer", "/collection/1/sample/", "Sample created", 6, ONE),
    Page("datasets:what_if", "viewer", "/collection/what-if/", "What if", 8, ONE),
    Page("datasets:turn_outcome", "viewer", "sessions/{session}/turns/1/outcome/", "Turn 1: ", 30, ONE),
    Page("datasets:benchmark_list", "viewer", "/benchmarks/", "Benchmarks", 8, PLAIN),
    Page("datasets:dataset_coverage", "viewer", "/datasets/coverage/?dataset={dataset}", "Coverage", 40, ONE),
    Page("datasets:dataset_detail", "viewer", "/datasets/{dataset}/", "{dataset_name}", 12, ONE),
    Page("datasets:dataset_list", "viewer", "/datasets/", "Datasets", 11, PLAIN, on="datasets"),
    Page("datasets:dataset_next", "viewer", "/datasets/coverage/next/?dataset={dataset}", "Samples to", 40, ONE),
    apart("datasets:difference_list", "viewer", "needs two releases; tests/datasets/releases looks at it"),
    part("datasets:finding_lag", "viewer", "/findings/lag/", 18, PLAIN, "a count for a place on another page"),
    apart("datasets:finding_detail", "viewer", "reads each of ten places; tests/datasets/finding_values looks at it"),
    Page("datasets:finding_list", "viewer", "/findings/", "Findings", 10, PLAIN, on="findings"),
    apart("datasets:finding_texts", "labeller", "values for places in a list"),
    Page("datasets:member_list", "viewer", "/datasets/{dataset}/1/members/", "Members", 10, PLAIN),
    Page("datasets:sample_uses", "viewer", "/samples/{sample}/uses/", "Releases and files", 12, ONE),
    Page("datasets:queue_agreement", "operator", "/review/queues/{queue}/agreement/", "Agreement", 10, ONE),
    Page("datasets:queue_detail", "labeller", "/review/queues/{queue}/", "{queue_name}", 12, ONE),
    Page("datasets:queue_list", "labeller", "/review/queues/", "Review queues", 9, ONE),
    Page("datasets:statistics", "viewer", "/datasets/statistics/", "Sample statistics", 8, ONE),
    Page("datasets:score_evaluation", "viewer", "/datasets/statistics/quality/", "Quality report", 8, ONE),
    Page("datasets:taint_list", "viewer", "/datasets/{dataset}/1/taints/", "Members that should", 10, PLAIN),
    Page("datasets:version_detail", "viewer", "/datasets/{dataset}/1/", "{dataset_name}", 20, ONE),
    apart("datasets:version_of", "viewer", REDIRECT),
    Page("datasets:write_uses", "viewer", "write-uses/{write}/", "Files that learnt", 12, ONE),
    Page("episodes:event_detail", "viewer", "episodes/event/{event}/?scope=global", "Event", 13, ONE),
    Page("episodes:event_list", "viewer", "episodes/scope/?scope=global", "Events of {agent}", 8, PLAIN, on="episodes"),
    Page(
        "episodes:redaction_preview",
        "operator",
        "episodes/redact/?scope=global&event_id={event}",
        "Redact event",
        5,
        ONE,
    ),
    Page("episodes:scope_list", "viewer", "episodes/", "Ledger of {agent}", 8, PLAIN),
    Page(
        "episodes:scope_retention",
        "viewer",
        "episodes/retention/?scope=global",
        "Retention of scope global",
        6,
        ONE,
    ),
    Page(
        "episodes:scope_statistics",
        "viewer",
        "episodes/statistics/?scope=global",
        "Statistics of scope global",
        9,
        ONE,
    ),
    Page("episodes:session_replay", "viewer", "episodes/replay/{session}/?scope=global", "Replay", 8, ONE),
    Page("gate:call_detail", "viewer", "gate/calls/{call}/", "Gate call", 9, ONE),
    Page("gate:call_list", "viewer", "gate/calls/", "Gate calls of {agent}", 11, PLAIN, on="calls"),
    Page("gate:decision_detail", "viewer", "gate/{decision}/", "{fact} UPDATE_USER", 20, ONE),
    Page("gate:decision_list", "viewer", "gate/", "Decisions of {agent}", 10, PLAIN, on="decisions"),
    Page("gate:own_gate", "viewer", "gate/own/", "This site's gate for {agent}", 14, ONE),
    Page("gate:prompt_detail", "viewer", "gate/prompts/{prompt}/", "Prompt version {prompt}", 6, ONE),
    Page("gate:replay_detail", "viewer", "gate/replays/{replay}/", "Replay of decisions", 15, ONE),
    Page("gate:replay_list", "viewer", "gate/replays/", "Replays of decisions of {agent}", 4, PLAIN),
    Page(
        "gate:replay_new",
        "operator",
        "gate/replays/new/?decision=NO_WRITE",
        "Replay decisions with another model or prompt",
        6,
        ONE,
    ),
    part("gate:session_decisions", "viewer", "sessions/{session}/decisions/of/" + OF_TURNS, 5, ONE, LINKS),
    Page("gate:statistics", "viewer", "gate/statistics/", "Memory gate statistics of {agent}", 18, STATISTICS),
    Page("guardian:regression_list", "viewer", "writes/regressions/", "Regression sets of {agent}", 18, ONE),
    Page("guardian:audit_detail", "viewer", "writes/{write}/", "Write to {file}", 27, ONE),
    part("guardian:audit_lines", "viewer", "writes/left/{write}/", 12, ONE, "lines for a place on another page"),
    Page("guardian:audit_list", "viewer", "writes/", "Writes of {agent}", 11, PLAIN, on="writes"),
    apart("guardian:blame", "viewer", REDIRECT),
    Page("guardian:chart", "viewer", "writes/chart/", "Writes of {agent} by week", 6, ("", "?file=USER.md&weeks=52")),
    Page("guardian:correct", "labeller", "writes/correct/{corrected}/", "Correct a write", 14, ONE),
    Page("guardian:corrections", "viewer", "corrections/{corrected}/", "Corrections of this write", 8, ONE),
    part("guardian:decision_writes", "viewer", "writes/of/{decision}/", 4, ONE, LINKS),
    Page("guardian:file_cure", "operator", "writes/cure/{file}/", "Bring {file} back into the prompt", 6, ONE),
    Page("guardian:file_detail", "viewer", "files/{file}/", "{file}", 30, ONE),
    apart("guardian:file_history", "viewer", REDIRECT),
    Page("guardian:file_list", "viewer", "files/", "Files of {agent}", 13, PLAIN),
    Page(
        "guardian:handover_detail",
        "operator",
        "writes/handovers/{handover}/",
        "Change of {file} handed to the agent",
        7,
        ONE,
    ),
    Page("guardian:opted_out", "viewer", "writes/opted-out/", "Lines of people who opted out", 7, ONE),
    Page("guardian:own_guardian", "viewer", "writes/own/", "This site's guardian for {agent}", 16, ONE),
    Page(
        "guardian:proposal_detail", "operator", "writes/own/proposals/{proposal}/", "Proposed write to {file}", 12, ONE
    ),
    Page("guardian:proposal_list", "operator", "writes/own/proposals/", "Proposed writes of {agent}", 6, ("", "?all")),
    apart("guardian:proposal_patch", "operator", FILE),
    Page("guardian:rollback", "operator", "writes/rollback/of/{write}/", "Roll back a write to {file}", 15, ONE),
    Page("guardian:rule_list", "viewer", "writes/rules/", "Rules for memory writes of {agent}", 11, PLAIN),
    Page("guardian:rule_new", "operator", "writes/rules/new/", "New rule", 5, ONE),
    Page(
        "guardian:session_rollback",
        "operator",
        "writes/session/of/{session}/",
        "Roll back all writes of a session",
        17,
        ONE,
    ),
    part("guardian:session_writes", "viewer", "sessions/{session}/writes/of/" + OF_TURNS, 10, ONE, LINKS),
    Page("guardian:reach", "viewer", "writes/reach/{write}/", "Who was told", 60, ONE),
    Page("guardian:write_retry", "operator", "writes/own/retry/{write}/", "Retry a write of {agent}", 20, ONE),
    Page("jobs:job_detail", "viewer", "/operations/jobs/{job}/", "{job_name}", 3, ONE),
    Page("jobs:job_list", "viewer", "/operations/jobs/", "Jobs", 6, PLAIN, on="jobs"),
    part("jobs:job_notice", "viewer", "/operations/jobs/{job}/notice/", 3, ONE, "what a notice asks for"),
    Page("search:search", "viewer", "/search/?q=import", "Search", 40, ONE),
    Page("ledger:error_list", "viewer", "/errors/", "Errors", 10, PLAIN, on="errors", is_counted=True),
    Page(
        "ledger:event_list",
        "viewer",
        "events/",
        "Transcript records of {agent}",
        10,
        PLAIN,
        on="events",
        is_counted=True,
    ),
    Page("ledger:record_detail", "viewer", "sessions/{session}/records/{record}/", "Record ", 7, ONE),
    Page("ledger:savings", "viewer", "savings/", "Avoidable tokens of {agent}", 16, ONE),
    Page("ledger:session_branches", "viewer", "sessions/{session}/branches/", "{title}", 17, ONE),
    Page("ledger:session_detail", "viewer", "sessions/{session}/", "{title}", 13, ONE),
    Page("ledger:session_list", "viewer", "sessions/", "Sessions of {agent}", 11, PLAIN, on="sessions"),
    part("ledger:session_live", "viewer", "sessions/{session}/live/" + NEWER, 11, ONE, "what an open session asks for"),
    Page("ledger:session_savings", "viewer", "sessions/{session}/savings/", "{title}", 16, ONE),
    Page("ledger:session_steps", "viewer", "sessions/{session}/steps/", "{title}", 8, ONE),
    Page("ledger:session_turns", "viewer", "sessions/{session}/turns/", "{title}", 8, ONE),
    Page("ledger:step_detail", "viewer", "sessions/{session}/steps/{step}/", "Step: ", 5, ONE),
    Page("ledger:stored_list", "viewer", "stored/", "OpenClaw databases of {agent}", 4, PLAIN),
    Page("ledger:turn_list", "viewer", "turns/", "Turns of {agent}", 9, PLAIN, on="turns"),
    Page("operations:artifact_store", "admin", "/operations/artifacts/", "Artifact store", 3, PLAIN),
    apart("operations:backup_file", "admin", FILE),
    Page("operations:backup_list", "operator", "/operations/backups/", "Backups", 24, PLAIN),
    Page("operations:checkpoint_detail", "viewer", "checkpoints/{checkpoint}/", "Checkpoint", 8, ONE),
    Page("operations:doctor", "operator", "/operations/doctor/", "Doctor", 13, PLAIN),
    Page("operations:chain", "viewer", "chain/write/{write}/", "Chain", 60, ONE),
    Page("operations:chain_find", "viewer", "/chain/", "Find a row of a file", 10, ONE),
    Page("operations:remediation", "operator", "remediation/of/{turn}/", "Everything that stems", 90, ONE, searches=12),
    Page("operations:remediation_detail", "operator", "remediation/plan/{remediation}/", "Plan for what", 10, ONE),
    Page("operations:lint_list", "viewer", "lint/", "Costly instructions of {agent}", 10, PLAIN),
    Page("operations:retention", "admin", "/operations/retention/", "Retention", 12, PLAIN),
    Page("operations:system", "operator", "/operations/", "Problems", 8, PLAIN, on="problems"),
    part("operations:system_needs", "operator", "/operations/needs/", 4, PLAIN, NUMBER),
    Page("operations:trace_detail", "labeller", "/traces/{trace}/", "Export of sessions", 5, ONE),
    Page("operations:trace_export", "labeller", "traces/?session={session}", "Export sessions", 5, ONE),
    apart("operations:trace_file", "labeller", FILE),
    Page("overview:agent_list", "viewer", "/agents/", "Agents", 6, PLAIN),
    Page("collecting:folder_choose", "admin", "/operations/folder/", "Import a folder", 3, ONE),
    apart("overview:healthz", ANYBODY, WORD),
    apart("overview:memory_list_before", "viewer", REDIRECT),
    Page("overview:memory_list", "viewer", "/files/", "Memory files", 5, PLAIN, on="memory"),
    Page("overview:overview", "viewer", "/", "Today", 19, PLAIN),
    Page("people:account", "viewer", "/account/", "{person}", 3, PLAIN),
    Page("people:audit_list", "admin", "/operations/audit/", "Audit log", 8, PLAIN, on="audit", is_counted=True),
    Page("people:invitation_list", "admin", "/operations/invitations/", "Open invitations", 3, PLAIN),
    Page("people:join", ANYBODY, "/join/{invitation}/", "You are invited", 1, ONE),
    Page("people:one_time_link", ANYBODY, "/welcome/{welcome}/", "Welcome, {guest}", 1, ONE),
    Page("people:settings", "admin", "/operations/settings/", "Settings", 3, ONE),
    Page("people:sign_in", ANYBODY, "/sign-in/", "Sign in", 1, ONE),
    Page("people:token_list", "viewer", "/operations/tokens/", "All tokens", 3, PLAIN),
    Page("people:user_list", "admin", "/operations/users/", "Users", 4, PLAIN),
)
# What takes forms, by the lowest role that may send them.
FORMS = {
    ANYBODY: "people:language_set people:theme_set",
    "viewer": """
        people:password_change people:preferences_save people:rail_fold people:sign_in_end people:sign_ins_end_others
        people:sign_out people:sign_out_everywhere people:token_make people:token_revoke people:view_forget
        people:view_keep
    """,
    "labeller": """
        datasets:decision_judge datasets:decisions_draw datasets:export_count datasets:export_create
        datasets:export_verify datasets:replay_queue datasets:review_discard datasets:review_draft
        datasets:review_keys_reset datasets:review_keys_save datasets:review_label datasets:review_reason
        datasets:review_skip datasets:review_undo datasets:sample_label datasets:samples_bulk_label
        datasets:samples_make datasets:finding_judge datasets:finding_undo datasets:sample_finding
        datasets:dataset_create datasets:dataset_release datasets:version_verify datasets:version_check
        datasets:version_compare datasets:benchmark_add datasets:export_again
        datasets:write_judge datasets:collection_start
        datasets:write_opinion_save datasets:writes_queue datasets:next_queue
        guardian:correct_save jobs:job_cancel operations:checkpoint_make operations:trace_create
    """,
    "operator": """
        datasets:set_import_add
        datasets:model_scores_run
        collecting:collect_start datasets:findings_scan datasets:queue_create datasets:queue_change
        datasets:queue_extend episodes:head_give_out episodes:redact_do episodes:verify_start
        gate:own_gate_run gate:replay_continue gate:replay_plan gate:replay_start guardian:handover_check
        guardian:own_guardian_run guardian:proposal_approve guardian:proposal_decline
        guardian:proposal_hand_over guardian:rollback_do guardian:rollback_hand_over guardian:rollback_settle
        guardian:regression_start guardian:regression_store
        guardian:rule_switch guardian:rule_try guardian:session_rollback_do operations:doctor_look
        operations:notification_test operations:remediation_run operations:remediation_start
        problems:problem_close problems:problem_mute problems:problem_seen problems:problem_unmute
    """,
    "admin": """
        collecting:folder_import datasets:version_anew datasets:what_if_save
        datasets:approval_resume datasets:approval_undo
        artifacts:artifact_remove artifacts:artifact_verify episodes:capture_set episodes:policy_set
        episodes:retention_start gate:own_gate_switch guardian:own_guardian_switch
        operations:artifact_store_clear operations:backup_create operations:backup_drill operations:backup_verify
        operations:doctor_again operations:doctor_compare operations:doctor_fix operations:doctor_undo
        operations:doctor_unignore operations:retention_archive operations:retention_count operations:retention_remove
        people:invitation_make people:invitation_revoke people:settings_save people:user_activate people:user_add
        people:user_deactivate people:user_link people:user_role people:user_sign_out people:user_unlock
    """,
}
ROWS += tuple(form(route, role) for role, routes in FORMS.items() for route in routes.split())
TABLE = {page.route: page for page in ROWS}
GETS = {route: page for route, page in TABLE.items() if page.method == "GET"}
POSTS = sorted(TABLE.keys() - GETS.keys())
PAGES = {route: page for route, page in GETS.items() if page.heading}
# Second pages of some routes: of all agents, or of one.
SECOND = (
    Page("artifacts:artifact_list", "viewer", "/artifacts/", "Artifacts of all agents", 20, ONE),
    Page("automation:cron_list", "viewer", "/cron/", "Scheduled tasks of all agents", 6, ONE),
    Page("gate:call_list", "viewer", "/gate/calls/", "Gate calls of all agents", 20, ONE),
    Page("gate:decision_list", "viewer", "/gate/", "Decisions of all agents", 20, ONE),
    Page("guardian:audit_list", "viewer", "/writes/", "Writes of all agents", 20, ONE),
    Page("ledger:event_list", "viewer", "/events/", "Transcript records of all agents", 20, ONE, is_counted=True),
    Page("ledger:session_list", "viewer", "/sessions/", "Sessions of all agents", 20, ONE),
    Page("ledger:turn_list", "viewer", "/turns/", "Turns of all agents", 20, ONE),
    Page("operations:lint_list", "viewer", "/lint/", "Choose an agent", 5, ONE),
    Page("overview:overview", "viewer", "", "{agent}", 25, PLAIN),
)
PAGES |= {f"{page.route}, second": page for page in SECOND}
BEFORE_SIGN_IN = {route for route, page in PAGES.items() if page.role == ANYBODY}
LISTS = {page.on: page for page in PAGES.values() if page.on}
