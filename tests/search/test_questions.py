"""Questions of operators about the recorded home of the demo: the place with the answer is among the first ten hits.

The places were read in the files of OpenClaw themselves; each is named by words of it. `user`, `assistant` and
`toolResult` are records of transcripts with that role.
"""

import orjson
import pytest

from benchmarks.corpus import UNTIL_MS
from collecting import collect
from demo.recording import Recording
from jobs.progress import Progress
from search import fill, find, query

pytestmark = pytest.mark.django_db
QUESTIONS = (
    # Who asked about palm oil? The answer beside it does not repeat the words.
    ("palm oil", "main", "user", "Do you use palm oil?"),
    # When do orders close on Mondays?
    ('"orders close" Mondays', "main", "MEMORY.md", "on Mondays for Tuesday"),
    # Who said that the certificate fails to renew?
    ("renewal failing", "main", "assistant", "so it has been failing quietly"),
    # How many loaves does the deck oven hold?
    ("deck oven loaves", "main", "MEMORY.md", "The deck oven holds 24 loaves"),
    # At which address is the proofing cabinet?
    ("192.0.2.21", "main", "TOOLS.md", "the proofing cabinet's logger"),
    # What did we quote to the pier?
    ("266.60", "main", "assistant", "86 rolls at S$ 3.10"),
    # Who told a customer with an allergy that there is no sesame?
    ("sesame toasted", "main", "assistant", "It is best on the first day, and toasted on the second"),
    # How long may a gift card be used?
    ("gift card -partial", "main", "assistant", "A gift card is valid for two years"),
    # Why is the disk of the shop full?
    ("logrot*", "main", "assistant", "logrotate has not run since the move"),
    # Which jars were swapped?
    ("jars swapped kind:memory", "research", "MEMORY.md", "Jars 3 and 13 were swapped"),
    # Which scheduled task looks for new papers?
    ("preprints kind:task", "research", "task", "Look for new preprints"),
    # 不用棕榈油吗？
    ("棕榈油", "main", "assistant", "不用棕榈油，只用黄油或不加油"),
    # 端午节怎么写？
    ("安康 kind:memory", "main", "MEMORY.md", "端午节写“安康”"),
    # 网店用哪个词？
    ("售罄", "main", "MEMORY.md", "售罄（不用“售完”）"),
    # 硬盒每单多多少钱？
    ("硬盒", "main", "assistant", "换成硬盒大概每单多"),
    # 哪个罐子的探头漂移了？
    ("探头 漂移", "research", "memory/", "6 号罐探头漂移"),
    # 手持温度计还能用吗？
    ("温度计 停用", "research", "TOOLS.md", "手持温度计偏高"),
    # 样品管怎么编号？
    ("样品管", "research", "MEMORY.md", "样品管编号"),
    # 酸面包和黑麦有什么区别？
    ("酸面包 区别", "main", "user", "酸面包和黑麦有什么区别"),
    # 法棍里有没有芝麻？
    ("法棍 sesame tool:exec", "main", "toolResult", "baguette 法棍"),
    # 哪个任务检查库存？
    ("库存巡检 kind:task", "main", "task", "Stock watch 库存巡检"),
    # 谁的订单因为封路晚到？
    ("封路", "main", "memory/", "PedalPost 因封路晚到"),
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("questions") / "openclaw"
    Recording(UNTIL_MS).write_home(root)
    return root


def find_addresses(root, agent, role, words):
    """The ends of the addresses of the records with these words, from the files alone."""
    for file in root.glob(f"agents/{agent}/sessions/*.jsonl*"):
        for line in file.read_bytes().splitlines():
            if words.encode() in line:
                try:
                    record = orjson.loads(line)
                except orjson.JSONDecodeError:  # damaged on purpose
                    continue
                if record.get("message", {}).get("role") == role:
                    yield f"?record={record['id']}#r-{record['id']}"


def test_the_answer_is_among_the_first_ten(root, real_files):
    collect.run({"source": str(root), "include_deleted": True}, Progress())
    fill.fill_all()
    missing = []
    for text, agent, place, words in QUESTIONS:
        hits = find.to_json(find.search(query.parse(text), is_best=True, size=10, most=0))["items"]
        if place in ("user", "assistant", "toolResult"):
            addresses = tuple(find_addresses(root, agent, place, words))
            assert addresses, words
            places = [hit for hit in hits if hit["address"].endswith(addresses)]
        elif place == "task":
            places = [hit for hit in hits if hit["kind"] == "task" and words in hit["excerpt"]]
        else:
            places = [hit for hit in hits if f"/files/{place}" in hit["address"] and words in hit["excerpt"]]
        if not any(hit["agent_id"] in (agent, "") for hit in places):
            missing.append((text, [(hit["kind"], hit["title"]) for hit in hits]))
    assert not missing
