"""`python -m agent_cli`, and the console scripts."""

from agent_cli.cli.main import main

if __name__ == "__main__":
    main()
