#include "relaygen/profile.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "relaygen/policies.h"

namespace relaygen {
namespace {

const std::filesystem::path kProfiles = std::filesystem::path(RELAYGEN_SOURCE_DIR) / "profiles";

TEST(Profile, EveryShippedProfileCanBeReadAndUsed) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kProfiles)) {
    if (entry.is_directory()) continue;
    auto profile = read_profile(entry.path());
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_TRUE(prepare_policy({.name = "relay"}, *profile));
    EXPECT_FALSE(profile->provenance.empty());
    ++count;
  }
  EXPECT_EQ(count, 3u);
}

TEST(Profile, ThePublishedSetsAreComplete) {
  const auto selected = [](const char* file) {
    const auto profile = read_profile(kProfiles / file).value();
    return std::count_if(profile.cues.begin(), profile.cues.end(), [](const Cue& cue) { return cue.selected; });
  };
  EXPECT_EQ(selected("qwen3-32b-1.7b.json"), 28);
  EXPECT_EQ(selected("r1-distill-32b-1.5b.json"), 25);
  EXPECT_EQ(read_profile(kProfiles / "qwen3-32b-1.7b.json")->cues.size(), 91u);
}

TEST(Profile, WritingAndReadingGivesTheSame) {
  Profile profile{.name = "a \"name\"",
                  .provenance = "tests",
                  .large = {"L", "0123"},
                  .small = {"S", ""},
                  .rules = Rules::published,
                  .cues = {{"So ", true}, {"Затем", false}},
                  .min_large_tokens = 0,
                  .max_small_tokens = 7,
                  .small_may_answer = true,
                  .answer_evidence = "e"};
  const auto again = parse_profile(write_profile(profile), "test");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(write_profile(*again), write_profile(profile));
  EXPECT_EQ(again->cues[1].text, "Затем");
  EXPECT_FALSE(again->cues[1].selected);
  EXPECT_EQ(again->min_large_tokens, 0u);
}

TEST(Profile, MistakesAreNamed) {
  const auto message = [](std::string_view json) {
    const auto result = parse_profile(json, "p.json");
    EXPECT_FALSE(result) << json;
    EXPECT_EQ(result.error().kind, ErrorKind::bad_profile);
    EXPECT_NE(result.error().message.find("p.json"), std::string::npos) << result.error().message;
    return result.error().message;
  };
  EXPECT_NE(message("").find("JSON"), std::string::npos);
  EXPECT_NE(message("{\"relaygen_profile\": 1, \"cues\": [").find("byte"), std::string::npos);
  EXPECT_NE(message("{\"cues\": []}").find("no profile"), std::string::npos);
  EXPECT_NE(message("[1, 2]").find("no profile"), std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 2, "cues": []})").find("version 2"), std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": "1", "cues": []})").find("whole number"), std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1})").find("\"cues\""), std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1, "cues": "So,"})").find("list"), std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1, "cues": ["So,", 3]})").find("cue 2"), std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1, "cues": [{"text": "So,", "selected": "yes"}]})").find("selected"),
            std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1, "cues": [], "rules": "fuzzy"})").find("rules"), std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1, "cues": [], "max_small_tokens": 0})").find("max_small_tokens"),
            std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1, "cues": [], "min_large_tokens": -1})").find("min_large_tokens"),
            std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1, "cues": [], "min_large_tokens": 1e30})").find("min_large_tokens"),
            std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1, "cues": [], "answer": true})").find("answer"), std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1, "cues": [], "pair": 3})").find("pair"), std::string::npos);
  EXPECT_NE(message(R"({"relaygen_profile": 1, "cues": [""]})").find("cue"), std::string::npos);
  message("{\"relaygen_profile\": 1, \"cues\": [\"\xff\"]}");
}

