"""What a tree's code tries in a composed builder, in which it runs as the builder's own user: it reaches
nothing and nobody.

Runs against the stack that `make compose-test` has started.
"""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ("--file", "docker-compose.yml", "--file", "tests/compose/git-server.yml", "--profile", "worker")

pytestmark = pytest.mark.skipif(
    os.environ.get("COMPOSE_TEST") != "1", reason="there is no composed stack to attack: make compose-test"
)


def compose(*words: str, check: bool = True) -> str:
    done = subprocess.run(
        ["docker", "compose", *FILES, *words],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout + done.stderr


def inside(script: str, part: str = "builder-outside") -> str:
    """What a script prints that runs where a tree's code does."""
    return compose("exec", "-T", part, "python3", "-c", script, check=False)


def inspected(part: str) -> dict[str, object]:
    number = compose("ps", "--quiet", part).split()[0]
    done = subprocess.run(["docker", "inspect", number], check=True, capture_output=True, text=True)
    about: dict[str, object] = json.loads(done.stdout)[0]
    return about


@pytest.mark.parametrize("part", ["builder-outside", "builder-followed", "worker", "service", "tasks"])
def test_no_part_may_do_more_than_it_needs(part: str) -> None:
    about = inspected(part)
    host = about["HostConfig"]
    assert isinstance(host, dict)

    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert not host["Privileged"]
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert host["Memory"] > 0
    assert "docker.sock" not in json.dumps(about)
    config = about["Config"]
    assert isinstance(config, dict)
    assert config["User"] in ("64747", "64748")


def test_no_secret_is_in_reach() -> None:
    shown = inside(
        "import os, pathlib\nprint(sorted(os.environ))\nfor top in ('/run', '/var/lib/cliffwatch',"
        " '/exchange', '/tmp', '/root', '/home', '/etc'):\n    for folder, _, names in os.walk(top):\n       "
        " for name in names:\n            if name in ('token', 'pgpass', 'password', 'reader-password',"
        " 'admin-password', 'session-key'): print('SECRET', folder, name)\ntry: print('ENVIRONMENT',"
        " pathlib.Path('/proc/1/environ').read_bytes())\nexcept PermissionError: print('closed')\n"
    )

    assert "SECRET" not in shown
    assert "closed" in shown
    assert "CLIFFWATCH_TOKEN" not in shown
    assert "PGPASSFILE" not in shown


def test_no_network_is_in_reach() -> None:
    shown = inside(
        "import socket\n"
        "print([name for _, name in socket.if_nameindex()])\n"
        "for host in ('service', 'postgres', 'worker', '1.1.1.1', '172.17.0.1'):\n"
        "    try: socket.create_connection((host, 8000), 3); print('REACHED', host)\n"
        "    except OSError: pass\n"
        "try: print('REACHED', socket.socket(socket.AF_PACKET, socket.SOCK_RAW))\n"
        "except OSError: pass\n"
    )

    assert "['lo']" in shown
    assert "REACHED" not in shown


def test_nothing_can_be_written_but_what_goes_with_the_job() -> None:
    shown = inside(
        "import os\nfor folder in ('/', '/etc', '/usr/bin', '/opt/cliffwatch', '/var/lib/cliffwatch/trees',"
        " '/var/lib/cliffwatch', '/proc/sys/kernel',\n               '/sys', '/sys/fs/cgroup'):\n    try:"
        " open(f'{folder}/planted', 'w'); print('WRITTEN', folder)\n    except OSError:"
        " pass\nprint(os.listdir('/exchange'))\n"
    )

    assert "WRITTEN" not in shown
    assert "builder.sock" in shown


def test_no_other_builders_results_are_in_reach() -> None:
    inside("open('/exchange/planted', 'w').write('mine')")
    try:
        assert "planted" not in inside("import os; print(os.listdir('/exchange'))", "builder-followed")
        worker = (
            "try: open('/exchange/outside/planted', 'w'); print('WRITTEN')\nexcept OSError as error:"
            " print(error)"
        )
        assert "Read-only file system" in inside(worker, "worker")
    finally:
        inside("import os; os.unlink('/exchange/planted')")


def test_the_first_process_can_be_neither_read_nor_stopped() -> None:
    shown = inside(
        "import os, signal, ctypes\n"
        "for number in (signal.SIGSTOP, signal.SIGKILL): os.kill(1, number)\n"
        "try: open('/proc/1/mem', 'r+b'); print('OPENED')\n"
        "except OSError: print('closed')\n"
        "print('traced', ctypes.CDLL(None).ptrace(16, 1, 0, 0))\n"
    )

    assert "closed" in shown
    assert "traced -1" in shown
    assert inside("print('alive')").strip() == "alive"


@pytest.mark.parametrize(
    "way",
    [
        "libc.unshare(0x10000000)",
        "libc.unshare(0x00020000)",
        "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
        "libc.setuid(0)",
        "libc.chroot(b'/tmp')",
        "libc.syscall(321, 5, 0, 0)",
    ],
)
def test_no_right_can_be_had(way: str) -> None:
    shown = inside(
        f"import ctypes; libc = ctypes.CDLL(None, use_errno=True); print({way}, ctypes.get_errno())"
    )

    assert shown.split()[0] == "-1", shown


def test_a_fork_bomb_ends_at_its_number() -> None:
    bomb = (
        "import os, time\n"
        "made = 0\n"
        "try:\n"
        "    while True:\n"
        "        if os.fork() == 0: time.sleep(20); os._exit(0)\n"
        "        made += 1\n"
        "except OSError as error: print(made, error.errno)\n"
    )
    made, error = map(int, inside(bomb).split()[-2:])

    assert made < 2048
    assert error == 11
    began = time.monotonic()
    subprocess.run(["true"], check=True)
    assert time.monotonic() - began < 2.0


def test_a_builder_that_is_through_with_a_job_takes_all_that_it_started_along() -> None:
    """The end of the first process is the end of its container; a worker's hanging up ends it."""
    inside(
        "import subprocess; subprocess.Popen(['sleep', '987654'], start_new_session=True); open('/tmp/left',"
        " 'w')"
    )
    before = inspected("builder-outside")["State"]
    hang_up = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/exchange/outside/builder.sock');"
        " s.close()"
    )
    compose("exec", "-T", "worker", "python3", "-c", hang_up)
    end = time.monotonic() + 120
    while inspected("builder-outside")["State"] in (before, None) and time.monotonic() < end:
        time.sleep(1)
    compose("up", "--detach", "--wait", "builder-outside")

    shown = inside(
        "import os, pathlib\nprint([p for p in os.listdir('/proc') if p.isdigit() and pathlib.Path('/proc',"
        " p, 'cmdline').read_bytes().startswith(b'sleep')])\nprint(os.listdir('/tmp'))\n"
    )
    assert shown.split("\n")[0] == "[]"
    assert "left" not in shown
