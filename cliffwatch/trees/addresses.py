"""Untrusted addresses of kernel trees: parsed strictly, compared by parts, never shown with credentials."""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from cliffwatch.failure import Failure, wrong_usage

PORTS = {"https": 443, "http": 80, "git": 9418}
"""Default ports of the permitted schemes. `ssh` is not permitted, because it would need somebody's key."""

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#\\]*)(?P<rest>.*)", re.DOTALL)
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_IN_A_PATH = "~@+,=:!$&'()*;"
_LONGEST = 2000

_EXAMPLE = "name one such as https://git.example.org/linux.git"

_SECRET_IN_QUERY = re.compile(
    r"([?&;][\w.-]{0,40}(?:token|secret|passw|key|auth|sig)[\w.-]{0,40}=)[^&#\s\"'<>]+", re.IGNORECASE
)
_WITH_USER = re.compile(r"://([^\s/\"<>]*)@")
_SSH = ("ssh", "git+ssh", "ssh+git")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeAddress:
    """The address that a tree is fetched from."""

    scheme: str
    host: str
    """A name in lower case, or an IP address without brackets."""
    port: int
    path: tuple[str, ...]
    """The parts of the path, unquoted."""

    @property
    def url(self) -> str:
        """The canonical URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}/{'/'.join(quote(part, safe=_IN_A_PATH) for part in self.path)}"

    @property
    def literal(self) -> bool:
        """True if the host is an IP address, not a name."""
        return _ip(self.host) is not None

    def below(self, prefix: "TreeAddress") -> bool:
        """True if this address is at or below another one. Compares whole parts of the path."""
        same = (self.scheme, self.host, self.port) == (prefix.scheme, prefix.host, prefix.port)
        return same and self.path[: len(prefix.path)] == prefix.path


def read_address(text: str) -> TreeAddress | Failure:
    """Parses the URL of a tree. A failure says why it is not permitted, without the URL.

    The program that checks a URL is not the one that fetches it. URLs that they might read differently are
    refused.
    """
    parts = _URL.fullmatch(text)
    if parts is None or len(text) > _LONGEST or not text.isascii() or not text.isprintable() or " " in text:
        return wrong_usage("it is no URL of a tree", _EXAMPLE)
    scheme = parts["scheme"].lower()
    if scheme not in PORTS:
        return wrong_usage(
            f"it is no address by {', '.join(PORTS)}; ssh would need somebody's key", "name its https address"
        )
    if "@" in parts["authority"]:
        return wrong_usage("it carries a user name or a password", "name it without them")
    authority = _AUTHORITY.fullmatch(parts["authority"])
    host = _host(authority["host"]) if authority is not None else None
    port = int(authority["port"] or PORTS[scheme]) if authority is not None else 0
    if host is None or not 0 < port < 1 << 16:
        return wrong_usage(
            "its host is not a plain name or address, or its port is not a number up to 65535", _EXAMPLE
        )
    path = _path(parts["rest"])
    return path if isinstance(path, Failure) else TreeAddress(scheme=scheme, host=host, port=port, path=path)


def _host(text: str) -> str | None:
    if text.startswith("["):
        address = _ip(text[1:-1])
        return str(address) if address is not None else None
    host = text.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    # What ends in a number is an address to some programs, however it is written: 127.1, 0x7f000001,
    # 2130706433.
    return host if not _NUMBER.fullmatch(labels[-1]) or _ip(host) is not None else None


def _path(rest: str) -> tuple[str, ...] | Failure:
    if "?" in rest or "#" in rest or "\\" in rest:
        return wrong_usage("it has a query, a fragment or a backslash", "name the repository alone")
    parts = rest.removeprefix("/").removesuffix("/").split("/") if rest.strip("/") else []
    plain = tuple(unquote(part, errors="surrogateescape") for part in parts)
    for part in plain:
        if part in ("", ".", "..") or not part.isprintable() or any(letter in part for letter in "/\\%?#"):
            return wrong_usage(
                "its path has empty parts, parts of dots only, or escapes that are not allowed", _EXAMPLE
            )
    return plain


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def has_credentials(url: str) -> bool:
    """True if a URL has a user name, a password or a token in its query.

    For ssh a user name alone is allowed.
    """
    parts = _URL.match(url)
    if parts is None:
        return False
    user, at, _ = parts["authority"].rpartition("@")
    if at and (parts["scheme"].lower() not in _SSH or ":" in user):
        return True
    return _SECRET_IN_QUERY.search(parts["rest"]) is not None


def without_credentials(text: str) -> str:
    """Masks the credentials of URLs in a text, for texts that were stored, printed or logged with them."""
    if "://" not in text:
        return text
    return _SECRET_IN_QUERY.sub(r"\1***", _WITH_USER.sub(_mask_user, text))


def _mask_user(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - 8) : match.start()].lower()
    if before.endswith("ssh") and ":" not in match[1]:
        return match[0]
    return "://***@"


_CLOSED_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *(
                "192.0.0.0/24",
                "192.0.2.0/24",
                "192.31.196.0/24",
                "192.52.193.0/24",
                "192.88.99.0/24",
                "192.168.0.0/16",
            ),
            *(
                "192.175.48.0/24",
                "198.18.0.0/15",
                "198.51.100.0/24",
                "203.0.113.0/24",
                "224.0.0.0/4",
                "240.0.0.0/4",
            ),
        ),
    )
)
"""The special-purpose addresses in IANA's registry, multicast and reserved addresses."""

