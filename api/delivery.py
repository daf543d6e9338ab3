"""Telling others of a report: a summary to a web address, the report itself by mail.

Input: a stored report and addresses. Output: sent messages; what could not be sent, in words.
"""

from __future__ import annotations

import smtplib
from collections.abc import Sequence
from email.message import EmailMessage
from typing import Any

import httpx2

from analysis.result import AnalysisResult
from api.latest import has_requests
from api.settings import Settings
from api.words import head_lines, verdict_lines
from reports.render import render

TIMEOUT_S = 30.0


def deliver(result: AnalysisResult, report_id: str, addresses: Sequence[str], settings: Settings) -> list[str]:
    """One sentence per address that was not reached."""
    failures = []
    for address in addresses:
        try:
            if address.startswith("mailto:"):
                _mail(result, report_id, address.removeprefix("mailto:"), settings)
            else:
                httpx2.post(address, json=summary_of(result, report_id), timeout=TIMEOUT_S).raise_for_status()
        except (httpx2.HTTPError, smtplib.SMTPException, OSError, ValueError) as error:
            failures.append(f"{address} was not reached: {error}")
    return failures


def summary_of(result: AnalysisResult, report_id: str) -> dict[str, Any]:
    """What a web address is sent: `text` is what chat systems show."""
    breached = [row.id for row in result.objectives if row.verdict == "breached"]
    return {
        "report": report_id,
        "title": result.selection.title,
        "requests": result.summary.requests,
        "breached": breached,
        "findings": list(dict.fromkeys(finding.title for finding in result.findings)),
        "cost_usd": result.summary.cost_usd,
        "text": "\n".join([*head_lines(result), "", *verdict_lines(result)]),
    }


def _mail(result: AnalysisResult, report_id: str, address: str, settings: Settings) -> None:
    if settings.smtp is None:
        raise ValueError("no mail server is set; give smtp: HOST:PORT in the settings")
    host, _, port = settings.smtp.partition(":")
    message = EmailMessage()
    message["Subject"] = f"{result.selection.title}: {subject_of(result)}"
    message["From"] = settings.mail_from
    message["To"] = address
    message.set_content("\n".join([*head_lines(result), "", *verdict_lines(result)]) + "\n")
    message.add_attachment(render(result, "html"), "text", "html", filename=f"{report_id}.html")
    with smtplib.SMTP(host, int(port or 25), timeout=TIMEOUT_S) as server:
        server.send_message(message)


def subject_of(result: AnalysisResult) -> str:
    """What a mail says of a result in its subject, after the title."""
    if not has_requests(result):
        return "no requests"
    if not result.summary.requests:
        return "rows dropped by retention"
    breached = sum(row.verdict == "breached" for row in result.objectives)
    return f"{breached} of {len(result.objectives)} objectives breached"
