"""Which values of refused rows are shown as they stand, and which by their shape."""

from __future__ import annotations

import time

import pytest

from ingest.formats.visible import is_header, plain_text, quoted, shown_name, unmarked, visible, without_credentials


@pytest.mark.parametrize(
    "value",
    [
        *(
            "abc",
            "12,5",
            "-3",
            "+5",
            "1e99",
            "n/a",
            "NaN",
            "null",
            "true",
            "yesterday",
            "",
            " 5",
            "12 ms",
            "1.2s",
            "µs",
        ),
        *(
            "2026-13-01T00:00:00Z",
            "2026-03-02 10:00:00.123456789+00:00",
            "2026-03-02 10:00:00.123456+00",
            "02/Mar/2026",
        ),
        *(
            "2/Mar/2026:10:00:00 +0000",
            "1750000000000000000",
            "100000000000000",
            "gpt-4o-mini",
            "0.000000001",
            "{1: 2}"[:4],
        ),
    ],
)
def test_figures_times_and_short_words_are_shown(value: str) -> None:
    assert visible(value) == value


@pytest.mark.parametrize(
    "value",
    [
        *("my password is hunter2", "tell me about my cancer diagnosis", "I am\u00a0ill", "I\nam", "a\tb"),
        *("+49 170 1234567", "+491701234567", "01701234567", "555-123-4567", "123-45-6789", "4111-1111-1111-1111"),
        *("DE89370400440532013000", "NO9386011117947", "DE89 3704 0044 0532 0130 00"),
        *("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "gho_abcdefgh", "github_pat_11ABCDEFG", "xoxb-123456-abc"),
        *(
            "sk-abcdefgh",
            "sk-proj-abcdefgh",
            "AKIAIOSFODNN7EXAMPLE",
            "AIzaSyA1234567",
            "eyJhbGciOiJI",
            "glpat-abcdefgh",
        ),
        *("hf_abcdefgh", "a1b2c3d4e5f6a7b8c", "password=hunter2", "jane@example.org", "10.1.2.3", "x" * 25, "1" * 25),
        "我得了癌症怎么办",
    ],
)
def test_prose_keys_and_numbers_of_persons_are_told_by_their_shape(value: str) -> None:
    assert visible(value) == f"text of {len(value)} characters"
    assert quoted(value) == visible(value)
    assert visible(visible(value)) == visible(value)


@pytest.mark.parametrize(
    "value",
    ["0af7651916cd43dd8448eb211c80319c", "550e8400-e29b-41d4-a716-446655440000", "chatcmpl-9aB3dE5fG7hI9jK1lM3n"],
)
@pytest.mark.parametrize("name", ["id", "trace_id", "traceId", "x-request-id"])
def test_ids_are_shown_under_the_name_of_an_id_only(name: str, value: str) -> None:
    assert visible(value, name) == value
    assert visible(value, "output_tokens") != value
    assert visible("ghp_16C7e42F292c6912E7710c838347Ae178B4a", name) == "text of 40 characters"


def test_marked_values_of_a_detail_are_judged_one_by_one() -> None:
    detail = "end: \x1eI am ill\x1d8\x1e lies before \x1e-5\x1d2\x1e and \x1eabc\x1d3\x1e, \x1ezz\x1d900\x1e"
    assert unmarked(detail) == 'end: text of 8 characters lies before -5 and "abc", text of 900 characters'


@pytest.mark.parametrize(
    "line",
    [
        '2026-03-02T10:00:00+00:00 "POST /v1/chat HTTP/1.1" 200 512 0.731',
        "12.5 - [21/Mar/2025:10:00:00 +0000] 200 17",
    ],
)
def test_a_line_of_a_log_is_shown(line: str) -> None:
    assert plain_text(line) == without_credentials(line) == line


def test_names_are_shown_and_values_in_the_place_of_names_are_not() -> None:
    names = ("TIMESTAMP", "Request tokens", "x.team", "Elapsed time", "gen_ai.usage.input_tokens")
    assert [*map(shown_name, names)] == [*names]
    assert is_header(names)
    assert shown_name("my mother is very ill") == "text of 21 characters"
    for value in (
        "sk-live-Qwertz1234567890",
        "ann@example.org",
        "my mother is very ill",
        "200",
        "2026-03-02T10:00:00Z",
    ):
        assert not is_header(("model", value))


@pytest.mark.parametrize(
    "name",
    [
        *("https://user:SECRETpw@host/x", "postgres://SECRETpw@db:5432/x", "//user:SECRETpw@host"),
        *("api_key_sk-proj-ABCDEFGH12345678SECRET", "api_key_sk_live_ABCDEFGH12345678", "key_AKIAIOSFODNN7EXAMPLE"),
        *("auth_ghp_16C7e42F292c6912E7710c838347Ae178B4a", "token_eyJhbGciOiJIUzI1NiJ9.e30.SECRET"),
    ],
)
def test_a_key_within_a_name_or_address_hides_the_name(name: str) -> None:
    assert shown_name(name) == f"text of {len(name)} characters"
    assert "SECRET" not in without_credentials(name)


@pytest.mark.parametrize(
    "name",
    ["http.request.header.x-team", "user_pk_region", "cache_hf_model_name", "x_npm_version", "https://host:8080/x@2"],
)
def test_words_of_names_that_only_begin_like_a_key_are_shown(name: str) -> None:
    assert shown_name(name) == name


def steps_ns(text: str) -> int:
    """CPU time of one search, the least of three."""
    found = []
    for _ in range(3):
        began = time.process_time_ns()
        without_credentials(text)
        found.append(time.process_time_ns() - began)
    return min(found)


@pytest.mark.parametrize("piece", ["a", "a.", "a@", ".", "+1 ", "//a", "x@a."])
def test_long_texts_are_searched_in_time_that_grows_with_their_length(piece: str) -> None:
    """Eight times the text takes eight times the steps; it took 64 times where each start looked to the end."""
    short, long = piece * (16_000 // len(piece)), piece * (128_000 // len(piece))
    assert steps_ns(long) < 24 * steps_ns(short) + 20_000_000


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("mail ann@example.com, please", "mail …, please"),
        (f"{'a' * 200}@example.com", "…"),
        ("a@b@example.com", "a@…"),
        ("AIzaSyD4567890+ann@example.com", "…"),
        ("ann@example", "ann@example"),
    ],
)
def test_a_mail_address_is_hidden_whole(text: str, left: str) -> None:
    assert without_credentials(text).replace("……", "…") == left
