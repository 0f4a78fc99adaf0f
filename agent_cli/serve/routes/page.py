"""The page at /docs: what the API can do, told by its own description, in one file without scripts.

The usual page loads its program from another server, which would then run with the reader's token in hand.
"""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = "body{font:16px/1.5 system-ui;max-width:50rem;margin:2rem auto;padding:0 1rem}pre{overflow:auto;padding:.5rem;\
border:1px solid #8888}h2{margin-top:2.5rem;font-family:monospace}dt{font-family:monospace}"


def page(api: Mapping[str, Any]) -> str:
    """HTML of an OpenAPI description."""
    info = api["info"]
    body = [f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>", f"<p>{escape(info['description'])}</p>"]
    for path, methods in api["paths"].items():
        for method, route in methods.items():
            body += _route(path, method, route)
    body += ["<h2>Forms</h2>"]
    for name, schema in api.get("components", {}).get("schemas", {}).items():
        body += [f'<h3 id="{escape(name)}">{escape(name)}</h3>', _json(schema)]
    style = f"<meta charset=utf-8><title>{escape(info['title'])}</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang=en><head>{style}</head><body>{''.join(body)}</body></html>"


def _route(path: str, method: str, route: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(route.get('summary', ''))}</p>"
    if given := route.get("parameters"):
        rows = (f"<dt>{escape(each['name'])} ({each['in']})<dd>{escape(each.get('description', ''))}" for each in given)
        yield f"<dl>{''.join(rows)}</dl>"
    if sent := route.get("requestBody"):
        yield f"<p>Request</p>{_json(sent['content'])}"
    for status, answer in route["responses"].items():
        yield f"<p>{escape(status)} {escape(answer.get('description', ''))}</p>"


def _json(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=1, ensure_ascii=False))}</pre>"
