"""Bucket labels and policy choices."""

from __future__ import annotations

from dataclasses import asdict

from analysis.settings import POLICY_CHOICES, Buckets, Policy, bucket_labels, length_text


def test_labels_of_the_default_buckets_are_those_of_the_design() -> None:
    buckets = Buckets()
    assert bucket_labels(buckets.input) == ("<512", "512-2k", "2k-8k", "8k-32k", ">=32k")
    assert bucket_labels(buckets.output) == ("<64", "64-256", "256-1k", "1k-4k", ">=4k")


def test_a_length_that_is_no_multiple_of_1024_is_written_out() -> None:
    assert [length_text(n) for n in (64, 1024, 2000, 4096)] == ["64", "1k", "2000", "4k"]


def test_the_default_of_every_policy_is_its_first_choice() -> None:
    assert asdict(Policy()) == {name: choices[0] for name, choices in POLICY_CHOICES.items()}
