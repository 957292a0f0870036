#include "relaygen/profile.h"

#include <fmt/core.h>

#include <limits>
#include <new>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "io/hashing.h"

namespace relaygen {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr int kVersion = 1;

// Reads the keys of one object; the first mistake is remembered and ends the reading.
class Reader {
 public:
  Reader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  [[nodiscard]] bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }

  Status text(const char* key, std::string& value) const {
    if (!has(key)) return std::monostate{};
    if (!object_[key].is_string()) return wrong(key, "a string");
    value = object_[key].get<std::string>();
    return std::monostate{};
  }

  Status flag(const char* key, bool& value) const {
    if (!has(key)) return std::monostate{};
    if (!object_[key].is_boolean()) return wrong(key, "true or false");
    value = object_[key].get<bool>();
    return std::monostate{};
  }

  Status count(const char* key, std::optional<std::uint32_t>& value, std::uint32_t least) const {
    if (!has(key)) return std::monostate{};
    const Json& number = object_[key];
    if (!number.is_number_integer() || number.get<double>() < least ||
        number.get<double>() > std::numeric_limits<std::int32_t>::max()) {
      return wrong(key, fmt::format("a whole number of at least {}", least));
    }
    value = number.get<std::uint32_t>();
    return std::monostate{};
  }

  Status total(const char* key, std::uint64_t& value) const {
    if (!has(key)) return std::monostate{};
    if (!object_[key].is_number_unsigned()) return wrong(key, "a whole number of at least 0");
    value = object_[key].get<std::uint64_t>();
    return std::monostate{};
  }

  Status number(const char* key, std::optional<double>& value, double most, bool inside = false) const {
    if (!has(key)) return std::monostate{};
    const Json& number = object_[key];
    if (!number.is_number() || !(number.get<double>() >= 0) || number.get<double>() > most)
      return wrong(key, fmt::format("a number from 0 to {}", most));
    if (inside && number.get<double>() == 0) return wrong(key, "a number above 0");
    value = number.get<double>();
    return std::monostate{};
  }

  Status estimate(const char* key, std::optional<ProfileEstimate>& value) const {
    if (!has(key)) return std::monostate{};
    const Json& object = object_[key];
    ProfileEstimate estimate;
    for (const auto& [name, part] :
         {std::pair{"value", &estimate.value}, std::pair{"low", &estimate.low}, std::pair{"high", &estimate.high}}) {
      if (!object.is_object() || !object.contains(name) || !object[name].is_number())
        return wrong(key, "an object with the numbers \"value\", \"low\" and \"high\"");
      *part = object[name].get<double>();
    }
    value = estimate;
    return std::monostate{};
  }

  Status texts(const char* key, std::vector<std::string>& values) const {
    if (!has(key)) return std::monostate{};
    if (!object_[key].is_array()) return wrong(key, "a list of strings");
    for (const Json& one : object_[key]) {
      if (!one.is_string()) return wrong(key, "a list of strings");
      values.push_back(one.get<std::string>());
    }
    return std::monostate{};
  }

  /// The object under a key; null where there is none.
  Status object(const char* key, const Json*& value) const {
    if (!has(key)) return std::monostate{};
    if (!object_[key].is_object()) return wrong(key, "an object");
    value = &object_[key];
    return std::monostate{};
  }

  [[nodiscard]] tl::unexpected<Error> wrong(const char* key, const std::string& expected) const {
    return fail(ErrorKind::bad_profile, fmt::format("{}: \"{}\" has to be {}", where_, key, expected),
                "see docs/profile.md for the format");
  }

 private:
  const Json& object_;
  std::string where_;
};

tl::unexpected<Error> malformed(std::string_view source, std::string what) {
  return fail(ErrorKind::bad_profile, fmt::format("the profile {}: {}", source, what),
              "see docs/profile.md for the format");
}

Status read_model(const Json& json, const char* which, std::string_view source, ProfileModel& model) {
  if (!json.contains("pair")) return std::monostate{};
  if (!json["pair"].is_object()) return malformed(source, "\"pair\" has to be an object");
  if (!json["pair"].contains(which)) return std::monostate{};
  const Json& object = json["pair"][which];
  if (!object.is_object()) return malformed(source, fmt::format("\"pair\".\"{}\" has to be an object", which));
  const Reader reader(object, fmt::format("the profile {}, pair.{}", source, which));
  if (auto ok = reader.text("name", model.name); !ok) return ok;
  return reader.text("vocabulary", model.vocabulary);
}

