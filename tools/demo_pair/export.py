"""Writes a trained model as GGUF (F16) and as a Hugging Face folder (safetensors, float32) of the same weights."""
import argparse
import json
import os

import numpy as np
import torch
from gguf import GGUFWriter
from safetensors.torch import save_file

from model import NORM_EPS, ROPE_BASE, SHAPES, WINDOW

CHAT_TEMPLATE = """{%- for message in messages %}
{%- set text = message.content or '' %}
{%- set thinking = message.reasoning_content or '' %}
{%- if message.role == 'assistant' and '</think>' in text %}
{%- set thinking = text.split('</think>')[0].split('<think>')[-1].strip('\\n') %}
{%- set text = text.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.role == 'assistant' and loop.last and thinking %}{{- '<think>\\n' + thinking + '\\n</think>\\n\\n' }}{%- endif %}
{{- text + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}"""

# Our name in a block: GGUF's, transformers'.
BLOCK_NAMES = {
    "n1": ("attn_norm", "input_layernorm"),
    "n2": ("ffn_norm", "post_attention_layernorm"),
    "qn": ("attn_q_norm", "self_attn.q_norm"),
    "kn": ("attn_k_norm", "self_attn.k_norm"),
    "q": ("attn_q", "self_attn.q_proj"),
    "k": ("attn_k", "self_attn.k_proj"),
    "v": ("attn_v", "self_attn.v_proj"),
    "o": ("attn_output", "self_attn.o_proj"),
    "g": ("ffn_gate", "mlp.gate_proj"),
    "u": ("ffn_up", "mlp.up_proj"),
    "dn": ("ffn_down", "mlp.down_proj"),
}
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # GGUF's kinds of token


def exported_names(key):
    """A checkpoint key's names in GGUF and in transformers."""
    if key == "emb.weight":
        return "token_embd.weight", "model.embed_tokens.weight"
    if key == "norm.weight":
        return "output_norm.weight", "model.norm.weight"
    _, layer, part, _ = key.split(".")
    gguf_name, hf_name = BLOCK_NAMES[part]
    return f"blk.{layer}.{gguf_name}.weight", f"model.layers.{layer}.{hf_name}.weight"


class Vocabulary:
    """What both formats need of tokenizer.json."""

    def __init__(self, tokenizer):
        self.added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
        ids = {**tokenizer["model"]["vocab"], **self.added}
        self.tokens = [token for token, _ in sorted(ids.items(), key=lambda item: item[1])]
        self.merges = [" ".join(m) if isinstance(m, list) else m for m in tokenizer["model"]["merges"]]
        self.end_of_turn = self.added["<|im_end|>"]
        self.padding = self.added["<|endoftext|>"]

    def kind(self, token):
        if token not in self.added:
            return NORMAL
        return USER_DEFINED if token in ("<think>", "</think>") else CONTROL


def write_gguf(path, name, shape, vocabulary, state):
    writer = GGUFWriter(path, "qwen3")
    writer.add_name(f"relaygen-demo-{name}")
    writer.add_license("mit")
    writer.add_file_type(1)
    writer.add_block_count(shape.layers)
    writer.add_context_length(WINDOW)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(NORM_EPS)
    writer.add_vocab_size(len(vocabulary.tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types([vocabulary.kind(token) for token in vocabulary.tokens])
    writer.add_token_merges(vocabulary.merges)
    writer.add_eos_token_id(vocabulary.end_of_turn)
    writer.add_pad_token_id(vocabulary.padding)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)
    for key, tensor in state.items():
        values = tensor.numpy()
        writer.add_tensor(exported_names(key)[0], values if values.ndim == 1 else values.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_json(path, value, **options):
    with open(path, "w") as file:
        json.dump(value, file, **options)


def write_hugging_face(folder, shape, tokenizer, vocabulary, state):
    os.makedirs(folder, exist_ok=True)
    tensors = {exported_names(key)[1]: tensor for key, tensor in state.items()}
    save_file(tensors, f"{folder}/model.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": len(vocabulary.tokens),
        "hidden_size": shape.width,
        "intermediate_size": shape.feed_forward,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": WINDOW,
        "rms_norm_eps": NORM_EPS,
        "rope_theta": ROPE_BASE,
        "tie_word_embeddings": True,
        "attention_bias": False,
        "torch_dtype": "float32",
        "bos_token_id": None,
        "eos_token_id": vocabulary.end_of_turn,
        "pad_token_id": vocabulary.padding,
    }
    write_json(f"{folder}/config.json", config, indent=1)
    generation_config = {
        "eos_token_id": vocabulary.end_of_turn,
        "pad_token_id": vocabulary.padding,
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 20,
    }
    write_json(f"{folder}/generation_config.json", generation_config, indent=1)
    write_json(f"{folder}/tokenizer.json", tokenizer, ensure_ascii=False)
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "model_max_length": WINDOW,
    }
    write_json(f"{folder}/tokenizer_config.json", tokenizer_config, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=SHAPES)
    parser.add_argument("output", help="folder for relaygen-demo-NAME.gguf and hf-NAME")
    parser.add_argument("--folder", default=".", help="holds NAME.pt and tokenizer.json")
    args = parser.parse_args()

    with open(os.path.join(args.folder, "tokenizer.json")) as file:
        tokenizer = json.load(file)
    vocabulary = Vocabulary(tokenizer)
    state = torch.load(os.path.join(args.folder, f"{args.name}.pt"), map_location="cpu")
    state = {key: tensor.float().contiguous() for key, tensor in state.items()}
    shape = SHAPES[args.name]
    os.makedirs(args.output, exist_ok=True)
    write_gguf(os.path.join(args.output, f"relaygen-demo-{args.name}.gguf"), args.name, shape, vocabulary, state)
    write_hugging_face(os.path.join(args.output, f"hf-{args.name}"), shape, tokenizer, vocabulary, state)
    print(args.name, sum(t.numel() for t in state.values()), "parameters ->", args.output)


if __name__ == "__main__":
    main()
