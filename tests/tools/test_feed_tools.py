import threading
import time
from dataclasses import replace
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agent_cli.messages import ToolCall, ToolResult
from agent_cli.tools import feed_tools as feeds
from agent_cli.tools.registry import BUILT_IN
from agent_cli.tools.tool import Access, ToolFailed
from agent_cli.tools.tool import run as run_tool
from tests.tables import for_each, listed

RSS = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>The <![CDATA[<b>News</b>]]></title>
<item><title>Older</title><pubDate>Mon, 16 Nov 2026 08:00:00 GMT</pubDate></item>
<item><title>A &amp; B\x1b[2J</title><link>https://example.org/1</link><description>&lt;p&gt;Some
 &lt;i&gt;words&lt;/i&gt; &lt;script&gt;alert(1)&lt;/script&gt;&lt;/p&gt;</description>
<pubDate>Fri, 20 Nov 2026 08:00:00 GMT</pubDate></item></channel></rss>""".replace(b"\x1b", b"")
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>Blog</title>
<entry><title>Hello</title><updated>2026-11-19T10:00:00Z</updated><link href="https://example.org/hello"/></entry></feed>"""
CALENDAR = b"""BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r
BEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20261101T000000Z\r\nDTSTART:20261005T070000Z\r\nDTEND:20261005T080000Z\r
RRULE:FREQ=WEEKLY\r\nSUMMARY:Stand-up\r\nLOCATION:Room 2\r\nEND:VEVENT\r
BEGIN:VEVENT\r\nUID:2\r\nDTSTAMP:20261101T000000Z\r\nDTSTART;VALUE=DATE:20261122\r\nDTEND;VALUE=DATE:20261123\r
SUMMARY:Birthday of Anna\r\nEND:VEVENT\r
BEGIN:VEVENT\r\nUID:3\r\nDTSTAMP:20261101T000000Z\r\nDTSTART:20250101T070000Z\r\nSUMMARY:Long ago\r\nEND:VEVENT\r
END:VCALENDAR\r\n"""


@pytest.fixture(autouse=True)
def vienna(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Europe/Vienna")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def web():
    """A server on this machine; `pages` gives (status, headers, body) by path."""
    pages = {}

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            status, headers, body = pages[self.path]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in body if isinstance(body, list) else [body]:
                time.sleep(0.05 if isinstance(body, list) else 0)
                self.wfile.write(piece)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=lambda: server.serve_forever(0.01))
    thread.start()
    server.pages, server.address = pages, f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown(), thread.join(), server.server_close()


def with_feeds(context, private=True, **named):
    return replace(context, access=Access(feeds=named, allow_private=private))


def fetched(here, name=""):
    return run_tool(BUILT_IN["fetch_feed"], ToolCall("1", "fetch_feed", {"name": name}), here)


def test_nothing_is_fetched_that_the_person_has_not_named(context, web):
    tool = BUILT_IN["fetch_feed"]
    assert not tool.offered(context)
    assert tool.offered(with_feeds(context, news="x"))
    assert fetched(context, "https://example.org") == ToolResult("no feeds are set up", failed=True)
    here = with_feeds(context, news="x", weather="y")
    assert fetched(here) == ToolResult("news, weather")
    assert fetched(here, web.address) == ToolResult(
        f"there is no {web.address!r}; there are news, weather", failed=True
    )


def test_a_feed_gives_its_newest_entries_as_plain_lines(context, tmp_path):
    (tmp_path / "rss.xml").write_bytes(RSS)
    (tmp_path / "atom.xml").write_bytes(ATOM)
    here = with_feeds(context, news=str(tmp_path / "rss.xml"), blog=f"file://{tmp_path}/atom.xml")
    assert fetched(here, "news") == ToolResult(
        "The News:\n- 20 Nov 2026: A & B[2J — Some words (https://example.org/1)\n- 16 Nov 2026: Older"
    )
    assert fetched(here, "blog") == ToolResult("Blog:\n- 19 Nov 2026: Hello (https://example.org/hello)")


def test_a_long_feed_is_cut_to_its_newest_entries(context, tmp_path):
    items = b"".join(b"<item><title>no %d</title></item>" % number for number in range(90))
    (tmp_path / "rss.xml").write_bytes(b"<rss><channel><title>T</title>%s</channel></rss>" % items)
    lines = fetched(with_feeds(context, news=str(tmp_path / "rss.xml")), "news").text.split("\n")
    assert (len(lines), lines[1], lines[-1]) == (52, "- no 0", "and 40 older ones")


def test_a_calendar_tells_the_coming_days_by_the_persons_clock(context, tmp_path):
    (tmp_path / "cal.ics").write_bytes(CALENDAR)
    here = replace(
        with_feeds(context, cal=str(tmp_path / "cal.ics")),
        time=lambda: datetime.fromisoformat("2026-11-21T09:00+01:00"),
    )
    assert fetched(here, "cal").text.split("\n") == [
        "The next 7 days:",
        "- Sun 22 Nov: Birthday of Anna",
        "- Mon 23 Nov 08:00: Stand-up, Room 2",
    ]
    summer = replace(here, time=lambda: datetime.fromisoformat("2026-10-22T09:00+02:00"))
    assert fetched(summer, "cal").text.split("\n")[1:] == ["- Mon 26 Oct 08:00: Stand-up, Room 2"]  # the clocks go back


def test_a_text_and_a_page_are_given_as_they_read(context, tmp_path):
    (tmp_path / "weather.txt").write_bytes("\ufeffVienna: 4 °C\x1b]0;x\x07\n".encode())
    (tmp_path / "page.html").write_text("<html><body><style>b{}</style><p>Rain &amp; wind</body></html>")
    (tmp_path / "long.txt").write_text("x" * 5000)
    (tmp_path / "photo").write_bytes(b"\x89PNG\0")
    here = with_feeds(
        context, **{name: str(tmp_path / name) for name in ("weather.txt", "page.html", "long.txt", "photo", "no")}
    )
    assert fetched(here, "weather.txt").text.lstrip("\ufeff") == "Vienna: 4 °C]0;x"
    assert fetched(here, "page.html") == ToolResult("Rain & wind")
    assert fetched(here, "long.txt").text.endswith("[cut off here: 1000 more characters]")
    for name, why in (("photo", "it is not text but binary"), ("no", "it cannot be read: No such file or directory")):
        assert fetched(here, name) == ToolResult(f"{tmp_path}/{name} is not read: {why}", failed=True)


@pytest.mark.parametrize(
    "data", [b"<rss><channel>", b"<rss", b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n", b"BEGIN:VCALENDAR"]
)
def test_what_is_broken_is_said(context, tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    result = fetched(with_feeds(context, x=str(tmp_path / "x")), "x")
    assert result.failed or result.text in ("the feed has no entries", "nothing in the next 7 days"), result


def test_an_address_is_fetched_and_its_redirects_followed(context, web):
    web.pages |= {
        "/a": (302, {"location": "/b?key=1"}, b""),
        "/b?key=1": (200, {"content-type": "text/plain"}, b"sunny"),
    }
    assert fetched(with_feeds(context, weather=f"{web.address}/a"), "weather") == ToolResult("sunny")


@for_each(
    "host",
    listed("""127.0.0.1 | localhost | [::1] | 0.0.0.0 | 10.0.0.1 | 192.168.1.1 | 169.254.169.254 | [fd00::1]
        [::ffff:127.0.0.1] | [64:ff9b::7f00:1] | 2130706433 | 0x7f.1 | [fe80::1%25lo] | 224.0.0.1 | [::127.0.0.1]
        [::ffff:0:127.0.0.1] | [fec0::1] | [::ffff:224.0.0.1]"""),
)
def test_nothing_on_this_machine_or_in_its_network_is_fetched(host):
    with pytest.raises(ToolFailed, match=r"private network|no host is known"):
        feeds.fetch(f"http://{host}:1/secret", 2)


def test_no_redirect_leads_into_the_private_network(web, monkeypatch):
    web.pages["/"] = (302, {"location": "http://192.168.1.1/"}, b"")
    monkeypatch.setattr(feeds, "_is_public", lambda number: number == "127.0.0.1")
    with pytest.raises(ToolFailed, match="private network"):
        feeds.fetch(f"{web.address}/", 2)
    web.pages["/"] = (302, {"location": "file:///etc/passwd"}, b"")
    with pytest.raises(ToolFailed, match="is not an http or https address"):
        feeds.fetch(f"{web.address}/", 2)


def test_what_is_too_large_too_slow_or_leads_round_is_given_up(web):
    web.pages |= {
        "/large": (200, {}, [b"x" * 1_000_000] * 6),
        "/slow": (200, {}, [b"x"] * 100),
        "/round": (302, {"location": "/round"}, b""),
        "/gone": (404, {}, b""),
    }
    for path, said in (
        ("/large", "larger than 5 MB"),
        ("/slow", "did not answer within 0.2 s"),
        ("/round", "more than 5 redirects"),
        ("/gone", "status 404"),
    ):
        with pytest.raises(ToolFailed, match=said):
            feeds.fetch(f"{web.address}{path}", 0.2 if path == "/slow" else 5, allow_private=True)
    with pytest.raises(ToolFailed, match="cannot be fetched"):
        feeds.fetch("http://127.0.0.1:9/", 2, allow_private=True)


def test_a_secret_in_an_address_is_not_told():
    with pytest.raises(ToolFailed) as raised:
        feeds.fetch("http://me:hunter2@127.0.0.1:9/private-4711/basic.ics?key=4711", 2, allow_private=True)
    assert "4711" not in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("begins", ["20260101T000000Z\r\nRRULE:FREQ=SECONDLY", "00010101T000000Z\r\nRRULE:FREQ=HOURLY"])
def test_a_calendar_of_millions_of_events_is_ended_and_said(context, tmp_path, monkeypatch, begins):
    calendar = f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:{begins}\r\nEND:VEVENT\r\nEND:VCALENDAR"
    (tmp_path / "cal.ics").write_text(calendar)
    monkeypatch.setattr(feeds, "_PARSER_TIMEOUT", 0.7)
    result = fetched(with_feeds(context, cal=str(tmp_path / "cal.ics")), "cal")
    assert result.text == "the calendar cannot be read: it takes more than 0.7 s to be read"


@pytest.mark.parametrize("piece", ["<script", "<", "<a ", "</script", "&lt;"])
def test_a_page_made_to_take_for_ever_takes_no_time(context, tmp_path, piece):
    file = tmp_path / "page.html"
    file.write_text("<html>" + piece * (4_000_000 // len(piece)))
    begun = time.process_time()
    fetched(with_feeds(context, page=str(file)), "page")
    assert time.process_time() - begun < 2.0


def test_of_a_page_scripts_and_styles_are_left_out(context, tmp_path):
    file = tmp_path / "page.html"
    file.write_text("<html><style>p {}</style><p>Rain&nbsp;<SCRIPT>if (a</b) {}\n</SCRIPT > tomorrow</p>, 4 < 5")
    assert fetched(with_feeds(context, page=str(file)), "page") == ToolResult("Rain tomorrow , 4 < 5")
