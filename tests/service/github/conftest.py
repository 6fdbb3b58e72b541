"""A service with an App, installed on a repository of a GitHub that is a stand-in."""

from app_world import clock, hub, pull, settings, world

__all__ = ["clock", "hub", "pull", "settings", "world"]
