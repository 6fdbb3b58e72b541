"""A folder of BPF objects: which files lie beside an object, and what a recorded configuration changes in it."""

import io
import os
import shutil
import struct
import subprocess
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.failure import Failure
from cliffwatch_runner.guest.programs import GuestData, OwnObject
from cliffwatch_runner.objects.command import record
from cliffwatch_runner.objects.configuration import (
    RecordedConfiguration,
    configured,
    read_configuration,
    record_configuration,
    write_configuration,
)
from cliffwatch_runner.objects.elf import bytes_of, sections_of
from cliffwatch_runner.objects.folder import objects_of_folder
from cliffwatch_runner.objects.map_sizes import map_sizes
from cliffwatch_runner.plan.objects import with_own_objects

SOURCE = Path(__file__).parents[1] / "data" / "objects" / "layers.bpf.c"
MANY = RecordedConfiguration(rodata={".rodata": "d0070000"}, max_entries={"rules": 4000, "later": 64})
PACKET = bytes(range(60))


@pytest.fixture(scope="session")
def layers(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    clang = shutil.which("clang-19") or shutil.which("clang")
    if clang is None:
        pytest.skip("clang is not installed")
    built = tmp_path_factory.mktemp("objects") / "layers.bpf.o"
    words = ["-O2", "-g", "-target", "bpf", "-I/usr/include/x86_64-linux-gnu", "-c", str(SOURCE)]
    subprocess.run([clang, *words, "-o", str(built)], check=True)
    return built.read_bytes()


@pytest.fixture
def folder(tmp_path: Path, layers: bytes) -> Path:
    (tmp_path / "layers.bpf.o").write_bytes(layers)
    return tmp_path


def packed(folder: Path) -> GuestData:
    data = objects_of_folder(folder, 64 << 20)
    assert isinstance(data, GuestData), data
    return data


def files(data: GuestData) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data.content)) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]


def refusal(folder: Path) -> str:
    data = objects_of_folder(folder, 64 << 20)
    assert isinstance(data, Failure)
    return data.message


def capture(*packets: bytes, link: int = 1) -> bytes:
    records = (struct.pack("<IIII", 0, 0, len(each), len(each)) + each for each in packets)
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link) + b"".join(records)


def maps_of(content: bytes) -> dict[str, int]:
    return map_sizes(bytes_of(content, sections_of(content)[".BTF"]))


def test_packets_and_contexts_beside_an_object_are_its_inputs(folder: Path) -> None:
    (folder / "layers.data").write_bytes(PACKET)
    (folder / "layers.syn.data").write_bytes(PACKET)
    (folder / "layers.syn.ctx").write_bytes(bytes(44))
    (folder / "layers.night.pcap").write_bytes(capture(PACKET, PACKET[:20]))
    data = packed(folder)

    assert data.objects == (OwnObject(name="layers.bpf.o", inputs=("", "night-1", "night-2", "syn")),)
    assert files(data)["inputs/layers.bpf.o/night-2.data"] == PACKET[:20]
    assert files(data)["inputs/layers.bpf.o/syn.ctx"] == bytes(44)


def test_each_input_and_each_configuration_is_a_case(folder: Path) -> None:
    (folder / "layers.syn.data").write_bytes(PACKET)
    (folder / "layers.many.json").write_text(write_configuration(MANY))
    suites = {each.name: with_own_objects(each, packed(folder).objects) for each in load_catalogue().suites}

    assert [str(case.key) for case in suites["prog-run"].cases("smoke")] == [
        "run/object=layers.bpf.o/input=syn",
        "run/object=layers.bpf.o/configuration=many/input=syn",
    ]
    assert [case.argv for case in suites["veristat"].cases("smoke")] == [
        ("layers.bpf.o",),
        ("layers.bpf.o", "--configuration", "many"),
    ]


