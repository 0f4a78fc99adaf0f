"""`agent completion`: a script for your shell that completes commands, options and their choices.

The script holds the whole table of commands. So nothing is started when Tab is pressed, which would take a tenth of a
second each time, except for what only the file knows: the handles of sessions, notes, facts and other kinds.
Print it again after an update.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Literal

import typer

from agent_cli import kinds
from agent_cli.cli import output, usage
from agent_cli.values import frozen

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_FOLDER = "~/.local/share/bash-completion/completions"
_FISH = "~/.config/fish/completions"
_INSTALL = {
    "bash": f"mkdir -p {_FOLDER} && agent completion bash > {_FOLDER}/agent",
    "zsh": "mkdir -p ~/.zfunc && agent completion zsh > ~/.zfunc/_agent  # named in fpath before compinit, in ~/.zshrc",
    "fish": f"mkdir -p {_FISH} && agent completion fish > {_FISH}/agent.fish",
    "pwsh": "agent completion pwsh | Out-String | Invoke-Expression  # in the file that $PROFILE names",
}


_LISTED = tuple(kind.list_command for kind in kinds.KINDS if kind.list_command)
_HANDLES = ("handle", "handles", "told", "resume")  # how the commands name what takes one
_OPTIONS = {name.split()[0]: told for names, told in usage.OPTIONS.items() for name in names.split(", ")}


@frozen
class Place:
    """What may follow a command such as "/facts/list": words and what they mean, and the choices after an option."""

    words: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]  # of an option that takes one of some words; "" for an argument
    listed: Mapping[str, str]  # what an option or the argument takes stands in `agent … list` of these

    @property
    def plain(self) -> list[str]:
        return [word for word in self.words if not word.startswith("-")] or list(self.choices.get("", ()))

    @property
    def options(self) -> list[str]:
        return [word for word in self.words if word.startswith("-")]


@app.command()
def completion(
    shell: typer.Context, name: Literal["bash", "zsh", "fish", "pwsh"] = typer.Argument(metavar="bash|zsh|fish|pwsh")
) -> None:
    """Print a script that completes commands and options in your shell."""
    output.say(script(name, table()))
    shell.obj.note(f"to install it: {_INSTALL[name]}")


def table() -> dict[str, Place]:
    """Every command by its path, as in "/facts/list"; the program itself is the empty one."""
    from agent_cli.cli import main  # which imports this module as one of its commands

    found: dict[str, Place] = {}
    _walk("", typer.main.get_command(main.app), found)
    return found


def script(shell: str, places: Mapping[str, Place]) -> str:
    """The script for a shell, with its first line saying how to install it."""
    return "\n".join([*_HEADS.get(shell, ()), f"# To install: {_INSTALL[shell]}", *_WRITERS[shell](places)])


def _walk(path: str, command: Any, found: dict[str, Place]) -> None:
    children = {} if path else {name: import_module(usage.module(name)).app for name in usage.COMMANDS}
    inner = {name: typer.main.get_command(each) for name, each in children.items()} or getattr(command, "commands", {})
    told = usage.COMMANDS if not path else {name: each.help for name, each in inner.items()}
    words = {name: _first(told[name]) for name in inner}
    choices: dict[str, tuple[str, ...]] = {}
    listed: dict[str, str] = {}
    for param in command.params:
        names = [name for name in (*param.opts, *param.secondary_opts) if name.startswith("-")]
        words |= {name: _first(getattr(param, "help", "") or _OPTIONS.get(name)) for name in names}
        some = tuple(map(str, getattr(param.type, "choices", ())))
        if some:
            choices |= dict.fromkeys(names or [""], some)
        group = "sessions" if names else "/".join(path.split("/")[1:-1])
        if param.name in _HANDLES and group in _LISTED:
            listed |= dict.fromkeys(names or [""], group)
    found[path] = Place({**words, "--help": "Show what it does"}, choices, listed)
    for name, each in inner.items():
        _walk(f"{path}/{name}", each, found)


def _first(help: str | None) -> str:
    """The first sentence, without what a shell could take for its own."""
    line = (help or "").strip().split("\n")[0].split(". ")[0].removesuffix(".").replace("'", "’")
    return "".join(letter for letter in line if letter not in '"`\\$[]')


def _bash(places: Mapping[str, Place]) -> Iterator[str]:
    yield from (
        *_LISTED_BY_SH,
        "_agent() {",
        '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" path="" words="" i',
        '    [[ "$cur" == "=" ]] && cur="" && prev="=$prev"',
        '    [[ "$prev" == "=" ]] && prev="${COMP_WORDS[COMP_CWORD-2]}"; prev="${prev#=}"',
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        f'        case "$path/${{COMP_WORDS[i]}}" in {_paths(places)}) path="$path/${{COMP_WORDS[i]}}" ;; esac',
        "    done",
    )
    yield from _cases(places, '    case "$path $prev" in', "words='{}'", 'words="$(_agent_listed {})"')
    yield '    if [[ -n "$words" ]]; then'
    yield '        COMPREPLY=($(compgen -W "$words" -- "$cur")); return'
    yield "    fi"
    yield '    case "$path" in'
    for path, place in places.items():
        plain = f'"$(_agent_listed {place.listed[""]})"' if "" in place.listed else f"'{' '.join(place.plain)}'"
        yield f"        '{path}') [[ \"$cur\" == -* ]] && words='{' '.join(place.options)}' || words={plain} ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield "}"
    yield "complete -o default -F _agent agent agent-cli"


def _zsh(places: Mapping[str, Place]) -> Iterator[str]:
    yield from (
        *_LISTED_BY_SH,
        "_agent() {",
        '    local where="" i before="${words[CURRENT-1]}"',
        "    local -a told",
        "    for ((i = 2; i < CURRENT; i++)); do",
        f'        case "$where/${{words[i]}}" in {_paths(places)}) where="$where/${{words[i]}}" ;; esac',
        "    done",
    )
    yield "    if compset -P '--*='; then before=\"${IPREFIX%=}\"; fi"
    listed = 'compadd -- ${{(f)"$(_agent_listed {})"}}; return'
    yield from _cases(places, '    case "$where $before" in', "compadd -- {}; return", listed)
    yield '    case "$where" in'
    for path, place in places.items():
        options = " ".join(_quoted(word, place.words[word]) for word in place.options)
        plain = " ".join(_quoted(word, place.words.get(word, "")) for word in place.plain)
        told = f'told=(${{(f)"$(_agent_listed {place.listed[""]})"}})' if "" in place.listed else f"told=({plain})"
        yield f"        '{path}') [[ \"$PREFIX\" == -* ]] && told=({options}) || {told} ;;"
    yield "    esac"
    yield "    if (( $#told )); then _describe 'agent' told; elif [[ \"$PREFIX\" != -* ]]; then _files; fi"
    yield "}"
    yield 'if [[ "$funcstack[1]" = _agent ]]; then _agent "$@"; else'
    yield "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }"
    yield "    compdef _agent agent agent-cli"
    yield "fi"


def _quoted(word: str, help: str) -> str:
    return f"'{word}:{help}'" if help else f"'{word}'"


def _fish(places: Mapping[str, Place]) -> Iterator[str]:
    inner = " ".join(f"'{path}'" for path in places if path)
    yield from (
        "function __agent_at",
        "    set -l at ''",
        "    for word in (commandline -opc)[2..-1]",
        f"        contains -- $at/$word {inner}; and set at $at/$word",
        "    end",
        '    test "$at" = "$argv[1]"',
        "end",
        "function __agent_listed",
        "    command agent $argv[1] list 2>/dev/null | string replace -r '^(\\S+)\\s+' '$1\\t'",
        "end",
    )
    for path, place in places.items():
        for command in ("agent", "agent-cli"):
            begin = f"complete -c {command} -n '__agent_at \"{path}\"'"
            for word, help in place.words.items():
                yield f"{begin} {_fish_word(word, _fish_values(place, word))} -d '{help}'"
            if values := _fish_values(place, ""):
                yield f"{begin} -f -a '{values}'"


def _fish_values(place: Place, option: str) -> str:
    return (
        f"(__agent_listed {place.listed[option]})"
        if option in place.listed
        else " ".join(place.choices.get(option, ()))
    )


def _fish_word(word: str, values: str) -> str:
    more = f" -x -a '{values}'" if values else ""
    if word.startswith("--"):
        return f"-l {word[2:]}{more}"
    return f"-s {word[1:]}{more}" if word.startswith("-") else f"-f -a {word}"


def _pwsh(places: Mapping[str, Place]) -> Iterator[str]:
    yield "Register-ArgumentCompleter -Native -CommandName agent, agent-cli -ScriptBlock {"
    yield "    param($word, $ast, $cursor)"
    yield "    $places = @{"
    for path, place in places.items():
        words = [*place.words, *place.choices.get("", ())]
        yield f"        '{path}' = @({', '.join(_pwsh_word(word) for word in words)})"
        for option, choices in place.choices.items():
            if option:
                yield f"        '{path} {option}' = @({', '.join(map(_pwsh_word, choices))})"
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


def _pwsh_word(word: str) -> str:
    return f"'{word}'"


def _paths(places: Mapping[str, Place]) -> str:
    return "|".join(path for path in places if path)


def _cases(places: Mapping[str, Place], head: str, then: str, listed: str) -> Iterator[str]:
    """What follows an option that takes one of some words, or a handle."""
    yield head
    for path, place in places.items():
        for name, some in place.choices.items():
            if name:
                yield f"        '{path} {name}') {then.format(' '.join(some))} ;;"
        for name, group in place.listed.items():
            if name:
                yield f"        '{path} {name}') {listed.format(group)} ;;"
    yield "    esac"


_LISTED_BY_SH = ("_agent_listed() {", "    command agent \"$1\" list 2>/dev/null | cut -d' ' -f1", "}")
_HEADS = {"zsh": ("#compdef agent agent-cli",)}
_WRITERS = {"bash": _bash, "zsh": _zsh, "fish": _fish, "pwsh": _pwsh}
