#include "eval/store.h"

#include <fmt/core.h>

#include <array>
#include <ctime>

#include "io/settings.h"

namespace relaygen::eval {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE policies (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL);
CREATE TABLE problems (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, question TEXT NOT NULL, expected TEXT NOT NULL,
  kind TEXT NOT NULL, options TEXT NOT NULL, prompt TEXT NOT NULL);
CREATE TABLE runs (
  position INTEGER PRIMARY KEY, started TEXT NOT NULL, program TEXT NOT NULL, command TEXT NOT NULL,
  machine TEXT NOT NULL);
CREATE TABLE outputs (
  policy TEXT NOT NULL, problem TEXT NOT NULL, sample INTEGER NOT NULL, started TEXT NOT NULL,
  attempts INTEGER NOT NULL, error TEXT, finish TEXT, verdict TEXT, tokens TEXT, time TEXT, answer TEXT, text TEXT,
  segments TEXT, PRIMARY KEY (policy, problem, sample));
)sql";

constexpr DatabaseFormat kFormat{.application = 0x52476576,  // "RGev"
                                 .version = 1,
                                 .schema = kSchema,
                                 .what = "an evaluation"};

std::string options_to_text(const std::vector<std::string>& options) { return to_line(OrderedJson(options)); }

std::vector<std::string> options_from_text(const std::string& text) {
  std::vector<std::string> options;
  const auto json = OrderedJson::parse(text, nullptr, false);
  for (const auto& one : json) {
    if (one.is_string()) options.push_back(one.get<std::string>());
  }
  return options;
}

OutputKey key_of(SQLite::Statement& row) {
  return {row.getColumn(0).getString(), row.getColumn(1).getString(),
          static_cast<std::uint32_t>(row.getColumn(2).getInt64())};
}

constexpr const char* kSmallColumns = "policy, problem, sample, attempts, error, finish, tokens, time, answer";

StoredOutput small_columns(SQLite::Statement& row) {
  StoredOutput stored{.key = key_of(row), .attempts = static_cast<std::uint32_t>(row.getColumn(3).getInt64())};
  if (!row.getColumn(4).isNull()) {
    stored.error = row.getColumn(4).getString();
    return stored;
  }
  stored.output.finish = finish_reason(row.getColumn(5).getString());
  stored.output.tokens = tokens_from_text(row.getColumn(6).getString());
  stored.output.time = time_from_text(row.getColumn(7).getString());
  stored.output.answer = row.getColumn(8).getString();
  return stored;
}

}  // namespace

class Store::Impl {
 public:
  explicit Impl(OpenedFile opened) : file_(std::move(opened)) {}

  template <typename Work>
  auto with(Work work) -> decltype(work(std::declval<SQLite::Database&>())) {
    return with_database(file_, work);
  }
  [[nodiscard]] OpenedFile& file() { return file_; }

  Status put(const OutputKey& key, const std::string& started, std::uint32_t attempts, const Output* output,
             std::string_view verdict, const std::string& error);

  Result<std::set<OutputKey>> keys(const char* which) {
    return with([&](SQLite::Database& database) -> Result<std::set<OutputKey>> {
      std::set<OutputKey> found;
      SQLite::Statement row(database, fmt::format("SELECT policy, problem, sample FROM outputs WHERE {}", which));
      while (row.executeStep()) found.insert(key_of(row));
      return found;
    });
  }

 private:
  OpenedFile file_;
};

Store::Store(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& file) {
  auto opened = open_to_write(file, kFormat);
  if (!opened) return tl::unexpected(opened.error());
  return Store(std::make_unique<Impl>(std::move(*opened)));
}

Result<Store> Store::open_to_read(const std::string& file) {
  auto opened = relaygen::open_to_read(file, kFormat);
  if (!opened) return tl::unexpected(opened.error());
  return Store(std::make_unique<Impl>(std::move(*opened)));
}

Result<Store> Store::in_memory() {
  auto opened = open_in_memory(kFormat);
  if (!opened) return tl::unexpected(opened.error());
  return Store(std::make_unique<Impl>(std::move(*opened)));
}

Status Store::begin_anew_if_empty() {
  return impl_->with([&](SQLite::Database& database) -> Status {
    if (database.execAndGet("SELECT count(*) FROM outputs").getInt64() > 0) return std::monostate{};
    SQLite::Transaction transaction(database);
    for (const char* table : {"settings", "policies", "problems", "runs"})
      database.exec(fmt::format("DELETE FROM {}", table));
    transaction.commit();
    return std::monostate{};
  });
}