def test_a_file_belongs_to_the_object_with_the_longest_name_that_fits(folder: Path, layers: bytes) -> None:
    (folder / "layers.night.o").write_bytes(layers)
    (folder / "layers.night.data").write_bytes(PACKET)

    assert {each.name: each.inputs for each in packed(folder).objects} == {
        "layers.bpf.o": ("",),
        "layers.night.o": ("",),
    }
    assert "inputs/layers.night.o/.data" in files(packed(folder))


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("layers.data", b"", "it is empty"),
        ("other.data", PACKET, "lies beside no object"),
        ("layers.pcap", b"\x0a\x0d\x0d\x0a" + bytes(40), "convert it with `editcap -F pcap`"),
        ("layers.pcap", capture(PACKET, link=101), "not of Ethernet (link type 101)"),
        ("layers.pcap", capture(PACKET)[:-1], "it is cut off"),
        ("layers.pcap", capture(*[PACKET] * 65), "at most 64"),
        ("layers.pcap", capture(), "it has no packet"),
        ("layers.many.json", b"{", "it is no JSON"),
        ("layers.many.json", b"[" * 200_000, "it is no JSON"),
        ("layers.many.json", b'{"rodata": 3}', "cannot be used"),
        ("layers.many.json", b'{"rodata": {".rodata": "00"}}', "has 4 bytes, and 1 were recorded"),
        ("layers.many.json", b'{"rodata": {".text": "00"}}', "no section of constants"),
        ("layers.many.json", b'{"rodata": {".rodata.x": "00"}}', "it has no section .rodata.x"),
        ("layers.many.json", b'{"rodata": {}, "max_entries": {"none": 4}}', "it has no map 'none'"),
        ("layers.many.json", b'{"rodata": {".rodata": "0000000z"}}', "hexadecimal"),
        ("layers.many.json", b'{"rodata": {}, "max_entries": {"rules": -1}}', "cannot be used"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    folder: Path, name: str, content: bytes, why: str
) -> None:
    (folder / name).write_bytes(content)

    assert why in refusal(folder)
    assert name in refusal(folder)


@pytest.mark.parametrize("name", ["layers.data", "layers.pcap", "layers.many.json"])
def test_a_pipe_is_refused_and_not_waited_for(folder: Path, name: str) -> None:
    os.mkfifo(folder / name)
    assert f"{name} cannot be read: it is not a regular file" in refusal(folder)


def test_a_file_without_end_is_refused_and_not_read_to_it(folder: Path) -> None:
    with (folder / "layers.many.json").open("wb") as file:
        file.truncate(4 << 30)
    assert "layers.many.json cannot be read: it is larger than 64 MiB" in refusal(folder)
    ended = CliRunner().invoke(
        record, [str(folder / "layers.bpf.o"), "--name", "many", "--rodata", "/dev/zero"]
    )
    assert ended.exit_code == 2
    assert "/dev/zero cannot be read: it is not a regular file" in ended.output


def test_a_configuration_of_what_is_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.o").write_text("nothing that is an object")
    (tmp_path / "odd.many.json").write_text(write_configuration(MANY))

    assert "odd.o: it is no BPF object (ELF, 64 bits, little-endian)" in refusal(tmp_path)


def test_a_configuration_changes_constants_and_sizes_of_maps_and_nothing_else(layers: bytes) -> None:
    content = configured(layers, MANY)
    assert isinstance(content, bytes)
    before, after = sections_of(layers), sections_of(content)

    assert bytes_of(content, after[".rodata"]) == (2000).to_bytes(4, "little")
    assert maps_of(layers) == {"seen": 2, "rules": 2, "later": 0}
    assert maps_of(content) == {"seen": 2, "rules": 4000, "later": 64}
    untouched = before.keys() - {".rodata", ".BTF"}
    assert {name: bytes_of(content, after[name]) for name in untouched} == {
        name: bytes_of(layers, before[name]) for name in untouched
    }


def test_what_is_recorded_of_a_loaded_object_is_what_differs(layers: bytes) -> None:
    kept = {"rules": 4000, "seen": 2, "later": 64, "another": 9}
    recorded = record_configuration(layers, {".rodata": bytes.fromhex("d0070000")}, kept)

    assert recorded == MANY


