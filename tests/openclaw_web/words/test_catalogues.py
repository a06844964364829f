"""Catalogues hold the texts of the site, and every text is translated."""

import re

import pytest

from tests.suite.sources import fail_for

from .catalogues import find_texts, forms, uses, words

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|\{\w*\}")
TAG = re.compile(r"</?[a-z][^>]*>")
# Values, options, addresses and names in a text; the rest of it is English.
NOT_SAID = re.compile(
    r"%\(\w+\)[sd]|--\S+|“?openclaw(?:-web)? [a-z -]+|[“/]\S+|<[^>]+>|\S*[._]\S*(?=\w)\S+|\b[A-Z]{2,}\b"
)
# The Chinese word of each English term, and words for it that are not used.
CHINESE = {
    r"agents?": ("智能体", "代理"),
    r"artifacts?": ("工件", "产物 制品"),
    r"backups?": ("备份", "备档"),
    r"branch(es)?": ("分支", "支路"),
    r"changes?": ("", "改动 变更"),
    r"checkpoints?": ("检查点", "存档点"),
    r"compactions?": ("压缩", "精简"),
    r"corrections?|corrected": ("更正", "校正 纠正 修正"),
    r"decisions?": ("决策", "决定"),
    r"drafts?": ("草稿", "草案"),
    r"endpoints?": ("端点", "接口"),
    r"(?<!task )gate": ("闸门", "门控 闸口"),
    r"guardian": ("守卫", "守护 监护"),
    r"memory files?": ("记忆文件", "内存文件"),
    r"operators?": ("操作员", "运维 运营"),
    r"opted out": ("退出", "放弃"),
    r"prompts?": ("提示词", "提示语"),
    r"proposals?": ("提案", "提议 建议"),
    r"reasons?": ("", "理由"),
    r"replays?": ("重放", "回放"),
    r"restore tests?": ("恢复测试", "还原"),
    r"reviewers?": ("审核", "评审 审阅"),
    r"rollbacks?|roll(ed|s|ing)? back": ("回滚", "撤回 回退"),
    r"rules?": ("规则", "准则"),
    r"samples?": ("样本", "样例 示例"),
    r"scheduled tasks?": ("定时任务", "计划任务"),
    r"sessions?": ("会话", "会谈"),
    r"settings?": ("设置", "设定"),
    r"sub-agents?": ("子智能体", "子代理"),
    r"unattributed": ("来源不明", "未归属"),
    r"verdicts?": ("结论", "判定 裁决 评判"),
    r"versions?": ("版本", "版次"),
    r"workspaces?": ("工作区", "工作空间"),
}
TRANSLATED = [language for language in words.LANGUAGES if language != "en"]


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_they_are_up_to_date(language):
    current = words.in_file(words.updated(language, find_texts()))
    assert current == words.place(language).read_bytes(), "run ./dev words"


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated(language):
    catalog = words.read(language)
    assert len(catalog) > 2_000
    fail_for(f"{language}  not translated: {message.id}" for message in words.untranslated(catalog))


def test_no_text_is_said_both_with_and_without_a_plural():
    """The catalogue would hold only one of both, and the other would stay English."""
    texts = [(message, context) for _file, _line, message, _comments, context in uses()]
    plural = {(message[0], context) for message, context in texts if isinstance(message, tuple)}
    fail_for(sorted(message for message, context in texts if (message, context) in plural))


@pytest.mark.parametrize("language", TRANSLATED)
def test_what_is_compiled_is_what_is_written(language):
    compiled = words.place(language).with_suffix(".mo").read_bytes()
    assert words.compiled(words.read(language)) == compiled, "run ./dev words"


@pytest.mark.parametrize("language", TRANSLATED)
def test_placeholders_and_markup_are_those_of_the_text(language):
    problems = []
    for message in words.read(language):
        source_text, texts = forms(message.id)[-1], forms(message.string)
        for text in texts if message.id else ():
            if sorted(set(PLACEHOLDER.findall(text))) != sorted(set(PLACEHOLDER.findall(source_text))):
                problems.append(f"{language}  other placeholders: {source_text} | {text}")
            if sorted(TAG.findall(text)) != sorted(TAG.findall(source_text)):
                problems.append(f"{language}  other markup: {source_text} | {text}")
            if source_text.strip(", ") and (text[:1] == " ", text[-1:] == " ") != (
                source_text[:1] == " ",
                source_text[-1:] == " ",
            ):
                problems.append(f"{language}  blanks around it differ: {source_text!r} | {text!r}")
    fail_for(problems)


def other_terms(message):
    """Yields the words of a Chinese translation that differ from CHINESE."""
    english_text, text = NOT_SAID.sub(" ", forms(message.id)[-1]), forms(message.string)[0]
    for english, (term, others) in CHINESE.items():
        if re.search(rf"\b(?:{english})\b", english_text, re.IGNORECASE):
            yield from (f"{word}, not {term or 'this'}" for word in others.split() if word in text)
            if term not in text:
                yield f"{term} is missing"


def test_each_term_is_one_word_in_chinese():
    fail_for(
        f"{problem}: {forms(message.id)[0]} | {forms(message.string)[0]}"
        for message in words.read("zh_Hans")
        if message.id
        for problem in other_terms(message)
    )


def test_another_word_for_a_term_is_noticed():
    catalog = words.Catalog(locale="zh_Hans")
    catalog.add("Save correction of %(agents)s", "保存校正")
    assert list(other_terms(catalog.get("Save correction of %(agents)s"))) == ["校正, not 更正", "更正 is missing"]


def test_a_text_without_a_translation_is_noticed():
    catalog = words.Catalog(locale="zh_Hans")
    catalog.add("Nobody translated this", "")
    catalog.add(("%(n)s thing", "%(n)s things"), ("",))
    catalog.add("Done", "完成")
    assert [message.id for message in words.untranslated(catalog)] == [
        "Nobody translated this",
        ("%(n)s thing", "%(n)s things"),
    ]
    message = words.Message("Nobody\ntranslated this", locations=[("templates/a.html", 3)])
    assert words.named(message) == "templates/a.html:3  Nobody translated this"
    assert "完成".encode() in words.compiled(catalog) and b"Nobody" not in words.compiled(catalog)
