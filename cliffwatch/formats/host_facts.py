"""The facts about a host in run.json that are used: processor, BIOS and kernel."""

from typing import Annotated

from msgspec import Meta

from cliffwatch.formats.values import Name, Part, Text


class ProcessorFacts(Part, frozen=True, kw_only=True):
    """The facts about a host's processor that are used."""

    model_name: Text | None = None
    microcode: Annotated[tuple[Name, ...], Meta(max_length=4096)] | None = None


class FirmwareFacts(Part, frozen=True, kw_only=True):
    """The facts about a host's BIOS that are used."""

    bios_version: Text | None = None
    bios_date: Text | None = None


class HostKernelFacts(Part, frozen=True, kw_only=True):
    """The facts about a host's own kernel that are used: an update may keep the release and change the
    version.
    """

    release: Text | None = None
    version: Text | None = None


class HostFacts(Part, frozen=True, kw_only=True):
    """The members of run.json's `host` that are used."""

    cpu: ProcessorFacts | None = None
    dmi: FirmwareFacts | None = None
    kernel: HostKernelFacts | None = None

    def machine(self) -> dict[str, str]:
        """Returns the properties of the machine that must be equal for walltime values to be compared."""
        cpu, dmi, kernel = (
            self.cpu or ProcessorFacts(),
            self.dmi or FirmwareFacts(),
            self.kernel or HostKernelFacts(),
        )
        known = {
            "processor": cpu.model_name,
            "microcode": "/".join(cpu.microcode or ()),
            "bios": " ".join(filter(None, (dmi.bios_version, dmi.bios_date))),
            "host-kernel": " ".join(filter(None, (kernel.release, kernel.version))),
        }
        return {name: value for name, value in known.items() if value}
