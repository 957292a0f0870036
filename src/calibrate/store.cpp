#include "calibrate/store.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "io/settings.h"

namespace relaygen::calibrate {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE problems (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, question TEXT NOT NULL, expected TEXT NOT NULL,
  kind TEXT NOT NULL, options TEXT NOT NULL);
CREATE TABLE traces (
  problem TEXT NOT NULL, sample INTEGER NOT NULL, imported INTEGER NOT NULL, seed INTEGER NOT NULL,
  finished INTEGER NOT NULL, prompt_state INTEGER NOT NULL, prompt BLOB NOT NULL, tokens BLOB NOT NULL,
  ends BLOB NOT NULL, text BLOB NOT NULL, PRIMARY KEY (problem, sample));
CREATE TABLE opinions (
  problem TEXT NOT NULL, sample INTEGER NOT NULL, model TEXT NOT NULL, margin BLOB NOT NULL, logprob BLOB NOT NULL,
  entropy BLOB NOT NULL, top BLOB NOT NULL, of_asked BLOB NOT NULL, PRIMARY KEY (problem, sample, model));
CREATE TABLE proofs (
  problem TEXT NOT NULL, sample INTEGER NOT NULL, token INTEGER NOT NULL, arm TEXT NOT NULL, text BLOB NOT NULL,
  small_tokens INTEGER NOT NULL, finished INTEGER NOT NULL, answer TEXT, PRIMARY KEY (problem, sample, token, arm));
CREATE TABLE answers (
  problem TEXT NOT NULL, sample INTEGER NOT NULL, text BLOB NOT NULL, finished INTEGER NOT NULL, answer TEXT,
  PRIMARY KEY (problem, sample));
)sql";

constexpr DatabaseFormat kFormat{.application = 0x52476361,  // "RGca"
                                 .version = 1,
                                 .schema = kSchema,
                                 .what = "a calibration"};

// Numbers as they lie in memory, which is little-endian wherever llama.cpp runs: numpy.frombuffer reads them.
template <typename Number>
void bind_numbers(SQLite::Statement& statement, int place, const std::vector<Number>& numbers) {
  statement.bind(place, static_cast<const void*>(numbers.data()), static_cast<int>(numbers.size() * sizeof(Number)));
  if (numbers.empty()) statement.bind(place, static_cast<const void*>(""), 0);
}

template <typename Number>
std::vector<Number> numbers_of(const SQLite::Column& column) {
  std::vector<Number> numbers(static_cast<std::size_t>(column.getBytes()) / sizeof(Number));
  if (!numbers.empty()) std::memcpy(numbers.data(), column.getBlob(), numbers.size() * sizeof(Number));
  return numbers;
}

std::string bytes_of(const SQLite::Column& column) {
  const auto* bytes = static_cast<const char*>(column.getBlob());
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(column.getBytes()));
}

void bind_bytes(SQLite::Statement& statement, int place, const std::string& bytes) {
  statement.bind(place, static_cast<const void*>(bytes.data()), static_cast<int>(bytes.size()));
}

void bind_key(SQLite::Statement& statement, const TraceKey& key) {
  statement.bind(1, key.problem);
  statement.bind(2, key.sample);
}

TraceKey key_of(SQLite::Statement& row) {
  return {row.getColumn(0).getString(), static_cast<std::uint32_t>(row.getColumn(1).getInt64())};
}

std::optional<std::string> optional_text(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional(column.getString());
}

std::vector<std::string> texts_of(const std::string& json) {
  std::vector<std::string> texts;
  for (const auto& one : OrderedJson::parse(json, nullptr, false)) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

// Offsets that a reader may rely on.
bool is_whole(const Trace& trace) {
  return trace.ends.size() == trace.tokens.size() && std::ranges::is_sorted(trace.ends) &&
         (trace.ends.empty() ? 0 : trace.ends.back()) == trace.text.size() && !trace.prompt.empty() &&
         trace.prompt_state <= PromptState::answering;
}

Arm arm_of(const std::string& word) {
  for (const Arm arm : {Arm::same, Arm::other}) {
    if (word == name(arm)) return arm;
  }
  return Arm::relay;
}

}  // namespace

