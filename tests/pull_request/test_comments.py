"""Comments are what people read: kept as text, and held against what GitHub and a mail make of them."""

import pytest
from golden import assert_golden
from states import states

from cliffwatch.pull_request.comment import regression_comment, sticky_comment

NAMES = sorted(states())


@pytest.mark.parametrize("name", NAMES)
def test_the_comment(name: str) -> None:
    assert_golden(f"comment-{name}.md", sticky_comment(states()[name]))


@pytest.mark.parametrize("name", ["one-platform", "mixed"])
def test_the_comment_that_notifies(name: str) -> None:
    text = regression_comment(states()[name])

    assert text is not None
    assert_golden(f"notification-{name}.md", text)
