#include "report/report.h"

#include "report/fields.h"
#include "report/template.h"

namespace relaygen::report {
namespace {

std::string html_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      default: result += c;
    }
  }
  return result;
}

// JSON as the content of a script element: '<' stands only inside strings, and written as an escape it can neither end
// the element nor begin a comment. The two line separators are no line breaks in JSON but are in older JavaScript.
std::string script_json(const OrderedJson& data) {
  const std::string json = data.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  std::string result;
  result.reserve(json.size() + json.size() / 16);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = std::string_view(json).substr(i);
    if (rest.front() == '<') {
      result += "\\u003c";
    } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
      result += rest.starts_with("\u2028") ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      result += rest.front();
    }
  }
  return result;
}

}  // namespace

Result<std::string> render_report(const OrderedJson& data) {
  if (!data.is_object()) return fail(ErrorKind::internal, "The report's data is not a JSON object");
  OrderedJson filled = data;
  if (!filled.contains("headline")) {
    if (std::string headline = report_headline(data); !headline.empty()) filled["headline"] = std::move(headline);
  }
  constexpr std::string_view kTitle = "@@title@@";
  constexpr std::string_view kData = "@@data@@";
  const std::string_view html = html_template();
  const std::size_t title = html.find(kTitle);
  const std::size_t place = html.find(kData, title == std::string_view::npos ? 0 : title);
  if (title == std::string_view::npos || place == std::string_view::npos) {
    return fail(ErrorKind::internal, "The report's template has no place for the title or the data");
  }
  const std::string name = text(data, "title");
  std::string result(html.substr(0, title));
  result += html_text(name.empty() ? "RelayGen report" : name);
  result += html.substr(title + kTitle.size(), place - title - kTitle.size());
  result += script_json(filled);
  result += html.substr(place + kData.size());
  return result;
}

}  // namespace relaygen::report
