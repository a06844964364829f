"""No code of ours writes the state files that OpenClaw replaced by databases.

A static check: every call that writes, with its path as far as the source tells. The demo's generator may write them,
because its home is of the file-based versions; fixtures and benchmarks are not checked.
"""

import ast
import re
from pathlib import Path

import pytest

from tests.suite.sources import MODULES, Source, fail_for, format_dotted_name, where
from tests.suite.sources import source as source_of

# The database-first state spec's list. `*` is any part of a name, `**` any folders.
LEGACY = """
sessions.json  sessions/*.jsonl  *.jsonl.lock  *.trajectory.jsonl  *.trajectory-path.json  *.acp-stream.jsonl
session.jsonl  session-*.json  session-toggles.json  session-corpus/*.txt  events.jsonl  calls.jsonl
cron/jobs.json  jobs.json  jobs-state.json  cron/runs/*.jsonl  runs/*.jsonl  commitments.json
subagents/runs.json  tasks/runs.sqlite  tasks/flows/registry.sqlite  plugin-state/state.sqlite  memory/*.sqlite
delivery-queue/*.json  delivery-queue/failed/*.json  session-delivery-queue/*.json  acp/event-ledger.json
auth-profiles.json  exec-approvals.json  plugin-binding-approvals.json  bindings/current-conversations.json
thread-bindings.json  thread-bindings-*.json  plugins/installs.json  plugins/phone-control/armed.json
identity/device.json  identity/device-auth.json  devices/pending.json  devices/paired.json  devices/bootstrap.json
bootstrap.json  nodes/pending.json  nodes/paired.json  pending.json  paired.json  device-pair-notify.json
push/web-push-subscriptions.json  push/vapid-keys.json  push/apns-registrations.json
settings/voicewake.json  settings/voicewake-routing.json  settings/tts.json  model-picker-preferences.json
restart-sentinel.json  gateway-restart-intent.json  gateway-supervisor-restart-handoff.json  gateway.*.lock
gateway-instance-id  process-leases.json  cache/*.json  command-deploy-cache.json
update-offset-*.json  update-check.json
sticker-cache.json  *.telegram-topic-names.json  *.telegram-sent-messages.json  *.telegram-messages.json
msteams-conversations.json  msteams-polls.json  msteams-pending-uploads.json  msteams-delegated.json
msteams-sso-tokens.json  *.learnings.json  feishu/dedup/*.json  bluebubbles/catchup/*.json
bluebubbles/inbound-dedupe/*.json  inbound-dedupe.json  imessage/reply-cache.jsonl  imessage/sent-echoes.jsonl
reply-cache.jsonl  sent-echoes.jsonl  bus-state-*.json  profile-state-*.json  bot-storage.json  storage-meta.json
startup-verification.json  legacy-crypto-migration.json  crypto-idb-snapshot.json  known-users.json  ref-index.jsonl
audit/file-transfer.jsonl  audit/crestodian.jsonl  crestodian/rescue-pending/*.json  logs/config-audit.jsonl
logs/config-health.json  logs/*.jsonl  skill-workshop/*.json  .clawhub/lock.json  .clawhub/origin.json
.openclaw/workspace-state.json  .openclaw-wiki/state.json  .openclaw-wiki/source-sync.json  .openclaw-wiki/log.jsonl
.openclaw-wiki/import-runs/*.json  .openclaw-wiki/cache/claims.jsonl  .openclaw-wiki/cache/agent-digest.json
.dreams/*.json  .dreams/events.jsonl  .dreams/short-term-promotion.lock  memory/.dreams/*.json  qmd/embed.lock
.dreams/session-corpus/**  .openclaw-wiki/locks/**  .openclaw-profile-decorated
sandbox/containers.json  sandbox/browsers.json  sandbox/containers/*.json  sandbox/browsers/*.json
""".split()  # noqa: SIM905 - a literal of 130 lines says no more


def build_pattern(name):
    parts = [re.escape(part).replace(re.escape("*"), "[^/]*") for part in name.split("**")]
    return ".*".join(parts)