_OPEN_6 = ipaddress.IPv6Network("2000::/3")
_CLOSED_6 = tuple(
    map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"))
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def closed(address: str) -> bool:
    """True if untrusted trees must not be fetched from a network address.

    Such addresses are private, loopback, link-local, shared, multicast or reserved, or hide another address
    (mapped, 6to4, Teredo). A text that is not an address is closed too.
    """
    number = _ip(address.partition("%")[0])
    if number is None:
        return True
    if isinstance(number, ipaddress.IPv6Address):
        if number in _NAT64:  # how hosts without IPv4 reach it
            return closed(str(ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)))
        return "%" in address or number not in _OPEN_6 or any(number in network for network in _CLOSED_6)
    return any(number in network for network in _CLOSED_4)


def is_allowed(address: TreeAddress, prefixes: Iterable[str]) -> bool:
    """True if this address is at or below one of the administrator's prefixes."""
    known = (read_address(prefix) for prefix in prefixes)
    return any(isinstance(prefix, TreeAddress) and address.below(prefix) for prefix in known)


LONGEST_BRANCH = 200
"""The most characters in the name of a branch."""

_FORBIDDEN = frozenset(" ~^:?*[\\\x7f")


def refuse_branch(name: str) -> Failure | None:
    """Says why a name cannot be a branch or tag; None if it can be one."""

    def refuse(why: str) -> Failure:
        return wrong_usage(
            f"the branch {name[:LONGEST_BRANCH]!a} {why}", "name one of the tree, such as master"
        )

    if not 0 < len(name) <= LONGEST_BRANCH:
        return refuse(f"has not 1 to {LONGEST_BRANCH} characters")
    odd = next((each for each in name if each in _FORBIDDEN or not _is_shown(each)), None)
    if odd is not None:
        return refuse(f"has {'a blank' if odd == ' ' else ascii(odd)}, which git allows in no branch")
    if name.startswith("-") or name == "@":
        return refuse("could be taken for something else by git")
    parts = name.split("/")
    if ".." in name or "@{" in name or "" in parts:
        return refuse("has .., @{ or an empty part between slashes, which git allows in no branch")
    if name.endswith(".") or any(part.startswith(".") or part.endswith(".lock") for part in parts):
        return refuse(
            "ends with a dot, or has a part that begins with one or ends with .lock, which git allows in no"
            " branch"
        )
    return None


def _is_shown(character: str) -> bool:
    """True for visible characters, and for the joiner between the parts of an emoji."""
    return character.isprintable() or character == "\N{ZERO WIDTH JOINER}"
