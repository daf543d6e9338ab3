"""A page as PDF, printed by a headless Chromium where one is installed.

Input: HTML that stands alone. Output: PDF bytes.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from api.problems import Refused

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LONGEST_S = 120


def print_pdf(page: bytes) -> bytes:
    """The page as PDF.

    Raises:
        Refused: no browser is installed, or it did not print.
    """
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise Refused(
            "PDF needs Chromium, and none is installed here",
            status=501,
            code="no_browser",
            hint="apt-get install chromium, or print the page from a browser: its print form is laid out for A4",
        )
    with tempfile.TemporaryDirectory(prefix="tailwise-pdf-") as folder:
        source, target = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_bytes(page)
        command = [
            browser,
            "--headless=new",
            "--no-sandbox",  # runs as root in containers; the page is our own and loads nothing
            "--disable-gpu",
            "--no-pdf-header-footer",
            "--virtual-time-budget=10000",
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=LONGEST_S, check=False)  # noqa: S603 - fixed words
        except subprocess.TimeoutExpired as error:
            raise _failed(f"Chromium did not print within {LONGEST_S} s") from error
        if not target.is_file():
            raise _failed("Chromium printed nothing")
        return target.read_bytes()


def _failed(says: str) -> Refused:
    return Refused(says, status=503, code="pdf_failed", hint="read the report as page, and print it from a browser")
