// What tests of the program share: a folder of their own, and sentences.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "support/process.h"

namespace relaygen::testing {

/// A folder of its own for each test, gone afterwards.
class InFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("relaygen-" + std::to_string(::getpid()) + "-" + test->test_suite_name() + "-" + test->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// Returns the path.
  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  [[nodiscard]] static std::string read(const std::string& path) {
    std::ostringstream content;
    content << std::ifstream(path, std::ios::binary).rdbuf();
    return content.str();
  }

  std::filesystem::path folder_;
};

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// One line that says what is wrong and what to do, behind any warnings.
inline void expect_sentence(const ProcessResult& result, int code, const std::string& part) {
  EXPECT_EQ(result.code, code) << result.error;
  std::istringstream lines(result.error);
  std::size_t sentences = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("relaygen: ")) << result.error;
    sentences += !line.starts_with("relaygen: warning: ");
  }
  EXPECT_EQ(sentences, 1U) << result.error;
  EXPECT_NE(result.error.find("To do: "), std::string::npos) << result.error;
  EXPECT_NE(result.error.find(part), std::string::npos) << result.error;
}

/// The program gets SIGKILL after a while, if it is still there.
inline void run_and_kill(const std::string& arguments, int after_ms) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", ("exec " RELAYGEN_BINARY " " + arguments + " > /dev/null 2>&1").c_str(), nullptr);
    ::_exit(127);
  }
  ::usleep(static_cast<useconds_t>(after_ms) * 1000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace relaygen::testing
