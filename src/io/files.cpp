#include "io/files.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/unicode.h"
#include "io/hashing.h"

namespace relaygen {
namespace {

using Json = nlohmann::json;

constexpr std::array kTextKeys{"text", "completion", "response", "output", "content"};
constexpr std::array kPromptKeys{"prompt", "question", "problem"};

std::optional<std::string> text_field(const Json& object, std::span<const char* const> keys) {
  for (const char* key : keys) {
    if (object.contains(key) && object[key].is_string()) return object[key].get<std::string>();
  }
  return std::nullopt;
}

std::string id_field(const Json& object, std::size_t line) {
  for (const char* key : {"id", "problem_id"}) {
    if (!object.contains(key)) continue;
    if (object[key].is_string()) return object[key].get<std::string>();
    if (object[key].is_number()) return object[key].dump();
  }
  return fmt::format("{}", line);
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& file) {
  const bool standard_input = file == "-";
  std::error_code ignored;
  if (!standard_input && std::filesystem::is_directory(file, ignored)) {
    return fail(ErrorKind::bad_input, fmt::format("{} is a folder", file.string()), "name a file in it");
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> handle(standard_input ? stdin : std::fopen(file.c_str(), "rb"),
                                                         [](std::FILE* f) { return f == stdin ? 0 : std::fclose(f); });
  const auto failed = [&] {
    if (errno == EINTR) return fail(ErrorKind::cancelled, "reading was interrupted");
    return fail(ErrorKind::bad_input,
                fmt::format("{}: {}", standard_input ? "standard input" : file.string(), std::strerror(errno)),
                "check the path and its permissions");
  };
  if (!handle) return failed();
  std::string content;
  std::array<char, 1 << 16> buffer{};
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), handle.get())) > 0) content.append(buffer.data(), got);
  if (std::ferror(handle.get()) != 0) return failed();
  return content;
}

Result<std::string> file_fingerprint(const std::filesystem::path& file) {
  constexpr std::uintmax_t kPieces = 64, kPieceBytes = 4096;
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  if (error || !in) {
    return fail(ErrorKind::bad_input, fmt::format("{}: cannot be read", file.string()),
                "check the path and its permissions");
  }
  Hash hash;
  hash.add(std::uint64_t{size});
  std::string piece;
  for (std::uintmax_t i = 0; i < kPieces && i * kPieceBytes < size; ++i) {
    const auto step = std::max(kPieceBytes, (size - std::min(size, kPieceBytes)) / (kPieces - 1));
    in.clear();  // a short file ends in its last piece
    in.seekg(static_cast<std::streamoff>(step * i));
    piece.resize(kPieceBytes);
    in.read(piece.data(), static_cast<std::streamsize>(kPieceBytes));
    hash.add(std::string_view(piece).substr(0, static_cast<std::size_t>(in.gcount())));
  }
  return hash.hex();
}

Status check_utf8(std::string_view text, std::string_view what) {
  for (std::size_t i = 0; i < text.size();) {
    const unicode::Decoded next = unicode::decode(text.substr(i));
    if (next.character == unicode::kInvalid) {
      return fail(ErrorKind::bad_input,
                  fmt::format("{} is not UTF-8: byte {} is 0x{:02x}", what, i + 1, static_cast<unsigned char>(text[i])),
                  "convert it, for example with iconv -t UTF-8");
    }
    i += next.size;
  }
  return std::monostate{};
}

namespace {

Result<std::vector<NamedText>> parse_named(std::string_view content, std::string_view source,
                                           std::span<const char* const> keys) {
  std::vector<NamedText> texts;
  if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);  // a byte order mark is no part of the text
  const auto first = content.find_first_not_of(" \t\r\n");
  const bool lines_of_json = first != std::string_view::npos && content[first] == '{';
  if (!lines_of_json) {
    if (auto ok = check_utf8(content, source); !ok) return tl::unexpected(ok.error());
    texts.push_back({std::string(source), std::string(content)});
    return texts;
  }
  std::size_t number = 0;
  while (!content.empty()) {
    const auto end = content.find('\n');
    const std::string_view line = content.substr(0, end);
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Json object = Json::parse(line, nullptr, false);
    if (object.is_discarded() || !object.is_object()) {
      return fail(ErrorKind::bad_input, fmt::format("{}, line {}: no valid JSON object", source, number),
                  "give one JSON object a line, or plain text that does not begin with '{'");
    }
    auto text = text_field(object, keys);
    if (!text) {
      return fail(ErrorKind::bad_input, fmt::format("{}, line {}: no \"{}\"", source, number, keys.front()),
                  fmt::format("give each object a \"{}\"", keys.front()));
    }
    texts.push_back({id_field(object, number), std::move(*text)});
  }
  return texts;
}

}  // namespace

Result<std::vector<NamedText>> parse_texts(std::string_view content, std::string_view source) {
  return parse_named(content, source, kTextKeys);
}

Result<std::vector<NamedText>> parse_prompts(std::string_view content, std::string_view source) {
  return parse_named(content, source, kPromptKeys);
}

}  // namespace relaygen
