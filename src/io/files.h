// Reading files and texts. Internal.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "relaygen/error.h"

namespace relaygen {

/// The bytes of a file; "-" is standard input. Errors: bad_input (missing, a folder, unreadable) with the system's reason.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& file);

/// 16 hex digits that tell files apart without reading all of them: over the size and 64 pieces of 4 KiB, evenly spaced.
/// Errors: bad_input.
[[nodiscard]] Result<std::string> file_fingerprint(const std::filesystem::path& file);

/// Errors: bad_input naming the first byte that is not UTF-8.
[[nodiscard]] Status check_utf8(std::string_view text, std::string_view what);

/// A text to look at, with a name for people.
struct NamedText {
  std::string id;
  std::string text;
};

/// Texts of a file: JSONL with a text field (one object a line; "text", "completion", "response", "output" or "content";
/// id from "id" or "problem_id", else the line number), or the whole file as one text. Errors: bad_input with the line.
[[nodiscard]] Result<std::vector<NamedText>> parse_texts(std::string_view content, std::string_view source);

/// The same for prompts: the field is "prompt", "question" or "problem".
[[nodiscard]] Result<std::vector<NamedText>> parse_prompts(std::string_view content, std::string_view source);

}  // namespace relaygen
