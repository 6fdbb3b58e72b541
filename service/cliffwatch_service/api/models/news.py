"""Response models: subscriptions to news, and planted steps."""

from datetime import datetime

from cliffwatch_service.api.models.lists import Answer


class Subscription(Answer):
    """A subscription to news.

    - `muted_until`: null if it is not muted.
    - `delivered`, `waiting`, `given_up`: numbers of its deliveries.
    - `reason`: why the last failed delivery failed; null if none failed.
    """

    subscription: int
    owner: str
    channel: str
    address: str
    authors: list[str]
    subsystems: list[str]
    suites: list[str]
    muted_until: datetime | None
    created: datetime
    delivered: int
    waiting: int
    given_up: int
    reason: str | None


class SubscriptionMade(Answer):
    """A new subscription. `secret` signs a webhook's payloads, shown only once; null for other channels."""

    subscription: int
    secret: str | None


class SubscriptionEnded(Answer):
    subscription: int
    ended: bool


class PlantedStep(Answer):
    commit: str
    planted: datetime
