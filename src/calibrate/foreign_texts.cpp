#include "calibrate/foreign_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

#include "eval/rows.h"
#include "io/files.h"
#include "io/hashing.h"
#include "io/names.h"

namespace relaygen::calibrate {
namespace {

const OrderedJson* find(const OrderedJson& object, std::initializer_list<std::string_view> names) {
  for (const auto wanted : names) {
    for (const auto& [key, value] : object.items()) {
      if (simplified(key) == simplified(wanted) && !value.is_null()) return &value;
    }
  }
  return nullptr;
}

std::string text_in(const OrderedJson& object, std::initializer_list<std::string_view> names) {
  const OrderedJson* value = find(object, names);
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  return value->is_number() ? value->dump() : "";
}

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

tl::unexpected<Error> bad_row(const eval::Row& row, const std::string& what, std::string hint) {
  return fail(ErrorKind::bad_input, fmt::format("{}: {}", row.where, what), std::move(hint));
}

// Content of a message: a text, or a list of parts that have one.
std::string content_of(const OrderedJson& message) {
  const OrderedJson* content = find(message, {"content"});
  if (content == nullptr) return "";
  if (content->is_string()) return content->get<std::string>();
  std::string text;
  if (content->is_array()) {
    for (const auto& part : *content) {
      if (part.is_object()) text += text_in(part, {"text"});
    }
  }
  return text;
}

Status read_messages(const eval::Row& row, const OrderedJson& list, ForeignText& foreign) {
  constexpr const char* kHint = "give a list of objects with \"role\" and \"content\", the assistant's last";
  if (!list.is_array()) return bad_row(row, "\"messages\" is no list", kHint);
  for (const auto& message : list) {
    if (!message.is_object()) return bad_row(row, "a message is no object", kHint);
    foreign.messages.push_back({text_in(message, {"role"}), content_of(message)});
  }
  if (foreign.messages.empty() || foreign.messages.back().role != "assistant")
    return bad_row(row, "the last message is not the assistant's", kHint);
  foreign.text = foreign.messages.back().content;
  foreign.reasoning = text_in(list.back(), {"reasoning_content", "reasoning"});
  foreign.messages.pop_back();
  if (foreign.messages.empty()) return bad_row(row, "there is no question before the assistant's message", kHint);
  foreign.question = foreign.messages.back().content;
  return std::monostate{};
}

Result<ForeignText> read_row(const eval::Row& row) {
  ForeignText foreign;
  foreign.where = row.where;
  if (const OrderedJson* messages = find(row.columns, {"messages", "conversation"})) {
    if (auto ok = read_messages(row, *messages, foreign); !ok) return tl::unexpected(ok.error());
  } else {
    foreign.question = text_in(row.columns, {"question", "problem", "prompt", "input"});
    if (blank(foreign.question)) return bad_row(row, "there is no question", "give a \"question\", or \"messages\"");
    foreign.messages = {{"user", foreign.question}};
    foreign.text = text_in(row.columns, {"text", "completion", "response", "output", "generation", "solution"});
    foreign.reasoning = text_in(row.columns, {"reasoning_content", "reasoning"});
  }
  for (const std::string* text : {&foreign.question, &foreign.reasoning, &foreign.text}) {
    if (auto ok = check_utf8(*text, row.where); !ok) return tl::unexpected(ok.error());
  }
  foreign.expected = text_in(row.columns, {"answer", "expected answer", "expected", "target", "final answer", "gold"});
  foreign.key.problem = text_in(row.columns, {"problem_id", "unique_id", "id"});
  return foreign;
}

// The text with the tags as this prompt needs them.
std::string with_tags(const ForeignText& foreign, const ChatPrompt& prompt) {
  const auto& tags = prompt.tags;
  if (tags.ends.empty()) return foreign.text;
  std::string whole = foreign.text;
  if (!foreign.reasoning.empty())
    whole = fmt::format("{}\n{}\n\n{}", foreign.reasoning, tags.ends.front(), foreign.text);
  const auto start = whole.find_first_not_of(" \t\r\n");
  const bool begins =
      !tags.begin.empty() && start != std::string::npos && whole.compare(start, tags.begin.size(), tags.begin) == 0;
  const bool ends =
      std::ranges::any_of(tags.ends, [&](const auto& end) { return whole.find(end) != std::string::npos; });
  if (prompt.state == PromptState::thinking && begins) {
    whole = whole.substr(start + tags.begin.size());
    if (whole.starts_with('\n')) whole.erase(0, 1);
  }
  if (prompt.state == PromptState::before_thinking && !begins && ends && !tags.begin.empty())
    whole = tags.begin + "\n" + whole;
  return whole;
}

}  // namespace

Result<ForeignTexts> parse_foreign_texts(std::string_view content, const std::string& source) {
  const auto rows = eval::parse_rows(content, source);
  if (!rows) return tl::unexpected(rows.error());
  ForeignTexts found;
  std::map<std::string, std::string> questions;  // of each id
  std::map<std::string, std::uint32_t> samples;
  std::set<std::pair<std::string, std::string>> seen;
  std::size_t empty = 0, copies = 0;
  for (const auto& row : *rows) {
    auto foreign = read_row(row);
    if (!foreign) return tl::unexpected(foreign.error());
    if (blank(foreign->text) && blank(foreign->reasoning)) {
      ++empty;
      continue;
    }
    if (!seen.emplace(foreign->question, foreign->reasoning + foreign->text).second) {
      ++copies;
      continue;
    }
    std::string& id = foreign->key.problem;
    if (id.empty()) id = Hash().add(foreign->question).hex();
    const auto [known, is_new] = questions.emplace(id, foreign->question);
    if (!is_new && known->second != foreign->question)
      return bad_row(row, fmt::format("the id {} stands for another question already", eval::in_quotes(id)),
                     "give each question an id of its own, or none");
    foreign->key.sample = samples[id]++;
    found.texts.push_back(std::move(*foreign));
  }
  if (found.texts.empty()) {
    return fail(ErrorKind::bad_input, fmt::format("{} holds no text of a model", source),
                "give each row a \"text\", or \"messages\" that end with the assistant's");
  }
  if (empty > 0) found.notes.push_back(fmt::format("{} empty texts were left out", empty));
  if (copies > 0) found.notes.push_back(fmt::format("{} copies of other texts were left out", copies));
  return found;
}

Result<Trace> trace_of(const ForeignText& foreign, const Vocabulary& vocabulary, const ChatPrompt& prompt,
                       std::uint64_t seed) {
  auto tokens = vocabulary.tokenize(with_tags(foreign, prompt));
  if (!tokens) return tl::unexpected(tokens.error());
  while (!tokens->empty() && vocabulary.ends_generation(tokens->back())) tokens->pop_back();
  Trace trace{.key = foreign.key,
              .imported = true,
              .seed = seed,
              .prompt = prompt.tokens,
              .prompt_state = prompt.state,
              .tokens = std::move(*tokens)};
  spell(trace, vocabulary);
  trace.finished = extent_of(trace, prompt.tags).graded_from.has_value();
  return trace;
}

}  // namespace relaygen::calibrate
