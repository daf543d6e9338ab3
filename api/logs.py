"""The service's log: one line per event on standard error, without values of a request.

Input: events of structlog. Output: logfmt lines, exceptions as text beneath.
"""

from __future__ import annotations

import logging
import sys

import structlog


def configure_logs() -> None:
    """Log to standard error; the renderer of a terminal would print local variables, and so data of users."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")  # of libraries
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=("timestamp", "level", "event"), bool_as_flag=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
