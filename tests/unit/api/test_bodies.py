"""Bodies: every encoding of the contract, and the caps."""

from __future__ import annotations

import gzip
import random
import sys
import time
import zlib

import pytest

from api.bodies import Held, Share, unpack
from api.problems import Refused

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY = b"hello" * 1000


def share() -> Share:
    return Share(Held(1 << 40))


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("", BODY),
        ("identity", BODY),
        ("GZIP", gzip.compress(BODY)),
        ("deflate", zlib.compress(BODY)),
        ("zstd", zstd.compress(BODY)),
        ("gzip", b"".join(gzip.compress(BODY[n : n + 5]) for n in range(0, 5000, 5))),
        ("zstd", b"".join(zstd.compress(BODY[n : n + 5]) for n in range(0, 5000, 5))),
        ("gzip", gzip.compress(BODY[:7]) + gzip.compress(BODY[7:])),
        ("zstd", zstd.compress(BODY[:7]) + zstd.compress(BODY[7:])),
    ],
    ids=["none", "identity", "gzip", "deflate", "zstd", "gzip of 1000", "zstd of 1000", "gzip of two", "zstd of two"],
)
def test_every_encoding_gives_the_body_back(encoding: str, packed: bytes) -> None:
    assert unpack(packed, encoding, 5000, share()) == BODY


@pytest.mark.parametrize(
    ("encoding", "bomb"),
    [
        ("gzip", gzip.compress(bytes(50_000_000))),
        ("deflate", zlib.compress(bytes(50_000_000))),
        ("zstd", zstd.compress(bytes(50_000_000))),
    ],
    ids=["gzip", "deflate", "zstd"],
)
def test_a_body_that_unpacks_beyond_the_limit_is_refused(encoding: str, bomb: bytes) -> None:
    with pytest.raises(Refused) as caught:
        unpack(bomb, encoding, 1_000_000, share())
    assert (caught.value.status, caught.value.code) == (413, "too_large")


@pytest.mark.parametrize(
    ("encoding", "packed", "status", "code"),
    [
        ("br", b"x", 415, "unknown_encoding"),
        ("gzip", b"no gzip", 400, "damaged_body"),
        ("gzip", gzip.compress(BODY)[:-4], 400, "damaged_body"),
        ("zstd", zstd.compress(BODY)[:-4], 400, "damaged_body"),
        ("zstd", zstd.compress(BODY) + b"junk", 400, "damaged_body"),
    ],
    ids=["unknown", "no gzip", "torn gzip", "torn zstd", "zstd and more"],
)
def test_what_is_no_such_body_is_refused(encoding: str, packed: bytes, status: int, code: str) -> None:
    with pytest.raises(Refused) as caught:
        unpack(packed, encoding, 1_000_000, share())
    assert (caught.value.status, caught.value.code) == (status, code)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_body_of_several_blocks_and_parts_is_whole(encoding: str) -> None:
    noise = random.Random(7).randbytes(300_000) + bytes(5_000_000)
    packed = {"gzip": gzip.compress(noise), "deflate": zlib.compress(noise), "zstd": zstd.compress(noise)}
    assert unpack(packed[encoding], encoding, 6_000_000, share()) == noise


@pytest.mark.parametrize(
    ("encoding", "member"), [("gzip", gzip.compress(b"")), ("zstd", zstd.compress(b""))], ids=["gzip", "zstd"]
)
def test_a_body_of_many_members_is_refused_without_copying_the_rest_for_each(encoding: str, member: bytes) -> None:
    body = member * 1_000_000
    began = time.process_time()
    with pytest.raises(Refused) as caught:
        unpack(body, encoding, 1_000_000, share())
    assert (caught.value.status, caught.value.code) == (400, "too_many_members")
    assert time.process_time() - began < 5  # copying the rest at each of 10,000 members would be 100 GB


def test_bodies_under_way_share_an_allowance() -> None:
    held = Held(12_000)
    with held.share() as one, held.share() as other:
        assert unpack(gzip.compress(BODY), "gzip", 10_000, one) == BODY
        other.add(6_000)
        with pytest.raises(Refused) as refused:
            unpack(gzip.compress(BODY), "gzip", 10_000, other)
    assert (refused.value.status, refused.value.retry_after, refused.value.code) == (503, 2, "too_many_bodies")
    assert refused.value.message == "bodies under way hold 11000 bytes of memory, the limit is 12000"
    with pytest.raises(Refused):
        one.add(1)  # a thread that unpacks on after its client has gone
    with held.share() as another:
        another.add(12_000)
