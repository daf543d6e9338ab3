"""Records of the service's pages written by hand: a home with every state of an upload, a slow request."""

from __future__ import annotations

from reports.view.service import CallItem, HomeView, JudgedBy, ReportItem, RequestView, SpanItem, UploadItem
from tests.support.results import week

HOSTILE_FILE = "traces<script>alert(1)</script>.jsonl"


def home() -> HomeView:
    return HomeView(
        uploads=[
            UploadItem("u4", "traces-wed.jsonl.gz", None, "waiting", None, None, None, None, "2026-03-09T00:15:00Z", 47_900_000),
            UploadItem("u3", HOSTILE_FILE, "otlp_json", "done", 11_023, 10_973, 38, 12, "2026-03-09T00:13:00Z", reasons={"end_before_start": 8, "torn_line": 4}),
            UploadItem("u2", "traces-fri.jsonl.gz", "otlp_json", "done", 102_554, 102_554, 0, 0, "2026-03-09T00:12:00Z"),
            UploadItem("u1", "notes.docx", None, "failed", 0, 0, 0, 0, "2026-03-09T00:11:00Z", message="no format recognizes the bytes"),
        ],
        reports=[ReportItem("r-2", "Week 10, 2026", "2026-03-09T06:00:00Z", 1, "breached", 4, 10, 3.686, "4078.789412365", "B"),
                 ReportItem("r-1", "Week 9, 2026", "2026-03-02T06:00:00Z", 1, "met", 0, 10, 3.69, "4041.2", "B")],
        latest=week(),
        latest_report="r-2",
        simulated=True,
        extra_links=[("API", "/docs")],
    )  # fmt: skip


def request() -> RequestView:
    """A request with its inside known, and one span that failed."""
    spans = [
        SpanItem(
            "a", None, "POST /v1/chat/completions", "gateway", 0, 0.0, 27.853, None, attributes={"http.status": "200"}
        ),
        SpanItem("b", "a", "network.ingress", "gateway", 1, 0.0, 0.021, "network"),
        SpanItem("c", "a", "retrieval <b>search</b>", "search", 1, 0.03, 0.4, "retrieval", error="timeout"),
        SpanItem("d", "a", "llm_request", "engine", 1, 0.45, 27.3, None),
        SpanItem("e", "d", "queue", "engine", 2, 0.45, 6.05, "queue"),
        SpanItem("f", "d", "prefill", "engine", 2, 6.5, 1.6, "prefill"),
        SpanItem("g", "d", "decode", "engine", 2, 8.1, 19.65, "decode"),
    ]
    return RequestView(
        id="094923dbaf73094923dbaf7300000001",
        trace_id="094923dbaf73094923dbaf7300000001",
        started="2026-03-07T14:28:03.601Z",
        timezone="UTC",
        status_class="ok",
        http_status=200,
        error_type=None,
        dimensions={
            "scenario": "rag",
            "tenant": "<i>tenant-15</i>",
            "user": "user-0096",
            "model": "lm-large",
            "replica": "lm-large-us-east-2",
        },
        streaming=False,
        vantage="gateway",
        attempts=1,
        ttft=8.1,
        tpot=0.0689,
        e2e=27.853,
        input_tokens=7_244,
        cached_input_tokens=800,
        output_tokens=287,
        cost_usd="0.0067505",
        stages={
            "gateway": 0.005,
            "network": 0.043,
            "retrieval": 0.4,
            "queue": 6.05,
            "prefill": 1.6,
            "decode": 19.65,
            "tool": None,
            "unattributed": 0.105,
        },
        calls=[CallItem("lm-large", "lm-large-us-east-2", 0.45, 27.3, 6.05, 1.6, 19.65, 7_244, 287)],
        spans=spans,
        judged=[
            JudgedBy("rag.ttft", "bad", "ttft", 8.1, 3.7, "s"),
            JudgedBy("rag.tpot", "good", "tpot", 0.0689, 0.07, "s"),
        ],
        flags=["clock_skew"],
        attributes={"x.flavor": "vanilla"},
        upload="u3",
        simulated=True,
        orphans=3,
    )