std::string_view name(Arm arm) {
  switch (arm) {
    case Arm::relay: return "relay";
    case Arm::same: return "same";
    case Arm::other: return "other";
  }
  return "?";
}

class Store::Impl {
 public:
  explicit Impl(OpenedFile opened) : file(std::move(opened)) {}

  template <typename Work>
  auto with(Work work) -> decltype(work(std::declval<SQLite::Database&>())) {
    return with_database(file, work);
  }

  Result<std::set<TraceKey>> keys(const std::string& from) {
    return with([&](SQLite::Database& database) -> Result<std::set<TraceKey>> {
      std::set<TraceKey> found;
      SQLite::Statement row(database, "SELECT problem, sample FROM " + from);
      while (row.executeStep()) found.insert(key_of(row));
      return found;
    });
  }

  [[nodiscard]] tl::unexpected<Error> damaged(const std::string& what) const {
    return fail(ErrorKind::bad_input, fmt::format("{} is damaged: {} is not whole", file.name, what),
                "restore a copy, or name another file with --db");
  }

  // One row in one transaction, which is what a statement by itself is.
  template <typename Bind>
  Status insert(const char* table, int columns, Bind bind) {
    return with([&](SQLite::Database& database) -> Status {
      std::string places = "?";
      for (int i = 1; i < columns; ++i) places += ", ?";
      SQLite::Statement row(database, fmt::format("INSERT OR IGNORE INTO {} VALUES ({})", table, places));
      bind(row);
      row.exec();
      return std::monostate{};
    });
  }

  OpenedFile file;
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
  const auto begin = [](SQLite::Database& database) -> Status {  // ends with the connection
    database.exec("BEGIN");
    return std::monostate{};
  };
  if (auto ok = with_database(*opened, begin); !ok) return tl::unexpected(ok.error());
  return Store(std::make_unique<Impl>(std::move(*opened)));
}

Status Store::settle(const std::string& key, const OrderedJson& given) {
  return settle_setting(impl_->file, key, given, " for the " + key);
}

Result<OrderedJson> Store::settings(const std::string& key) const { return read_setting(impl_->file, key); }

// ---------------------------------------------------------------- problems

Status Store::add_problems(std::span<const eval::Problem> problems) {
  return impl_->with([&](SQLite::Database& database) -> Status {
    SQLite::Transaction transaction(database);
    SQLite::Statement select(database, "SELECT question, expected, kind, options FROM problems WHERE id = ?");
    SQLite::Statement insert(database,
                             "INSERT INTO problems (id, question, expected, kind, options) VALUES (?, ?, ?, ?, ?)");
    for (const auto& problem : problems) {
      select.reset();
      select.bind(1, problem.id);
      if (select.executeStep()) {
        const std::array<std::pair<const char*, std::string>, 4> given{
            {{"the question", problem.question},
             {"the expected answer", problem.expected},
             {"the kind of answer", std::string(eval::name(problem.kind))},
             {"the options", to_line(OrderedJson(problem.options))}}};
        for (int column = 0; column < 4; ++column) {
          const auto& [what, value] = given[static_cast<std::size_t>(column)];
          const auto recorded = select.getColumn(column).getString();
          if (recorded != value)
            return differs(impl_->file, {what, shown(recorded), shown(value)}, " for problem " + problem.id);
        }
        continue;
      }
      insert.reset();
      insert.bind(1, problem.id);
      insert.bind(2, problem.question);
      insert.bind(3, problem.expected);
      insert.bind(4, std::string(eval::name(problem.kind)));
      insert.bind(5, to_line(OrderedJson(problem.options)));
      insert.exec();
    }
    transaction.commit();
    return std::monostate{};
  });
}

