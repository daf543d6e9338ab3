"""Entries of the knowledge base in words."""

from __future__ import annotations

from analysis.rules.explain import explain, says
from analysis.rules.rule import Comparison


def test_an_entry_is_explained_with_its_evidence_and_its_settings() -> None:
    text = explain("kb-02")
    assert text is not None
    assert text.splitlines()[0] == "KB-02  Raise the concurrency limit"
    assert "the likely cause is seats low" in text
    assert "raise --max-num-seqs" in text
    assert "Needs       batch_size, queue_ns" in text


def test_the_evidence_of_an_entry_is_a_sentence_and_its_settings_stand_in_one_column() -> None:
    lines = (explain("kb-09") or "").splitlines()
    assert next(line for line in lines if line.startswith("Evidence")) == (
        "Evidence    the likely cause is cache lost or (no cause is likely and the stage is one of prefill, queue "
        "and the cached share of the input < 10 % and the share of prefill in the time ≥ 30 %)"
    )
    assert [line[:13] for line in lines if line[:4] in ("vLLM", "SGLa", "Tens")] == [
        "vLLM        -",
        "SGLang      d",
        "TensorRT    e",
    ]


def test_a_recommendation_is_explained_by_the_entries_behind_it() -> None:
    text = explain("raise_batch_limit")
    assert text is not None
    assert "KB-02  Raise the concurrency limit" in text


def test_an_unknown_id_is_explained_by_nothing() -> None:
    assert explain("KB-99") is None


def test_a_part_of_the_segment_is_told_by_its_dimension_and_its_own_name() -> None:
    assert (
        says(Comparison("segment.region", "in", ("us_east", "eu"))) == "the region of the segment is one of us_east, eu"
    )
