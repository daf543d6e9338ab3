"""Heads of refused rows: what they show, and what they never do."""

from __future__ import annotations

import pytest

from ingest.formats.heads import (
    fault_of,
    head_of,
    head_of_cells,
    head_of_line,
    head_of_torn,
    is_hidden,
    named,
    shortened,
)

ILLNESS = "my mother is ill"


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("prompt", True),
        ("promptText", True),
        ("user_message", True),
        ("gen_ai.input.messages", True),
        ("llm.input_messages.0.message.content", True),
        ("Authorization", True),
        ("openai_api_key", True),
        ("request", True),
        ("prompt_tokens", False),
        ("prompt_length", False),
        ("completion_tokens", False),
        ("message_count", False),
        ("request_id", False),
        ("model", False),
        ("e", False),
    ],
)
def test_names_that_may_hold_content_are_told_from_figures(name: str, hidden: bool) -> None:
    assert is_hidden(name) is hidden


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "r-1", "prompt": "%s", "n": 1',
        '{"id": "r-1", "prompt": "%s',
        '{"id": "r-1", "messages": [{"role": "user", "content": "%s"}], "n": 1}}',
        '{"id": "r-1", "messages": [{"role": "user", "content": "%s',
        '{"id": "r-1", "body": {"a": {"b": "%s"}}, "n": 1}}',
        '{"id": "r-1", "attributes": [{"key": "gen_ai.prompt.0.content", "value": {"stringValue": "%s"}}',
        '{"id": "r-1", "attributes": [{"value": 1, "key": "input.value", "value": {"stringValue": "%s',
        '{"id": "r-1", "tags": [{"key": "gen_ai.completion", "type": "string", "value": "%s"}]',
        '{"id": "r-1", "tags": {"gen_ai.prompt": "%s"}',
        '"prompt": "%s", "id": "r-1"',
        '%s", "id": "r-1"}',
        "%s and so on and on, the rest of a line that was cut in the middle of a long prompt of someone",
        '{"id": "r-1", "headers": {"authorization": "%s"}}}',
        '{"id": "r-1", "note": "%s, and this text goes on for so long that it can only be prose of someone"',
    ],
)
def test_content_of_a_broken_line_is_not_shown(line: str) -> None:
    told = head_of_line((line % ILLNESS).encode())
    assert ILLNESS not in told or '"note"' in told
    assert len(told) <= 200
    assert '"r-1"' in told or told == "…" or line.startswith("%s")


def test_what_follows_hidden_content_is_still_shown() -> None:
    data = b'{"id": "r-1", "messages": [{"content": "ill"}], "prompt": "x", "model": "m-1", "output_tokens": "abc"}'
    assert head_of_line(data) == ('{"id": "r-1", "messages": …, "prompt": "…", "model": "m-1", "output_tokens": "abc"}')


def test_values_of_attributes_after_a_hidden_one_are_shown() -> None:
    data = (
        b'[{"key": "input.value", "value": {"stringValue": "ill"}}, {"key": "gen_ai.request.model", "value": '
        b'{"stringValue": "m-1"}}]'
    )
    assert head_of(data) == (
        '[{"key": "input.value", "value": …}, {"key": "gen_ai.request.model", "value": {"stringValue": "m-1"}}]'
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"x": "sk-abcdefgh12345678"}', '{"x": "text of 19 characters"}'),
        (
            '10.1.2.3 - - [21/Mar/2025] "GET /v1?api_key=abcdef HTTP/1.1"',
            '… - - [21/Mar/2025] "GET /v1?api_key=… HTTP/1.1"',
        ),
        ("user jane.doe@example.org failed", "user … failed"),
        ("Bearer abcdef123456 sent", "… sent"),
    ],
)
def test_keys_mails_and_addresses_are_not_shown_wherever_they_stand(text: str, shown: str) -> None:
    assert head_of(text) == shown


def test_cells_of_a_table_are_shown_but_for_content() -> None:
    header = ("id", "prompt", "output_tokens")
    assert head_of_cells(["r-1", ILLNESS, "abc"], header, ",") == "r-1,…,abc"
    assert head_of_torn(f'r-1,"{ILLNESS}', header) == "…"
    assert head_of_torn("r-1,5", ("id", "output_tokens")) == "r-1,5"


def test_a_detail_names_column_value_and_rule_in_few_characters() -> None:
    assert named("output_tokens", "abc", "is no whole number") == 'output_tokens: "abc" is no whole number'
    assert named("prompt", ILLNESS, "is no whole number") == "prompt: … is no whole number"
    assert shortened("x" * 50) == "text of 50 characters"
    assert shortened(-5) == "-5"


def test_a_head_tells_names_and_figures_and_the_shape_of_everything_that_may_be_content() -> None:
    row = (
        '{"trace_id": "0af7651916cd43dd8448eb211c80319c", "model": "meta-llama/Llama-3.1-70B-Instruct", "n": -3, '
        '"note": "I am\\u0020ill", "mark": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}'
    )
    assert head_of(row) == (
        '{"trace_id": "0af7651916cd43dd8448eb211c80319c", "model": "meta-llama/Llama-3.1-70B-Instruct", "n": -3, '
        '"note": "text of 8 characters", "mark": "text of 40 characters"}'
    )


@pytest.mark.parametrize("text", ["{'a': my mother is ill}", '{"a": my mother is ill}', "5,my mother is ill,7"])
def test_prose_without_quotes_is_not_shown_either(text: str) -> None:
    assert "mother" not in head_of(text)
    assert "mother" not in head_of_torn(text, ("id", "output_tokens"))


@pytest.mark.parametrize(
    ("data", "reason", "told"),
    [
        (b'{"a": 1 "b": 2}', "invalid_json", "character 9 of 15: Expecting ',' delimiter"),
        (b'{"a": 1} x', "trailing_text", "the value ends at character 8 of 10"),
        (b"[1]", "not_an_object", "it is a list"),
        (b'{"a": "\xff"}', "invalid_utf8", "byte 8 is 0xff"),
        (b'{"a": "b"}', "negative_tokens", ""),
    ],
)
def test_a_broken_line_tells_where_it_breaks(data: bytes, reason: str, told: str) -> None:
    assert fault_of(data, reason) == told
