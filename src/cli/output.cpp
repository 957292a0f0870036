#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/interrupt.h"

namespace relaygen::cli {
namespace {

int output_error = 0;  // errno of the first failure of standard output

}  // namespace

void write_bytes(std::FILE* stream, std::string_view bytes) {
  if (stream == stdout && output_error != 0) return;
  const bool ok = std::fwrite(bytes.data(), 1, bytes.size(), stream) == bytes.size() && std::fflush(stream) == 0;
  if (ok || stream != stdout) return;
  output_error = errno == 0 ? EIO : errno;
  stop_generating();
}

Status flush_output() {
  if (output_error == 0 && std::fflush(stdout) != 0) output_error = errno == 0 ? EIO : errno;
  if (output_error == 0) return std::monostate{};
  return fail(ErrorKind::output_failed, fmt::format("standard output is incomplete: {}", std::strerror(output_error)),
              output_error == ENOSPC ? "free some space and run again" : "check where the output goes");
}

void open_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    if (::open("/dev/null", O_RDWR) < 0) return;  // takes the lowest free number, which is this one
  }
}

}  // namespace relaygen::cli