Result<std::vector<eval::Problem>> Store::problems() const {
  return impl_->with([&](SQLite::Database& database) -> Result<std::vector<eval::Problem>> {
    std::vector<eval::Problem> problems;
    SQLite::Statement row(database, "SELECT id, question, expected, kind, options FROM problems ORDER BY position");
    while (row.executeStep()) {
      problems.push_back({.id = row.getColumn(0).getString(),
                          .question = row.getColumn(1).getString(),
                          .expected = row.getColumn(2).getString(),
                          .kind = eval::answer_kind(row.getColumn(3).getString()).value_or(eval::AnswerKind::none),
                          .options = texts_of(row.getColumn(4).getString())});
    }
    return problems;
  });
}

// ---------------------------------------------------------------- traces

Status Store::put(const Trace& trace) {
  return impl_->insert("traces", 10, [&](SQLite::Statement& row) {
    bind_key(row, trace.key);
    row.bind(3, int{trace.imported});
    row.bind(4, static_cast<std::int64_t>(trace.seed));
    row.bind(5, int{trace.finished});
    row.bind(6, static_cast<int>(trace.prompt_state));
    bind_numbers(row, 7, trace.prompt);
    bind_numbers(row, 8, trace.tokens);
    bind_numbers(row, 9, trace.ends);
    bind_bytes(row, 10, trace.text);
  });
}

Result<std::set<TraceKey>> Store::traces() const { return impl_->keys("traces"); }

Result<std::optional<std::string>> Store::text_of(const TraceKey& trace) const {
  return impl_->with([&](SQLite::Database& database) -> Result<std::optional<std::string>> {
    SQLite::Statement row(database, "SELECT text FROM traces WHERE problem = ? AND sample = ?");
    bind_key(row, trace);
    if (!row.executeStep()) return std::nullopt;
    return bytes_of(row.getColumn(0));
  });
}

Status Store::for_each(const std::function<Status(const Trace&)>& visit) const {
  return impl_->with([&](SQLite::Database& database) -> Status {
    SQLite::Statement row(database, R"sql(
      SELECT traces.problem, sample, imported, seed, finished, prompt_state, prompt, tokens, ends, text
      FROM traces JOIN problems ON traces.problem = problems.id ORDER BY problems.position, sample)sql");
    while (row.executeStep()) {
      Trace trace{.key = key_of(row),
                  .imported = row.getColumn(2).getInt() != 0,
                  .seed = static_cast<std::uint64_t>(row.getColumn(3).getInt64()),
                  .prompt = numbers_of<TokenId>(row.getColumn(6)),
                  .prompt_state = static_cast<PromptState>(row.getColumn(5).getInt()),
                  .tokens = numbers_of<TokenId>(row.getColumn(7)),
                  .ends = numbers_of<std::uint32_t>(row.getColumn(8)),
                  .text = bytes_of(row.getColumn(9)),
                  .finished = row.getColumn(4).getInt() != 0};
      if (!is_whole(trace)) return impl_->damaged("a trace of " + trace.key.problem);
      if (auto ok = visit(trace); !ok) return ok;
    }
    return std::monostate{};
  });
}

// ---------------------------------------------------------------- opinions

Status Store::put(const TraceKey& trace, Model model, const Opinions& opinions) {
  return impl_->insert("opinions", 8, [&](SQLite::Statement& row) {
    bind_key(row, trace);
    row.bind(3, std::string(relaygen::name(model)));
    bind_numbers(row, 4, opinions.margin);
    bind_numbers(row, 5, opinions.logprob);
    bind_numbers(row, 6, opinions.entropy);
    bind_numbers(row, 7, opinions.top);
    bind_numbers(row, 8, opinions.of_asked);
  });
}

