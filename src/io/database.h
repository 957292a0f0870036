// SQLite files of our own: opening, locking, schema, errors as values. Internal.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "relaygen/error.h"

namespace relaygen {

/// What one kind of file is.
struct DatabaseFormat {
  std::int32_t application;  ///< SQLite's application_id
  std::int32_t version;      ///< SQLite's user_version; newer ones are refused
  const char* schema;        ///< makes the tables
  const char* what;          ///< what it holds, for people: "an evaluation"
};

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

/// Opens or begins a file; nobody else can write to it until the result is destroyed. Errors: bad_input (no database, a
/// foreign one, one of a newer RelayGen), output_failed (it cannot be created or written, another process is writing).
[[nodiscard]] Result<OpenedFile> open_to_write(const std::string& file, const DatabaseFormat& format);
/// Opens a file for reading, also while another process writes. Errors: bad_input.
[[nodiscard]] Result<OpenedFile> open_to_read(const std::string& file, const DatabaseFormat& format);
/// Gone with the process.
[[nodiscard]] Result<OpenedFile> open_in_memory(const DatabaseFormat& format);

/// What an exception of SQLiteCpp means for a person.
[[nodiscard]] Error explain(const SQLite::Exception& error, const std::string& file);

/// Runs what works on the database and turns its exceptions into errors.
template <typename Work>
auto with_database(OpenedFile& file, Work work) -> decltype(work(file.database)) {
  try {
    return work(file.database);
  } catch (const SQLite::Exception& error) {
    return tl::unexpected(explain(error, file.name));
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "an allocation failed", "free memory");
  }
}

}  // namespace relaygen
