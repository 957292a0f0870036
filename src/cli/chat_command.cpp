// relaygen chat: several turns on a terminal.
#include <fmt/core.h>
#include <unistd.h>

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/printing.h"
#include "cli/session.h"
#include "io/files.h"

namespace relaygen::cli {
namespace {

struct ChatFlags {
  ModelFlags models;
  GenerationFlags generation;
  std::string color = "auto";
  bool quiet = false;
};

class Chat {
 public:
  Chat(Session& session, const ChatFlags& flags)
      : session_(session),
        flags_(flags),
        color_(use_color(color_mode(flags.color), STDOUT_FILENO)),
        dialogue_(::isatty(STDIN_FILENO) == 1) {
    clear();
  }

  void clear() {
    messages_.clear();
    if (!flags_.generation.system.empty()) messages_.push_back({"system", flags_.generation.system});
  }

  std::optional<std::string> read_line() const {
    if (dialogue_) note("{}", paint("> ", "\x1b[1m", color_));
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }

  // One turn. The history keeps the answer without its thinking, as chat templates expect.
  Status turn(const std::string& line) {
    if (auto ok = check_utf8(line, "the message"); !ok) return ok;
    messages_.push_back({"user", line});
    auto answer = reply();
    if (!answer) {
      messages_.pop_back();
      return tl::unexpected(answer.error());
    }
    messages_.push_back({"assistant", std::move(*answer)});
    return std::monostate{};
  }

 private:
  Result<std::string> reply() {
    auto request = make_request(session_, flags_.generation, messages_);
    if (!request) return tl::unexpected(request.error());
    auto generation = Generation::create(*session_.pair, std::move(*request));
    if (!generation) return tl::unexpected(generation.error());
    if (previous_) generation->reuse_cache(*previous_, *session_.pair);
    StreamPrinter printer(color_);
    RunOptions options;
    options.cancel = &interrupted();
    options.costs = session_.costs ? &*session_.costs : nullptr;
    options.events = std::ref(printer);
    const auto ran = generation->run(*session_.pair, options);
    previous_ = std::move(*generation);
    printer.finish(previous_->completion().text);
    if (!ran && ran.error().kind != ErrorKind::cancelled) return tl::unexpected(ran.error());
    forget_interrupt();
    const Completion completion = previous_->completion();
    if (!flags_.quiet) note("{}", paint(summary(completion), kDim, color_));
    return completion.answer;
  }

  Session& session_;
  const ChatFlags& flags_;
  bool color_;
  bool dialogue_;
  std::vector<ChatMessage> messages_;
  std::optional<Generation> previous_;  // its caches hold the beginning of the next prompt
};

Result<int> chat(const ChatFlags& flags) {
  handle_interrupts();
  if (auto ok = check_settings({&flags.generation.policy, 1}, flags.generation); !ok) return tl::unexpected(ok.error());
  auto session = open_session(flags.models, flags.generation);
  if (!session) return tl::unexpected(session.error());
  InterruptiblePair interruptible(*session->pair);
  Chat chat(*session, flags);
  if (::isatty(STDIN_FILENO) == 1)
    note("/clear forgets the conversation, /exit or Ctrl-D leaves, Ctrl-C stops an answer.\n");
  int code = 0;
  while (flush_output().has_value()) {
    const auto line = chat.read_line();
    if (!line) break;
    if (*line == "/exit" || *line == "/quit") break;
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    if (*line == "/clear") {
      chat.clear();
      continue;
    }
    if (line->starts_with('/') && line->find(' ') == std::string::npos) {
      note("There is no command {}; /clear and /exit are known.\n", *line);
      continue;
    }
    if (auto ok = chat.turn(*line); !ok) {
      print_error(ok.error());
      code = exit_code(ok.error().kind);
      if (ok.error().kind == ErrorKind::too_long) note("/clear makes room.\n");
    }
  }
  if (auto flushed = flush_output(); !flushed) return tl::unexpected(flushed.error());
  return interrupted().load() ? kExitInterrupted : code;
}

}  // namespace

void add_chat_command(CLI::App& app, int& code) {
  auto flags = std::make_shared<ChatFlags>();
  CLI::App* command = app.add_subcommand("chat", "talk in several turns");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command->add_option("--color", flags->color, "colour the text by author")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  command->add_flag("-q,--quiet", flags->quiet, "no summaries");
  add_model_flags(*command, flags->models);
  add_generation_flags(*command, flags->generation);
  command->callback([flags, &code] {
    flags->generation.policy = whole_policy_name(flags->generation);
    auto result = chat(*flags);
    if (!result) print_error(result.error());
    code = result ? *result : exit_code(result.error().kind);
  });
}

}  // namespace relaygen::cli
