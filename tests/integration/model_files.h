// Variants of the bundled models, made for tests.
#pragma once

#include <ggml.h>
#include <gguf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "relaygen/pair.h"

namespace relaygen::test {

inline std::string demo(Model model) {
  return std::string(RELAYGEN_SOURCE_DIR "/models/demo/relaygen-demo-") + std::string(name(model)) + ".gguf";
}

inline PairOptions demo_options() {
  PairOptions options;
  options.large.path = demo(Model::large);
  options.small.path = demo(Model::small);
  return options;
}

/// A folder that is removed at the end of a test.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "relaygen-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder could be made");
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline void replace_first(std::string& bytes, std::string_view from, std::string_view to) {
  const std::size_t at = bytes.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  bytes.replace(at, from.size(), to);
}

/// The tables of a vocabulary that a variant may change.
struct Tables {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
};

/// Writes a copy of `from` with other metadata. `edit` may set and remove keys; `change` may change the vocabulary, and
/// rows for added tokens are appended to the embedding (copies of row 0).
struct Variant {
  std::function<void(gguf_context*)> edit = [](gguf_context*) {};
  std::function<void(Tables&)> change = [](Tables&) {};
};

inline void write_variant(const std::string& from, const std::string& to, const Variant& variant) {
  ggml_context* data = nullptr;
  const std::unique_ptr<gguf_context, decltype(&gguf_free)> file(gguf_init_from_file(from.c_str(), {false, &data}),
                                                                 &gguf_free);
  ASSERT_NE(file, nullptr);
  const std::unique_ptr<ggml_context, decltype(&ggml_free)> owner(data, &ggml_free);
  gguf_context* gguf = file.get();

  Tables tables;
  const std::int64_t tokens = gguf_find_key(gguf, "tokenizer.ggml.tokens"),
                     types = gguf_find_key(gguf, "tokenizer.ggml.token_type");
  for (std::size_t i = 0; i < gguf_get_arr_n(gguf, tokens); ++i)
    tables.tokens.emplace_back(gguf_get_arr_str(gguf, tokens, i));
  const auto* kinds = static_cast<const std::int32_t*>(gguf_get_arr_data(gguf, types));
  tables.types.assign(kinds, kinds + gguf_get_arr_n(gguf, types));
  const std::size_t before = tables.tokens.size();
  variant.change(tables);
  std::vector<const char*> texts;
  for (const std::string& token : tables.tokens) texts.push_back(token.c_str());
  gguf_set_arr_str(gguf, "tokenizer.ggml.tokens", texts.data(), texts.size());
  gguf_set_arr_data(gguf, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, tables.types.data(), tables.types.size());
  variant.edit(gguf);

  const std::unique_ptr<gguf_context, decltype(&gguf_free)> out(gguf_init_empty(), &gguf_free);
  gguf_set_kv(out.get(), gguf);
  const std::unique_ptr<ggml_context, decltype(&ggml_free)> fresh(ggml_init({64u << 20, nullptr, false}), &ggml_free);
  for (std::int64_t i = 0; i < gguf_get_n_tensors(gguf); ++i) {
    ggml_tensor* tensor = ggml_get_tensor(data, gguf_get_tensor_name(gguf, i));
    if (tensor->ne[1] == static_cast<std::int64_t>(before) && tables.tokens.size() != before) {
      ggml_tensor* longer =
          ggml_new_tensor_2d(fresh.get(), tensor->type, tensor->ne[0], static_cast<std::int64_t>(tables.tokens.size()));
      ggml_set_name(longer, ggml_get_name(tensor));
      for (std::size_t row = 0; row < tables.tokens.size(); ++row) {
        std::memcpy(static_cast<char*>(longer->data) + row * longer->nb[1],
                    static_cast<char*>(tensor->data) + (row < before ? row : 0) * tensor->nb[1], tensor->nb[1]);
      }
      tensor = longer;
    }
    gguf_add_tensor(out.get(), tensor);
  }
  ASSERT_TRUE(gguf_write_to_file(out.get(), to.c_str(), false));
}

/// Adds unused tokens at the end of a vocabulary, as converters do.
inline std::function<void(Tables&)> padding(std::size_t count) {
  return [count](Tables& tables) {
    for (std::size_t i = 0; i < count; ++i) {
      tables.tokens.push_back("[PAD" + std::to_string(tables.tokens.size()) + "]");
      tables.types.push_back(5);  // unused
    }
  };
}

}  // namespace relaygen::test
