"""Writes a Qwen3-architecture GGUF with random weights in Q4_0, for measuring real cost without real weights.

Needs the Python packages gguf and numpy, and a vocabulary: llama.cpp's models/ggml-vocab-qwen2.gguf.

  python tools/make_random_gguf.py qwen3-0.6b /tmp/small.gguf
  python tools/make_random_gguf.py qwen3-4b /tmp/large.gguf
"""
import argparse
import os
import sys
from dataclasses import dataclass

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEFAULT_VOCABULARY = os.path.join(ROOT, ".deps", "llama.cpp", "models", "ggml-vocab-qwen2.gguf")
WINDOW = 40960
FILE_TYPE_Q4_0 = 2
BLOCK = 32  # weights in a Q4_0 block: a half-precision scale, then 16 bytes of nibbles


@dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int
    has_tied_head: bool


SHAPES = {
    "qwen3-tiny": Shape(2, 64, 2, 1, 32, 192, True),  # next to no work: what is left of a run is the overhead
    "qwen3-0.6b": Shape(28, 1024, 16, 8, 128, 3072, True),
    "qwen3-1.7b": Shape(28, 2048, 16, 8, 128, 6144, True),
    "qwen3-4b": Shape(36, 2560, 32, 8, 128, 9728, True),
    "qwen3-8b": Shape(36, 4096, 32, 8, 128, 12288, False),
}


class RandomModel:
    """Collects tensors in a GGUF writer; the weights depend on the seed only."""

    def __init__(self, writer, seed):
        self.writer = writer
        self.rng = np.random.default_rng(seed)

    def matrix(self, name, rows, columns):
        """A (rows, columns) matrix in Q4_0 with scales around 0.005."""
        blocks = rows * columns // BLOCK
        data = np.empty((blocks, 18), np.uint8)
        scales = 0.005 * self.rng.uniform(0.5, 1.5, blocks)
        data[:, :2] = scales.astype(np.float16).view(np.uint8).reshape(blocks, 2)
        data[:, 2:] = self.rng.integers(0, 256, (blocks, 16), dtype=np.uint8)
        data = data.reshape(rows, columns // BLOCK * 18)
        self.writer.add_tensor(name, data, raw_dtype=GGMLQuantizationType.Q4_0)

    def ones(self, name, length):
        self.writer.add_tensor(name, np.ones(length, np.float32))


def add_metadata(writer, shape):
    writer.add_block_count(shape.layers)
    writer.add_context_length(WINDOW)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(FILE_TYPE_Q4_0)


def add_vocabulary(writer, path):
    """Copies the vocabulary and returns its size."""
    fields = GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(fields["tokenizer.ggml.token_type"].contents())
    writer.add_token_merges(fields["tokenizer.ggml.merges"].contents())
    if "tokenizer.ggml.eos_token_id" in fields:
        writer.add_eos_token_id(int(fields["tokenizer.ggml.eos_token_id"].contents()))
    if "tokenizer.ggml.bos_token_id" in fields:
        writer.add_bos_token_id(int(fields["tokenizer.ggml.bos_token_id"].contents()))
    writer.add_add_bos_token(False)
    return len(tokens)


def add_weights(model, shape, vocabulary):
    width, feed_forward = shape.width, shape.feed_forward
    model.matrix("token_embd.weight", vocabulary, width)
    model.ones("output_norm.weight", width)
    if not shape.has_tied_head:
        model.matrix("output.weight", vocabulary, width)
    for layer in range(shape.layers):
        block = f"blk.{layer}."
        model.ones(block + "attn_norm.weight", width)
        model.ones(block + "ffn_norm.weight", width)
        model.ones(block + "attn_q_norm.weight", shape.head_dim)
        model.ones(block + "attn_k_norm.weight", shape.head_dim)
        model.matrix(block + "attn_q.weight", shape.heads * shape.head_dim, width)
        model.matrix(block + "attn_k.weight", shape.kv_heads * shape.head_dim, width)
        model.matrix(block + "attn_v.weight", shape.kv_heads * shape.head_dim, width)
        model.matrix(block + "attn_output.weight", width, shape.heads * shape.head_dim)
        model.matrix(block + "ffn_gate.weight", feed_forward, width)
        model.matrix(block + "ffn_up.weight", feed_forward, width)
        model.matrix(block + "ffn_down.weight", width, feed_forward)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="All of it is held in memory until it is written."
    )
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("output", help="GGUF file to write")
    parser.add_argument("--vocabulary", default=DEFAULT_VOCABULARY, help="GGUF file (default: llama.cpp's qwen2 one)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if not os.path.exists(args.vocabulary):
        sys.exit(f"make_random_gguf.py: {args.vocabulary} is missing: run scripts/fetch-llama, or give --vocabulary")

    shape = SHAPES[args.shape]
    writer = GGUFWriter(args.output, "qwen3")
    writer.add_name(os.path.basename(args.output).removesuffix(".gguf"))
    add_metadata(writer, shape)
    vocabulary = add_vocabulary(writer, args.vocabulary)
    add_weights(RandomModel(writer, args.seed), shape, vocabulary)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{args.output}: {os.path.getsize(args.output) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