Result<std::set<TraceKey>> Store::judged(Model model) const {
  return impl_->keys(fmt::format("opinions WHERE model = '{}'", relaygen::name(model)));
}

Result<Opinions> Store::opinions(const TraceKey& trace, Model model) const {
  return impl_->with([&](SQLite::Database& database) -> Result<Opinions> {
    SQLite::Statement row(database,
                          "SELECT margin, logprob, entropy, top, of_asked FROM opinions WHERE problem = ? AND sample = "
                          "? AND model = ?");
    bind_key(row, trace);
    row.bind(3, std::string(relaygen::name(model)));
    if (!row.executeStep()) return Opinions{};
    Opinions opinions{.margin = numbers_of<float>(row.getColumn(0)),
                      .logprob = numbers_of<float>(row.getColumn(1)),
                      .entropy = numbers_of<float>(row.getColumn(2)),
                      .top = numbers_of<TokenId>(row.getColumn(3)),
                      .of_asked = numbers_of<float>(row.getColumn(4))};
    const std::size_t tokens = opinions.margin.size();
    for (const std::size_t size : {opinions.logprob.size(), opinions.entropy.size(), opinions.top.size(),
                                   model == Model::large ? opinions.of_asked.size() : tokens}) {
      if (size != tokens) return impl_->damaged("what the models think of " + trace.problem);
    }
    return opinions;
  });
}

// ---------------------------------------------------------------- proofs and answers

Status Store::put(std::span<const ProofText> texts) {
  return impl_->with([&](SQLite::Database& database) -> Status {
    SQLite::Transaction transaction(database);
    for (const ProofText& text : texts) {
      SQLite::Statement row(database, "INSERT OR IGNORE INTO proofs VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
      bind_key(row, text.trace);
      row.bind(3, text.token);
      row.bind(4, std::string(name(text.arm)));
      bind_bytes(row, 5, text.text);
      row.bind(6, text.small_tokens);
      row.bind(7, int{text.finished});
      if (text.answer) row.bind(8, *text.answer);
      row.exec();
    }
    transaction.commit();
    return std::monostate{};
  });
}

Result<std::vector<ProofText>> Store::proofs() const {
  return impl_->with([&](SQLite::Database& database) -> Result<std::vector<ProofText>> {
    std::vector<ProofText> texts;
    SQLite::Statement row(database,
                          "SELECT problem, sample, token, arm, text, small_tokens, finished, answer FROM proofs ORDER "
                          "BY problem, sample, token, arm");
    while (row.executeStep()) {
      texts.push_back({.trace = key_of(row),
                       .token = row.getColumn(2).getUInt(),
                       .arm = arm_of(row.getColumn(3).getString()),
                       .text = bytes_of(row.getColumn(4)),
                       .small_tokens = row.getColumn(5).getUInt(),
                       .finished = row.getColumn(6).getInt() != 0,
                       .answer = optional_text(row.getColumn(7))});
    }
    return texts;
  });
}

Status Store::put(const SmallAnswer& answer) {
  return impl_->insert("answers", 5, [&](SQLite::Statement& row) {
    bind_key(row, answer.trace);
    bind_bytes(row, 3, answer.text);
    row.bind(4, int{answer.finished});
    if (answer.answer) row.bind(5, *answer.answer);
  });
}

Result<std::vector<SmallAnswer>> Store::small_answers() const {
  return impl_->with([&](SQLite::Database& database) -> Result<std::vector<SmallAnswer>> {
    std::vector<SmallAnswer> answers;
    SQLite::Statement row(database,
                          "SELECT problem, sample, text, finished, answer FROM answers ORDER BY problem, sample");
    while (row.executeStep()) {
      answers.push_back({.trace = key_of(row),
                         .text = bytes_of(row.getColumn(2)),
                         .finished = row.getColumn(3).getInt() != 0,
                         .answer = optional_text(row.getColumn(4))});
    }
    return answers;
  });
}

}  // namespace relaygen::calibrate
