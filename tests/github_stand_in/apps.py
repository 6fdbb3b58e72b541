"""The app itself: who it is, where it is installed, the tokens of installations, the manifest, the webhook's
configuration.
"""

from typing import Any

from github_stand_in.answers import NOT_FOUND, Answer, Question, answers, merged, paged, refused
from github_stand_in.kept import Installation, moment
from github_stand_in.repositories import repository_content

UNSIGNED = refused(401, "A JSON web token could not be decoded")


@answers("apps/get-authenticated")
def get_app(question: Question) -> Answer:
    if not question.caller.app:
        return UNSIGNED
    app = question.kept.app
    return Answer(
        200, merged(question.example(200), {"id": app.identity, "slug": app.slug, "name": app.slug})
    )


@answers("apps/list-installations")
def list_installations(question: Question) -> Answer:
    if not question.caller.app:
        return UNSIGNED
    example = question.example(200)[0]
    found = [each for each in question.kept.installations.values() if not each.revoked]
    return paged(question, [_installation(question, each, example) for each in found])


@answers("apps/get-installation")
def get_installation(question: Question) -> Answer:
    found = question.kept.installations.get(question.read.path["installation_id"])
    if not question.caller.app:
        return UNSIGNED
    return (
        NOT_FOUND
        if found is None or found.revoked
        else Answer(200, _installation(question, found, question.example(200)))
    )


@answers("apps/get-repo-installation")
def installation_of_repository(question: Question) -> Answer:
    if not question.caller.app:
        return UNSIGNED
    name = f"{question.read.path['owner']}/{question.read.path['repo']}"
    found = next(
        (
            each
            for each in question.kept.installations.values()
            if name in each.repositories and not each.revoked
        ),
        None,
    )
    return NOT_FOUND if found is None else Answer(200, _installation(question, found, question.example(200)))


def _installation(question: Question, installation: Installation, example: Any) -> Any:
    kept = {
        "id": installation.identity,
        "account": {"login": installation.account},
        "app_id": question.kept.app.identity,
        "app_slug": question.kept.app.slug,
        "permissions": installation.permissions,
        "suspended_at": moment(question.kept.now()) if installation.suspended else None,
        "access_tokens_url": f"{question.origin}/app/installations/{installation.identity}/access_tokens",
    }
    return merged(example, kept)


@answers("apps/create-installation-access-token")
def make_token(question: Question) -> Answer:
    installation = question.kept.installations.get(question.read.path["installation_id"])
    if not question.caller.app:
        return UNSIGNED
    if installation is None or installation.revoked:
        return NOT_FOUND
    if installation.suspended:
        return refused(403, "This installation has been suspended")
    wanted = question.read.body.get("permissions", {})
    if any(installation.permissions.get(name) not in (level, "write") for name, level in wanted.items()):
        return refused(422, "The permissions requested are not granted to this installation.")
    secret = question.kept.token(question.kept.app.login, installation=installation.identity)
    kept = {
        "token": secret,
        "expires_at": moment(question.kept.tokens[secret].expires),
        "permissions": wanted or installation.permissions,
        "repository_selection": "selected",
        "repositories": [],
    }
    return Answer(201, {**question.example(201), **kept})


@answers("apps/list-repos-accessible-to-installation")
def list_repositories(question: Question) -> Answer:
    token = question.caller.token
    if token is None or token.installation is None:
        return refused(
            403,
            "You must authenticate with an installation access token in order to list repositories for an"
            " installation.",
        )
    names = question.kept.installations[token.installation].repositories
    example = question.example(200)["repositories"][0]
    found = [merged(example, repository_content(question.kept.repositories[name])) for name in names]
    return paged(question, found, lambda items: {"total_count": len(found), "repositories": items})


@answers("apps/create-from-manifest")
def convert_manifest(question: Question) -> Answer:
    """A code serves once."""
    made = question.kept.app.conversions.pop(question.read.path["code"], None)
    return NOT_FOUND if made is None else Answer(201, merged(question.example(201), made))


@answers("apps/get-webhook-config-for-app")
def webhook_config(question: Question) -> Answer:
    return (
        Answer(200, merged(question.example(200), question.kept.app.webhook))
        if question.caller.app
        else UNSIGNED
    )


@answers("apps/update-webhook-config-for-app")
def change_webhook_config(question: Question) -> Answer:
    if not question.caller.app:
        return UNSIGNED
    question.kept.app.webhook.update(question.read.body)
    shown = {**question.kept.app.webhook, "secret": "********"}
    return Answer(200, merged(question.example(200), shown))
