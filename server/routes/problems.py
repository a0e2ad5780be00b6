"""What is wrong in a run: the first NaNs and infinities, lost snapshots, damaged files."""

from __future__ import annotations

from flask import Blueprint, Response

from tensortap.analysis.overview import problems

from ..log_reader import current_run
from ..response_cache import cached
from ..responses.parameters import Parameters
from ..responses.responses import json_response

blueprint = Blueprint("problems", __name__)


@blueprint.get("/api/runs/<run>/problems")
@cached
def list_problems(run: str) -> Response:
    """GET api/runs/<run>/problems"""
    Parameters().done()
    return json_response(problems(current_run(run)))
