"""`agent completion`: a script for your shell that completes commands, options and their choices.

It holds the whole table of commands and settings, so Tab starts the program only to list handles and models.
"""

from typing import Any, Literal

import typer

from agent_cli import kinds
from agent_cli.cli import output, usage
from agent_cli.cli.options import group
from agent_cli.config import settings_file

app = group()

_FOLDER = "~/.local/share/bash-completion/completions"
_FISH_FOLDER = "~/.config/fish/completions"
_INSTALL = {
    "bash": f"mkdir -p {_FOLDER} && agent completion bash > {_FOLDER}/agent",
    "zsh": "mkdir -p ~/.zfunc && agent completion zsh > ~/.zfunc/_agent  # named in fpath before compinit, in ~/.zshrc",
    "fish": f"mkdir -p {_FISH_FOLDER} && agent completion fish > {_FISH_FOLDER}/agent.fish",
}

_HANDLE_COMMANDS = tuple(kind.commands for kind in kinds.KINDS if kind.commands)
_HANDLE_PARAMETERS = ("handle", "handles", "resume")  # parameters of the commands that take a handle
_TAKES_MODEL = (("", "model"), ("/models/use", "name"))  # a command and the parameter that is a model
_TAKES_SETTING = ("/config/set", "key")
_OPTIONS = {name.split()[0]: text for names, text in usage.OPTIONS.items() for name in names.split(", ")}

Table = dict[str, dict[str, str]]
"""By what stands before the cursor the words that may follow, with what they mean.

"/facts/list" has the subcommands or choices of that command, "/facts/list -" its options, "/facts/list --state" the
values of that option. "@facts" among the words stands for what `agent facts list` lists.
"""


@app.command()
def completion(
    shell: typer.Context, name: Literal["bash", "zsh", "fish"] = typer.Argument(metavar="bash|zsh|fish")
) -> None:
    """Print a script that completes commands and options in your shell."""
    output.write(script(name, table()) + "\n")
    shell.obj.note(f"to install it: {_INSTALL[name]}")


def table() -> Table:
    """What may follow every command; the program itself has the empty path."""
    from agent_cli.cli import main  # which imports this module as one of its commands

    found: Table = {}
    _walk("", typer.main.get_command(main.app), found)
    return found


def _walk(path: str, command: Any, found: Table) -> None:
    subcommands = getattr(command, "commands", {})
    helps = {name: each.help for name, each in subcommands.items()}
    if not path:
        helps = dict(usage.COMMANDS)
        subcommands = {name: typer.main.get_command(usage.app(name)) for name in helps}
    words = found[path] = {name: _first(help) for name, help in helps.items()}
    options = found[f"{path} -"] = {}
    for param in command.params:
        names = [name for name in (*param.opts, *param.secondary_opts) if name.startswith("-")]
        options |= {name: _first(getattr(param, "help", "") or _OPTIONS.get(name)) for name in names}
        values = dict.fromkeys(map(str, getattr(param.type, "choices", ())), "")
        noun = "sessions" if names else "/".join(path.split("/")[1:-1])
        if param.name in _HANDLE_PARAMETERS and noun in _HANDLE_COMMANDS:
            values = {f"@{noun}": ""}
        elif (path, param.name) in _TAKES_MODEL:
            values = {"@models": ""}
        elif (path, param.name) == _TAKES_SETTING:
            settings = settings_file.choices()
            values = dict.fromkeys(settings, "")
            found |= {f"{path} {key}": dict.fromkeys(some, "") for key, some in settings.items() if some}
        if not names:
            words |= values
        elif values:
            found |= {f"{path} {name}": values for name in names}
    options["--help"] = "Show what it does"
    for name, each in subcommands.items():
        _walk(f"{path}/{name}", each, found)


def _first(help: str | None) -> str:
    """The first sentence, without characters that are special in a shell."""
    line = (help or "").strip().split("\n")[0].split(". ")[0].removesuffix(".").replace("'", "’")
    return "".join(letter for letter in line if letter not in '"`\\$[]')