// What stands beside the text of a cue; an empty decision where nothing does.
Status read_evidence(const Json& entry, const std::string& where, CueEvidence& evidence) {
  const Reader reader(entry, where);
  if (auto ok = reader.text("decision", evidence.decision); !ok) return ok;
  if (auto ok = reader.total("count", evidence.count); !ok) return ok;
  if (auto ok = reader.total("problems", evidence.problems); !ok) return ok;
  if (auto ok = reader.estimate("published_score", evidence.published_score); !ok) return ok;
  if (auto ok = reader.estimate("safe", evidence.safe); !ok) return ok;
  const Json* proof = nullptr;
  if (auto ok = reader.object("proof", proof); !ok || proof == nullptr) return ok;
  const Reader proof_reader(*proof, where + ", proof");
  if (auto ok = proof_reader.total("places", evidence.places); !ok) return ok;
  if (auto ok = proof_reader.total("flips", evidence.flips); !ok) return ok;
  if (auto ok = proof_reader.total("own_flips", evidence.own_flips); !ok) return ok;
  return proof_reader.estimate("loss", evidence.loss);
}

Status read_cues(const Json& json, std::string_view source, Profile& profile) {
  if (!json.contains("cues")) return malformed(source, "it has no \"cues\"");
  if (!json["cues"].is_array()) return malformed(source, "\"cues\" has to be a list");
  bool any_evidence = false;
  for (const Json& entry : json["cues"]) {
    Cue cue;
    CueEvidence evidence;
    if (entry.is_string()) {
      cue.text = entry.get<std::string>();
    } else if (entry.is_object() && entry.contains("text") && entry["text"].is_string()) {
      cue.text = entry["text"].get<std::string>();
      const std::string where = fmt::format("the profile {}, cue \"{}\"", source, cue.text);
      if (auto ok = Reader(entry, where).flag("selected", cue.selected); !ok) return ok;
      if (auto ok = read_evidence(entry, where, evidence); !ok) return ok;
    } else {
      return malformed(source,
                       fmt::format("cue {} has to be a string or an object with a \"text\"", profile.cues.size() + 1));
    }
    any_evidence = any_evidence || !evidence.decision.empty();
    profile.cues.push_back(std::move(cue));
    profile.evidence.push_back(std::move(evidence));
  }
  if (!any_evidence) profile.evidence.clear();
  return std::monostate{};
}

Status read_calibration(const Reader& top, const std::string& where, Profile& profile) {
  const Json* thresholds = nullptr;
  if (auto ok = top.object("thresholds", thresholds); !ok) return ok;
  if (thresholds != nullptr) {
    const Reader reader(*thresholds, where + ", thresholds");
    if (auto ok = reader.number("guard_margin", profile.thresholds.guard_margin, 1); !ok) return ok;
    if (auto ok = reader.number("verify_epsilon", profile.thresholds.verify_epsilon, 1, true); !ok) return ok;
    if (auto ok = reader.number("verify_delta", profile.thresholds.verify_delta, 1, true); !ok) return ok;
    if (auto ok = reader.number("draft_acceptance", profile.thresholds.draft_acceptance, 0.999, true); !ok) return ok;
  }
  const Json* object = nullptr;
  if (auto ok = top.object("calibration", object); !ok || object == nullptr) return ok;
  const Reader reader(*object, where + ", calibration");
  ProfileCalibration& calibration = profile.calibration.emplace();
  if (auto ok = reader.text("program", calibration.program); !ok) return ok;
  const Json* settings = nullptr;
  if (auto ok = reader.object("settings", settings); !ok) return ok;
  if (settings != nullptr)
    calibration.settings = OrderedJson::parse(settings->dump(-1, ' ', false, Json::error_handler_t::replace)).dump();
  if (auto ok = reader.total("problems", calibration.problems); !ok) return ok;
  if (auto ok = reader.total("traces", calibration.traces); !ok) return ok;
  if (auto ok = reader.total("tokens", calibration.tokens); !ok) return ok;
  if (auto ok = reader.estimate("share", calibration.share); !ok) return ok;
  return reader.texts("problem_hashes", calibration.problem_hashes);
}

Status read_rules(const Json& json, std::string_view source, Rules& rules) {
  if (!json.contains("rules")) return std::monostate{};
  if (json["rules"] == "exact") {
    rules = Rules::exact;
  } else if (json["rules"] == "published") {
    rules = Rules::published;
  } else {
    return malformed(source, "\"rules\" has to be \"exact\" or \"published\"");
  }
  return std::monostate{};
}

Status read_all(const Json& json, std::string_view source, Profile& profile) {
  const std::string where = fmt::format("the profile {}", source);
  const Reader top(json, where);
  if (auto ok = top.text("name", profile.name); !ok) return ok;
  if (auto ok = top.text("provenance", profile.provenance); !ok) return ok;
  if (auto ok = read_model(json, "large", source, profile.large); !ok) return ok;
  if (auto ok = read_model(json, "small", source, profile.small); !ok) return ok;
  if (auto ok = read_rules(json, source, profile.rules); !ok) return ok;
  if (auto ok = read_cues(json, source, profile); !ok) return ok;
  if (auto ok = read_calibration(top, where, profile); !ok) return ok;
  if (auto ok = top.count("min_large_tokens", profile.min_large_tokens, 0); !ok) return ok;
  if (auto ok = top.count("max_small_tokens", profile.max_small_tokens, 1); !ok) return ok;
  if (top.has("answer")) {
    if (!json["answer"].is_object()) return top.wrong("answer", "an object");
    const Reader answer(json["answer"], where + ", answer");
    if (auto ok = answer.flag("small_may_answer", profile.small_may_answer); !ok) return ok;
    if (auto ok = answer.text("evidence", profile.answer_evidence); !ok) return ok;
  }
  // The cues themselves are checked where they are used as well; checking here names the file.
  if (auto set = CueSet::build(profile.cues, profile.rules); !set) return malformed(source, set.error().message);
  return std::monostate{};
}

}  // namespace

