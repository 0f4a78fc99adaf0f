"""The server in the foreground, for playing by hand: it repeats what it is told.

python -m tests.ollama_server --port 11434 --delay 0.05
"""

import argparse
import functools
import threading

from tests.ollama_server import state
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer

MODELS = (
    Model("qwen3:8b", capabilities=("completion", "tools", "thinking")),
    Model("nomic-embed-text", capabilities=("embedding",), embedding_length=768),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.ollama_server", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    parser.add_argument("--delay", type=float, default=0.0, metavar="S", help="seconds before every word")
    args = parser.parse_args()
    with OllamaServer(MODELS, strict=False, port=args.port) as server:
        server.answer = functools.partial(state.echo, delay=args.delay)
        print(f"OLLAMA_HOST={server.host}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print(*server.problems, sep="\n")


if __name__ == "__main__":
    main()
