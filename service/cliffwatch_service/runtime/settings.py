"""The service's settings: the environment first, then the file that CLIFFWATCH_SETTINGS names, then what is written here."""

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from cliffwatch.formats.reading import message_in_words
from cliffwatch.trees.addresses import read_address, without_credentials
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.destinations import is_mail, mail_addresses, repositories, webhook_addresses

FILE_VARIABLE = "CLIFFWATCH_SETTINGS"
PREFIX = "CLIFFWATCH_"

_WORKFLOW = re.compile(
    r"[\w.-]+/[\w.-]+/\.github/workflows/[\w.-]+\.ya?ml@(?:refs/[\w./-]+|[0-9a-f]{40})", re.ASCII
)

OTHER_PARTS = frozenset(
    {FILE_VARIABLE, "CLIFFWATCH_TOKEN", "CLIFFWATCH_TOKEN_FILE", "CLIFFWATCH_URL", "CLIFFWATCH_CACHE"}
)
"""Variables of this prefix that belong to the worker and its commands."""


def default_data_dir() -> Path:
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home and Path(home).is_absolute() else Path.home() / ".local/share") / "cliffwatch"


def _words(given: Any) -> Any:
    return tuple(given.replace(",", " ").split()) if isinstance(given, str) else given


def _remote_address(given: str) -> str:
    """An address that secrets may be sent to: https, or this machine itself."""
    parts = urlsplit(given)
    loopback = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
        raise ValueError("must be https://…, or http:// on this machine")
    if parts.hostname is None or parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must be an address without a name, a password, a query or a fragment")
    return given.rstrip("/")


def _page_address(given: str) -> str:
    parts = urlsplit(given)
    if parts.scheme not in ("https", "http") or parts.hostname is None or parts.username or parts.query:
        raise ValueError("must be an address such as https://cliffwatch.example.org")
    return given.rstrip("/")


def _tree_prefixes(given: tuple[str, ...]) -> tuple[str, ...]:
    for prefix in given:
        wrong = read_address(prefix)
        if isinstance(wrong, str):
            raise ValueError(f"{without_credentials(prefix)!r}: {wrong}")  # noqa: TRY004 - it is of the right type
    return given


def _workflows(given: tuple[str, ...]) -> tuple[str, ...]:
    for each in given:
        if not _WORKFLOW.fullmatch(each):
            raise ValueError(
                f"{each[:200]!r} is no OWNER/NAME/.github/workflows/FILE.yml@REF, REF being refs/… or a whole commit"
            )
    return given


def _sender(given: str | None) -> str | None:
    if given is not None and not is_mail(given):
        raise ValueError("must be a mail address")
    return given


