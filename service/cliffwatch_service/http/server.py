"""Uvicorn's configuration, shared by everything that serves the application."""

import logging
from typing import Any

import uvicorn

from cliffwatch_service.http.connections import Connections, make_protocol
from cliffwatch_service.runtime.settings import Settings

_KEEP_ALIVE_SECONDS = 15
"""Idle time after which a connection is closed."""


def server_config(app: Any, settings: Settings, **more: Any) -> uvicorn.Config:
    """Configures uvicorn with our limits. Only the trusted proxies' X-Forwarded-For and -Proto count."""
    proxies = settings.trusted_proxies
    guard = Connections(
        whole=settings.http_connections, each=settings.http_connections_per_address, proxies=proxies
    )
    return uvicorn.Config(
        app,
        http=make_protocol(guard),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=10,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        server_header=False,
        **more,
    )