ANY_OF_THEM = re.compile(f"(?:.*[/*])?(?:{'|'.join(map(build_pattern, LEGACY))})", re.DOTALL)

METHODS = {
    "write_text",
    "write_bytes",
    "touch",
    "unlink",
    "rename",
    "replace",
    "symlink_to",
    "hardlink_to",
    "rmdir",
    "mkdir",
}
FUNCTIONS = {
    *("os.remove", "os.unlink", "os.rename", "os.replace", "os.link", "os.symlink", "os.truncate", "os.mkfifo"),
    *("os.mkdir", "os.makedirs"),
    *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "shutil.rmtree", "shutil.copytree"),
    "sqlite3.connect",
}
JOINS = {"joinpath", "with_name", "with_suffix", "absolute", "expanduser", "resolve", "as_uri", "join"}
UNKNOWN = "*"
ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.NamedExpr)


def is_legacy(path):
    return path != UNKNOWN and ANY_OF_THEM.fullmatch(path) is not None


class Texts:
    """Evaluates expressions of a module to paths; `*` stands for unknown parts.

    Constants and names that are assigned one are known.
    """

    def __init__(self, assignments, constants):
        self.known = dict(constants)
        for _round in range(2):  # a name may be used above its assignment
            for node in assignments:
                if node.value is not None:
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    text = self.find_path(node.value)
                    for target in targets:
                        if isinstance(target, ast.Name) and text != UNKNOWN:
                            self.known[target.id] = text

    def find_path(self, node):
        """The path that an expression stands for."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else UNKNOWN
        if isinstance(node, ast.JoinedStr):
            return "".join(self.find_path(part) for part in node.values)
        if isinstance(node, ast.FormattedValue):
            return self.find_path(node.value)
        if isinstance(node, ast.Name):
            return self.known.get(node.id, UNKNOWN)
        if isinstance(node, ast.Attribute):
            return self.known.get(node.attr, UNKNOWN) if node.attr.isupper() else UNKNOWN
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add):
            between = "/" if isinstance(node.op, ast.Div) else ""
            return f"{self.find_path(node.left)}{between}{self.find_path(node.right)}"
        return self._call(node) if isinstance(node, ast.Call) else UNKNOWN

    def _call(self, node):
        name = format_dotted_name(node.func)
        parts = [self.find_path(argument) for argument in node.args]
        if name in ("Path", "pathlib.Path", "str", "os.fspath", "os.path.join"):
            return "/".join(parts) or UNKNOWN
        if isinstance(node.func, ast.Attribute) and node.func.attr in JOINS:
            before = self.find_path(node.func.value)
            if node.func.attr == "with_name":
                before = before.rpartition("/")[0] or UNKNOWN
            if node.func.attr == "with_suffix":
                return before.rpartition(".")[0] + "".join(parts)
            return "/".join([before, *parts])
        return UNKNOWN


def find_written_paths(node, texts):
    """The paths that a call may write to, move or remove, as far as known."""
    name = format_dotted_name(node.func)
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    constant_arguments = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    is_method = isinstance(node.func, ast.Attribute) and not name.startswith(("os.", "shutil.", "sqlite3.", "io."))
    if is_method and node.func.attr in METHODS:
        return [texts.find_path(node.func.value), *map(texts.find_path, node.args)]
    if is_method and node.func.attr == "open":
        return [texts.find_path(node.func.value)] if any(is_writing(mode) for mode in constant_arguments) else []
    if name in ("open", "io.open") and node.args:
        return [texts.find_path(node.args[0])] if any(is_writing(mode) for mode in constant_arguments[-2:]) else []
    if name == "os.open" and any(flag in ast.unparse(node) for flag in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC")):
        return [texts.find_path(node.args[0])]
    return list(map(texts.find_path, arguments)) if name in FUNCTIONS else []


def is_writing(mode):
    return isinstance(mode, str) and len(mode) <= 4 and bool(set(mode) & set("wax+")) and set(mode) <= set("rwaxbt+")


def find_path_constants(paths):
    """The constants of all modules that are legacy paths, by name.

    One module may define a path and another write to it.
    """
    constants = {}
    for path in paths:
        own = [node for node in source_of(path).tree.body if isinstance(node, ast.Assign)]
        known = Texts([part for node in own for part in ast.walk(node) if isinstance(part, ASSIGNMENTS)], {}).known
        constants |= {name: text for name, text in known.items() if name.isupper() and is_legacy(text)}
    return constants


def find_problems(source, constants=()):
    """Yield (line, path) of every write to a legacy path in a source."""
    texts = Texts(source.nodes(*ASSIGNMENTS), dict(constants))
    for node in source.nodes(ast.Call):
        yield from ((node.lineno, path) for path in find_written_paths(node, texts) if is_legacy(path))


def test_no_legacy_path_is_written():
    constants = find_path_constants(MODULES)
    fail_for(
        f"{where(path, line)}  writes to {name}, a path of OpenClaw's own past"
        for path in MODULES
        for line, name in find_problems(source_of(path), constants)
    )


def test_each_name_is_banned():
    for name in LEGACY:
        concrete = name.replace("**", "x1/x2").replace("*", "x1")
        assert list(find_problems(Source(f"from pathlib import Path\nPath(root, {concrete!r}).write_text('x')"))), name
        assert list(find_problems(Source(f"with open(home / {concrete!r}, 'w') as file: pass"))), name


@pytest.mark.parametrize(
    "source",
    [
        "(root / 'agents' / agent / 'sessions' / 'sessions.json').write_text('{}')",
        "path = root / 'cron' / 'jobs.json'\npath.write_bytes(b'')",
        "path = folder / 'sessions' / f'{session}.jsonl'\nwith path.open('ab') as file: pass",
        "NAME = 'subagents/runs.json'\n(root / NAME).unlink()",
        "os.replace(draft, root.joinpath('settings', 'tts.json'))",
        "os.open(root / 'identity' / 'device.json', os.O_WRONLY | os.O_CREAT)",
        "shutil.move(source, os.path.join(root, 'commitments.json'))",
        "sqlite3.connect(root / 'tasks' / 'runs.sqlite')",
        "open(f'{root}/restart-sentinel.json', mode='x')",
        "(root / '.openclaw-wiki' / 'locks' / name).mkdir()",
        "(folder / 'sandbox' / 'containers' / f'{digest}.json').write_bytes(b'')",
        "def f():\n    def g():\n        target.with_name('exec-approvals.json').touch()",
    ],
)
def test_it_finds(source):
    assert list(find_problems(Source(source)))


@pytest.mark.parametrize(
    "source",
    [
        "(root / 'agents' / agent / 'sessions' / 'sessions.json').read_text()",
        "with (root / 'cron' / 'jobs.json').open('rb') as file: pass",
        "os.open(root / 'identity' / 'device.json', os.O_RDONLY | os.O_NOFOLLOW)",
        "(folder / 'conversations-2026-02-21.jsonl').write_text('x')",
        "(home / 'state' / 'openclaw.sqlite').write_bytes(b'')",
        "(exports / 'train.jsonl').open('w')",
        "NAMES = {'sessions.json', 'jobs.json'}\n(folder / 'manifest.json').write_text('x')",
        "text.replace('sessions', 'x')",
        "(root / 'mysessions.json').write_text('x')",
    ],
)
def test_it_lets_pass(source):
    assert not list(find_problems(Source(source)))


def test_a_constant_of_another_module_counts():
    constants = {"JOBS": "cron/jobs.json"}
    assert list(find_problems(Source("from agents.homes import JOBS\n(root / JOBS).write_text('')"), constants))
    assert list(find_problems(Source("from agents import homes\n(root / homes.JOBS).write_text('')"), constants))


def test_every_module_is_looked_at():
    assert {Path(path).name for path in MODULES} >= {"collect.py", "fix_job.py", "homes.py"}
