"""JSON whose form nobody fixed: what is kept and shown as it came, and never relied on."""

from typing import Any

JsonObject = dict[str, Any]
"""An object of it: what a host says of itself, what an event or the audit tells, an environment, a background task's arguments."""
