#include "io/database.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace relaygen {
namespace {

constexpr int kPatienceMs = 5000;  // with a reader that holds the file for a moment

std::int64_t pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt64();
}

tl::unexpected<Error> foreign(const std::string& file, std::string_view what) {
  return fail(ErrorKind::bad_input, fmt::format("{} {}", file, what), "name another file with --db");
}

void create_schema(SQLite::Database& database, const DatabaseFormat& format) {
  SQLite::Transaction transaction(database);
  database.exec(format.schema);
  database.exec(fmt::format("PRAGMA application_id = {}", format.application));
  database.exec(fmt::format("PRAGMA user_version = {}", format.version));
  transaction.commit();
}

bool is_empty(SQLite::Database& database) {
  return database.execAndGet("SELECT count(*) FROM sqlite_master").getInt64() == 0 &&
         pragma(database, "application_id") == 0;
}

Status check_schema(SQLite::Database& database, const std::string& file, const DatabaseFormat& format) {
  if (pragma(database, "application_id") != format.application)
    return foreign(file, fmt::format("is a database of another kind, not {}", format.what));
  const auto version = pragma(database, "user_version");
  if (version > format.version) {
    return fail(ErrorKind::bad_input,
                fmt::format("{} was written by a newer RelayGen (its format is {}, this one reads {})", file, version,
                            format.version),
                "use that one, or another file with --db");
  }
  if (version < format.version) return foreign(file, "is damaged: it has no format");
  return std::monostate{};
}

// SQLite would take a file of any kind for a broken database, or an empty one for a new one.
Status check_header(const std::string& file, const DatabaseFormat& format) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return foreign(file, "is a folder");
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", file, std::strerror(errno)),
                "check the path and its permissions");
  }
  std::array<char, 16> header{};
  const auto got = ::read(descriptor, header.data(), header.size());
  ::close(descriptor);
  if (got == 0) return std::monostate{};
  if (got != 16 || std::memcmp(header.data(), "SQLite format 3", 16) != 0)
    return foreign(file, fmt::format("is no database of {}", format.what));
  return std::monostate{};
}

Result<FileLock> lock_file(const std::string& file) {
  if (file == ":memory:") return foreign(file, "would be gone with this process");
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return foreign(file, "is a folder");
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return fail(ErrorKind::output_failed, fmt::format("cannot write {}: {}", file, std::strerror(errno)),
                "choose a file in a folder that exists and may be written");
  }
  FileLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(ErrorKind::output_failed, fmt::format("another relaygen is writing to {}", file),
                "wait for it, or name another file with --db");
  }
  return lock;
}

}  // namespace

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Error explain(const SQLite::Exception& error, const std::string& file) {
  const auto say = [&](ErrorKind kind, std::string_view what, std::string hint) {
    return Error{kind, fmt::format("{} {}", file, what), std::move(hint)};
  };
  const auto reason = fmt::format("cannot be used: {}", error.what());
  switch (error.getErrorCode()) {
    case SQLITE_FULL:
      return say(ErrorKind::output_failed, "cannot grow: the disk is full", "free some space and run again");
    case SQLITE_IOERR: return say(ErrorKind::output_failed, reason, "check the disk and its space, and run again");
    case SQLITE_READONLY: return say(ErrorKind::output_failed, "is read-only", "choose a file that may be written");
    case SQLITE_CANTOPEN: return say(ErrorKind::output_failed, reason, "check the folder and its permissions");
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return say(ErrorKind::output_failed, "is held by another program", "close that and run again");
    case SQLITE_NOTADB: return say(ErrorKind::bad_input, "is no database", "name another file with --db");
    case SQLITE_CORRUPT:
      return say(ErrorKind::bad_input, "is damaged", "restore a copy, or name another file with --db");
    case SQLITE_NOMEM: return {ErrorKind::out_of_memory, "an allocation failed", "free memory"};
    default: return say(ErrorKind::output_failed, reason, "check the disk, or name another file with --db");
  }
}

Result<OpenedFile> open_to_write(const std::string& file, const DatabaseFormat& format) try {
  auto lock = lock_file(file);
  if (!lock) return tl::unexpected(lock.error());
  if (auto ok = check_header(file, format); !ok) return tl::unexpected(ok.error());
  OpenedFile opened{std::move(*lock), SQLite::Database(file, SQLite::OPEN_READWRITE, kPatienceMs), file};
  auto& database = opened.database;
  const bool empty = is_empty(database);
  if (!empty) {
    if (auto ok = check_schema(database, file, format); !ok) return tl::unexpected(ok.error());
  }
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  if (empty) create_schema(database, format);
  return opened;
} catch (const SQLite::Exception& error) {
  return tl::unexpected(explain(error, file));
}

Result<OpenedFile> open_to_read(const std::string& file, const DatabaseFormat& format) try {
  if (auto ok = check_header(file, format); !ok) return tl::unexpected(ok.error());
  const auto opened_as = [&](const std::string& name, int flags) {
    OpenedFile opened{FileLock(), SQLite::Database(name, SQLite::OPEN_READONLY | flags, kPatienceMs), file};
    (void)pragma(opened.database, "user_version");  // the first read is where a read-only place shows
    return opened;
  };
  auto opened = [&] {
    try {
      return opened_as(file, 0);
    } catch (const SQLite::Exception& error) {
      // In a read-only place SQLite cannot keep its shared memory. Without a log there is nothing to share.
      const auto code = error.getErrorCode();
      if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || std::filesystem::exists(file + "-wal")) throw;
      std::string name = "file:";
      for (const char c : std::filesystem::absolute(file).string())
        name += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", c) : std::string(1, c);
      return opened_as(name + "?immutable=1", SQLite::OPEN_URI);
    }
  }();
  if (is_empty(opened.database)) return foreign(file, fmt::format("does not hold {} yet", format.what));
  if (auto ok = check_schema(opened.database, file, format); !ok) return tl::unexpected(ok.error());
  return opened;
} catch (const SQLite::Exception& error) {
  return tl::unexpected(explain(error, file));
}

Result<OpenedFile> open_in_memory(const DatabaseFormat& format) try {
  OpenedFile opened{FileLock(), SQLite::Database(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE),
                    fmt::format("{} in memory", format.what)};
  create_schema(opened.database, format);
  return opened;
} catch (const SQLite::Exception& error) {
  return tl::unexpected(explain(error, fmt::format("{} in memory", format.what)));
}

}  // namespace relaygen
