"""Words of the pages that the glossary explains."""

from collections.abc import Mapping

from markupsafe import Markup

GLOSSARY = "/docs/glossary.md"

TERMS: Mapping[str, tuple[str, str]] = {
    "base vs base check": ("control", "base measured against itself: how no change looks on this host"),
    "boots": ("boot", "starts of a guest: what is repeated"),
    "bounds of a change": ("repeatability-band", "where the change lies, or by what equal kernels differ"),
    "candidates": ("candidate", "what looks like a change and waits for fresh boots"),
    "case": ("case", "a benchmark with its parameters"),
    "culprit": ("culprit", "the commit that made a change, or the range in which it is"),
    "environment changed": ("epoch", "another host, guest or toolchain: nothing is comparable across it"),
    "fixed reference kernel": ("anchor", "measured beside base and head: what moves in it is the host"),
    "icount": ("mode", "instructions, counted in emulation: exact on any machine, blind to caches"),
    "metric": ("metric", "what a case measures"),
    "platform": ("platform", "a kind of machine: numbers of two are never compared"),
    "smallest change this could see": (
        "detectable-change",
        "what these boots would have shown; a smaller one may be there",
    ),
    "target": ("target", "a platform and a mode: where numbers can be compared"),
    "threshold": ("threshold", "the smallest change that is reported"),
    "verdict": ("verdict", "what a comparison says of one case"),
    "walltime": ("mode", "real time on a tuned host under KVM: what users feel, and noisy"),
}
"""By word: the anchor of its row in the glossary, and what a tooltip says."""


class Terms:
    """Links words to the glossary: each once on a page."""

    def __init__(self) -> None:
        self._linked: set[str] = set()

    def __call__(self, word: str, text: str | None = None) -> Markup:
        """Returns the word (or `text`): the first time as a link to the glossary. Raises KeyError."""
        anchor, about = TERMS[word]
        if word in self._linked:
            return Markup("{}").format(text or word)
        self._linked.add(word)
        return Markup('<a class="term" href="{}#{}" title="{}">{}</a>').format(
            GLOSSARY, anchor, about, text or word
        )

    def known(self, word: str) -> Markup | str:
        """Links a word that may be none of the glossary's, such as a mode."""
        return self(word) if word in TERMS else word
