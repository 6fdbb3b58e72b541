"""The service's settings.

The environment overrides the file that CLIFFWATCH_SETTINGS names, and the file the defaults.
"""

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
    ValidationInfo,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from cliffwatch.failure import Failure
from cliffwatch.trees.addresses import read_address, without_credentials
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.destinations import is_mail, mail_addresses, repositories, webhook_addresses
from cliffwatch_service.runtime.setting_errors import PREFIX, describe_error

FILE_VARIABLE = "CLIFFWATCH_SETTINGS"

_WORKFLOW = re.compile(
    r"[\w.-]+/[\w.-]+/\.github/workflows/[\w.-]+\.ya?ml@(?:refs/[\w./-]+|[0-9a-f]{40})", re.ASCII
)

OTHER_PARTS = frozenset(
    {FILE_VARIABLE, "CLIFFWATCH_TOKEN", "CLIFFWATCH_TOKEN_FILE", "CLIFFWATCH_URL", "CLIFFWATCH_CACHE"}
)
"""Variables with this prefix that belong to the worker and the commands."""


def default_data_dir() -> Path:
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home and Path(home).is_absolute() else Path.home() / ".local/share") / "cliffwatch"


def _words(given: Any) -> Any:
    return tuple(given.replace(",", " ").split()) if isinstance(given, str) else given


def _remote_address(given: str) -> str:
    """Checks an address that secrets are sent to: https, or http on this machine. Raises ValueError."""
    parts = urlsplit(given)
    loopback = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
        raise ValueError("it must be https://…, or http:// on this machine")
    if parts.hostname is None or parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("it must be an address without a user, a password, a query or a fragment")
    return given.rstrip("/")


def _network(given: str) -> str:
    try:
        return str(ipaddress.ip_network(given, strict=False))
    except ValueError:
        raise ValueError(f"{given!r} is neither an address nor a network such as 10.0.0.0/8") from None


def _page_address(given: str) -> str:
    parts = urlsplit(given)
    if parts.scheme not in ("https", "http") or parts.hostname is None or parts.username or parts.query:
        raise ValueError("it must be an address such as https://cliffwatch.example.org")
    return given.rstrip("/")


def _tree_prefixes(given: tuple[str, ...]) -> tuple[str, ...]:
    for prefix in given:
        wrong = read_address(prefix)
        if isinstance(wrong, Failure):
            raise ValueError(f"{without_credentials(prefix)!r}: {wrong}")  # noqa: TRY004 - the type is right
    return given


def _workflows(given: tuple[str, ...]) -> tuple[str, ...]:
    for each in given:
        if not _WORKFLOW.fullmatch(each):
            raise ValueError(
                f"{each[:200]!r} is not OWNER/NAME/.github/workflows/FILE.yml@REF, where REF is refs/… or a"
                " full commit"
            )
    return given


def _sender(given: str | None) -> str | None:
    if given is not None and not is_mail(given):
        raise ValueError("it must be a mail address")
    return given


