"""A value of every kind, planted wherever somebody can write, and a search for them."""

import json
import re
from urllib.parse import unquote_to_bytes

import orjson

from datasets.finding_values.verdicts import decide
from datasets.models import DatasetSample
from findings import scan
from findings.models import Finding
from openclaw_web.detectors.spans import BLOCKING
from tests.datasets.exports.prompts.runs import ONE, import_and_approve, prompt_step, write_steps
from tests.guardian.write_rows import create_rollback, create_write
from tests.homes import assistant, result, user
from tests.ledger.outputs.stored_outputs import make_output

BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
VALUES = {
    "anthropic": "sk-ant-api03-Zk3vQ9xTr7LmWp2YbN8cHd5JfGs1Ae6Uo4Ri0",
    "github": "ghp_" + "a1B2c3D4e5F6" * 3,
    "aws": "AKIA" + "Q7ZW4MXN2KLPRT5V",
    "hugging face": "hf_rTEtqKs3w7NYxB4eEu3wEvd1cBGMwa3iOL",
    "slack": "xoxb-" + "214365870921-2143658709217-Zk3vQ9xTr7LmWp2YbN8cHd5J",
    "jwt": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI5MDIxNyIsIm5hbWUiOiJLYWkgVm9nZWwifQ."
    "Qm8yTz4vN1xWc0sKpLr3aHj6dEg9fYu2iXo5tRw7bZc",
    "private key": f"-----BEGIN PRIVATE KEY-----\n{BODY}\n{BODY[::-1]}\n-----END PRIVATE KEY-----",
    "mail": "alice.meyer@firma-nord.de",
    "card": "4539 8685 5118 0492",
    "iban": "DE58 3704 0044 0612 2150 01",
    "id number": "110105198704135982",
    "ipv4": "78.47.216.133",
    "ipv6": "2a01:4f8:c17:b0f::2:91",
    "phone": "+49 151 23456789",
    "password": "kupfer-Dach-31",
    "secret": "aB3dE5fG7hJ9kL1mN2pQ",
}
NAMES = {"password": "password: ", "secret": "token = ", "id number": "身份证号：", "ipv4": "server ", "ipv6": "host "}
TEXT = "\n".join(f"{NAMES.get(name, name + ' ')}{value}" for name, value in VALUES.items())
FIELDS = {f"{name}": value for name, value in VALUES.items()} | {"number": {"phone": 4915123456789}}
MAIL, PHONE = VALUES["mail"], "4915123456789"
NEEDLES = (
    *(value for name, value in VALUES.items() if name != "private key"),
    *(BODY, BODY[::-1], PHONE, "4539868551180492", "DE58370400440612215001", "49 151 234", "alice", "firma-nord"),
)


def find_planted(data):
    """The planted values in bytes, also behind escapes of JSON and of addresses, and without blanks."""
    text = _open_escapes(data.decode("utf-8", "replace"))
    bare = re.sub(r"[ \n]", "", text)
    return [value for value in NEEDLES if value in text or re.sub(" ", "", value) in bare]


def _open_escapes(text):
    for _depth in range(4):
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
        text = text.replace("\\\\", "\\").replace("\\n", "\n").replace("\\/", "/").replace('\\"', '"')
    return text + unquote_to_bytes(text).decode("utf-8", "replace")


