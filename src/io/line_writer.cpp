#include "io/line_writer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace relaygen {

Result<LineWriter> LineWriter::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return fail(ErrorKind::output_failed, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                "choose a file in a folder that exists and may be written");
  }
  return LineWriter(descriptor, path);
}

LineWriter::LineWriter(LineWriter&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      error_(std::move(other.error_)) {}

LineWriter::~LineWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void LineWriter::write(std::string_view line) {
  if (error_) return;
  std::string bytes(line);
  bytes += '\n';
  for (std::size_t done = 0; done < bytes.size();) {
    const auto wrote = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      error_ = Error{ErrorKind::output_failed, fmt::format("{} is incomplete: {}", path_, std::strerror(errno)),
                     "free some space and run again"};
      return;
    }
    done += static_cast<std::size_t>(wrote);
  }
}

Status write_file(const std::string& path, std::string_view content) {
  auto writer = LineWriter::open(path);
  if (!writer) return tl::unexpected(writer.error());
  writer->write(content);
  if (writer->error()) return tl::unexpected(*writer->error());
  return std::monostate{};
}

}  // namespace relaygen