class Settings(BaseSettings):
    """The settings. Each has the name of its environment variable, in lower case and without CLIFFWATCH_."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    database_url: Annotated[str | None, Field(validation_alias="DATABASE_URL")] = None
    """PostgreSQL 15 or newer; None starts the embedded one."""
    data_dir: Annotated[Path, Field(default_factory=default_data_dir)]
    public_reading: bool = True
    """Whether reading needs no token."""
    session_key: Annotated[SecretStr | None, Field(min_length=32)] = None
    """Key that signs cookies of signed-in browsers; None makes one and keeps it in the data directory."""
    session_hours: Annotated[int, Field(ge=1, le=24 * 90)] = 24 * 14
    """Length of a browser session; after it the user signs in again."""
    largest_body_bytes: Annotated[int, Field(ge=1 << 16, le=1 << 32)] = 64 << 20
    """Largest archive of raw outputs, unpacked."""
    largest_document_bytes: Annotated[int, Field(ge=1 << 16, le=1 << 28)] = 6 << 20
    """Largest run.json, boot or imported file, unpacked. Processing takes about ten times as much memory."""
    runs_per_day: Annotated[int, Field(ge=1)] = 2000
    """Runs that one token may start in a day (UTC)."""
    upload_bytes_per_day: Annotated[int, Field(ge=1 << 20)] = 50 << 30
    """Bytes of unpacked bodies that one token may store in a day (UTC)."""
    requests_per_minute: Annotated[int, Field(ge=1)] = 6000
    """Requests of one token, or of one address without a token."""
    http_connections: Annotated[int, Field(ge=10, le=100_000)] = 500
    """Connections from all clients and proxies together."""
    http_connections_per_address: Annotated[int, Field(ge=1)] = 64
    """Connections of one address, or of one IPv6 /64 network, unless it is a trusted proxy."""
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are trusted, separated by commas."""
    connections: Annotated[int, Field(ge=2, le=200)] = 8
    """Most connections to the database."""
    statement_seconds: Annotated[float, Field(gt=0, le=600)] = 10.0
    """Time limit of a database statement."""
    lease_seconds: Annotated[int, Field(ge=10, le=3600)] = 90
    """How long a lease lasts without a heartbeat."""
    keep_raw_days: Annotated[int | None, Field(ge=1)] = None
    """Days after which raw outputs may be deleted; None keeps them for ever. Samples are always kept."""
    poll_seconds: Annotated[int, Field(ge=10)] = 300
    """Time between two looks at a followed branch."""
    trees: Annotated[tuple[str, ...], NoDecode, AfterValidator(_tree_prefixes), BeforeValidator(_words)] = ()
    """Addresses separated by blanks or commas. Trees at or below one may be requested even if not public."""

    pages_url: Annotated[str, AfterValidator(_page_address)] = "http://127.0.0.1:8000"
    """Public address of the pages; links in comments point there."""
    github_api: Annotated[str, AfterValidator(_remote_address)] = "https://api.github.com"
    """The only address that the service calls at GitHub. Addresses in webhooks are never called."""
    github_web: Annotated[str, AfterValidator(_remote_address)] = "https://github.com"
    """Base address of repositories and of the page that creates an App."""
    github_actions_issuer: Annotated[str, AfterValidator(_remote_address)] = (
        "https://token.actions.githubusercontent.com"
    )
    """Issuer of the OIDC identities of GitHub Actions jobs; its keys are fetched below this address."""
    github_actions_audience: Annotated[str | None, Field(min_length=1, max_length=500)] = None
    """Audience that the identities of jobs must name; None is `pages_url`."""
    github_publish_workflows: Annotated[
        tuple[str, ...], NoDecode, AfterValidator(_workflows), BeforeValidator(_words)
    ] = ()
    """Workflows whose jobs get a token for their identity, as OWNER/NAME/.github/workflows/FILE@REF."""
    github_repositories: Annotated[tuple[PositiveInt, ...], NoDecode, BeforeValidator(_words)] = ()
    """GitHub's numbers of repositories whose jobs get tokens although the App is not installed on them."""
    github_client_id: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")] = None
    """Client ID of the GitHub App for signing people in; None offers no sign-in with GitHub."""
    github_client_secret: Annotated[SecretStr | None, Field(validate_default=True)] = None
    github_triagers: Annotated[tuple[PositiveInt, ...], NoDecode, BeforeValidator(_words)] = ()
    """GitHub's numbers of accounts that may sign in for triage."""
    mail_server: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$")] = None
    """HOST[:PORT] of the SMTP server; None sends no mail."""
    mail_from: Annotated[str | None, AfterValidator(_sender)] = None
    """Sender address."""
    mail_security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection is encrypted; `none` is for a server on this machine or its network."""
    mail_user: Annotated[str | None, Field(max_length=200)] = None
    """User name at the SMTP server; None if it needs no login."""
    mail_password: SecretStr | None = None
    news_mail: Annotated[
        tuple[str, ...], NoDecode, AfterValidator(mail_addresses), BeforeValidator(_words)
    ] = ()
    """Mail addresses that may get news; @DOMAIN allows a whole domain. Empty: no address may."""
    news_webhooks: Annotated[
        tuple[str, ...], NoDecode, AfterValidator(webhook_addresses), BeforeValidator(_words)
    ] = ()
    """URLs at or below which webhooks may get news."""
    news_repositories: Annotated[
        tuple[str, ...], NoDecode, AfterValidator(repositories), BeforeValidator(_words)
    ] = ()
    """Repositories, as OWNER/NAME, in which the App may open issues."""
    news_per_day: Annotated[int, Field(ge=1, le=10_000)] = 50
    """News sent to one subscription within 24 hours; the rest waits."""
    github_secrets: Path | None = None
    """Folder of the App's key and webhook secrets; None is `github` in the data directory."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_truth_as_number(cls, given: Any, info: ValidationInfo) -> Any:
        """Makes true and false fail where a number is wanted: pydantic would take them as 1 and 0."""
        assert info.field_name is not None
        number = cls.model_fields[info.field_name].annotation in (int, float, int | None)
        return str(given).lower() if number and isinstance(given, bool) else given

    @field_validator("data_dir", "github_secrets", mode="before")
    @classmethod
    def _refuse_empty_path(cls, given: Any) -> Any:
        if given == "":
            raise ValueError("it must be a path")
        return given

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _networks(cls, given: Any) -> Any:
        names = given.split(",") if isinstance(given, str) else given
        if not isinstance(names, list | tuple):
            return given
        return tuple(_network(str(name).strip()) for name in names if str(name).strip())

    @field_validator("github_client_secret")
    @classmethod
    def _has_secret(cls, given: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if given is None and info.data.get("github_client_id") is not None:
            raise ValueError("it is needed with github_client_id")
        return given

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
    """Reads the settings; those `given` and not None override all others.

    Raises Refusal, which says what is wrong and what is allowed.
    """
    named = os.environ.get(FILE_VARIABLE)
    if named and not Path(named).is_file():
        raise _invalid(f"{FILE_VARIABLE} names {named}, which is not a file")
    unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in _names())
    if unknown:
        raise _invalid(f"unknown setting {unknown[0]}; known are {', '.join(sorted(_names() - OTHER_PARTS))}")
    try:
        return Settings(**{_alias(name): value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise _invalid(describe_error(first, Settings.model_fields, named)) from None
    except ValueError as error:
        raise _invalid(f"{named}: {error}") from None


def _alias(name: str) -> str:
    return "DATABASE_URL" if name == "database_url" else name


def _names() -> frozenset[str]:
    own = {PREFIX + name.upper() for name in Settings.model_fields if name != "database_url"}
    return frozenset(own) | OTHER_PARTS


def _invalid(detail: str) -> Refusal:
    return Refusal(422, "invalid setting", detail)
