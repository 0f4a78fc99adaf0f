"""Breaks the tokens by which chat templates mark roles, in everything that is sent to a model.

A server's tokenizer reads such a token as a boundary between roles wherever it stands: a note with `<|im_end|>` in it
would end the person's message and could begin one of the system. A blank behind the first character breaks the token,
for the model and for the person who looks at the request, and nothing is lost. It happens where the request becomes
JSON, so that it covers what was typed, recalled, attached, fetched and answered alike, tools and their results too. The
words in the database stay as they are.

Roles that a template marks with plain words (`### Instruction:`, `User:`) are ordinary text and cannot be told apart.
"""

import re
from collections.abc import Mapping
from functools import cache

from agent_cli.text import Pattern, visible

TOKENS: Mapping[str, tuple[str, ...]] = {
    # ChatML; Qwen, Yi, InternLM, SmolLM. huggingface.co/Qwen/Qwen3-8B tokenizer_config.json; ollama template/chatml
    "ChatML": ("<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|endoftext|>"),
    "Qwen": ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>", "<tools>"),
    # huggingface.co/meta-llama/Llama-2-7b-chat-hf; llama.com/docs/model-cards-and-prompt-formats
    "Llama 2": ("<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<step>"),
    "Llama 3": (
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|python_tag|>",
    ),
    "Llama 4": ("<|header_start|>", "<|header_end|>", "<|eot|>", "<|eom|>", "<|python_start|>", "<|python_end|>"),
    # github.com/mistralai/mistral-common, SpecialTokens
    "Mistral": (
        "[INST]",
        "[/INST]",
        "[SYSTEM_PROMPT]",
        "[/SYSTEM_PROMPT]",
        "[AVAILABLE_TOOLS]",
        "[/AVAILABLE_TOOLS]",
        "[TOOL_CALLS]",
        "[TOOL_RESULTS]",
        "[/TOOL_RESULTS]",
        "[TOOL_CONTENT]",
        "[CALL_ID]",
        "[ARGS]",
        "[THINK]",
        "[/THINK]",
        "[IMG]",
        "[PREFIX]",
        "[SUFFIX]",
        "[MIDDLE]",
    ),
    # ai.google.dev/gemma/docs/core/prompt-structure; llama.cpp models/templates/gemma4.jinja
    "Gemma": ("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<start_of_image>", "<end_of_image>"),
    "FunctionGemma": (
        "<start_function_call>",
        "<end_function_call>",
        "<start_function_declaration>",
        "<end_function_declaration>",
        "<start_function_response>",
        "<end_function_response>",
    ),
    "Gemma 4": ("<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool>", "<tool|>"),
    # huggingface.co/microsoft/Phi-4-mini-instruct; ollama template/phi-3; Zephyr has the same
    "Phi": ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|tool|>", "<|/tool|>", "<|tool_call|>"),
    # huggingface.co/deepseek-ai/DeepSeek-V3.1 tokenizer_config.json: full-width bars, U+2581 between the words
    "DeepSeek": (
        "<｜begin▁of▁sentence｜>",
        "<｜end▁of▁sentence｜>",
        "<｜User｜>",
        "<｜Assistant｜>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁outputs▁begin｜>",
        "<｜tool▁outputs▁end｜>",
        "<｜tool▁sep｜>",
        "<|EOT|>",
    ),
    # huggingface.co/ibm-granite/granite-3.3-8b-instruct; ollama template/granite-instruct
    "Granite": ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>", "<|tool_call|>"),
    # github.com/openai/harmony, docs/format.md
    "gpt-oss": (
        "<|start|>",
        "<|end|>",
        "<|message|>",
        "<|channel|>",
        "<|constrain|>",
        "<|return|>",
        "<|call|>",
        "<|startoftext|>",
    ),
    # huggingface.co/CohereLabs/c4ai-command-r7b-12-2024; ollama template/command-r, template/cohere2
    "Command-R": (
        "<BOS_TOKEN>",
        "<EOS_TOKEN>",
        "<|START_OF_TURN_TOKEN|>",
        "<|END_OF_TURN_TOKEN|>",
        "<|SYSTEM_TOKEN|>",
        "<|USER_TOKEN|>",
        "<|CHATBOT_TOKEN|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "<|START_ACTION|>",
        "<|START_TOOL_RESULT|>",
    ),
    # huggingface.co/zai-org/GLM-4.6 chat_template.jinja
    "GLM": ("[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|observation|>", "<arg_key>", "<arg_value>", "</arg_value>"),
    # llama.cpp models/templates: unsloth-MiniMax-M2, ByteDance-Seed-OSS, NVIDIA-Nemotron-Nano-v2, Kimi-K2
    "MiniMax": ("]~!b[", "]~b]", "[e~["),
    "Seed": ("<seed:bos>", "<seed:eos>", "<seed:think>", "</seed:think>", "<seed:tool_call>", "</seed:tool_call>"),
    "Nemotron": ("<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>", "<extra_id_0>", "<extra_id_1>"),
    "Kimi": ("<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>", "<|tool_calls_section_begin|>"),
    # huggingface.co/LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct
    "EXAONE": ("[|system|]", "[|user|]", "[|assistant|]", "[|endofturn|]"),
    "SentencePiece": ("<unk>", "<pad>", "<mask>"),
}
"""The tokens of each family, and above them where they are written down."""

_FOLDED = {"_": "[_▁ ]"}  # characters that stand for one another
_WITH_BARS = Pattern(  # the shape of most tokens, those of models that the table does not have among them
    r"<(?=[|｜][^\s<>|｜][^<>|｜\n]{0,60}[|｜]?>|[^\s<>|｜][^<>|｜\n]{0,60}[|｜]>)|\[(?=\|[a-z_ ]{2,30}\|\])",
    re.IGNORECASE,
)


@cache
def _without_bars() -> Pattern:
    """The tokens of the table that have another shape, by their first character."""
    rest: dict[str, set[str]] = {}
    for token in {token for tokens in TOKENS.values() for token in tokens if not _WITH_BARS.match(token)}:
        rest.setdefault(token[0], set()).add("".join(_FOLDED.get(each, re.escape(each)) for each in token[1:]))
    firsts = (f"{re.escape(first)}(?={'|'.join(sorted(ends))})" for first, ends in sorted(rest.items()))
    return Pattern("|".join(firsts), re.IGNORECASE)


_BEGINNINGS = {"<", *(token[:2].casefold() for tokens in TOKENS.values() for token in tokens if token[0] != "<")}


def broken(words: str) -> str:
    """The words in visible characters, with a blank behind the first character of each token; the same every time."""
    words = visible(words)
    folded = words.casefold()
    if not any(beginning in folded for beginning in _BEGINNINGS):
        return words  # as most are: the table need not be compiled for them, 5 ms before the first request
    return _without_bars().sub(r"\g<0> ", _WITH_BARS.sub(r"\g<0> ", words))
