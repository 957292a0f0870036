#include "report/report.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <sstream>

#include "core/unicode.h"
#include "report/fields.h"

namespace relaygen::report {
namespace {

constexpr std::string_view kHostile =
    "</script><script>alert(1)</script><!-- \xE2\x80\xA8\xE2\x80\xA9 &amp; \xFF\xC3(\xE2\x80";

OrderedJson estimate(double value, double low, double high) { return {{"value", value}, {"low", low}, {"high", high}}; }

OrderedJson example(std::string_view kind) {
  std::ifstream file(std::string(RELAYGEN_SOURCE_DIR "/tests/data/report/") + std::string(kind) + "-example.json");
  return OrderedJson::parse(file);
}

OrderedJson small_eval(const std::string& policy = "relay") {
  return {{"kind", "eval"},
          {"title", "relay on demo"},
          {"baseline", "large-only"},
          {"margin", 0.02},
          {"policies",
           {{{"name", "large-only"}, {"accuracy", estimate(0.9, 0.88, 0.92)}, {"errors", 0}, {"missing", 0}},
            {{"name", policy},
             {"accuracy", estimate(0.895, 0.87, 0.91)},
             {"difference", estimate(-0.005, -0.012, 0.001)},
             {"verdict", {{"kind", "kept"}, {"more_questions", nullptr}}},
             {"speed_up", estimate(1.25, 1.2, 1.3)},
             {"utilisation", 0.657}}}}};
}

OrderedJson small_calibration() {
  return {{"kind", "calibrate"},
          {"title", "cues of demo"},
          {"settings", {{"rule", "effect"}}},
          {"cues",
           {{{"text", "Wait,"}, {"selected", false}, {"decision", "refused"}, {"safe", estimate(0.6, 0.5, 0.7)}},
            {{"text", "Thus "}, {"selected", true}, {"decision", "selected"}, {"safe", estimate(0.89, 0.85, 0.92)}},
            {{"text", "So,"},
             {"selected", true},
             {"decision", "selected"},
             {"discovered", true},
             {"count", 1200},
             {"problems", 24},
             {"published_score", estimate(0.0712, 0.05, 0.09)},
             {"safe", estimate(0.91234567890123, 0.88, 0.94)},
             {"behind", {{"refused", estimate(0.011, 0.009, 0.013)}}},
             {"proof", {{"places", 96}, {"flips", 12}, {"own_flips", 11}, {"loss", estimate(0.004, -0.02, 0.03)}}}},
            {{"text", "Oh,"}, {"selected", false}, {"decision", "rare"}, {"count", 3}}}},
          {"handover", {{"share", estimate(0.331, 0.3, 0.36)}, {"share_of_thinking", estimate(0.244, 0.21, 0.27)}}},
          {"answers", {{"small_may_answer", true}}},
          {"variance", {{"between", 0.02}, {"within", 0.06}}}};
}

// The content of the element with the id "data".
std::string data_element(const std::string& html) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const std::size_t from = html.find(begin) + begin.size();
  return html.substr(from, html.find("</script", from) - from);
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::vector<std::vector<std::string>> read_csv(std::string_view csv) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    if (quoted && csv.substr(i, 2) == "\"\"") {
      rows.back().back() += csv[i++];
    } else if (csv[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && csv[i] == ',') {
      rows.back().emplace_back();
    } else if (!quoted && csv.substr(i, 2) == "\r\n") {
      rows.push_back({""});
      ++i;
    } else {
      rows.back().back() += csv[i];
    }
  }
  rows.pop_back();  // the file ends with a line break
  return rows;
}

TEST(Report, TheDataComesBackAsItWas) {
  for (const char* kind : {"eval", "bench", "hostile", "calibrate", "calibrate-sparse"}) {
    const OrderedJson data = example(kind);
    OrderedJson shown = OrderedJson::parse(data_element(render_report(data).value()));
    EXPECT_EQ(shown["headline"], report_headline(data));
    shown.erase("headline");
    EXPECT_EQ(shown, data) << kind;
  }
}

TEST(Report, NothingInTheDataCanLeaveItsElement) {
  OrderedJson data = small_eval(std::string(kHostile));
  data["title"] = kHostile;
  data[std::string(kHostile)] = {kHostile};
  const std::string calm = render_report(small_eval()).value();
  const std::string html = render_report(data).value();
  EXPECT_EQ(count_of(html, "</script"), count_of(calm, "</script"));
  EXPECT_EQ(count_of(html, "<script"), count_of(calm, "<script"));
  EXPECT_EQ(count_of(html, "<!--"), count_of(calm, "<!--"));
  const std::string element = data_element(html);
  EXPECT_EQ(element.find('<'), std::string::npos);
  EXPECT_EQ(element.find("\u2028"), std::string::npos);
  EXPECT_EQ(element.find("\u2029"), std::string::npos);
  EXPECT_TRUE(unicode::is_utf8(html));
  EXPECT_NE(html.find("<title>&lt;/script&gt;&lt;script&gt;alert(1)"), std::string::npos);
  const std::string name = OrderedJson::parse(element)["policies"][1]["name"];
  EXPECT_TRUE(name.starts_with("</script><script>alert(1)</script><!-- \u2028\u2029 &amp; \uFFFD\uFFFD("));
}

TEST(Report, AsksForNothingFromOutside) {
  const std::string html = render_report(small_eval()).value();
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const char* loading : {"<link rel=\"stylesheet", "<script src", "<img", "@import", "url(http", "@@"}) {
    EXPECT_EQ(html.find(loading), std::string::npos) << loading;
  }
}

