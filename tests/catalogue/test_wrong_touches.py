"""`cliffwatch suites check` says what is wrong with a suite's `touches`, with its line."""

from pathlib import Path

from cliffwatch.catalogue.folder import suites_folder
from cliffwatch.catalogue.read import read_suite


def test_what_is_no_path_in_a_kernel_tree_or_stands_twice_is_said(tmp_path: Path) -> None:
    text = (suites_folder() / "lpm-trie" / "suite.toml").read_text()
    wrong = text.replace('touches = ["kernel/bpf/lpm_trie.c"]', 'touches = ["/abs.c", "a.c", "a.c"]')
    assert wrong != text
    file = tmp_path / "suite.toml"
    file.write_text(wrong)
    line = next(
        number for number, each in enumerate(wrong.splitlines(), start=1) if each.startswith("touches")
    )

    errors = read_suite(file)

    assert isinstance(errors, tuple)
    assert {error.line for error in errors} == {line}
    assert "'/abs.c' is no path in a kernel tree" in str(errors[0])
    assert "'a.c' stands here twice" in str(errors[-1])