def test_a_damaged_object_is_refused_and_never_a_crash(layers: bytes) -> None:
    for cut in range(0, len(layers), 97):
        assert isinstance(configured(layers[:cut], MANY), str)


BPFTOOL = """#!/bin/sh
case "$*" in
  "-j map show") echo '[{"id":7,"type":"array","name":"layers.rodata","flags":1152,"bytes_key":4,"bytes_value":4,
"max_entries":1,"frozen":1,"pids":[{"pid":42,"comm":"scheduler"}]},{"id":8,"type":"array","name":"rules",
"max_entries":4000,"pids":[{"pid":42,"comm":"scheduler"}]},{"id":9,"type":"hash","name":"later","max_entries":64,
"pids":[{"pid":42,"comm":"scheduler"}]},{"id":10,"type":"hash","name":"seen","max_entries":99}]' ;;
  "-j map dump id 7") echo '[{"key":["0x00","0x00","0x00","0x00"],"value":["0xd0","0x07","0x00","0x00"],
"formatted":{"value":{".rodata":[{"layers":2000}]}}}]' ;;
  *) echo '{"error":"no such map"}'; exit 255 ;;
esac
"""


@pytest.fixture
def bpftool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "bpftool").write_text(BPFTOOL)
    (programs / "bpftool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return programs / "bpftool"


def invoke(*words: str | Path) -> Result:
    return CliRunner().invoke(record, [str(word) for word in words])


def test_a_process_is_recorded_by_one_command(folder: Path, bpftool: Path) -> None:
    ended = invoke(folder / "layers.bpf.o", "--name", "many", "--pid", "42")

    assert ended.output == f"{folder}/layers.many.json: 4 bytes of constants, 2 sizes of maps\n"
    assert read_configuration((folder / "layers.many.json").read_text()) == MANY
    assert packed(folder).objects[0].configurations == ("", "many")


def test_saved_output_of_bpftool_is_recorded_without_root(folder: Path, bpftool: Path) -> None:
    for name, words in (("show", ["show"]), ("dump", ["dump", "id", "7"])):
        said = subprocess.run([bpftool, "-j", "map", *words], check=True, capture_output=True).stdout
        (folder / name).write_bytes(said)
    words = ["--rodata", folder / "dump", "--maps", folder / "show"]
    ended = invoke(folder / "layers.bpf.o", "--name", "many", *words)

    assert ended.exit_code == 0
    recorded = read_configuration((folder / "layers.many.json").read_text())
    assert recorded == RecordedConfiguration(rodata=MANY.rodata, max_entries={**MANY.max_entries, "seen": 99})


def test_raw_bytes_are_recorded(folder: Path) -> None:
    (folder / "raw").write_bytes((2000).to_bytes(4, "little"))
    ended = invoke(folder / "layers.bpf.o", "--name", "many", "--rodata", f".rodata={folder / 'raw'}")

    assert ended.exit_code == 0
    recorded = read_configuration((folder / "layers.many.json").read_text())
    assert recorded == RecordedConfiguration(rodata=MANY.rodata)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--name", "many"], "name one of --pid and --rodata"),
        (["--name", "a/b", "--pid", "42"], "is no name"),
        (["--name", "many", "--pid", "43"], "process 43 holds no map"),
        (["--name", "many", "--rodata", "/dev/null/none"], "cannot be read"),
        (["--name", "many", "--rodata", str(SOURCE)], "it is another build"),
        (["--name", "many", "--rodata", ".data=" + str(SOURCE)], "no section of constants"),
    ],
)
def test_what_cannot_be_recorded_says_why(folder: Path, bpftool: Path, words: list[str], why: str) -> None:
    ended = invoke(folder / "layers.bpf.o", *words)

    assert ended.exit_code == 2
    assert why in " ".join(ended.stderr.split())
    assert not (folder / "layers.many.json").exists()