class Settings(BaseSettings):
    """Every setting has the name of its environment variable, lower case and without CLIFFWATCH_."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    database_url: Annotated[str | None, Field(validation_alias="DATABASE_URL")] = None
    """Any PostgreSQL from 15 on; None starts the embedded one."""
    data_dir: Annotated[Path, Field(default_factory=default_data_dir)]
    public_reading: bool = True
    """Whether reading needs no token."""
    session_key: Annotated[SecretStr | None, Field(min_length=32)] = None
    """What cookies of signed-in browsers are signed with; None makes one and keeps it in the data directory."""
    session_hours: Annotated[int, Field(ge=1, le=24 * 90)] = 24 * 14
    """After which somebody signs in again."""
    largest_body_bytes: Annotated[int, Field(ge=1 << 16, le=1 << 32)] = 64 << 20
    """Of an archive of raw outputs, unpacked."""
    largest_document_bytes: Annotated[int, Field(ge=1 << 16, le=1 << 28)] = 6 << 20
    """Of run.json, a boot or an imported file, unpacked: working on one takes about ten times its size of memory."""
    runs_per_day: Annotated[int, Field(ge=1)] = 2000
    """That may be begun with one token on a day (UTC)."""
    upload_bytes_per_day: Annotated[int, Field(ge=1 << 20)] = 50 << 30
    """Of bodies, unpacked, that are stored under one token on a day (UTC)."""
    requests_per_minute: Annotated[int, Field(ge=1)] = 6000
    """Of one token, or of one address without a token."""
    http_connections: Annotated[int, Field(ge=10, le=100_000)] = 500
    """From clients and proxies, all together."""
    http_connections_per_address: Annotated[int, Field(ge=1)] = 64
    """Of one address that is no trusted proxy; of IPv6, of one network of 64 bits."""
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are believed, separated by commas."""
    connections: Annotated[int, Field(ge=2, le=200)] = 8
    statement_seconds: Annotated[float, Field(gt=0, le=600)] = 10.0
    lease_seconds: Annotated[int, Field(ge=10, le=3600)] = 90
    keep_raw_days: Annotated[int | None, Field(ge=1)] = None
    """Days after which raw outputs may go; None keeps them for ever. Samples are always kept."""
    poll_seconds: Annotated[int, Field(ge=10)] = 300
    """Between two looks at a followed branch."""
    trees: Annotated[tuple[str, ...], NoDecode, AfterValidator(_tree_prefixes), BeforeValidator(_words)] = ()
    """Addresses of trees, with blanks or commas between them: what lies at or below one may be asked for wherever it is."""

    pages_url: Annotated[str, AfterValidator(_page_address)] = "http://127.0.0.1:8000"
    """Where people find the pages: links in comments lead there."""
    github_api: Annotated[str, AfterValidator(_remote_address)] = "https://api.github.com"
    """The one address that the service's requests to GitHub go to; what a webhook names is never asked."""
    github_web: Annotated[str, AfterValidator(_remote_address)] = "https://github.com"
    """Where repositories lie, and the page on which an App is made."""
    github_actions_issuer: Annotated[str, AfterValidator(_remote_address)] = (
        "https://token.actions.githubusercontent.com"
    )
    """Who signs the identities of jobs of GitHub Actions; its keys are fetched below this address."""
    github_actions_audience: Annotated[str | None, Field(min_length=1, max_length=500)] = None
    """Whom identities of jobs must be for; None is `pages_url`."""
    github_publish_workflows: Annotated[
        tuple[str, ...], NoDecode, AfterValidator(_workflows), BeforeValidator(_words)
    ] = ()
    """The workflows whose jobs get a token for their identity, as OWNER/NAME/.github/workflows/FILE@REF; none gives no tokens."""
    github_repositories: Annotated[tuple[PositiveInt, ...], NoDecode, BeforeValidator(_words)] = ()
    """Repositories, by GitHub's numbers, whose jobs get tokens though the App is not installed on them."""
    mail_server: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$")] = None
    """HOST[:PORT] of the SMTP server that takes mails; None sends none."""
    mail_from: Annotated[str | None, AfterValidator(_sender)] = None
    """Who they are from."""
    mail_security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection is encrypted; `none` is for a server on this machine or in its network."""
    mail_user: Annotated[str | None, Field(max_length=200)] = None
    mail_password: SecretStr | None = None
    """With which the service signs in there, where it has to."""
    news_mail: Annotated[
        tuple[str, ...], NoDecode, AfterValidator(mail_addresses), BeforeValidator(_words)
    ] = ()
    """Mail addresses that may get news, @DOMAIN for all of one; none get none."""
    news_webhooks: Annotated[
        tuple[str, ...], NoDecode, AfterValidator(webhook_addresses), BeforeValidator(_words)
    ] = ()
    """Addresses at or below which webhooks may get news."""
    news_repositories: Annotated[
        tuple[str, ...], NoDecode, AfterValidator(repositories), BeforeValidator(_words)
    ] = ()
    """Repositories, as OWNER/NAME, in which the App may open issues."""
    news_per_day: Annotated[int, Field(ge=1, le=10_000)] = 50
    """For one subscription within 24 hours; what is more waits."""
    github_secrets: Path | None = None
    """The folder of the App's key and webhook secrets; None is `github` in the data directory."""

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _networks(cls, given: Any) -> Any:
        names = given.split(",") if isinstance(given, str) else given
        return tuple(
            str(ipaddress.ip_network(str(name).strip(), strict=False)) for name in names if str(name).strip()
        )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        named = os.environ.get(FILE_VARIABLE)
        file = (TomlConfigSettingsSource(settings_cls, toml_file=named),) if named else ()
        return (init_settings, env_settings, *file)


def read_settings(**given: Any) -> Settings:
    """The settings, those that are `given` and not None first. Raises Refusal, which names what is wrong and what is allowed."""
    named = os.environ.get(FILE_VARIABLE)
    if named and not Path(named).is_file():
        raise _invalid(f"{FILE_VARIABLE} names {named}, which is no file")
    unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in _names())
    if unknown:
        raise _invalid(f"unknown setting {unknown[0]}; known are {', '.join(sorted(_names() - OTHER_PARTS))}")
    try:
        return Settings(**{_alias(name): value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        given_as = without_credentials(repr(first.get("input")))
        raise _invalid(f"setting {where}: {message_in_words(first['msg'])} (it is {given_as})") from None
    except ValueError as error:
        raise _invalid(f"{named}: {error}") from None


def _alias(name: str) -> str:
    return "DATABASE_URL" if name == "database_url" else name


def _names() -> frozenset[str]:
    own = {PREFIX + name.upper() for name in Settings.model_fields if name != "database_url"}
    return frozenset(own) | OTHER_PARTS


def _invalid(detail: str) -> Refusal:
    return Refusal(422, "invalid setting", detail)
