// relaygen segment: where handoffs would fall in existing text. No model.
#include <fmt/core.h>
#include <unistd.h>

#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/printing.h"
#include "cli/session.h"
#include "io/completion_json.h"
#include "io/files.h"
#include "relaygen/segment.h"

namespace relaygen::cli {
namespace {

struct SegmentFlags {
  std::string profile, cues, known, color = "auto", answer_by = "small";
  std::vector<std::string> files;
  std::optional<std::uint32_t> min_large_words, max_small_words;
  bool published = false, json = false;
};

void add_cues(std::string_view list, bool selected, std::vector<Cue>& cues) {
  while (!list.empty()) {
    const auto end = list.find('|');
    if (end != 0) cues.push_back({std::string(list.substr(0, end)), selected});
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
}

struct Setup {
  CueSet cues;
  SegmentOptions options;
};

Result<Setup> prepare(const SegmentFlags& flags) {
  if (flags.profile.empty() == flags.cues.empty()) {
    return fail(ErrorKind::usage, flags.profile.empty() ? "there are no cues" : "both --profile and --cues are given",
                "give either --profile FILE or --cues \"So,|Thus,\"");
  }
  Profile profile;
  if (!flags.profile.empty()) {
    auto read = read_profile(flags.profile);
    if (!read) return tl::unexpected(read.error());
    profile = std::move(*read);
  }
  add_cues(flags.cues, true, profile.cues);
  add_cues(flags.known, false, profile.cues);
  if (profile.cues.empty())
    return fail(ErrorKind::usage, "the list of cues is empty", "give some, such as --cues \"So,|Thus,\"");
  const bool published = flags.published || profile.rules == Rules::published;
  auto cues = CueSet::build(profile.cues, published ? Rules::published : Rules::exact);
  if (!cues) return tl::unexpected(cues.error());

  const Policy defaults;
  Setup setup{std::move(*cues), {}};
  setup.options.min_large_words =
      flags.min_large_words.value_or(published ? 0 : profile.min_large_tokens.value_or(defaults.min_large_tokens));
  setup.options.max_small_words =
      flags.max_small_words.value_or(published ? 0 : profile.max_small_tokens.value_or(defaults.max_small_tokens));
  setup.options.answer_by = flags.answer_by == "small" ? Author::small : Author::large;
  return setup;
}

OrderedJson to_json(const NamedText& text, const Segmentation& segmentation, const CueSet& cues) {
  OrderedJson json{{"id", text.id}, {"segments", OrderedJson::array()}};
  for (const TextSegment& segment : segmentation.segments) {
    json["segments"].push_back(
        {{"begin", segment.begin},
         {"end", segment.end},
         {"author", name(segment.author)},
         {"phase", name(segment.phase)},
         {"cue", segment.cue ? OrderedJson(cues.cues()[*segment.cue].text) : OrderedJson(nullptr)},
         {"why", name(segment.why)}});
  }
  json["share"] = {{"thinking", segmentation.share_thinking},
                   {"answer", segmentation.share_answer},
                   {"all", segmentation.share_all}};
  json["handoffs"] = segmentation.handoffs;
  return json;
}

// Colours where there are some, double brackets around the small model's segments where there are none.
void print_text(const NamedText& text, const Segmentation& segmentation, bool color) {
  for (const TextSegment& segment : segmentation.segments) {
    const std::string_view bytes = std::string_view(text.text).substr(segment.begin, segment.end - segment.begin);
    const bool bracket = !color && segment.author == Author::small;
    out("{}{}{}", bracket ? "[[" : "", paint(bytes, color_of(segment.author), color), bracket ? "]]" : "");
  }
  if (!text.text.ends_with('\n')) out("\n");
}

Result<int> segment(const SegmentFlags& flags) {
  auto setup = prepare(flags);
  if (!setup) return tl::unexpected(setup.error());
  const bool color = use_color(color_mode(flags.color), STDOUT_FILENO);
  std::vector<std::string> files = flags.files;
  if (files.empty()) files.emplace_back("-");

  std::uint64_t texts = 0;
  std::uint64_t handoffs = 0;
  std::uint64_t small_bytes = 0;
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    auto content = read_file(file);
    if (!content) return tl::unexpected(content.error());
    auto parsed = parse_texts(*content, file == "-" ? "standard input" : file);
    if (!parsed) return tl::unexpected(parsed.error());
    for (const NamedText& text : *parsed) {
      const Segmentation segmentation = segment_text(text.text, setup->cues, setup->options);
      if (flags.json) {
        out("{}\n", to_line(to_json(text, segmentation, setup->cues)));
      } else {
        print_text(text, segmentation, color);
        note("{}: small {:.1f}% of the thinking, {:.1f}% of all; {} handoffs\n", text.id,
             100 * segmentation.share_thinking, 100 * segmentation.share_all, segmentation.handoffs);
      }
      ++texts;
      handoffs += segmentation.handoffs;
      bytes += text.text.size();
      for (const TextSegment& part : segmentation.segments)
        small_bytes += part.author == Author::small ? part.end - part.begin : 0;
    }
  }
  if (texts > 1) {
    note("{} texts: small {:.1f}% of all bytes, {:.1f} handoffs a text\n", texts,
         bytes == 0 ? 0.0 : 100.0 * static_cast<double>(small_bytes) / static_cast<double>(bytes),
         static_cast<double>(handoffs) / static_cast<double>(texts));
  }
  if (auto flushed = flush_output(); !flushed) return tl::unexpected(flushed.error());
  return 0;
}

}  // namespace

void add_segment_command(CLI::App& app, int& code) {
  auto flags = std::make_shared<SegmentFlags>();
  CLI::App* command = app.add_subcommand("segment", "show where handoffs would fall in existing text, without a model");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command->add_option("FILE", flags->files, "plain text, or JSONL with a text field (default: standard input)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--profile", flags->profile, "the cues of a profile")->type_name("FILE");
  command->add_option("--cues", flags->cues, "cues of your own, separated by |, e.g. \"So,|Thus,\"")->type_name("LIST");
  command
      ->add_option("--known", flags->known,
                   "strings that are known and no cues, separated by |: the most specific one decides")
      ->type_name("LIST");
  command->add_flag("--published", flags->published,
                    "behave as the paper's reference code does: raw substrings, any full stop");
  command
      ->add_option("--min-large-tokens", flags->min_large_words,
                   "a cue counts once the large segment holds this many words (default: the profile's, or 5; 0 with "
                   "--published)")
      ->type_name("N");
  command
      ->add_option("--max-small-tokens", flags->max_small_words,
                   "longest small segment in words, 0: no limit (default: the profile's, or 64; 0 with --published)")
      ->type_name("N");
  command->add_option("--answer-by", flags->answer_by, "who writes the answer")
      ->check(CLI::IsMember({"small", "large"}))
      ->capture_default_str();
  command->add_option("--color", flags->color, "colour the text by author")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "one JSON object a text");
  command->callback([flags, &code] {
    auto result = segment(*flags);
    if (!result) print_error(result.error());
    code = result ? *result : exit_code(result.error().kind);
  });
}

}  // namespace relaygen::cli
