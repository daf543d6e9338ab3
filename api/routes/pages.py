"""Pages of the service itself.

Input: the store. Output: HTML drawn by the reports room, with a content policy that lets its own scripts run.
"""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(include_in_schema=False)
