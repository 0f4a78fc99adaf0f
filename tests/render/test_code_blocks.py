"""The code in an answer, exactly as it is meant to be run."""

from agent_cli.render import markdown
from agent_cli.render.markdown import CodeBlock
from tests.tables import for_each

BLOCKS = {
    "no code": [],
    "a `word` and ```inline``` alone": [],
    "```sh\nls -l\n```": [CodeBlock("sh", "ls -l\n", True)],
    "~~~ python title\n\tx = '```'\n\n~~~\nand": [CodeBlock("python", "\tx = '```'\n\n", True)],
    "````md\n```sh\nls\n```\n````": [CodeBlock("md", "```sh\nls\n```\n", True)],
    "1. do\n   ```sh\n   for f in *; do\n     echo $f\n done\n   ```\n": [
        CodeBlock("sh", "for f in *; do\n  echo $f\ndone\n", True)
    ],
    "```\na\n```\n\n```\nb\n```  \n": [CodeBlock("", "a\n", True), CodeBlock("", "b\n", True)],
    "```sh\nrm -r a\n\n": [CodeBlock("sh", "rm -r a\n", False)],
    "```\n```": [CodeBlock("", "", True)],
}


@for_each("answer", BLOCKS)
def test_the_code_of_an_answer_is_found_without_its_fences(answer):
    assert markdown.code_blocks(answer) == BLOCKS[answer]
