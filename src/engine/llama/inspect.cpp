// inspect_model_file(): one model, in one file or several.
#include <fmt/format.h>

#include <filesystem>
#include <limits>

#include "core/unicode.h"
#include "engine/llama/gguf_header.h"
#include "engine/llama/guard.h"
#include "engine/llama/text.h"
#include "relaygen/pair.h"

namespace relaygen {
namespace {

using engine::GgufHeader;
using engine::printable_path;

/// The path of part `number` (from 1) of a split model, given the path of its first part. Empty if the name does not
/// follow the pattern NAME-00001-of-00003.gguf.
std::string part_path(const std::string& first, std::int64_t number, std::int64_t parts) {
  const std::string ending = fmt::format("-00001-of-{:05}.gguf", parts);
  if (!first.ends_with(ending)) return {};
  return fmt::format("{}-{:05}-of-{:05}.gguf", first.substr(0, first.size() - ending.size()), number, parts);
}

/// Adds the other parts of a split model to `info`, each checked as the first was.
Status add_parts(const GgufHeader& first, ModelFileInfo& info) {
  const std::int64_t parts = first.integer("split.count").value_or(1);
  if (parts <= 1) return {};
  if (const std::int64_t number = first.integer("split.no").value_or(0); number != 0) {
    return fail(
        ErrorKind::bad_model,
        fmt::format("The model file {} is part {} of {} of a model", printable_path(info.path), number + 1, parts),
        "give its first part, the others are found beside it");
  }
  constexpr std::int64_t kMostParts = 99999;  // five digits
  if (parts > kMostParts || part_path(info.path, 1, parts).empty()) {
    return fail(ErrorKind::bad_model,
                fmt::format("The model file {} says that it is the first of {} parts, but its name does not",
                            printable_path(info.path), parts),
                "give the parts their names back: NAME-00001-of-00002.gguf and so on");
  }
  for (std::int64_t number = 2; number <= parts; ++number) {
    const auto part = engine::read_gguf_header(part_path(info.path, number, parts));
    if (!part) {
      Error error = part.error();
      error.message = fmt::format("Part {} of {} of a model: {}", number, parts, error.message);
      return tl::unexpected(std::move(error));
    }
    info.file_bytes += part->file_bytes;
    info.weight_bytes += part->weight_bytes;
  }
  return {};
}

}  // namespace

Result<ModelFileInfo> inspect_model_file(const std::string& path) {
  return engine::guarded("reading a model file", [&]() -> Result<ModelFileInfo> {
    const auto header = engine::read_gguf_header(path);
    if (!header) return tl::unexpected(header.error());
    ModelFileInfo info;
    info.path = path;
    info.name = header->text("general.name");
    if (!unicode::is_utf8(info.name) || info.name.empty()) info.name = std::filesystem::path(path).stem().string();
    info.architecture = header->text("general.architecture");
    if (info.architecture.empty()) {
      return fail(ErrorKind::bad_model, fmt::format("The model file {} names no architecture", printable_path(path)),
                  "give a complete model");
    }
    constexpr std::int64_t kMostLayers = 512;  // more are an assertion to llama.cpp
    if (const auto layers = header->integer(info.architecture + ".block_count");
        layers && (*layers < 1 || *layers > kMostLayers)) {
      return fail(ErrorKind::bad_model,
                  fmt::format("The model file {} cannot be used: it is damaged: it announces {} layers",
                              printable_path(path), *layers),
                  "download it again");
    }
    info.file_bytes = header->file_bytes;
    info.weight_bytes = header->weight_bytes;
    const std::int64_t window = header->integer(info.architecture + ".context_length").value_or(0);
    if (window > 0 && window <= std::numeric_limits<std::int32_t>::max()) {
      info.training_window = static_cast<std::int32_t>(window);
    }
    if (const Status parts = add_parts(*header, info); !parts) return tl::unexpected(parts.error());
    if (info.weight_bytes == 0) {
      return fail(ErrorKind::bad_model, fmt::format("The model file {} holds no weights", printable_path(path)),
                  "give a complete model");
    }
    return info;
  });
}

}  // namespace relaygen
