// GGUF, all numbers little endian: "GGUF", u32 version, u64 tensors, u64 pairs; pairs of (string key, u32 type, value);
// tensors of (string name, u32 dimensions, u64 sizes, u32 type, u64 offset); padding; the tensors' bytes. A string is a
// u64 length and that many bytes; an array is a u32 type, a u64 count and the elements.
//
// llama.cpp has a reader of its own and then asserts on some of what it read (an array of the wrong type, a table that
// is shorter than the vocabulary), and an assertion ends the process. So a file passes this reader first, which checks
// every length against what is left of the file, and those tables against each other.
#include "engine/llama/gguf_header.h"

#include <fmt/format.h>
#include <gguf.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <unordered_set>

#include "engine/llama/text.h"

namespace relaygen::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF files are little endian");

constexpr std::uint64_t kLongestName = 65535;  // of a key or a tensor; the format's own limit for keys
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::uint64_t kLongestKeptText = 1 << 20;  // longer string values are skipped

/// Thrown inside this file only.
struct Damage {
  std::string what;
};

class Reader {
 public:
  Reader(std::FILE* file, std::uint64_t size) : file_(file), size_(size) {}

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return size_ - position_; }

  template <typename T>
  T number() {
    T value{};
    bytes(&value, sizeof(value));
    return value;
  }

  std::string string(std::uint64_t longest, const char* what) {
    const auto length = number<std::uint64_t>();
    if (length > left()) cut_short();
    if (length > longest) throw Damage{fmt::format("it is damaged: {} of {} bytes", what, length)};
    std::string text(static_cast<std::size_t>(length), '\0');
    bytes(text.data(), length);
    return text;
  }

  void skip(std::uint64_t count) {
    if (count > left()) cut_short();
    if (count <= scratch_.size()) {  // a seek would throw the stream's buffer away
      bytes(scratch_.data(), count);
      return;
    }
    if (fseeko(file_, static_cast<off_t>(position_ + count), SEEK_SET) != 0) unreadable();
    position_ += count;
  }

  [[noreturn]] void cut_short() const {
    throw Damage{fmt::format("it is cut short: the header does not end within the file's {}", human_bytes(size_))};
  }

 private:
  void bytes(void* to, std::uint64_t count) {
    if (count > left()) cut_short();
    if (std::fread(to, 1, static_cast<std::size_t>(count), file_) != count) unreadable();
    position_ += count;
  }

  [[noreturn]] void unreadable() const {
    throw Damage{fmt::format("it cannot be read: {}", std::generic_category().message(errno != 0 ? errno : EIO))};
  }

  std::FILE* file_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  std::array<char, 4096> scratch_;
};

/// Bytes of one value of a fixed-size type; 0 for others.
std::uint64_t size_of(std::uint32_t type) {
  switch (type) {
    case GGUF_TYPE_UINT8:
    case GGUF_TYPE_INT8:
    case GGUF_TYPE_BOOL: return 1;
    case GGUF_TYPE_UINT16:
    case GGUF_TYPE_INT16: return 2;
    case GGUF_TYPE_UINT32:
    case GGUF_TYPE_INT32:
    case GGUF_TYPE_FLOAT32: return 4;
    case GGUF_TYPE_UINT64:
    case GGUF_TYPE_INT64:
    case GGUF_TYPE_FLOAT64: return 8;
    default: return 0;
  }
}

std::optional<std::int64_t> read_scalar(Reader& in, std::uint32_t type) {
  switch (type) {
    case GGUF_TYPE_UINT8:
    case GGUF_TYPE_BOOL: return in.number<std::uint8_t>();
    case GGUF_TYPE_INT8: return in.number<std::int8_t>();
    case GGUF_TYPE_UINT16: return in.number<std::uint16_t>();
    case GGUF_TYPE_INT16: return in.number<std::int16_t>();
    case GGUF_TYPE_UINT32: return in.number<std::uint32_t>();
    case GGUF_TYPE_INT32: return in.number<std::int32_t>();
    case GGUF_TYPE_INT64:
    case GGUF_TYPE_UINT64: return in.number<std::int64_t>();
    default: in.skip(size_of(type)); return std::nullopt;
  }
}

struct Array {
  std::uint32_t type = 0;
  std::uint64_t count = 0;
};
using Arrays = std::map<std::string, Array, std::less<>>;

/// Two tokens of one text are an assertion to llama.cpp.
void read_tokens(Reader& in, std::uint64_t count) {
  std::unordered_set<std::string> texts;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string text = in.string(kLongestName, "a token");
    if (text.empty()) continue;  // llama.cpp gives these a text of their own
    if (const auto [known, fresh] = texts.insert(std::move(text)); !fresh) {
      throw Damage{fmt::format("it is damaged: token {} has the text {} of an earlier one", i, printable(*known))};
    }
  }
}

