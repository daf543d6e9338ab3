"""Errors of the analysis; the tree stands under ServiceError (ingest/errors.py).

ConfigError
  ObjectivesError        objectives.yaml or an OpenSLO document breaks a rule
"""

from __future__ import annotations

from ingest.errors import ConfigError


class ObjectivesError(ConfigError):
    code = "objectives"
