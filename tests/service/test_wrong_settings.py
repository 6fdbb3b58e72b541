"""A wrong setting is refused by the name that it was given by, with what it may be."""

from pathlib import Path

import pytest

from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings, read_settings


def refused() -> str:
    with pytest.raises(Refusal) as refusal:
        read_settings()
    return str(refusal.value.detail)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PUBLIC_READING", "maybe", "it must be true or false (it is 'maybe')"),
        ("SESSION_HOURS", "x", "it must be a whole number from 1 to 2160 (it is 'x')"),
        ("SESSION_HOURS", "1.5", "it must be a whole number from 1 to 2160 (it is '1.5')"),
        ("SESSION_HOURS", "0", "it must be a whole number from 1 to 2160 (it is '0')"),
        ("SESSION_HOURS", "3000", "it must be a whole number from 1 to 2160 (it is '3000')"),
        ("KEEP_RAW_DAYS", "0", "it must be a whole number of at least 1 (it is '0')"),
        ("DATA_DIR", "", "it must be a path (it is '')"),
        ("STATEMENT_SECONDS", "x", "it must be a number above 0 and at most 600 (it is 'x')"),
        ("STATEMENT_SECONDS", "601", "it must be a number above 0 and at most 600 (it is '601')"),
        ("STATEMENT_SECONDS", "0", "it must be a number above 0 and at most 600 (it is '0')"),
        ("GITHUB_TRIAGERS", "12 x", "it must be whole numbers above 0 (it is 'x')"),
        ("GITHUB_REPOSITORIES", "-1", "it must be whole numbers above 0 (it is '-1')"),
        ("SESSION_KEY", "secret", "it must have at least 32 characters"),
        ("GITHUB_ACTIONS_AUDIENCE", "", "it must have at least 1 character (it is '')"),
        ("MAIL_USER", "u" * 201, f"it must have at most 200 characters (it is '{'u' * 199}…)"),
        ("MAIL_SECURITY", "ssl", "it must be 'starttls', 'tls' or 'none' (it is 'ssl')"),
        ("MAIL_FROM", "x", "it must be a mail address (it is 'x')"),
        ("MAIL_SERVER", "a b", "it must be a host, and a port where it needs one, such as"),
        ("GITHUB_CLIENT_ID", "!", "it must be a name of letters, digits, _ . and - (it is '!')"),
        ("GITHUB_CLIENT_ID", "app", "it is needed with github_client_id"),
        ("TRUSTED_PROXIES", "10.0.0.0/99", "'10.0.0.0/99' is neither an address nor a network such as"),
        ("PAGES_URL", "x", "it must be an address such as https://cliffwatch.example.org (it is 'x')"),
        ("GITHUB_API", "http://x", "it must be https://…, or http:// on this machine (it is 'http://x')"),
        ("NEWS_REPOSITORIES", "x", "'x' is not a repository: write OWNER/NAME"),
    ],
)
def test_a_wrong_variable_is_named_with_what_it_may_be(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(f"CLIFFWATCH_{name}", value)
    wrong = "GITHUB_CLIENT_SECRET" if value == "app" else name
    assert refused().startswith(f"CLIFFWATCH_{wrong}: {message}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("runs_per_day = 1.5", "runs_per_day in {}: it must be a whole number of at least 1 (it is 1.5)"),
        ("public_reading = 'x'", "public_reading in {}: it must be true or false (it is 'x')"),
        (
            "keep_raw_days = true",
            "keep_raw_days in {}: it must be a whole number of at least 1 (it is 'true')",
        ),
        (
            "statement_seconds = false",
            "statement_seconds in {}: it must be a number above 0 and at most 600 (it is 'false')",
        ),
        ("data_dir = 3", "data_dir in {}: it must be a path (it is 3)"),
        ("trees = [1]", "trees in {}: it must be text (it is 1)"),
        (
            "trusted_proxies = 3",
            "trusted_proxies in {}: it must be a list of texts, or text with commas (it is 3)",
        ),
        ("mail_pasword = 'secret'", "mail_pasword in {}: there is no such setting"),
        ("session_key = 4", "session_key in {}: it must be text"),
    ],
)
def test_a_wrong_line_of_the_file_is_named_with_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, message: str
) -> None:
    file = tmp_path / "service.toml"
    file.write_text(f"{line}\n")
    monkeypatch.setenv("CLIFFWATCH_SETTINGS", str(file))
    assert refused() == message.format(file)


def test_no_message_shows_a_secret_or_is_in_the_words_of_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        variable = "DATABASE_URL" if name == "database_url" else f"CLIFFWATCH_{name.upper()}"
        for value in ("", "hush", "-1", "9" * 30):
            with monkeypatch.context() as environment:
                environment.setenv(variable, value)
                try:
                    read_settings()
                except Refusal as refusal:
                    said = str(refusal.detail)
                    assert said.startswith((variable, "CLIFFWATCH_GITHUB_CLIENT_SECRET"))
                    assert not any(word in said for word in ("should", "Input", "valid ", "Extra"))
                    if "SecretStr" in str(Settings.model_fields[name].annotation):
                        assert not value or value not in said
