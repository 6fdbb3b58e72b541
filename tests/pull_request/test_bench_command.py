"""What people write into comments, and what of it is a command."""

import pytest
from github_html import LINKED
from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.failure import Failure
from cliffwatch.pull_request.bench_command import BenchCommand, parse_bench_command


@pytest.mark.parametrize(
    ("comment", "command"),
    [
        ("/bench", BenchCommand(verb="run")),
        ("Thanks!\n\n/bench\n\nand so on", BenchCommand(verb="run")),
        ("/Bench \r\nplease", BenchCommand(verb="run")),
        (
            "/bench suite=local-storage,ringbuf platform=amd-rome mode=icount boots=21 base=v6.12",
            BenchCommand(
                verb="run",
                suites=("local-storage", "ringbuf"),
                platforms=("amd-rome",),
                modes=("icount",),
                boots="21",
                base="v6.12",
            ),
        ),
        (
            "/bench again case=local-storage-cache-seq-get/nr_maps=16,ringbuf-*",
            BenchCommand(verb="again", cases=("local-storage-cache-seq-get/nr_maps=16", "ringbuf-*")),
        ),
        ("/bench again", BenchCommand(verb="again")),
        ("/bench layouts=4", BenchCommand(verb="run", layouts=4)),
        ("/bench again time=20m", BenchCommand(verb="again", seconds=1200)),
        ("/bench cancel", BenchCommand(verb="cancel")),
        ("/bench help", BenchCommand(verb="help")),
        ("/bench bisect case=ringbuf", BenchCommand(verb="bisect", cases=("ringbuf",))),
        ("/bench boots=staged base=bpf/master", BenchCommand(verb="run", boots="staged", base="bpf/master")),
        ("/bench mode=walltime,icount,icount", BenchCommand(verb="run", modes=("walltime", "icount"))),
        ("```\n/bench cancel\n```\n/bench help", BenchCommand(verb="help")),
        ("<!-- hidden --> \n/bench", BenchCommand(verb="run")),
    ],
)
def test_a_command(comment: str, command: BenchCommand) -> None:
    assert parse_bench_command(comment) == command


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "please /bench",
        "/benchmark",
        "/ bench",
        "> /bench",
        "  > /bench",
        *(f"> quoted{end}/bench" for end in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"),
        "> quoted\n> /bench suite=x",
        "    /bench",
        "\t/bench",
        "```\n/bench\n```",
        "````\n```\n/bench\n```\n````",
        "~~~ sh\n/bench\n~~~",
        "```\n/bench",
        "`/bench`",
        "<!-- say\n/bench\nfor this -->",
    ],
)
def test_no_command(comment: str) -> None:
    assert parse_bench_command(comment) is None


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("/bench now", "there is no such command"),
        ("/bench suite=", "`suite=` takes names of suites"),
        ("/bench suite=a suite=b", "`suite=` may stand once"),
        ("/bench suite=a, b", "`suite=` takes names"),
        ("/bench suite=$(reboot)", "`suite=` takes names"),
        ("/bench suite=--help", "`suite=` takes names"),
        ("/bench suite=../../etc", "`suite=` takes names"),
        (f"/bench suite={'a' * 65}", "`suite=` takes names"),
        (f"/bench suite={','.join(f's{each}' for each in range(17))}", "`suite=` takes names"),
        ("/bench mode=fast", "`mode=` takes `icount` or `walltime`"),
        ("/bench boots=0", "`boots=` takes a number up to 200"),
        ("/bench boots=201", "`boots=` takes a number up to 200"),
        ("/bench boots=²", "`boots=` takes a number"),
        ("/bench boots=٣", "`boots=` takes a number"),
        ("/bench layouts=0", "`layouts=` takes a number up to 100"),
        ("/bench layouts=101", "`layouts=` takes a number up to 100"),
        ("/bench layouts=٣", "`layouts=` takes a number up to 100"),
        ("/bench time=20", "`time=` takes one such as 20m, 1.5h or 90s"),
        ("/bench time=200h", "`time=` takes one such as 20m, 1.5h or 90s"),
        ("/bench base=-x", "`base=` takes one commit"),
        ("/bench base=a..b", "`base=` takes one commit"),
        ("/bench base=HEAD@{1}", "`base=` takes one commit"),
        ("/bench base=a,b", "`base=` takes one commit"),
        ("/bench case=x", "it takes `suite=`"),
        ("/bench color=red", "it takes `suite=`"),
        ("/bench cancel all", "it takes nothing more"),
        ("/bench again base=x", "it takes `case=`"),
        ("/bench bisect", "`bisect` needs a `case=`"),
        ("/bench " + "x" * 2000, "too long"),
    ],
)
def test_a_wrong_command_gets_one_line_of_help(comment: str, said: str) -> None:
    wrong = parse_bench_command(comment)

    assert isinstance(wrong, Failure)
    assert said in wrong.message
    assert "\n" not in str(wrong)
    assert "/bench help" in wrong.next_step


@given(st.text(max_size=300))
def test_what_is_wrong_is_not_repeated(text: str) -> None:
    answer = parse_bench_command(f"/bench {text}")

    if isinstance(answer, Failure):
        assert not LINKED.search(str(answer))
        assert str(answer).isascii()