Array read_array(Reader& in, const std::string& key) {
  Array array;
  array.type = in.number<std::uint32_t>();
  array.count = in.number<std::uint64_t>();
  const std::uint64_t least = array.type == GGUF_TYPE_STRING ? 8 : size_of(array.type);
  if (least == 0)
    throw Damage{fmt::format("it is damaged: {} is an array of unknown type {}", printable(key), array.type)};
  if (array.count > in.left() / least) in.cut_short();
  if (array.type != GGUF_TYPE_STRING) {
    in.skip(array.count * least);
    return array;
  }
  if (key == kTokens) {
    read_tokens(in, array.count);
  } else {
    for (std::uint64_t i = 0; i < array.count; ++i) in.skip(in.number<std::uint64_t>());
  }
  return array;
}

void read_pairs(Reader& in, std::uint64_t pairs, GgufHeader& header, Arrays& arrays) {
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const std::string key = in.string(kLongestName, "a key");
    if (key.empty()) throw Damage{"it is damaged: a key is empty"};
    const auto type = in.number<std::uint32_t>();
    if (type == GGUF_TYPE_STRING) {
      const auto length = in.number<std::uint64_t>();
      if (length > kLongestKeptText) {
        in.skip(length);
        continue;
      }
      if (length > in.left()) in.cut_short();
      std::string text;
      text.reserve(static_cast<std::size_t>(length));
      for (std::uint64_t byte = 0; byte < length; ++byte) text += in.number<char>();
      header.texts.insert_or_assign(key, std::move(text));
    } else if (type == GGUF_TYPE_ARRAY) {
      arrays.insert_or_assign(key, read_array(in, key));
    } else if (size_of(type) > 0) {
      if (const auto value = read_scalar(in, type)) header.integers.insert_or_assign(key, *value);
    } else {
      throw Damage{fmt::format("it is damaged: {} has the unknown type {}", printable(key), type)};
    }
  }
}

