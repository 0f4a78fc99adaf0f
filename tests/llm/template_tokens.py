"""The tokens by which chat templates mark roles: those of the table in the program, and those known by their bars."""

from agent_cli.llm import chat

WITH_BARS = {
    # ChatML; Qwen, Yi, InternLM, SmolLM. huggingface.co/Qwen/Qwen3-8B tokenizer_config.json; ollama template/chatml
    "ChatML": "<|im_start|> <|im_end|> <|im_sep|> <|endoftext|>",
    # huggingface.co/meta-llama/Llama-2-7b-chat-hf; llama.com/docs/model-cards-and-prompt-formats
    "Llama 3": "<|begin_of_text|> <|end_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|> <|eom_id|> "
    "<|python_tag|>",
    "Llama 4": "<|header_start|> <|header_end|> <|eot|> <|eom|> <|python_start|> <|python_end|>",
    # ai.google.dev/gemma/docs/core/prompt-structure; llama.cpp models/templates/gemma4.jinja
    "Gemma 4": "<|turn> <turn|> <|channel> <channel|> <|tool_call> <tool_call|> <|tool> <tool|>",
    # huggingface.co/microsoft/Phi-4-mini-instruct; ollama template/phi-3; Zephyr has the same
    "Phi": "<|system|> <|user|> <|assistant|> <|end|> <|tool|> <|/tool|> <|tool_call|>",
    # huggingface.co/deepseek-ai/DeepSeek-V3.1 tokenizer_config.json: full-width bars, U+2581 between the words
    "DeepSeek": "<｜begin▁of▁sentence｜> <｜end▁of▁sentence｜> <｜User｜> <｜Assistant｜> <｜tool▁calls▁begin｜> "
    "<｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁outputs▁begin｜> "
    "<｜tool▁outputs▁end｜> <｜tool▁sep｜> <|EOT|>",
    # huggingface.co/ibm-granite/granite-3.3-8b-instruct; ollama template/granite-instruct
    "Granite": "<|start_of_role|> <|end_of_role|> <|end_of_text|> <|tool_call|>",
    # github.com/openai/harmony, docs/format.md
    "gpt-oss": "<|start|> <|end|> <|message|> <|channel|> <|constrain|> <|return|> <|call|> <|startoftext|>",
    # huggingface.co/CohereLabs/c4ai-command-r7b-12-2024; ollama template/command-r, template/cohere2
    "Command-R": "<|START_OF_TURN_TOKEN|> <|END_OF_TURN_TOKEN|> <|SYSTEM_TOKEN|> "
    "<|USER_TOKEN|> <|CHATBOT_TOKEN|> <|START_RESPONSE|> <|END_RESPONSE|> <|START_ACTION|> "
    "<|START_TOOL_RESULT|>",
    # huggingface.co/zai-org/GLM-4.6 chat_template.jinja
    "GLM": "<|observation|>",
    # llama.cpp models/templates: unsloth-MiniMax-M2, ByteDance-Seed-OSS, NVIDIA-Nemotron-Nano-v2, Kimi-K2
    "Kimi": "<|im_user|> <|im_assistant|> <|im_system|> <|im_middle|> <|tool_calls_section_begin|>",
    # huggingface.co/LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct
    "EXAONE": "[|system|] [|user|] [|assistant|] [|endofturn|]",
}
TOKENS = chat.TOKENS | {f"{family}, by their bars": tokens.split() for family, tokens in WITH_BARS.items()}
