"""`python -m agent_cli`, and the console scripts."""

import gc
import os
import sys

GARBAGE = 200_000  # objects until garbage is looked for: importing makes none, and looking takes 5 % of the start


def main() -> None:
    """Say at once what needs nothing to be loaded, else start."""
    gc.set_threshold(GARBAGE)
    if sys.argv[1:] == ["hook"]:  # runs at each prompt of another tool, where a person waits
        from agent_cli.cli import hook_event

        hook_event.answer()
        os._exit(0)  # taking all apart would need a tenth of the time
    from agent_cli.cli import usage

    said = usage.answer(sys.argv[1:])
    if said:
        try:
            os.write(1, f"{said}\n".encode())
            return
        except OSError:
            pass  # the command line below meets it again, and knows what to say
    from agent_cli.cli.main import main  # not before: Typer takes as long as all the rest

    main()


if __name__ == "__main__":
    main()