TEST(Report, HoldsTheLicencesOfWhatIsInIt) {
  const std::string html = render_report(small_eval()).value();
  for (const char* name :
       {"=== d3\n", "=== @observablehq/plot\n", "=== delaunator\n", "Permission to use, copy, modify"}) {
    EXPECT_NE(html.find(name), std::string::npos) << name;
  }
}

TEST(Report, HugeTextsAndListsAreNoTrouble) {
  OrderedJson data = small_eval(std::string(1 << 20, '<'));
  data["policies"][1]["lengths"] = std::vector<int>(5000, 7);
  const std::string html = render_report(data).value();
  EXPECT_GT(html.size(), std::size_t{6} << 20);
  EXPECT_FALSE(report_markdown(data).empty());
  EXPECT_FALSE(report_csv(data).empty());
}

TEST(Report, AHeadlineThatIsThereStays) {
  OrderedJson data = small_eval();
  data["headline"] = "Mine.";
  EXPECT_EQ(OrderedJson::parse(data_element(render_report(data).value()))["headline"], "Mine.");
  EXPECT_NE(report_markdown(data).find("\nMine.\n"), std::string::npos);
}

TEST(Report, OnlyAnObjectIsAReport) {
  EXPECT_FALSE(render_report(OrderedJson::array()));
  EXPECT_FALSE(render_report(nullptr));
  EXPECT_TRUE(render_report(OrderedJson::object()));
}

TEST(Report, MissingAndWrongFieldsAreLeftOut) {
  for (const char* text : {"{}", R"({"kind": 3, "title": []})", R"({"kind": "eval", "policies": 4, "notes": "x"})",
                           R"({"kind": "eval", "policies": [null, 3, "x", {}], "notes": [null, 1]})",
                           R"({"kind": "bench", "rows": [{"parts": [null, {"part": 3}], "speed_up": 4}]})",
                           R"({"kind": "calibrate", "cues": 7, "handover": [], "answers": "x", "variance": null})",
                           R"({"kind": "calibrate", "settings": 1, "cues": [null, 3, {}, {"selected": "yes", "text": 4,
                               "decision": [], "proof": 3, "safe": "x", "behind": {"refused": 1}}]})"}) {
    const OrderedJson data = OrderedJson::parse(text);
    EXPECT_TRUE(render_report(data)) << text;
    EXPECT_FALSE(report_markdown(data).empty()) << text;
    (void)report_csv(data);
  }
}

TEST(ReportHeadline, SaysWhatBecameOfTheAccuracy) {
  OrderedJson data = small_eval();
  EXPECT_EQ(
      report_headline(data),
      "relay kept the accuracy of large-only within 2 points (difference \u22120.5 points, 95% interval \u22121.2 to "
      "+0.1). It was faster than large-only (1.25\u00D7, 95% interval 1.20\u00D7 to 1.30\u00D7).");
  data["policies"][1]["verdict"] = {{"kind", "undecided"}, {"more_questions", 1234}};
  data["policies"][1]["speed_up"] = estimate(1.0, 0.9, 1.1);
  EXPECT_EQ(
      report_headline(data),
      "Whether relay keeps the accuracy of large-only within 2 points is undecided (difference \u22120.5 points, 95% "
      "interval \u22121.2 to +0.1). About 1,234 more questions would decide. Whether it is faster than large-only is "
      "open (1.00\u00D7, 95% interval 0.90\u00D7 to 1.10\u00D7).");
  data["policies"][1]["verdict"]["kind"] = "lost";
  data["policies"][1]["speed_up"] = estimate(0.8, 0.7, 0.9);
  EXPECT_TRUE(report_headline(data).starts_with("relay lost more than 2 points of the accuracy of large-only ("));
  EXPECT_TRUE(report_headline(data).ends_with(
      "It was slower than large-only (0.80\u00D7, 95% interval 0.70\u00D7 to 0.90\u00D7)."));
}

