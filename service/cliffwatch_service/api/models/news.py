"""News of regression reports and subscriptions to them, as the API answers them."""

from datetime import datetime

from pydantic import BaseModel


class Subscription(BaseModel):
    """`delivered`, `waiting` and `given_up` count its deliveries; `reason` is why the last one that failed did."""

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


class SubscriptionMade(BaseModel):
    """`secret` signs the bodies of a webhook: it is shown this once."""

    subscription: int
    secret: str | None


class SubscriptionEnded(BaseModel):
    subscription: int
    ended: bool


class PlantedStep(BaseModel):
    commit: str
    planted: datetime