Status Store::settle(const std::string& key, const OrderedJson& given) {
  return settle_setting(impl_->file(), key, given, key == "generation" ? "" : " for the " + key);
}

Status Store::record(const std::string& key, const OrderedJson& value) {
  return record_setting(impl_->file(), key, value);
}

Result<OrderedJson> Store::settings(const std::string& key) const { return read_setting(impl_->file(), key); }

Status Store::settle_policy(const StoredPolicy& policy) {
  const auto known = policies();
  if (!known) return tl::unexpected(known.error());
  for (const auto& one : *known) {
    if (one.name != policy.name) continue;
    const auto difference = first_difference(one.settings, OrderedJson::parse(to_line(policy.settings)));
    return difference ? differs(impl_->file(), *difference, " for " + policy.name) : Status(std::monostate{});
  }
  return impl_->with([&](SQLite::Database& database) -> Status {
    SQLite::Statement insert(database, "INSERT INTO policies (name, settings) VALUES (?, ?)");
    insert.bind(1, policy.name);
    insert.bind(2, to_line(policy.settings));
    insert.exec();
    return std::monostate{};
  });
}

Status Store::replace_policy(const StoredPolicy& policy) {
  return impl_->with([&](SQLite::Database& database) -> Status {
    SQLite::Statement update(database, "UPDATE policies SET settings = ? WHERE name = ?");
    update.bind(1, to_line(policy.settings));
    update.bind(2, policy.name);
    update.exec();
    return std::monostate{};
  });
}

Result<std::vector<StoredPolicy>> Store::policies() const {
  return impl_->with([&](SQLite::Database& database) -> Result<std::vector<StoredPolicy>> {
    std::vector<StoredPolicy> policies;
    SQLite::Statement select(database, "SELECT name, settings FROM policies ORDER BY position");
    while (select.executeStep()) {
      policies.push_back(
          {select.getColumn(0).getString(), OrderedJson::parse(select.getColumn(1).getString(), nullptr, false)});
    }
    return policies;
  });
}

Status Store::add_problems(std::span<const StoredProblem> problems, std::span<const std::size_t> positions) {
  return impl_->with([&](SQLite::Database& database) -> Status {
    SQLite::Transaction transaction(database);
    SQLite::Statement select(database, "SELECT prompt FROM problems WHERE id = ?");
    SQLite::Statement insert(database, "INSERT INTO problems VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const auto& [problem, prompt] = problems[i];
      select.reset();
      select.bind(1, problem.id);
      if (select.executeStep()) {
        const auto recorded = select.getColumn(0).getString();
        if (recorded == prompt) continue;
        return differs(impl_->file(), {"the prompt", shown(recorded), shown(prompt)}, " for problem " + problem.id);
      }
      insert.reset();
      insert.bind(1, static_cast<std::int64_t>(positions[i]));
      insert.bind(2, problem.id);
      insert.bind(3, problem.question);
      insert.bind(4, problem.expected);
      insert.bind(5, std::string(eval::name(problem.kind)));
      insert.bind(6, options_to_text(problem.options));
      insert.bind(7, prompt);
      insert.exec();
    }
    transaction.commit();
    return std::monostate{};
  });
}

Result<std::vector<StoredProblem>> Store::problems() const {
  return impl_->with([&](SQLite::Database& database) -> Result<std::vector<StoredProblem>> {
    std::vector<StoredProblem> problems;
    SQLite::Statement row(database,
                          "SELECT id, question, expected, kind, options, prompt FROM problems ORDER BY position");
    while (row.executeStep()) {
      problems.push_back({.problem = {.id = row.getColumn(0).getString(),
                                      .question = row.getColumn(1).getString(),
                                      .expected = row.getColumn(2).getString(),
                                      .kind = answer_kind(row.getColumn(3).getString()).value_or(AnswerKind::none),
                                      .options = options_from_text(row.getColumn(4).getString())},
                          .prompt = row.getColumn(5).getString()});
    }
    return problems;
  });
}

