#include "support/process.h"

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace relaygen::testing {
namespace {

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

// Reads both descriptors until their ends.
void drain(std::array<pollfd, 2> sources, std::array<std::string*, 2> targets) {
  std::array<char, 4096> buffer{};
  while (sources[0].fd >= 0 || sources[1].fd >= 0) {
    if (::poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i].fd < 0 || sources[i].revents == 0) continue;
      const auto got = ::read(sources[i].fd, buffer.data(), buffer.size());
      if (got > 0) {
        targets[i]->append(buffer.data(), static_cast<std::size_t>(got));
      } else {
        ::close(sources[i].fd);
        sources[i].fd = -1;
      }
    }
  }
}

}  // namespace

ProcessResult run_shell(const std::string& command) {
  ProcessResult result;
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (::pipe(out.data()) != 0 || ::pipe(err.data()) != 0) return result;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    for (const int fd : {out[0], out[1], err[0], err[1]}) ::close(fd);
    const std::string quiet = "exec < /dev/null; " + command;
    ::execl("/bin/sh", "sh", "-c", quiet.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  drain({pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}}, {&result.output, &result.error});
  int status = 0;
  ::waitpid(child, &status, 0);
  result.code = exit_code(status);
  return result;
}

ProcessResult run_in_terminal(const std::string& command) {
  ProcessResult result;
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::setenv("TERM", "xterm-256color", 1);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  drain({pollfd{terminal, POLLIN, 0}, pollfd{-1, 0, 0}}, {&result.output, &result.error});
  int status = 0;
  ::waitpid(child, &status, 0);
  result.code = exit_code(status);
  return result;
}

}  // namespace relaygen::testing
