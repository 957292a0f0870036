#include "relaygen/profile.h"

#include <fmt/core.h>

#include <limits>
#include <new>
#include <nlohmann/json.hpp>

#include "io/files.h"

namespace relaygen {
namespace {

using Json = nlohmann::json;

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

Status read_cues(const Json& json, std::string_view source, std::vector<Cue>& cues) {
  if (!json.contains("cues")) return malformed(source, "it has no \"cues\"");
  if (!json["cues"].is_array()) return malformed(source, "\"cues\" has to be a list");
  for (const Json& entry : json["cues"]) {
    Cue cue;
    if (entry.is_string()) {
      cue.text = entry.get<std::string>();
    } else if (entry.is_object() && entry.contains("text") && entry["text"].is_string()) {
      cue.text = entry["text"].get<std::string>();
      if (auto ok =
              Reader(entry, fmt::format("the profile {}, cue \"{}\"", source, cue.text)).flag("selected", cue.selected);
          !ok)
        return ok;
    } else {
      return malformed(source, fmt::format("cue {} has to be a string or an object with a \"text\"", cues.size() + 1));
    }
    cues.push_back(std::move(cue));
  }
  return std::monostate{};
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
  if (auto ok = read_cues(json, source, profile.cues); !ok) return ok;
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

Result<Profile> read_profile(const std::filesystem::path& file) {
  auto text = read_file(file);
  if (!text)
    return fail(ErrorKind::bad_profile, "the profile cannot be read: " + text.error().message, text.error().hint);
  return parse_profile(*text, file.string());
}

std::string write_profile(const Profile& profile) {
  nlohmann::ordered_json json;
  json["relaygen_profile"] = kVersion;
  json["name"] = profile.name;
  json["provenance"] = profile.provenance;
  const auto model = [](const ProfileModel& one) {
    return nlohmann::ordered_json{{"name", one.name}, {"vocabulary", one.vocabulary}};
  };
  json["pair"] = {{"large", model(profile.large)}, {"small", model(profile.small)}};
  json["rules"] = profile.rules == Rules::exact ? "exact" : "published";
  if (profile.min_large_tokens) json["min_large_tokens"] = *profile.min_large_tokens;
  if (profile.max_small_tokens) json["max_small_tokens"] = *profile.max_small_tokens;
  json["answer"] = {{"small_may_answer", profile.small_may_answer}, {"evidence", profile.answer_evidence}};
  json["cues"] = nlohmann::ordered_json::array();
  for (const Cue& cue : profile.cues) json["cues"].push_back({{"text", cue.text}, {"selected", cue.selected}});
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace relaygen