Status Store::add_run(const StoredRun& run) {
  return impl_->with([&](SQLite::Database& database) -> Status {
    SQLite::Statement insert(database, "INSERT INTO runs (started, program, command, machine) VALUES (?, ?, ?, ?)");
    insert.bind(1, run.started);
    insert.bind(2, run.program);
    insert.bind(3, run.command);
    insert.bind(4, to_line(run.machine));
    insert.exec();
    return std::monostate{};
  });
}

Result<std::vector<StoredRun>> Store::runs() const {
  return impl_->with([&](SQLite::Database& database) -> Result<std::vector<StoredRun>> {
    std::vector<StoredRun> runs;
    SQLite::Statement row(database, "SELECT started, program, command, machine FROM runs ORDER BY position");
    while (row.executeStep()) {
      runs.push_back({row.getColumn(0).getString(), row.getColumn(1).getString(), row.getColumn(2).getString(),
                      OrderedJson::parse(row.getColumn(3).getString(), nullptr, false)});
    }
    return runs;
  });
}

Status Store::Impl::put(const OutputKey& key, const std::string& started, std::uint32_t attempts, const Output* output,
                        std::string_view verdict, const std::string& error) {
  return with([&](SQLite::Database& database) -> Status {
    SQLite::Transaction transaction(database);
    SQLite::Statement insert(database, R"sql(
      INSERT INTO outputs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (policy, problem, sample) DO UPDATE SET
        started = excluded.started, attempts = attempts + excluded.attempts, error = excluded.error,
        finish = excluded.finish, verdict = excluded.verdict, tokens = excluded.tokens, time = excluded.time,
        answer = excluded.answer, text = excluded.text, segments = excluded.segments)sql");
    insert.bind(1, key.policy);
    insert.bind(2, key.problem);
    insert.bind(3, key.sample);
    insert.bind(4, started);
    insert.bind(5, attempts);
    if (output == nullptr) {
      insert.bind(6, error);
    } else {
      insert.bind(7, std::string(relaygen::name(output->finish)));
      insert.bind(8, std::string(verdict));
      insert.bind(9, tokens_to_text(output->tokens));
      insert.bind(10, time_to_text(output->time));
      insert.bind(11, output->answer);
      insert.bind(12, output->text);
      insert.bind(13, segments_to_text(output->segments));
    }
    insert.exec();
    transaction.commit();
    return std::monostate{};
  });
}

Status Store::put(const OutputKey& key, const Output& output, std::string_view verdict, const std::string& started,
                  std::uint32_t attempts) {
  return impl_->put(key, started, attempts, &output, verdict, "");
}

Status Store::put_error(const OutputKey& key, const std::string& error, const std::string& started,
                        std::uint32_t attempts) {
  return impl_->put(key, started, attempts, nullptr, "", error);
}

Result<std::set<OutputKey>> Store::done() const { return impl_->keys("error IS NULL"); }
Result<std::set<OutputKey>> Store::failed() const { return impl_->keys("error IS NOT NULL"); }

Result<std::uint32_t> Store::samples() const {
  return impl_->with([&](SQLite::Database& database) -> Result<std::uint32_t> {
    return static_cast<std::uint32_t>(
        database.execAndGet("SELECT coalesce(max(sample) + 1, 0) FROM outputs").getInt64());
  });
}

Status Store::for_each(const std::function<void(const StoredOutput&)>& visit) const {
  return impl_->with([&](SQLite::Database& database) -> Status {
    SQLite::Statement row(database, fmt::format("SELECT {} FROM outputs", kSmallColumns));
    while (row.executeStep()) visit(small_columns(row));
    return std::monostate{};
  });
}

Result<std::optional<StoredOutput>> Store::find(const OutputKey& key) const {
  return impl_->with([&](SQLite::Database& database) -> Result<std::optional<StoredOutput>> {
    SQLite::Statement row(database, fmt::format("SELECT {}, text, segments FROM outputs WHERE policy = ? AND problem = "
                                                "? AND sample = ?",
                                                kSmallColumns));
    row.bind(1, key.policy);
    row.bind(2, key.problem);
    row.bind(3, key.sample);
    if (!row.executeStep()) return std::nullopt;
    StoredOutput stored = small_columns(row);
    if (!stored.error) {
      stored.output.text = row.getColumn(9).getString();
      stored.output.segments = segments_from_text(row.getColumn(10).getString());
    }
    return stored;
  });
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace relaygen::eval