/// The tables that llama.cpp reads without looking at their type or length.
void check_vocabulary_tables(const Arrays& arrays) {
  const auto tokens = arrays.find(kTokens);
  const auto expect = [&](std::string_view key, std::uint32_t type, bool one_a_token) {
    const auto found = arrays.find(key);
    if (found == arrays.end()) return;
    if (found->second.type != type) throw Damage{fmt::format("it is damaged: {} has the wrong type", key)};
    if (one_a_token && (tokens == arrays.end() || tokens->second.count != found->second.count)) {
      throw Damage{fmt::format("it is damaged: {} does not have one entry a token", key)};
    }
  };
  expect(kTokens, GGUF_TYPE_STRING, true);
  expect("tokenizer.ggml.merges", GGUF_TYPE_STRING, false);
  expect("tokenizer.ggml.token_type", GGUF_TYPE_INT32, true);
  const auto scores = arrays.find("tokenizer.ggml.scores");
  if (scores != arrays.end() && scores->second.type != GGUF_TYPE_INT32) {
    expect("tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, true);
  } else {
    expect("tokenizer.ggml.scores", GGUF_TYPE_INT32, true);
  }
}

struct Extent {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

Extent read_tensor(Reader& in) {
  Extent tensor;
  tensor.name = in.string(kLongestName, "a tensor's name");
  const auto dimensions = in.number<std::uint32_t>();
  if (dimensions > GGML_MAX_DIMS) {
    throw Damage{fmt::format("it is damaged: tensor {} has {} dimensions", printable(tensor.name), dimensions)};
  }
  std::uint64_t elements = 1, row = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto size = in.number<std::uint64_t>();
    if (size != 0 && elements > std::numeric_limits<std::int64_t>::max() / size) {
      throw Damage{fmt::format("it is damaged: tensor {} is impossibly large", printable(tensor.name))};
    }
    elements *= size;
    if (i == 0) row = size;
  }
  const auto type = in.number<std::uint32_t>();
  tensor.offset = in.number<std::uint64_t>();
  if (type >= GGML_TYPE_COUNT || ggml_blck_size(static_cast<ggml_type>(type)) == 0) {
    throw Damage{fmt::format("tensor {} has the number format {}, which this build of llama.cpp does not know",
                             printable(tensor.name), type)};
  }
  const auto block = static_cast<std::uint64_t>(ggml_blck_size(static_cast<ggml_type>(type)));
  const std::uint64_t block_bytes = ggml_type_size(static_cast<ggml_type>(type));
  if (row % block != 0) {
    throw Damage{
        fmt::format("it is damaged: the rows of tensor {} are no whole number of blocks", printable(tensor.name))};
  }
  if (elements / block > std::numeric_limits<std::uint64_t>::max() / block_bytes) {
    throw Damage{fmt::format("it is damaged: tensor {} is impossibly large", printable(tensor.name))};
  }
  tensor.bytes = elements / block * block_bytes;
  return tensor;
}

GgufHeader read(Reader& in, std::uint64_t file_bytes) {
  std::array<char, 4> magic{};
  for (char& byte : magic) {
    if (in.left() == 0) throw Damage{"it is not a GGUF file"};
    byte = in.number<char>();
  }
  if (std::memcmp(magic.data(), GGUF_MAGIC, magic.size()) != 0) throw Damage{"it is not a GGUF file"};

  const auto version = in.number<std::uint32_t>();
  if (version != 2 && version != GGUF_VERSION) {
    const bool swapped = version != 0 && (version & 0xFFFF) == 0;
    throw Damage{swapped ? "it was written for a machine of the other byte order"
                         : fmt::format("its GGUF version {} cannot be read (2 and {} can)", version, GGUF_VERSION)};
  }
  GgufHeader header;
  header.file_bytes = file_bytes;
  header.tensors = in.number<std::uint64_t>();
  const auto pairs = in.number<std::uint64_t>();
  // A pair takes at least 13 bytes, a tensor at least 24.
  if (pairs > in.left() / 13 || header.tensors > in.left() / 24) {
    throw Damage{in.left() < 64 ? "it is cut short: nothing but the beginning of a header is there"
                                : "it is damaged or cut short: it announces more entries than it can hold"};
  }
  Arrays arrays;
  read_pairs(in, pairs, header, arrays);
  check_vocabulary_tables(arrays);

  const std::int64_t alignment = header.integer(GGUF_KEY_GENERAL_ALIGNMENT).value_or(GGUF_DEFAULT_ALIGNMENT);
  if (alignment <= 0 || alignment > (1 << 30) || !std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
    throw Damage{fmt::format("it is damaged: its alignment is {}", alignment)};
  }
  std::uint64_t end = 0;
  std::string last;
  for (std::uint64_t i = 0; i < header.tensors; ++i) {
    Extent tensor = read_tensor(in);
    header.weight_bytes += tensor.bytes;
    if (tensor.offset > std::numeric_limits<std::uint64_t>::max() - tensor.bytes) {
      throw Damage{fmt::format("it is damaged: tensor {} lies beyond any file", printable(tensor.name))};
    }
    if (tensor.offset + tensor.bytes >= end) {
      end = tensor.offset + tensor.bytes;
      last = std::move(tensor.name);
    }
  }
  if (header.tensors > 0) {
    const auto step = static_cast<std::uint64_t>(alignment);
    const std::uint64_t data = (in.position() + step - 1) / step * step;
    if (data > file_bytes || end > file_bytes - data) {
      throw Damage{fmt::format("it is cut short: {} are there, tensor {} ends {} into its weights",
                               human_bytes(file_bytes), printable(last), human_bytes(end))};
    }
  }
  return header;
}

tl::unexpected<Error> bad(const std::string& path, const std::string& what, const char* hint) {
  return fail(ErrorKind::bad_model, fmt::format("The model file {} cannot be used: {}", printable_path(path), what),
              hint);
}

constexpr const char* kFetchAgain = "download it again, and compare its size or checksum with the publisher's";

}  // namespace

std::string GgufHeader::text(std::string_view key) const {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string() : found->second;
}

std::optional<std::int64_t> GgufHeader::integer(std::string_view key) const {
  const auto found = integers.find(key);
  return found == integers.end() ? std::nullopt : std::optional(found->second);
}

Result<GgufHeader> read_gguf_header(const std::string& path) {
  constexpr const char* kCheckPath = "check the path; a model is one .gguf file";
  if (path.empty()) return fail(ErrorKind::bad_model, "The path of a model file is empty", kCheckPath);
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return bad(path, "it does not exist", kCheckPath);
  if (error) return bad(path, error.message(), kCheckPath);
  if (std::filesystem::is_directory(status)) return bad(path, "it is a folder", "give the .gguf file in it");
  if (!std::filesystem::is_regular_file(status)) return bad(path, "it is no ordinary file", kCheckPath);

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return bad(path, std::generic_category().message(errno), "check its permissions");
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) return bad(path, error.message(), kCheckPath);
  if (size == 0) return bad(path, "it is empty", kFetchAgain);
  std::setvbuf(file.get(), nullptr, _IOFBF, 1 << 16);
  try {
    Reader reader(file.get(), size);
    return read(reader, size);
  } catch (const Damage& damage) {
    return bad(path, damage.what,
               damage.what.starts_with("it is not a GGUF") ? "give a model in GGUF format" : kFetchAgain);
  }
}

}  // namespace relaygen::engine
