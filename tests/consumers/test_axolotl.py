"""axolotl: its loader and its prompt strategies, with the settings of the card."""

import shutil
from pathlib import Path

import pytest

from tests.consumers.consumer_exports import assert_taught, find_kinds_for, read_export_rows
from tests.consumers.readers.card_blocks import read_blocks

TAKEN = find_kinds_for("axolotl")


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
def test_every_row_is_learned_and_none_begins_with_an_empty_system_turn(kind, read_all, folders):
    read = read_all("axolotl", "axolotl")["answers"][kind.name]
    assert_taught(read["learned"], folders[kind.name])
    assert read["texts"] and read["empty_system_turns"] == 0


@pytest.mark.parametrize("kind", TAKEN, ids=lambda kind: kind.name)
def test_rows_begin_with_their_system_prompts_if_all_have_one(kind, read_all, folders):
    read = read_all("axolotl", "axolotl")["answers"][kind.name]
    prompts = [find_prompt(row) for row in read_export_rows(folders[kind.name])]
    config = read_blocks(folders[kind.name])["Axolotl", "yaml"]
    has_own_turns = "field_messages: messages" in config
    assert read["system_turns"] == (sum(map(bool, prompts)) if has_own_turns or all(prompts) else 0)
    is_text_row = kind.format.startswith("sharegpt") and not has_own_turns
    assert ("drop_system_message" in config) == (is_text_row and not all(prompts))


def find_prompt(row):
    """The system prompt of a row; empty where it has none."""
    if "messages" in row:
        return row["messages"][0]["content"] if row["messages"][0]["role"] == "system" else ""
    return row.get("system", "")


def test_some_exports_have_prompts_in_all_rows_in_some_and_in_none(folders):
    """Otherwise the tests above prove nothing."""
    expected = {"sharegpt-words": {True}, "sharegpt-edited": {True, False}, "sharegpt-gate": {False}}
    assert expected == {name: {bool(row["system"]) for row in read_export_rows(folders[name])} for name in expected}


def test_the_line_about_system_messages_is_needed(folders, hand_over, tmp_path):
    """Without it the column `system` becomes a turn of every row in which it is empty."""
    plain = Path(shutil.copytree(folders["sharegpt-no-tools"], tmp_path / "plain"))
    card = (plain / "README.md").read_text()
    (plain / "README.md").write_text(card.replace("drop_system_message: true", "drop_system_message: false"))
    read = hand_over("axolotl", "axolotl", {"plain": str(plain)})["answers"]["plain"]
    assert read["empty_system_turns"] == sum(not row["system"] for row in read_export_rows(plain)) > 0


def test_a_row_that_it_drops_is_noticed(read_all, folders):
    learned = read_all("axolotl", "axolotl")["answers"]["sharegpt-edited"]["learned"]
    with pytest.raises(AssertionError):
        assert_taught(learned[1:], folders["sharegpt-edited"])


def test_what_is_not_marked_is_not_learned(folders, hand_over, tmp_path):
    """The key `train` decides: without its line in the settings every reply is learned."""
    plain = Path(shutil.copytree(folders["sharegpt-context"], tmp_path / "plain"))
    card = (plain / "README.md").read_text()
    (plain / "README.md").write_text(card.replace("    message_field_training: train\n", ""))
    learned = hand_over("axolotl", "axolotl", {"plain": str(plain)})["answers"]["plain"]["learned"]
    with pytest.raises(AssertionError):
        assert_taught(learned, plain)
