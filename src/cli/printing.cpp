#include "cli/printing.h"

#include <fmt/core.h>

#include "cli/output.h"

namespace relaygen::cli {
namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "0%" : fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string seconds(double value) {
  return value < 0.9995 ? fmt::format("{:.1f} ms", value * 1e3) : fmt::format("{:.2f} s", value);
}

std::string each(double total, std::uint64_t count) {
  return count == 0 ? "" : fmt::format(" ({} x {})", count, seconds(total / static_cast<double>(count)));
}

}  // namespace

void StreamPrinter::operator()(const Event& event) {
  const auto* token = std::get_if<TokenEvent>(&event);
  if (token == nullptr || !token->committed || token->bytes.empty()) return;
  if (color_ && token->author != author_) {
    out("{}{}", kResetColor, color_of(token->author));
    author_ = token->author;
  }
  show(token->bytes);
}

void StreamPrinter::show(std::string_view bytes) {
  write_bytes(stdout, bytes);
  shown_ += bytes.size();
  at_line_start_ = bytes.back() == '\n';
}

void StreamPrinter::finish(std::string_view text) {
  if (shown_ < text.size()) show(text.substr(shown_));
  if (color_ && author_ != Author::prompt) out("{}", kResetColor);
  if (!at_line_start_) out("\n");
}

std::string legend() {
  return fmt::format("{}large model{} {}small model{} {}forced{}\n", color_of(Author::large), kResetColor,
                     color_of(Author::small), kResetColor, color_of(Author::forced), kResetColor);
}

std::string summary(const Completion& completion) {
  const Usage& usage = completion.usage;
  const Timing& timing = completion.timing;
  const std::uint64_t generated = usage.generated();
  std::string text = fmt::format("{} tokens: {} large ({}), {} small ({})", generated, usage.large,
                                 percent(usage.large, generated), usage.small, percent(usage.small, generated));
  if (usage.forced > 0) text += fmt::format(", {} forced", usage.forced);
  text += fmt::format("; {} handoffs; {}\n", usage.handoffs, name(completion.finish));
  text += fmt::format("{}: prefill {}, large decode {}{}, small decode {}{}, catch-up {}{}, verify {}{}, other {}\n",
                      seconds(timing.total), seconds(timing.prefill), seconds(timing.large_decode),
                      each(timing.large_decode, timing.large_decodes), seconds(timing.small_decode),
                      each(timing.small_decode, timing.small_decodes), seconds(timing.catch_up),
                      each(timing.catch_up, timing.catch_ups), seconds(timing.verify),
                      each(timing.verify, timing.verifies), seconds(timing.other()));
  if (usage.drafted > 0) {
    text += fmt::format("{} tokens were guessed ahead and {} of them stood ({})\n", usage.drafted, usage.accepted,
                        percent(usage.accepted, usage.drafted));
  }
  if (usage.verified + usage.refused > 0) {
    text += fmt::format("the large model agreed to {} of the small model's tokens, {} were dropped\n", usage.verified,
                        usage.refused);
  }
  if (usage.judged > 0) {
    text += fmt::format("the large model's mean log p of the small model's tokens: {:.3f} ({} tokens)\n",
                        usage.judged_logprob / static_cast<double>(usage.judged), usage.judged);
  }
  return text;
}

}  // namespace relaygen::cli