TEST(Profile, AMissingFileIsNamed) {
  const auto result = read_profile("/no/such/profile.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::bad_profile);
  EXPECT_NE(result.error().message.find("/no/such/profile.json"), std::string::npos);
}

RC_GTEST_PROP(Profile, AnyBytesAreReadOrRefused, (const std::string& bytes)) { (void)parse_profile(bytes, "fuzz"); }

// ---------------------------------------------------------------- policies

Profile two_cues(bool small_may_answer) {
  Profile profile;
  profile.cues = {{"So,", true}, {"Then", false}};
  profile.small_may_answer = small_may_answer;
  profile.min_large_tokens = 3;
  return profile;
}

TEST(Policies, NamesMeanWhatTheySay) {
  const auto policy = [](const char* name) { return prepare_policy({.name = name}, two_cues(true))->policy; };
  EXPECT_EQ(policy("relay").handoffs, HandoffRule::cues);
  EXPECT_EQ(policy("relay").min_large_tokens, 3u);
  EXPECT_EQ(policy("relay").answer_by, Model::small);
  EXPECT_EQ(policy("large-only").handoffs, HandoffRule::never);
  EXPECT_EQ(policy("large-only").answer_by, Model::large);
  EXPECT_EQ(policy("small-only").thinker, Model::small);
  EXPECT_EQ(policy("answer-only").handoffs, HandoffRule::never);
  EXPECT_EQ(policy("answer-only").answer_by, Model::small);
  EXPECT_EQ(policy("random").handoffs, HandoffRule::random);
}

TEST(Policies, AllCandidatesSelectsTheKnownOnesToo) {
  const auto cues = prepare_policy({.name = "all-candidates"}, two_cues(true))->cues;
  for (const Cue& cue : cues.cues()) EXPECT_TRUE(cue.selected);
}

TEST(Policies, RejectedOnlySelectsWhatIsNotSelected) {
  const auto set = prepare_policy({.name = "rejected-only"}, two_cues(true))->cues;
  ASSERT_EQ(set.cues().size(), 2U);
  EXPECT_FALSE(set.cues()[0].selected);
  EXPECT_TRUE(set.cues()[1].selected);
}

TEST(Policies, AutoAnswersByTheSmallModelOnlyWithEvidence) {
  EXPECT_EQ(prepare_policy({.name = "relay"}, two_cues(false))->policy.answer_by, Model::large);
  EXPECT_EQ(prepare_policy({.name = "relay", .answer_by = AnswerBy::small}, two_cues(false))->policy.answer_by,
            Model::small);
  EXPECT_EQ(prepare_policy({.name = "relay", .answer_by = AnswerBy::large}, two_cues(true))->policy.answer_by,
            Model::large);
}

TEST(Policies, ModifiersSayWhoChecksWhat) {
  Profile profile = two_cues(true);
  profile.thresholds = {.guard_margin = 0.2, .verify_epsilon = 0.05, .verify_delta = {}};
  const auto policy = [&](const std::string& name) { return prepare_policy({.name = name}, profile)->policy; };
  EXPECT_FALSE(policy("relay").draft.on());
  EXPECT_TRUE(policy("relay+draft").draft.on());
  EXPECT_TRUE(policy("large-only+draft").draft.on());
  EXPECT_EQ(policy("relay+strict").verify, Verification::strict);
  EXPECT_EQ(policy("relay+strict").handoffs, HandoffRule::cues);
  const Policy verified = policy("verified");
  EXPECT_EQ(verified.handoffs, HandoffRule::always);
  EXPECT_EQ(verified.verify, Verification::typical);
  EXPECT_EQ(verified.typical.epsilon, 0.05);
  EXPECT_EQ(verified.typical.delta, 0.3);
  EXPECT_EQ(policy("relay+margin").guard_margin, 0.2);
  EXPECT_EQ(policy("relay+guard").handoffs, HandoffRule::cues);
  EXPECT_FALSE(uses_cues("verified"));
  EXPECT_FALSE(uses_cues("relay+margin"));
  EXPECT_TRUE(uses_cues("relay+typical+draft"));
  for (const char* name : {"relay+turbo", "relay+", "large-only+typical", "small-only+draft", "+draft",
                           "relay+typical+strict", "relay+always+margin"})
    EXPECT_FALSE(prepare_policy({.name = name}, profile)) << name;
  profile.thresholds = {};
  EXPECT_FALSE(prepare_policy({.name = "relay+guard"}, profile));
  EXPECT_TRUE(prepare_policy({.name = "relay+guard", .guard_margin = 0.3}, profile));
}

TEST(Policies, ASettingThatMeansNothingIsSaid) {
  const auto check = [](std::vector<std::string> names, const PolicyChoice& choice) {
    return check_settings(names, choice).has_value();
  };
  for (const char* name : {"relay", "large-only", "relay+strict", "relay+draft"}) {
    EXPECT_FALSE(check({"large-only", name}, {.guard_margin = 0.2})) << name;
    EXPECT_FALSE(check({"large-only", name}, {.epsilon = 0.1})) << name;
    EXPECT_FALSE(check({"large-only", name}, {.delta = 0.1})) << name;
    EXPECT_TRUE(check({"large-only", name}, {})) << name;
  }
  for (const char* name : {"relay+guard", "relay+margin", "relay+always+guard"})
    EXPECT_TRUE(check({"large-only", name}, {.guard_margin = 0.2})) << name;
  for (const char* name : {"relay+typical", "verified", "verified+draft"})
    EXPECT_TRUE(check({"large-only", name}, {.epsilon = 0.1, .delta = 0.2})) << name;
}

TEST(Policies, AnUnknownNameListsTheKnownOnes) {
  const auto result = prepare_policy({.name = "turbo"}, two_cues(true));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::usage);
  EXPECT_NE(result.error().hint.find("answer-only"), std::string::npos);
}

}  // namespace
}  // namespace relaygen
