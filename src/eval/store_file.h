// The SQLite file behind a Store: opening, locking, schema, errors as values. Internal.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <utility>

#include "relaygen/error.h"

namespace relaygen::eval {

/// A descriptor that holds the lock of a file.
class FileLock {
 public:
  FileLock() = default;
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileLock();

 private:
  int descriptor_ = -1;
};

struct OpenedFile {
  FileLock lock;  // outlives the database: closing a descriptor of a file drops SQLite's own locks on it
  SQLite::Database database;
  std::string name;  ///< for people
};

[[nodiscard]] Result<OpenedFile> open_to_write(const std::string& file);
[[nodiscard]] Result<OpenedFile> open_file_to_read(const std::string& file);
[[nodiscard]] Result<OpenedFile> open_in_memory();

/// What an exception of SQLiteCpp means for a person.
[[nodiscard]] Error explain(const SQLite::Exception& error, const std::string& file);

}  // namespace relaygen::eval
