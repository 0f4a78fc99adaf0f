"""`agent completion`: a script for your shell that completes commands, options and their choices.

The script holds the whole table of commands, and the settings. So no program is started when Tab is pressed, which
would take a tenth of a second each time, except to list what only the database or the server has: handles of sessions,
notes, facts and other kinds, and models. The options of the program are offered behind each command too.
Print the script again after an update.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import typer

from agent_cli import kinds
from agent_cli.cli import output, usage
from agent_cli.cli.invocation import group
from agent_cli.config import settings_file
from agent_cli.values import frozen

app = group()

_FOLDER = "~/.local/share/bash-completion/completions"
_FISH = "~/.config/fish/completions"
_INSTALL = {
    "bash": f"mkdir -p {_FOLDER} && agent completion bash > {_FOLDER}/agent",
    "zsh": "mkdir -p ~/.zfunc && agent completion zsh > ~/.zfunc/_agent  # named in fpath before compinit, in ~/.zshrc",
    "fish": f"mkdir -p {_FISH} && agent completion fish > {_FISH}/agent.fish",
    "pwsh": "agent completion pwsh | Out-String | Invoke-Expression  # in the file that $PROFILE names",
}


_HANDLE_COMMANDS = tuple(kind.commands for kind in kinds.KINDS if kind.commands)
_HANDLE_PARAMETERS = ("handle", "handles", "resume")  # parameters of the commands that take a handle
_TAKES_MODEL = (("", "model"), ("/models/use", "name"))  # a command and the parameter that is a model
_TAKES_SETTING = ("/config/set", "key")
_OPTIONS = {name.split()[0]: text for names, text in usage.OPTIONS.items() for name in names.split(", ")}


@frozen
class CompletionEntry:
    """What may follow a command such as "/facts/list"."""

    words: Mapping[str, str]  # subcommands and options, with their descriptions
    choices: Mapping[str, tuple[str, ...]]  # the values behind an option or a word; "" for the argument
    handle_commands: Mapping[str, str]  # the `agent … list` that has the values behind an option; "" for the argument

    @property
    def arguments(self) -> list[str]:
        return [word for word in self.words if not word.startswith("-")] or list(self.choices.get("", ()))

    @property
    def options(self) -> list[str]:
        return [word for word in self.words if word.startswith("-")]


@app.command()
def completion(
    shell: typer.Context, name: Literal["bash", "zsh", "fish", "pwsh"] = typer.Argument(metavar="bash|zsh|fish|pwsh")
) -> None:
    """Print a script that completes commands and options in your shell."""
    output.write(script(name, table()) + "\n")
    shell.obj.note(f"to install it: {_INSTALL[name]}")


def table() -> dict[str, CompletionEntry]:
    """Every command by its path, as in "/facts/list"; the program itself has the empty path."""
    from agent_cli.cli import main  # which imports this module as one of its commands

    found: dict[str, CompletionEntry] = {}
    _walk("", typer.main.get_command(main.app), found)
    return found


def script(shell: str, entries: Mapping[str, CompletionEntry]) -> str:
    """The script for a shell, with its first line saying how to install it."""
    head = ["#compdef agent agent-cli"] if shell == "zsh" else []
    return "\n".join([*head, f"# To install: {_INSTALL[shell]}", *_WRITERS[shell](entries)])


def _walk(path: str, command: Any, found: dict[str, CompletionEntry]) -> None:
    if path:
        subcommands = getattr(command, "commands", {})
        words = {name: _first(each.help) for name, each in subcommands.items()}
    else:
        subcommands = {name: typer.main.get_command(usage.app(name)) for name in usage.COMMANDS}
        words = {name: _first(what) for name, what in usage.COMMANDS.items()}
    choices: dict[str, tuple[str, ...]] = {}
    handle_commands: dict[str, str] = {}
    for param in command.params:
        names = [name for name in (*param.opts, *param.secondary_opts) if name.startswith("-")]
        words |= {name: _first(getattr(param, "help", "") or _OPTIONS.get(name)) for name in names}
        if values := tuple(map(str, getattr(param.type, "choices", ()))):
            choices |= dict.fromkeys(names or [""], values)
        if (path, param.name) == _TAKES_SETTING:
            settings = settings_file.choices()
            choices |= {"": tuple(settings), **{key: some for key, some in settings.items() if some}}
        noun = "sessions" if names else "/".join(path.split("/")[1:-1])
        if param.name in _HANDLE_PARAMETERS and noun in _HANDLE_COMMANDS:
            handle_commands |= dict.fromkeys(names or [""], noun)
        if (path, param.name) in _TAKES_MODEL:
            handle_commands |= dict.fromkeys(names or [""], "models")
    found[path] = CompletionEntry({**words, "--help": "Show what it does"}, choices, handle_commands)
    for name, each in subcommands.items():
        _walk(f"{path}/{name}", each, found)


def _first(help: str | None) -> str:
    """The first sentence, without characters that are special in a shell."""
    line = (help or "").strip().split("\n")[0].split(". ")[0].removesuffix(".").replace("'", "’")
    return "".join(letter for letter in line if letter not in '"`\\$[]')


def _bash(entries: Mapping[str, CompletionEntry]) -> Iterator[str]:
    yield from (
        *_LIST_HANDLES_SH,
        "_agent() {",
        '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" path="" words="" i',
        '    [[ "$cur" == "=" ]] && cur="" && prev="=$prev"',
        '    [[ "$prev" == "=" ]] && prev="${COMP_WORDS[COMP_CWORD-2]}"; prev="${prev#=}"',
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        f'        case "$path/${{COMP_WORDS[i]}}" in {_paths(entries)}) path="$path/${{COMP_WORDS[i]}}" ;; esac',
        "    done",
    )
    yield from _cases(entries, '    case "$path $prev" in', "words='{}'", 'words="$(_agent_listed {})"')
    yield '    if [[ -n "$words" ]]; then'
    yield '        COMPREPLY=($(compgen -W "$words" -- "$cur")); return'
    yield "    fi"
    yield '    case "$path" in'
    for path, entry in entries.items():
        listed = entry.handle_commands.get("")
        plain = f'"$(_agent_listed {listed})"' if listed else f"'{' '.join(entry.arguments)}'"
        options = dict.fromkeys([*entry.options, *entries[""].options])
        yield f"        '{path}') [[ \"$cur\" == -* ]] && words='{' '.join(options)}' || words={plain} ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield "}"
    yield "complete -o default -F _agent agent agent-cli"


def _zsh(entries: Mapping[str, CompletionEntry]) -> Iterator[str]:
    yield from (
        *_LIST_HANDLES_SH,
        "_agent() {",
        '    local where="" i before="${words[CURRENT-1]}"',
        "    local -a candidates",
        "    for ((i = 2; i < CURRENT; i++)); do",
        f'        case "$where/${{words[i]}}" in {_paths(entries)}) where="$where/${{words[i]}}" ;; esac',
        "    done",
    )
    yield "    if compset -P '--*='; then before=\"${IPREFIX%=}\"; fi"
    listed = 'compadd -- ${{(f)"$(_agent_listed {})"}}; return'
    yield f"    local -a program=({_zsh_options(entries[''])})"
    yield from _cases(entries, '    case "$where $before" in', "compadd -- {}; return", listed)
    yield '    case "$where" in'
    for path, entry in entries.items():
        options = f"{_zsh_options(entry)}{' $program' if path else ''}"
        plain = " ".join(_quoted(word, entry.words.get(word, "")) for word in entry.arguments)
        words = (
            f'candidates=(${{(f)"$(_agent_listed {entry.handle_commands[""]})"}})'
            if "" in entry.handle_commands
            else f"candidates=({plain})"
        )
        yield f"        '{path}') [[ \"$PREFIX\" == -* ]] && candidates=({options}) || {words} ;;"
    yield "    esac"
    yield "    if (( $#candidates )); then _describe 'agent' candidates; elif [[ \"$PREFIX\" != -* ]]; then _files; fi"
    yield "}"
    yield 'if [[ "$funcstack[1]" = _agent ]]; then _agent "$@"; else'
    yield "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }"
    yield "    compdef _agent agent agent-cli"
    yield "fi"


def _quoted(word: str, help: str) -> str:
    return f"'{word}:{help}'" if help else f"'{word}'"


def _fish(entries: Mapping[str, CompletionEntry]) -> Iterator[str]:
    inner = " ".join(f"'{path}'" for path in entries if path)
    yield from (
        "function __agent_at",
        "    set -l at ''",
        "    for word in (commandline -opc)[2..-1]",
        f"        contains -- $at/$word {inner}; and set at $at/$word",
        "    end",
        '    test "$at" = "$argv[1]"',
        "end",
        "function __agent_behind",
        '    test (commandline -opc)[-1] = "$argv[1]"',
        "end",
        "function __agent_listed",
        "    command agent $argv[1] list 2>/dev/null | string replace -r '^(\\S+)\\s+' '$1\\t'",
        "end",
    )
    for path, entry in entries.items():
        for command in ("agent", "agent-cli"):
            begin = f"complete -c {command} -n '__agent_at \"{path}\"'"
            for word, help in entry.words.items():
                anywhere = not path and word.startswith("-")
                start = f"complete -c {command}" if anywhere else begin
                yield f"{start} {_fish_word(word, _fish_values(entry, word))} -d '{help}'"
            if values := _fish_values(entry, ""):
                yield f"{begin} -f -a '{values}'"
            for word in entry.choices.keys() - entry.words.keys() - {""}:
                behind = f"complete -c {command} -n '__agent_at \"{path}\"; and __agent_behind {word}'"
                yield f"{behind} -f -a '{_fish_values(entry, word)}'"


def _fish_values(entry: CompletionEntry, option: str) -> str:
    command = entry.handle_commands.get(option)
    return f"(__agent_listed {command})" if command else " ".join(entry.choices.get(option, ()))


def _fish_word(word: str, values: str) -> str:
    more = f" -x -a '{values}'" if values else ""
    if word.startswith("--"):
        return f"-l {word[2:]}{more}"
    return f"-s {word[1:]}{more}" if word.startswith("-") else f"-f -a {word}"


def _pwsh(entries: Mapping[str, CompletionEntry]) -> Iterator[str]:
    yield "Register-ArgumentCompleter -Native -CommandName agent, agent-cli -ScriptBlock {"
    yield "    param($word, $ast, $cursor)"
    yield "    $places = @{"
    for path, entry in entries.items():
        words = [*entry.words, *entry.choices.get("", ())]
        places = {path: words, **{f"{path} {option}": [*some] for option, some in entry.choices.items() if option}}
        for place, offered in places.items():
            quoted = ", ".join(f"'{word}'" for word in offered)
            yield f"        '{place}' = @({quoted})"
    yield from (
        "    }",
        "    $at = ''; $before = ''",
        "    foreach ($each in $ast.CommandElements | Select-Object -Skip 1) {",
        "        $text = $each.ToString()",
        "        if ($each.Extent.EndOffset -ge $cursor -and $text -eq $word) { continue }",
        '        if ($places.ContainsKey("$at/$text")) { $at = "$at/$text" }',
        "        $before = $text",
        "    }",
        '    $key = if ($places.ContainsKey("$at $before")) { "$at $before" } else { $at }',
        '    $places[$key] | Where-Object { $_ -like "$word*" } | ForEach-Object {',
        "        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)",
        "    }",
        "}",
    )


def _paths(entries: Mapping[str, CompletionEntry]) -> str:
    return "|".join(path for path in entries if path)


def _cases(entries: Mapping[str, CompletionEntry], head: str, then: str, listed: str) -> Iterator[str]:
    """Cases for the options that take one of some choices, or a handle; last those that stand behind any command."""
    yield head
    for path, entry in [*entries.items()][::-1]:
        start = f"'{path} " if path else "*' "
        for name, some in entry.choices.items():
            if name:
                yield f"        {start}{name}') {then.format(' '.join(some))} ;;"
        for name, noun in entry.handle_commands.items():
            if name:
                yield f"        {start}{name}') {listed.format(noun)} ;;"
    yield "    esac"


def _zsh_options(entry: CompletionEntry) -> str:
    return " ".join(_quoted(option, entry.words[option]) for option in entry.options)


_LIST_HANDLES_SH = ("_agent_listed() {", "    command agent \"$1\" list 2>/dev/null | cut -d' ' -f1", "}")
_WRITERS = {"bash": _bash, "zsh": _zsh, "fish": _fish, "pwsh": _pwsh}
