"""Errors of the analysis; the tree stands under ServiceError (ingest/errors.py).

ConfigError
  ObjectivesError        objectives.yaml or an OpenSLO document breaks a rule
  TooManyRows            a table is longer than the form that was asked for can hold
"""

from __future__ import annotations

from ingest.errors import ConfigError


class ObjectivesError(ConfigError):
    code = "objectives"


class TooManyRows(ConfigError):
    code = "too_many_rows"