def plant(home, main):
    """Import a home with every value in every place, and judge its samples."""
    sender = {"label": f"Alice {MAIL}", "id": PHONE, "name": MAIL, "e164": f"+{PHONE}", "username": MAIL}
    envelope = f"Sender (untrusted metadata):\n```json\n{json.dumps(sender)}\n```\n\n"
    call = ("call-" + MAIL, "exec", FIELDS | {"file_path": f"/home/{MAIL}/{VALUES['github']}.txt", "text": TEXT})
    large = make_output(900, needle="x", secret=TEXT)
    thinking = assistant(f"Looking. {TEXT}", call)
    thinking["message"]["content"].insert(0, {"type": "thinking", "thinking": TEXT})
    turns = (
        *(user(f"{envelope}first {TEXT}"), assistant(f"hi {TEXT}")),
        *(user(f"second {TEXT}"), thinking, result("call-" + MAIL, large), assistant(f"done {TEXT}")),
        *(user(f"third {json.dumps(FIELDS)}"), assistant(f"```json\n{json.dumps(FIELDS, indent=2)}\n```")),
    )
    home.transcript(*turns, session=ONE)
    home.index(
        {
            f"agent:main:whatsapp:direct:{PHONE}": {
                "sessionId": ONE, "label": TEXT, "displayName": MAIL, "channel": f"whatsapp {MAIL}",
                "origin": {"label": MAIL, "from": PHONE, "to": PHONE, "provider": "whatsapp"},
                "lastTo": PHONE, "subject": TEXT,
            }
        }
    )  # fmt: skip
    properties = {"path": {"type": "string", "description": TEXT, "default": VALUES["github"], "enum": [MAIL]}}
    tool = {"name": "exec", "description": TEXT, "parameters": {"type": "object", "properties": properties}}
    write_steps(home, prompt_step(2, systemPrompt=f"You are an assistant.\n{TEXT}", tools=[tool]))
    import_and_approve(home, main)
    _judge_samples()
    _plant_writes(main)
    scan.scan_agent(main.db)
    for kind, value_hash in set(Finding.objects.using(main.db).values_list("kind", "value_hash")):
        if kind in BLOCKING:
            decide("confirmed", scope="value", value_hash=value_hash, by="root")


def _judge_samples():
    """Texts of a person and of a gate beside each sample."""
    output = {"decision": "UPDATE_USER", "reason": TEXT, "candidateFact": f"fact {TEXT}"}
    gate = {
        "output": output, "label": "correct", "rawResponse": json.dumps(output | {"fields": FIELDS}),
        "systemPrompt": TEXT, "input": {"userMessage": TEXT, "recentMessages": [{"role": "user", "message": TEXT}]},
    }  # fmt: skip
    for sample in DatasetSample.objects.all():
        sample.content = orjson.dumps(
            sample.body | {"memoryGate": gate, "sender": MAIL, "channel": f"whatsapp:{PHONE}"}
        ).decode()
        sample.annotation_notes = f"note {TEXT}"
        sample.quality_factors = json.dumps({"why": TEXT})
        sample.gate_label, sample.gate_corrected_output = "corrected", json.dumps(output | {"reason": f"no, {TEXT}"})
        sample.output = f"better {TEXT}" if sample.turn_number == 2 else None
        sample.annotation_status, sample.annotated_by = "approved", MAIL
        sample.save()


def _plant_writes(main):
    """Writes to a memory file, one of them rolled back, and samples with corrected contents."""
    columns = {"candidate_fact": TEXT, "reason": TEXT, "turn_id": f"{ONE}:u1", "session_id": ONE}
    before, after = f"# Before\n{TEXT}\n".encode(), f"# After\n{TEXT}\n".encode()
    create_write(main.db, 1, before, after, **columns)
    create_write(main.db, 2, after, after + TEXT.encode(), **columns)
    create_rollback(main.db, 3, ["w2"], after + TEXT.encode(), after)
    corrected = {"status": "written", "targetFile": f"{MAIL}.md", "reason": TEXT, "content": f"# Corrected\n{TEXT}\n"}
    for number in (1, 2):
        content = {
            "type": "write_guardian_decision", "candidateFact": f"{number} {TEXT}", "targetFile": f"{MAIL}.md",
            "currentFileContent": before.decode() + str(number), "decision": "written", "decisionReason": TEXT,
            "writtenContent": after.decode(), "proposedContent": TEXT, "diff": TEXT, "rollback": {"reason": TEXT},
        }  # fmt: skip
        DatasetSample.objects.create(
            id=f"write-{number}", sample_type="write_guardian_decision", agent_id=main.agent_id, session_id=ONE,
            turn_number=number, audit_id=f"w{number}", content=orjson.dumps(content).decode(), created_at=1,
            annotation_status="approved", annotation_notes=TEXT, guardian_label="corrected",
            guardian_corrected_output=json.dumps(corrected),
        )  # fmt: skip