Result<Profile> parse_profile(std::string_view text, std::string_view source) {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object() || !json.contains("relaygen_profile"))
      return malformed(source, "it has no \"relaygen_profile\" version, so it is no profile");
    if (!json["relaygen_profile"].is_number_integer())
      return malformed(source, "\"relaygen_profile\" has to be a whole number");
    if (json["relaygen_profile"] != kVersion) {
      return fail(ErrorKind::bad_profile,
                  fmt::format("the profile {} has version {}, this program reads version {}", source,
                              json["relaygen_profile"].dump(), kVersion),
                  "use a newer relaygen, or make the profile again");
    }
    Profile profile;
    if (auto ok = read_all(json, source, profile); !ok) return tl::unexpected(ok.error());
    return profile;
  } catch (const Json::parse_error& error) {
    return malformed(source, fmt::format("it is no valid JSON (near byte {})", error.byte));
  } catch (const Json::exception& error) {
    return malformed(source, error.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "out of memory", "free memory");
  }
}

std::string question_hash(std::string_view question) {
  const auto begin = question.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return Hash().add("").hex();
  return Hash().add(question.substr(begin, question.find_last_not_of(" \t\r\n") - begin + 1)).hex();
}

Result<Profile> read_profile(const std::filesystem::path& file) {
  auto text = read_file(file);
  if (!text)
    return fail(ErrorKind::bad_profile, "the profile cannot be read: " + text.error().message, text.error().hint);
  return parse_profile(*text, file.string());
}

namespace {

OrderedJson estimate_to_json(const ProfileEstimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

void add_evidence(const CueEvidence& evidence, OrderedJson& entry) {
  if (evidence.decision.empty()) return;
  entry["decision"] = evidence.decision;
  entry["count"] = evidence.count;
  entry["problems"] = evidence.problems;
  if (evidence.published_score) entry["published_score"] = estimate_to_json(*evidence.published_score);
  if (evidence.safe) entry["safe"] = estimate_to_json(*evidence.safe);
  if (evidence.places == 0) return;
  entry["proof"] = {{"places", evidence.places}, {"flips", evidence.flips}, {"own_flips", evidence.own_flips}};
  if (evidence.loss) entry["proof"]["loss"] = estimate_to_json(*evidence.loss);
}

OrderedJson calibration_to_json(const ProfileCalibration& calibration) {
  OrderedJson json{{"program", calibration.program}};
  if (!calibration.settings.empty()) json["settings"] = OrderedJson::parse(calibration.settings, nullptr, false);
  json["problems"] = calibration.problems;
  json["traces"] = calibration.traces;
  json["tokens"] = calibration.tokens;
  if (calibration.share) json["share"] = estimate_to_json(*calibration.share);
  json["problem_hashes"] = calibration.problem_hashes;
  return json;
}

}  // namespace

std::string write_profile(const Profile& profile) {
  OrderedJson json;
  json["relaygen_profile"] = kVersion;
  json["name"] = profile.name;
  json["provenance"] = profile.provenance;
  const auto model = [](const ProfileModel& one) {
    return OrderedJson{{"name", one.name}, {"vocabulary", one.vocabulary}};
  };
  json["pair"] = {{"large", model(profile.large)}, {"small", model(profile.small)}};
  json["rules"] = profile.rules == Rules::exact ? "exact" : "published";
  if (profile.min_large_tokens) json["min_large_tokens"] = *profile.min_large_tokens;
  if (profile.max_small_tokens) json["max_small_tokens"] = *profile.max_small_tokens;
  json["answer"] = {{"small_may_answer", profile.small_may_answer}, {"evidence", profile.answer_evidence}};
  for (const auto& [key, value] : {std::pair{"guard_margin", profile.thresholds.guard_margin},
                                   std::pair{"verify_epsilon", profile.thresholds.verify_epsilon},
                                   std::pair{"verify_delta", profile.thresholds.verify_delta},
                                   std::pair{"draft_acceptance", profile.thresholds.draft_acceptance}}) {
    if (value) json["thresholds"][key] = *value;
  }
  json["cues"] = OrderedJson::array();
  for (std::size_t i = 0; i < profile.cues.size(); ++i) {
    OrderedJson entry{{"text", profile.cues[i].text}, {"selected", profile.cues[i].selected}};
    if (i < profile.evidence.size()) add_evidence(profile.evidence[i], entry);
    json["cues"].push_back(std::move(entry));
  }
  if (profile.calibration) json["calibration"] = calibration_to_json(*profile.calibration);
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace relaygen