TEST(ReportHeadline, NamesTheOthersByVerdict) {
  EXPECT_TRUE(
      report_headline(example("eval"))
          .ends_with(
              " Of the others, random, all-candidates and small-only lost more than that; answer-only is undecided."));
}

TEST(ReportHeadline, ABenchmarkTellsTheSpeedAtEachDepth) {
  EXPECT_TRUE(report_headline(example("bench"))
                  .starts_with("relay ran at this multiple of the speed of large-only: 1.36\u00D7 at depth 256 ("));
}

TEST(ReportHeadline, ACalibrationTellsItsCuesAndWhatTheyHandOver) {
  OrderedJson data = small_calibration();
  EXPECT_EQ(report_headline(data),
            "2 of 4 candidates are cues for this pair; they hand over 24.4% of the thinking (95% interval 21.0% to "
            "27.0%), and with the answers 33.1% of all tokens. Of the others, 1 is refused by the large model and 1 is "
            "too rare to judge.");
  data["settings"]["rule"] = "published";
  data["answers"]["small_may_answer"] = false;
  data["handover"]["apart"] = false;
  EXPECT_TRUE(report_headline(data).starts_with(
      "2 of 4 candidates are cues for this pair by the paper's score; they hand over 24.4% of the thinking of the same "
      "problems (95% interval 21.0% to 27.0%). Of"));
}

TEST(ReportHeadline, ACalibrationMayFindNothing) {
  OrderedJson data = small_calibration();
  for (OrderedJson& cue : data["cues"]) cue["selected"] = false;
  EXPECT_TRUE(report_headline(data).starts_with("None of 4 candidates is a cue for this pair. Of these, 1 is refused"));
  data["cues"] = OrderedJson::array();
  EXPECT_EQ(report_headline(data), "");
}

TEST(ReportMarkdown, HoldsTheTable) {
  const std::string text = report_markdown(small_eval());
  EXPECT_TRUE(text.starts_with("# relay on demo\n\nrelay kept the accuracy"));
  EXPECT_NE(text.find("| relay | 89.5% (87.0% to 91.0%) | \u22120.5 (\u22121.2 to +0.1) | kept | 1.25\u00D7 "
                      "(1.20\u00D7 to 1.30\u00D7) |"),
            std::string::npos)
      << text;
  EXPECT_NE(report_markdown(example("bench")).find("| relay | 4,096 | 27.7 ms ("), std::string::npos);
}

TEST(ReportMarkdown, ACalibrationRanksItsCandidates) {
  const std::string text = report_markdown(small_calibration());
  const auto so = text.find(
      "| So, | selected | 1,200 | 24 | 91.2% (88.0% to 94.0%) | +0.071 (+0.050 to +0.090) | +0.4 (\u22122.0 to +3.0) | "
      "12 of 96 (11 by other dice) |\n");
  const auto thus = text.find("| Thus\u2423 | selected | \u2013 |");
  const auto wait = text.find("| Wait, | refused |");
  ASSERT_NE(wait, std::string::npos) << text;
  EXPECT_LT(so, thus);
  EXPECT_LT(thus, wait);
  EXPECT_NE(text.find("\n1 candidate is too rare to judge.\n"), std::string::npos);
  EXPECT_EQ(text.find("Oh,"), std::string::npos);
  EXPECT_NE(text.find("| variance of margins between sentences | 25.0% |"), std::string::npos);
}

TEST(ReportMarkdown, TextsHaveNoMeaningInIt) {
  const std::string text = report_markdown(small_eval("a|b\n# c <b>*d*</b> [e](f) `g`"));
  EXPECT_NE(text.find("| a\\|b \\# c \\<b\\>\\*d\\*\\</b\\> \\[e\\](f) \\`g\\` |"), std::string::npos) << text;
  EXPECT_TRUE(unicode::is_utf8(report_markdown(small_eval(std::string(kHostile)))));
}