def script(shell: str, found: Table) -> str:
    """The script for a shell. Its function prints the words of a place, a line each: word, tab, meaning."""
    template, case, end, listed, between = _SHELLS[shell]
    cases = []
    for place, words in found.items():
        lines = " ".join(f"'{word}\t{help}'" for word, help in words.items() if word[0] != "@")
        commands = [f"printf '%s\\n' {lines}"] if lines else []
        commands += [listed.format(word[1:]) for word in words if word[0] == "@"]
        cases.append(f"        {case.format(place)} {'; '.join(commands) or 'true'}{end}")
    whole = template.replace("@function", _FUNCTION).replace("@words", "\n".join(cases))
    whole = whole.replace("@paths", between.join(place for place in found if place and " " not in place))
    head = "#compdef agent agent-cli\n" if shell == "zsh" else ""
    return f"{head}# To install: {_INSTALL[shell]}\n{whole}"


_FUNCTION = """\
_agent_words() {
    case "$1" in
@words
        *) return 1 ;;
    esac
}"""
_BASH = """\
@function
_agent() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" at="" place words i
    [[ "$cur" == "=" ]] && cur="" && prev="=$prev"
    [[ "$prev" == "=" ]] && prev="${COMP_WORDS[COMP_CWORD-2]}"; prev="${prev#=}"
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at/${COMP_WORDS[i]}" in @paths) at="$at/${COMP_WORDS[i]}" ;; esac
    done
    [[ "$cur" == -* ]] && place="$at -" || place="$at"
    words="$(_agent_words "$at $prev" || _agent_words " $prev" || _agent_words "$place")"
    [[ "$cur" == -* && -n "$at" ]] && words+=$'\\n'"$(_agent_words " -")"
    COMPREPLY=($(compgen -W "$(cut -f1 <<<"$words")" -- "$cur"))
}
complete -o default -F _agent agent agent-cli"""
_ZSH = """\
@function
_agent() {
    local at="" i before="${words[CURRENT-1]}"
    local -a found
    for ((i = 2; i < CURRENT; i++)); do
        case "$at/${words[i]}" in @paths) at="$at/${words[i]}" ;; esac
    done
    if compset -P '--*='; then before="${IPREFIX%=}"; fi
    local place="$at"; [[ "$PREFIX" == -* ]] && place="$at -"
    found=("${(@f)$(_agent_words "$at $before" || _agent_words " $before" || _agent_words "$place")}")
    if [[ "$PREFIX" == -* && -n "$at" ]]; then found+=("${(@f)$(_agent_words " -")}"); fi
    found=("${(@)${(@)found//:/\\\\:}//$'\\t'/:}")
    if [[ -n "$found" ]]; then _describe 'agent' found; elif [[ "$PREFIX" != -* ]]; then _files; fi
}
if [[ "$funcstack[1]" = _agent ]]; then _agent "$@"; else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
    compdef _agent agent agent-cli
fi"""
_FISH = """\
function __agent_words
    switch "$argv[1]"
@words
        case '*'; return 1
    end
end
function __agent_find
    set -l at ''; set -l before (commandline -opc)[-1]; set -l now (commandline -ct)
    for word in (commandline -opc)[2..-1]
        contains -- $at/$word @paths; and set at $at/$word
    end
    set -l place $at; string match -q -- '-*' $now; and set place "$at -"
    set -l begin (string match -r -- '^--[^=]*=' $now); and set before (string trim -c = -- $begin)
    set -g __agent_found (__agent_words "$at $before"; or __agent_words " $before"; or __agent_words $place)
    if set -q begin[1]; set __agent_found $begin$__agent_found; end
    if string match -q -- '-*' $now; set -a __agent_found (__agent_words ' -'); end
    count $__agent_found >/dev/null
end
complete -c agent -c agent-cli -n __agent_find -f -a '$__agent_found'"""
_LISTED = "command agent {} list 2>/dev/null | "
_SH = ("'{}')", " ;;", _LISTED + "cut -d' ' -f1", "|")
_SHELLS = {  # the template, how a case begins and ends, what lists handles, what stands between paths
    "bash": (_BASH, *_SH),
    "zsh": (_ZSH, *_SH),
    "fish": (_FISH, "case '{}';", "", _LISTED + "string replace -r '^(\\S+)\\s+' '$1\\t'", " "),
}
