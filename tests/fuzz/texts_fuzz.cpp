// The reader of texts (plain, or JSONL) on any bytes: UTF-8 texts with names, or an error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/unicode.h"
#include "io/files.h"

using namespace relaygen;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  require(check_utf8(content, "input").has_value() == unicode::is_utf8(content));
  const auto texts = parse_texts(content, "fuzz.jsonl");
  if (!texts) {
    require(texts.error().kind == ErrorKind::bad_input);
    require(!texts.error().message.empty());
    return 0;
  }
  for (const NamedText& text : *texts) {
    require(unicode::is_utf8(text.text));
    require(unicode::is_utf8(text.id));
  }
  std::string_view plain = content;
  if (plain.starts_with("\xEF\xBB\xBF")) plain.remove_prefix(3);  // a byte order mark is no part of the text
  const auto first = plain.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || plain[first] != '{') {
    require(texts->size() == 1 && texts->front().text == plain);
  }
  return 0;
}
