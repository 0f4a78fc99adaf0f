"""Fetches feeds without reaching this machine or its private network, and reads calendars, all within limits.

A name is resolved once, checked, and that IP address is connected to: resolved twice, it could lead elsewhere the
second time. Redirects follow the same rule. A calendar of ten lines can mean an event every second, or every day since
the year 1, and the library expands each of them.
"""

import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from agent_cli.text import one_line
from agent_cli.tools.tool import ToolFailed
from agent_cli.values import frozen

if TYPE_CHECKING:
    import httpcore

MAX_BYTES = 5_000_000
_MAX_REDIRECTS = 5
_REDIRECT_STATUS = (301, 302, 303, 307, 308)
_IPV4_IN_IPV6 = ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "::/96", "::ffff:0:0:0/96")


@frozen
class Fetched:
    data: bytes
    media_type: str  # in lower case
    address: str  # after redirects


def fetch(address: str, seconds: float, *, allow_private: bool = False) -> Fetched:
    """The content of an http or https address. `allow_private`: also in the private network. Raises ToolFailed."""
    from urllib.parse import urljoin, urlsplit  # late, like httpcore: only needed to fetch

    import httpcore

    deadline = time.monotonic() + seconds
    with httpcore.ConnectionPool(network_backend=_backend(allow_private), max_connections=1) as pool:
        for _ in range(_MAX_REDIRECTS):
            if urlsplit(address).scheme not in ("http", "https"):
                raise ToolFailed(f"{_origin(address)} is not an http or https address")
            try:
                found = _get(pool, address, deadline)
            except (httpcore.TimeoutException, TimeoutError):
                raise ToolFailed(f"{_origin(address)} did not answer within {seconds:g} s") from None
            except (
                httpcore.NetworkError,
                httpcore.ProtocolError,
                httpcore.UnsupportedProtocol,
                OSError,
                ValueError,
            ) as error:
                raise ToolFailed(f"{_origin(address)} cannot be fetched: {one_line(str(error), 200)}") from error
            if isinstance(found, Fetched):
                return found
            address = urljoin(address, found)
    raise ToolFailed(f"{_origin(address)} has more than {_MAX_REDIRECTS} redirects")


def _get(pool: "httpcore.ConnectionPool", address: str, deadline: float) -> Fetched | str:
    """The content, or the address it has moved to."""
    left = max(0.1, deadline - time.monotonic())
    limits = dict.fromkeys(("connect", "read", "write", "pool"), left)
    headers = [("user-agent", "agent-cli"), ("accept-encoding", "identity")]
    with pool.stream("GET", address, headers=headers, extensions={"timeout": limits}) as answer:
        response_headers = {name.lower(): value.decode("latin-1") for name, value in answer.headers}
        if answer.status in _REDIRECT_STATUS and b"location" in response_headers:
            return response_headers[b"location"]
        if answer.status != 200:
            raise ToolFailed(f"{_origin(address)} answered with status {answer.status}")
        data = _read(answer.iter_stream(), address, deadline)
    return Fetched(data, response_headers.get(b"content-type", "").partition(";")[0].strip().lower(), address)


def _read(pieces: Iterable[bytes], address: str, deadline: float) -> bytes:
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > MAX_BYTES:
            raise ToolFailed(f"{_origin(address)} is larger than {MAX_BYTES / 1e6:.0f} MB")
        if time.monotonic() > deadline:
            raise TimeoutError
    return bytes(data)


def _backend(allow_private: bool) -> Any:
    """A network backend that connects to allowed machines only."""
    import httpcore

    class Careful(httpcore.SyncBackend):
        def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> "httpcore.NetworkStream":
            return super().connect_tcp(_resolve(host, port, allow_private), port, *args, **options)

        def connect_unix_socket(self, *args: Any, **options: Any) -> "httpcore.NetworkStream":
            raise OSError("addresses of sockets on this machine are not allowed")

    return Careful()


def _resolve(host: str, port: int, allow_private: bool) -> str:
    """The IP address of a host that may be connected to. Raises OSError."""
    import socket

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise OSError(f"no host is known as {one_line(host)}") from error
    numbers = [str(address[0]) for *_, address in found]
    if not allow_private and any(not _is_public(number) for number in numbers):
        raise OSError("it is on this machine or in its private network (feeds_private allows that)")
    return numbers[0]


def _is_public(number: str) -> bool:
    import ipaddress

    address = ipaddress.ip_address(number.partition("%")[0])
    inside = getattr(address, "ipv4_mapped", None)
    if inside is not None:
        return _is_public(str(inside))
    translated = any(address in each for each in map(ipaddress.ip_network, _IPV4_IN_IPV6))
    local = address.is_multicast or getattr(address, "is_site_local", False)
    return address.is_global and not local and not translated


def _origin(address: str) -> str:
    """Scheme and host only: a password may precede the host, and many calendars have a secret path."""
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    return one_line(f"{parts.scheme}://{parts.hostname or ''}", 120)


_DAYS = 7
_MAX_EVENTS = 50
_NO_CALENDARS = "the libraries for calendars are not installed: pip install 'agent-cli[feeds]'; tell the person"


def upcoming_events(data: bytes, now: datetime, zone: str) -> str:
    """The events from today on, recurring ones too, in the person's time zone. Raises ValueError."""
    try:
        import icalendar
        import recurring_ical_events
    except ImportError as error:
        raise ValueError(_NO_CALENDARS) from error
    begin = _in_zone(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        calendar = icalendar.Calendar.from_ical(data)
        found = recurring_ical_events.of(calendar).between(begin, begin + timedelta(days=_DAYS))
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # ValueError, KeyError, TypeError, … as the calendar is broken
        raise ValueError(f"the calendar cannot be read: {one_line(str(error), 200)}") from error
    events = sorted(found, key=lambda event: _start(event, begin, zone))
    lines = [_event_line(event, begin, zone) for event in events[:_MAX_EVENTS]]
    if len(events) > _MAX_EVENTS:
        lines.append(f"and {len(events) - _MAX_EVENTS} more")
    return "\n".join([f"The next {_DAYS} days:", *lines]) if lines else f"no events in the next {_DAYS} days"


def _in_zone(moment: datetime, zone: str) -> datetime:
    """A moment in the person's zone, with its summer time; the clock gives only an offset."""
    if not zone:
        return moment.astimezone()
    from zoneinfo import ZoneInfo

    return moment.astimezone(ZoneInfo(zone))


def _start(event: Any, today: datetime, zone: str) -> datetime:
    """The start of an event: midnight for whole days, the person's zone when it has none."""
    start = event["DTSTART"].dt
    if not isinstance(start, datetime):
        start = datetime.combine(start, datetime.min.time())
    return _in_zone(start, zone) if start.tzinfo else start.replace(tzinfo=today.tzinfo)


def _event_line(event: Any, today: datetime, zone: str) -> str:
    begins = _start(event, today, zone)
    whole_day = not isinstance(event["DTSTART"].dt, datetime)
    at = f"{begins:%a %d %b}" + ("" if whole_day else f" {begins:%H:%M}")
    place = one_line(str(event.get("LOCATION", "")), 80)
    return f"- {at}: {one_line(str(event.get('SUMMARY', 'without a title')), 120)}{f', {place}' if place else ''}"