TEST(ReportCsv, HasOneLineAPolicyAndFullPrecision) {
  OrderedJson data = small_eval();
  data["policies"][1]["accuracy"]["value"] = 0.89512345678901;
  const auto rows = read_csv(report_csv(data));
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  const auto cell = [&](std::size_t row, std::string_view column) {
    const auto found = std::find(rows[0].begin(), rows[0].end(), column);
    return found == rows[0].end() ? "no such column" : rows[row][static_cast<std::size_t>(found - rows[0].begin())];
  };
  EXPECT_EQ(cell(2, "policy"), "relay");
  EXPECT_EQ(cell(2, "accuracy"), "0.89512345678901");
  EXPECT_EQ(cell(2, "difference_low"), "-0.012");
  EXPECT_EQ(cell(2, "verdict"), "kept");
  EXPECT_EQ(cell(1, "difference"), "");
}

TEST(ReportCsv, ABenchmarkHasItsParts) {
  const auto rows = read_csv(report_csv(example("bench")));
  ASSERT_EQ(rows.size(), example("bench")["rows"].size() + 1);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_NE(std::find(rows[0].begin(), rows[0].end(), "catch_up_ideal_s"), rows[0].end());
}

TEST(ReportCsv, ACalibrationHasOneLineACandidate) {
  const auto rows = read_csv(report_csv(small_calibration()));
  ASSERT_EQ(rows.size(), 5u);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  const auto cell = [&](std::size_t row, std::string_view column) {
    const auto found = std::find(rows[0].begin(), rows[0].end(), column);
    return found == rows[0].end() ? "no such column" : rows[row][static_cast<std::size_t>(found - rows[0].begin())];
  };
  EXPECT_EQ(cell(2, "cue"), "Thus ");
  EXPECT_EQ(cell(3, "selected"), "yes");
  EXPECT_EQ(cell(3, "discovered"), "yes");
  EXPECT_EQ(cell(3, "safe"), "0.91234567890123");
  EXPECT_EQ(cell(3, "behind_refused_high"), "0.013");
  EXPECT_EQ(cell(3, "proof_loss_low"), "-0.02");
  EXPECT_EQ(cell(4, "decision"), "rare");
  EXPECT_EQ(cell(4, "proof_places"), "");
  EXPECT_EQ(read_csv(report_csv(example("calibrate"))).size(), example("calibrate")["cues"].size() + 1);
}

TEST(ReportCsv, ATextIsNeverAFormula) {
  for (const std::string name : {"=1+1", "+1", "-1", "@sum", "\t=1"}) {
    EXPECT_EQ(read_csv(report_csv(small_eval(name)))[2][0], "'" + name);
  }
  EXPECT_EQ(read_csv(report_csv(small_eval("a=1")))[2][0], "a=1");
}

RC_GTEST_PROP(ReportCsv, AnyTextComesBack, (const std::string& name)) {
  const std::string shown = valid_utf8(name);
  const std::string cell = read_csv(report_csv(small_eval(name))).at(2).at(0);
  RC_ASSERT(cell == shown || cell == "'" + shown);
}

RC_GTEST_PROP(Report, AnyTextComesBack, (const std::string& name)) {
  const std::string html = render_report(small_eval(name)).value();
  RC_ASSERT(unicode::is_utf8(html));
  const OrderedJson shown = OrderedJson::parse(data_element(html));
  if (unicode::is_utf8(name)) RC_ASSERT(shown["policies"][1]["name"] == name);
}

TEST(ReportNumbers, AreShownForPeople) {
  EXPECT_EQ(percent(0.9291), "92.9%");
  EXPECT_EQ(percent(0.3125), "31.3%");
  EXPECT_EQ(points(0.0123), "+1.2");
  EXPECT_EQ(points(-0.0123), "\u22121.2");
  EXPECT_EQ(points(-0.0001), "0.0");
  EXPECT_EQ(times(1.285), "1.28\u00D7");
  EXPECT_EQ(times(12.34), "12.3\u00D7");
  EXPECT_EQ(count(1234567), "1,234,567");
  EXPECT_EQ(count(-1234), "\u22121,234");
  EXPECT_EQ(count(999), "999");
  EXPECT_EQ(duration(0.00123), "1.23 ms");
  EXPECT_EQ(duration(0.3), "300 ms");
  EXPECT_EQ(duration(12.34), "12.3 s");
  EXPECT_EQ(duration(600), "10.0 min");
  EXPECT_EQ(duration(7200), "2.0 h");
}

TEST(ReportNumbers, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(valid_utf8("a\xFF"
                       "b"),
            "a\uFFFDb");
  EXPECT_EQ(valid_utf8("a\xE2\x80"), "a\uFFFD");
  EXPECT_EQ(valid_utf8("\u2028\u00E9"), "\u2028\u00E9");
}

}  // namespace
}  // namespace relaygen::report
